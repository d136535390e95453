"""The cost of a training and a proof on larger boards: the other tables of docs/speed.md.

    python -m benchmarks.scaling

Each row is measured in a process of its own with one thread. Its memory is the growth of the
largest resident set. Its seconds are those of the processor, so that other work on the machine
slows them little.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from cyclopts import run

from tictactoe_env.exact.best_response import best_response
from tictactoe_env.exact.proof import Limit, reach_of
from tictactoe_env.policy import CanonicalPolicy, one_hot
from tictactoe_env.rules import SIDES, Boards, Rules

BOARDS = (Rules(3, 3, 3), Rules(4, 4, 4), Rules(5, 5, 4))
TRAININGS = ((BOARDS[0], 64), *((rules, 1_024) for rules in BOARDS), (BOARDS[0], 16_384))
PPO_STEPS = 131_072  # environment steps of a measured training
BOUND = Limit(positions=60_000_000, megabytes=6_000)


class LineCounter:
    """A player by hand: it wins, or else blocks, or else takes the cell in the most valuable lines.

    A line that only one side has marked is worth eight times more with each mark, and the other
    side's a little less. Of equal cells it takes the first.
    """

    def __init__(self, rules: Rules):
        self.k = rules.k
        self.lines = np.zeros((len(rules.lines), rules.cells), dtype=np.int64)
        for number, line in enumerate(rules.lines):
            self.lines[number, list(line)] = 1

    def probs(self, boards: Boards) -> Any:
        """One move in each position: (B, cells)."""
        boards = np.asarray(boards).astype(np.int64)
        mover = np.where(boards.sum(axis=1) == 0, 1, -1)[:, None]
        own, other = (((boards * mover) == mark) @ self.lines.T for mark in (1, -1))
        worth = 8**own * 2 * (other == 0) + 8**other * (own == 0)
        worth[(own == self.k - 1) & (other == 0)] = 10**9
        worth[(other == self.k - 1) & (own == 0)] = 10**7
        scores = np.where(boards == 0, worth @ self.lines, -1)
        return one_hot(scores.argmax(axis=1), boards.shape[1])


def in_a_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def peak_megabytes() -> float:
    """The largest resident set of this process so far."""
    scale = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def training_rate(games: int, rules: Rules) -> float:
    """Steps per second of sb3-contrib's MaskablePPO with two layers of 128, on one thread."""
    import torch
    from sb3_contrib import MaskablePPO

    from tictactoe_env.sb3 import TicTacToeVecEnv

    torch.set_num_threads(1)
    env = TicTacToeVecEnv(games, rows=rules.rows, cols=rules.cols, k=rules.k)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=max(2, PPO_STEPS // 8 // games),
        batch_size=1_024,
        n_epochs=4,
        policy_kwargs={"net_arch": [128, 128]},
        seed=0,
        device="cpu",
    )
    began = time.process_time()
    model.learn(PPO_STEPS)
    return model.num_timesteps / (time.process_time() - began)


def proving(rules: Rules, side: str) -> tuple[int, int, float, float, bool]:
    """Decisions, positions, seconds and megabytes of a proof, and whether the player can lose."""
    player = CanonicalPolicy(LineCounter(rules), rules)
    before = peak_megabytes()
    began = time.process_time()
    reach = reach_of({side: player}, side, rules, BOUND)
    can_lose = best_response(reach).can_lose
    seconds = time.process_time() - began
    megabytes = peak_megabytes() - before
    return reach.decisions, len(reach), seconds, megabytes, can_lose


def main() -> None:
    """Print both tables."""
    print("| board | games at a time | steps/s | seconds of a million steps |")
    print("| --- |" + " ---: |" * 3)
    for rules, games in TRAININGS:
        rate = in_a_process(training_rate, games, rules)
        print(f"| {rules} | {games:,} | {rate:,.0f} | {1e6 / rate:.0f} |", flush=True)
    print("\n| board | side | decisions | positions | s | MB | the player |")
    print("| --- | --- |" + " ---: |" * 4 + " --- |")
    for rules in BOARDS:
        for side in SIDES:
            decisions, positions, seconds, megabytes, can_lose = in_a_process(proving, rules, side)
            costs = f"{decisions:,} | {positions:,} | {seconds:.2f} | {megabytes:,.0f}"
            verdict = "can be beaten" if can_lose else "unbeatable"
            print(f"| {rules} | {side} | {costs} | {verdict} |", flush=True)


if __name__ == "__main__":
    run(main)
