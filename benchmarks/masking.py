"""What masks are worth to a DQN: `python -m benchmarks.masking`.

Stable-Baselines3's DQN and MaskableDQN learn with the same options from as many steps in the same
environment, on both sides. Then they are evaluated exactly: against uniformly random play, and by
the exploitability (0 for perfect play, at most 1). An illegal move loses the game, and DQN has to
learn from that which moves are illegal.
"""

from __future__ import annotations

from typing import Annotated, Any

import torch
from cyclopts import Parameter, run
from stable_baselines3 import DQN
from stable_baselines3.common.utils import LinearSchedule

from tictactoe_env.exact.evaluation import evaluate, exploitability
from tictactoe_env.exact.match import Result
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.rules import Rules
from tictactoe_env.sb3 import MaskableDQN, TicTacToeVecEnv

LEARNERS: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    ("DQN", DQN, {}),
    ("MaskableDQN", MaskableDQN, {}),
    ("MaskableDQN, double_q", MaskableDQN, {"double_q": True}),
)
OPTIONS = {
    "gamma": 1.0,
    "batch_size": 512,
    "buffer_size": 200_000,
    "train_freq": 1,
    "tau": 0.02,
    "target_update_interval": 64,  # a step of all games
    "exploration_final_eps": 0.2,
    "policy_kwargs": {"net_arch": [128, 128]},
}


def learned(algorithm: Any, own: dict[str, Any], opponent: str, steps: int, seed: int) -> Any:
    """A model after `steps` steps against `opponent`."""
    env = TicTacToeVecEnv(64, opponent=opponent, side="random", exploring_starts=0.2)
    rate = LinearSchedule(1e-3, 1e-5, 1.0)
    model = algorithm("MlpPolicy", env, learning_rate=rate, seed=seed, **OPTIONS, **own)
    return model.learn(steps)


def percent(result: Result) -> str:
    """Wins, draws, losses and illegal moves."""
    shares = result.win, result.draw, result.loss - result.illegal, result.illegal
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def table(opponent: str, steps: int, seeds: int) -> None:
    """Print the exact results of all learners, a row for each seed."""
    print(f"\n{steps:,} steps against {opponent}\n")
    print("| learner | seed | as X: win / draw / loss / illegal, % | as O | exploitability |")
    print("| --- | --- | --- | --- | --- |")
    for name, algorithm, own in LEARNERS:
        for seed in range(seeds):
            player = tabulate(learned(algorithm, own, opponent, steps, seed), Rules())
            found = evaluate(player)
            cells = percent(found.x), percent(found.o), f"{exploitability(player):.3f}"
            print(f"| {name} | {seed} | {' | '.join(cells)} |", flush=True)


def main(
    *,
    steps: Annotated[list[int], Parameter(consume_multiple=True)] = (20_000, 100_000),
    seeds: int = 3,
    opponent: str = "minimax-slip=0.5",
) -> None:
    """Print a table for each number of steps. seeds: how many."""
    torch.set_num_threads(1)
    for number in steps:
        table(opponent, number, seeds)


if __name__ == "__main__":
    run(main)
