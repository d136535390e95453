"""What grows how: games, cells, positions, decisions of a proof: docs/SCALING.md.

    python -m benchmarks.scaling                  measure and print all tables
    python -m benchmarks.scaling proofs           one of them
    python -m benchmarks.scaling --write          also write them into docs/SCALING.md, and draw
                                                  docs/scaling.png from the tables of the page

Each row is measured in a process of its own with one thread. Its memory is the growth of the
largest resident set. Its seconds are those of the processor, so that other work on the machine
slows them little. A speed is the best of several repeats, the time of a proof or a solver is that
of one call, tables included.
"""

from __future__ import annotations

import functools
import gc
import re
import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from cyclopts import run

import tictactoe_env
from tictactoe_env.exact.match import best_response
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.proof import Limit, ProofLimitError, reach_of
from tictactoe_env.exact.solver import solve
from tictactoe_env.exact.symmetry import CanonicalPolicy
from tictactoe_env.files import write_file
from tictactoe_env.observation import observation_space
from tictactoe_env.policy import one_hot
from tictactoe_env.rules import SIDES, Boards, Rules

ROOT = Path(__file__).parent.parent
PAGE, PICTURE = ROOT / "docs" / "SCALING.md", ROOT / "docs" / "scaling.png"
GAMES = (64, 1_024, 16_384)
BOARDS = (Rules(3, 3, 3), Rules(4, 4, 4), Rules(5, 5, 4))
ENUMERATED = (Rules(3, 3, 3), Rules(3, 4, 4), Rules(4, 4, 4))
PPO_STEPS = 131_072  # environment steps of a measured training
REPEATS = 7
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


# --- one measurement ------------------------------------------------------------------------------


def in_a_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def measured(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result of a call, its seconds, and the megabytes by which it made the process grow."""
    gc.collect()
    before, began = peak_megabytes(), time.process_time()
    result = call()
    return result, time.process_time() - began, peak_megabytes() - before


def peak_megabytes() -> float:
    """The largest resident set of this process so far."""
    scale = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def environment_rate(games: int, rules: Rules) -> float:
    """Steps per second of the vector environment against random play, without the policy."""
    import gymnasium as gym

    board = {"rows": rules.rows, "cols": rules.cols, "k": rules.k}
    envs = gym.make_vec(tictactoe_env.ENV_IDS[0], games, **board)
    steps, rng, actions, best = max(20, 300_000 // games), np.random.default_rng(0), [], np.inf
    info = envs.reset(seed=0)[1]
    for _ in range(steps):
        scores = rng.random((games, rules.cells), dtype=np.float32)
        actions.append((scores * info["action_mask"]).argmax(axis=1))
        info = envs.step(actions[-1])[4]
    for _ in range(REPEATS):
        envs.reset(seed=0)  # so that the same actions are legal again
        began = time.process_time()
        for action in actions:
            envs.step(action)
        best = min(best, time.process_time() - began)
    return steps * games / best


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


def observation_bytes(rules: Rules) -> int:
    """The size of one observation."""
    space = observation_space(rules)
    return int(np.prod(space.shape)) * np.dtype(space.dtype).itemsize


def solving(rules: Rules) -> tuple[int, float, float, float]:
    """Positions of a board, the seconds to find them and to solve them, and the megabytes."""
    positions, found, first = measured(lambda: positions_of(rules))
    _, solved, second = measured(lambda: solve(rules).value)
    return len(positions), found, solved, first + second


def proving(rules: Rules, side: str, symmetric: bool) -> tuple[int, int, bool, float, float] | None:
    """Decisions, positions, whether the player can be beaten, seconds, megabytes of a proof.

    None if it is beyond BOUND.
    """
    player: Any = LineCounter(rules)
    player = CanonicalPolicy(player, rules) if symmetric else player

    def prove() -> tuple[int, int, bool]:
        reach = reach_of({side: player}, side, rules, BOUND)
        return reach.decisions, len(reach), best_response(reach).can_lose

    try:
        (decisions, positions, can_lose), seconds, megabytes = measured(prove)
    except ProofLimitError:
        return None
    return decisions, positions, can_lose, seconds, megabytes


# --- the tables -----------------------------------------------------------------------------------


class Rows(NamedTuple):
    """A table: the names of its columns, and its rows as text."""

    names: Sequence[str]
    rows: list[Sequence[str]]


def megahertz(rate: float) -> str:
    """Millions in a second."""
    return f"{rate / 1e6:.2f}"


def megabytes_text(megabytes: float) -> str:
    """Megabytes; below one the resident set, which grows by pages, says little."""
    return f"{megabytes:,.0f}" if megabytes >= 1 else "under 1"


def games() -> Rows:
    """Games at a time on 3x3."""
    rows = []
    for count in GAMES:
        rate = in_a_process(environment_rate, count, BOARDS[0])
        trained = in_a_process(training_rate, count, BOARDS[0])
        rows.append((f"{count:,}", megahertz(rate), f"{trained:,.0f}"))
    names = ("games at a time, 3x3", "environment, million steps/s", "MaskablePPO, steps/s")
    return Rows(names, rows)


def cells() -> Rows:
    """Boards of more and more cells, 1,024 games at a time."""
    rows = []
    for rules in BOARDS:
        rate = in_a_process(environment_rate, 1_024, rules)
        trained = in_a_process(training_rate, 1_024, rules)
        rows.append(
            (
                str(rules),
                str(rules.cells),
                megahertz(rate),
                str(observation_bytes(rules)),
                f"{trained:,.0f}",
                f"{1e6 / trained:.0f}",
            )
        )
    names = (
        "board",
        "cells",
        "environment, million steps/s",
        "bytes of an observation",
        "MaskablePPO, steps/s",
        "seconds of a million steps",
    )
    return Rows(names, rows)


def positions() -> Rows:
    """All positions of a board, and its solution."""
    rows = []
    for rules in ENUMERATED:
        count, found, solved, megabytes = in_a_process(solving, rules)
        figures = (f"{count:,}", f"{found:.3f}", f"{solved:.3f}", megabytes_text(megabytes))
        rows.append((str(rules), *figures))
    return Rows(("board", "positions", "found in s", "solved in s", "MB"), rows)


def proofs() -> Rows:
    """Proofs of a player by hand, on each side."""
    rows = []
    for symmetric in (False, True):
        for rules in BOARDS:
            for side in SIDES:
                found = in_a_process(proving, rules, side, symmetric)
                about = str(rules), side, "yes" if symmetric else "no"
                if found is None:
                    rows.append((*about, "beyond the bound", "", "", "", ""))
                    continue
                decisions, reached, can_lose, seconds, megabytes = found
                verdict = "can be beaten" if can_lose else "unbeatable"
                figures = (
                    f"{decisions:,}",
                    f"{reached:,}",
                    f"{seconds:.2f}",
                    megabytes_text(megabytes),
                )
                rows.append((*about, *figures, verdict))
    names = ("board", "side", "symmetry", "decisions", "positions", "s", "MB", "the player")
    return Rows(names, rows)


TABLES = {"games": games, "cells": cells, "positions": positions, "proofs": proofs}


# --- the page -------------------------------------------------------------------------------------


def text_of(table: Rows) -> str:
    """A table in Markdown."""
    lines = [table.names, ["---"] * len(table.names), *table.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def place(name: str) -> re.Pattern[str]:
    """Where the page has a table: between two comments."""
    return re.compile(f"(<!-- {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def table_on(page: str, name: str) -> Rows:
    """A table of the page. Raises ValueError if it is not there."""
    match = place(name).search(page)
    if match is None:
        raise ValueError(f"docs/SCALING.md needs a table between <!-- {name} --> and <!-- end -->")
    lines = [line.strip("|").split("|") for line in match[2].strip().splitlines()]
    cells = [[cell.strip() for cell in line] for line in lines]
    return Rows(cells[0] if cells else [], cells[2:])


def put(page: str, name: str, table: Rows) -> str:
    """The page with another table in this place."""
    table_on(page, name)
    return place(name).sub(lambda match: f"{match[1]}{text_of(table)}{match[3]}", page)


def number(text: str) -> float:
    """The number of a cell of a table."""
    return float(text.replace(",", ""))


def draw(page: str, path: Path) -> None:
    """Draw the tables of the page: games, cells, positions and decisions."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    panels = list(figure.subplots(2, 2).flat)
    draw_speeds(panels[0], [(row[0], row[1], row[2]) for row in table_on(page, "games").rows])
    panels[0].set(title="games at a time, 3x3", xlabel="games", xscale="log")
    draw_speeds(panels[1], [(row[1], row[2], row[4]) for row in table_on(page, "cells").rows])
    panels[1].set(title="cells, 1,024 games at a time", xlabel="cells")
    draw_positions(panels[2], table_on(page, "positions").rows)
    draw_decisions(panels[3], table_on(page, "proofs").rows)
    for axes in (panels[1], panels[3]):
        axes.set_xticks([rules.cells for rules in BOARDS])
    for axes in panels:
        axes.set(yscale="log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))


def draw_speeds(axes: Any, rows: Sequence[tuple[str, str, str]]) -> None:
    """Steps/s of the environment, in millions, and of a training, over the first column."""
    xs = [number(row[0]) for row in rows]
    axes.plot(xs, [1e6 * number(row[1]) for row in rows], "C0o-", label="environment")
    axes.plot(xs, [number(row[2]) for row in rows], "C1o-", label="training, MaskablePPO")
    axes.set(ylabel="steps/s")


def draw_positions(axes: Any, rows: Sequence[Sequence[str]]) -> None:
    """Seconds and megabytes over the positions."""
    xs = [number(row[1]) for row in rows]
    seconds = [number(row[2]) + number(row[3]) for row in rows]
    axes.plot(xs, seconds, "C0o-", label="seconds to find and solve them")
    sizes = [(x, number(row[4])) for x, row in zip(xs, rows, strict=True) if "under" not in row[4]]
    axes.plot([x for x, _ in sizes], [size for _, size in sizes], "C1o-", label="MB")
    axes.set(title="all positions of a board", xlabel="positions", ylabel="s, MB", xscale="log")


def draw_decisions(axes: Any, rows: Sequence[Sequence[str]]) -> None:
    """Decisions over the cells, by side, without symmetry and with it."""
    for side, colour in zip(SIDES, ("C0", "C1"), strict=True):
        for symmetric, style in (("no", "o-"), ("yes", "s--")):
            chosen = [row for row in rows if row[1:3] == [side, symmetric] and row[4]]
            xs = [rules_of(row[0]).cells for row in chosen]
            label = f"as {side}{', with symmetry' if symmetric == 'yes' else ''}"
            axes.plot(xs, [number(row[3]) for row in chosen], f"{colour}{style}", label=label)
    axes.set(title="decisions of a player, by its proof", xlabel="cells", ylabel="decisions")


def rules_of(text: str) -> Rules:
    """The board that a table names: "4x4, 4 in a row"."""
    return next(rules for rules in (*BOARDS, *ENUMERATED) if str(rules) == text)


def main(*names: Literal[*TABLES], write: bool = False) -> None:
    """Measure what grows how, and print all tables, or those that are named.

    write: write the tables and the picture of docs/SCALING.md.
    """
    for name in names or TABLES:
        table = TABLES[name]()
        print(text_of(table), flush=True)
        if write:
            content = put(PAGE.read_text(encoding="utf-8"), name, table)
            write_file(PAGE, functools.partial(_write, content))
    if write:
        draw(PAGE.read_text(encoding="utf-8"), PICTURE)


def _write(content: str, file: Any) -> None:
    file.write(content.encode())


if __name__ == "__main__":
    run(main)
