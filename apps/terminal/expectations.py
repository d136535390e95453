"""The positions in games of two players, with their expected results, as examples for a network.

`evaluate.py A B --expectations FILE.csv` writes and prints them; `train.py value_net --dataset
FILE.csv` learns them first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import agents
from apps.terminal.report import print_table, say
from tictactoe_env.errors import printable
from tictactoe_env.notation import board_text
from training.files import write_csv
from training.selfplay import ExploringPolicy

if TYPE_CHECKING:
    from rich.console import Console

    from tictactoe_env.policy import Policy
    from tictactoe_env.rules import Rules

SHOWN = 15  # positions that are printed


def show(
    a: Policy,
    b: Policy,
    rules: Rules,
    games: int,
    epsilons: tuple[float, ...],
    file: Path,
    console: Console,
) -> None:
    """Write the positions of games of two players with their expected results, and print the first.

    Half of the games are with each of them as X. Positions that are equal under symmetry are one.
    Finished boards are left out, as the network has their values without learning. games: the
    number that they stand for. epsilons: the share of random moves by ply; the last one repeats.
    Raises ValueError for a board beyond the network's limit.
    """
    module: Any = agents.module("value_net")
    afterstates = module.Afterstates(module.Config(**rules.to_json()))
    a, b = (ExploringPolicy(player, epsilons, rules) for player in (a, b))
    first = module.expected_results(afterstates, a, b)
    second = module.expected_results(afterstates, b, a)
    weights = games / 2 * (first.games + second.games)
    sums = games / 2 * (first.sums + second.sums)
    results = module.Results(weights, sums)
    table = module.dataset(afterstates, results)
    write_csv(file, table.names, table.rows)
    most_frequent = np.argsort(-weights, kind="stable")[:SHOWN]
    boards = afterstates.positions.boards[afterstates.classes]
    rows = [
        (
            board_text(boards[number], rules),
            "X" if boards[number].sum() > 0 else "O",
            f"{100 * weights[number] / games:.2f}",
            f"{results.means[number]:+.4f}",
        )
        for number in most_frequent
        if weights[number] > 0
    ]
    print_table(("position", "has moved", "in games %", "expected result"), rows, console)
    discount = afterstates.config.discount
    say(
        f"for the side that has moved: win 1, draw 0, loss -1, times {discount:g} for each later "
        "move of its own; exact, over both seats",
        console,
    )
    say(f"{np.count_nonzero(weights):,} positions: {printable(file)}", console)
