"""Judge agents exactly: `python evaluate.py runs/dqn-0 minimax random`; `--verify FILE` checks a certificate again."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from agents import show
from tictactoe_env.certificate import certify, read, verify
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import TabularPolicy, tabulate
from tictactoe_env.rules import Rules

RUN_FACTS = ("agent", "seed", "config", "training", "versions")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="evaluate.py",
        description="Exact results of agents, whether anybody can beat them and by which game, and a cross table of several.",
        epilog="An agent is the folder of a run, the path of a certificate, or random, minimax, minimax-first, minimax-slip=0.1.",
    )
    parser.add_argument("agents", nargs="*", metavar="RUN-OR-AGENT", help="what to judge")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures as JSON too")
    parser.add_argument("--verify", type=Path, metavar="FILE", help="compute every figure of a certificate again from its moves, without the model")
    parser.add_argument("--from-model", action="store_true", help="load each run's network (torch) and check that it makes the certified moves")
    parser.add_argument("--rows", type=int, default=None, help="rows of the board (default: that of the runs, or 3)")
    parser.add_argument("--cols", type=int, default=None, help="columns of the board")
    parser.add_argument("--k", type=int, default=None, help="marks in a line that win")
    parser.add_argument("--game-seed", type=int, default=0, metavar="N", help="seed of the example game (default: 0)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    try:
        if given.verify is not None:
            return print_verified(given.verify)
        if not given.agents:
            parser().print_help()
            return 2
        return judge_all(given)
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 1


def print_verified(path: Path) -> int:
    content = read(path)
    verify(content)
    print(f"verified: {content['agent']}, {len(content['moves']):,} positions; every figure follows from the moves")
    print(show.verdict(content))
    return 0


def judge_all(given: argparse.Namespace) -> int:
    from rich.console import Console

    console = Console()
    names = show.names_of(given.agents)
    rules = _rules(given)
    players, contents = {}, {}
    for name, spec in zip(names, given.agents, strict=True):
        players[name], contents[name] = player_of(spec, rules)
        if given.from_model and Path(spec).is_dir():
            compare_with_model(Path(spec), players[name])
        show.certificate(contents[name], console)
        show.first_move_values(players[name], console)
    first, last = names[0], names[-1]
    opponent = last if len(names) > 1 else "random"
    show.example_game(
        players[first], players.get(opponent) or tabulate(make_opponent(opponent, rules), rules), (first, opponent), console, given.game_seed
    )
    results = show.cross_table(players)
    if len(names) > 1:
        show.print_cross_table(results, console)
    if given.json is not None:
        given.json.write_text(json.dumps({"agents": contents, "cross_table": results}, indent=1), encoding="utf-8")
        console.print(f"figures: {given.json}", highlight=False)
    return 0


def _rules(given: argparse.Namespace) -> Rules:
    """The board that was asked for, or that of the first run, or 3x3."""
    asked = (given.rows, given.cols, given.k)
    if any(size is not None for size in asked):
        return Rules(*(3 if size is None else size for size in asked))
    for spec in given.agents:
        if Path(spec).exists():
            return Rules(**read(spec)["board"])
    return Rules()


def player_of(spec: str, rules: Rules) -> tuple[TabularPolicy, dict[str, Any]]:
    """The table of an agent, and its certificate computed anew; what a run's certificate says of the training is kept."""
    player = tabulate(make_opponent(spec, rules), rules)
    about = {fact: value for fact, value in read(spec).items() if fact in RUN_FACTS} if Path(spec).exists() else {"agent": spec}
    return player, {**certify(player, about["agent"], rules), **about}


def compare_with_model(folder: Path, player: TabularPolicy) -> None:
    """Raises ValueError unless the saved network makes the certified moves in every position."""
    import importlib

    import numpy as np

    agent = json.loads((folder / "config.json").read_text(encoding="utf-8"))["agent"]
    model = tabulate(importlib.import_module(f"agents.{agent}").load(folder), player.rules)
    different = int((model.table != player.table).any(axis=1).sum())
    if different:
        raise ValueError(f"the network of {folder} moves otherwise than its certificate in {different} of {len(np.asarray(player.table))} positions")
    print(f"{folder}: the network makes the certified move in all {len(player.table):,} positions")


if __name__ == "__main__":
    sys.exit(main())
