"""Judge agents exactly: `python evaluate.py runs/dqn-0 minimax random`; `--verify FILE` checks a certificate again."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from agents import TRAINABLE, show
from agents.named import PLAYERS, make_player
from tictactoe_env.certificate import certify, read, table_of, verify
from tictactoe_env.errors import unknown_name
from tictactoe_env.opponents import NAMES
from tictactoe_env.policy import TabularPolicy, tabulate
from tictactoe_env.rules import Rules

RUN_FACTS = ("agent", "seed", "config", "training", "versions")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="evaluate.py",
        description="Exact results of agents, whether anybody can beat them and by which game, and a cross table of several.",
        epilog="An agent is the folder of a run, the path of a certificate, random, minimax, minimax-first, minimax-slip=0.1, "
        f"or needs no training: {'; '.join(f'{name} ({sentence})' for name, (_, _, sentence) in PLAYERS.items())}.",
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
    print(f"verified: {content.get('agent')}, {len(content['moves']):,} positions; every figure follows from the moves")
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
        if given.from_model and is_saved(spec):
            compare_with_model(Path(spec), players[name])
        show.certificate(contents[name], console)
        show.first_move_values(players[name], console)
    first, last = names[0], names[-1]
    opponent = last if len(names) > 1 else "random"
    show.example_game(
        players[first], players.get(opponent) or tabulate(make_player(opponent, rules), rules), (first, opponent), console, given.game_seed
    )
    results = show.cross_table(players)
    if len(names) > 1:
        show.print_cross_table(results, console)
    if given.json is not None:
        given.json.write_text(json.dumps({"agents": contents, "cross_table": results}, indent=1), encoding="utf-8")
        show.say(f"figures: {given.json}", console)
    return 0


def _rules(given: argparse.Namespace) -> Rules:
    """The board that was asked for, or that of the first run, or 3x3."""
    asked = (given.rows, given.cols, given.k)
    if any(size is not None for size in asked):
        return Rules(*(3 if size is None else size for size in asked))
    for spec in given.agents:
        if is_saved(spec):
            return table_of(read(spec)).rules
    return Rules()


def is_saved(spec: str) -> bool:
    """Whether an agent is a run or a certificate rather than a name."""
    return spec not in NAMES and Path(spec).exists()


def player_of(spec: str, rules: Rules) -> tuple[TabularPolicy, dict[str, Any]]:
    """The table of an agent, and its certificate computed anew; what a run's certificate says of the training is kept."""
    player = tabulate(make_player(spec, rules), rules)
    about = {fact: value for fact, value in read(spec).items() if fact in RUN_FACTS} if is_saved(spec) else {}
    return player, {**certify(player, spec, rules), **about}


def compare_with_model(folder: Path, player: TabularPolicy) -> None:
    """Raises ValueError unless the saved network makes the certified moves in every position."""
    import importlib

    if not folder.is_dir():
        raise ValueError(f"--from-model needs the folder of a run, {folder} is a file")
    agent = read(folder).get("agent")
    if agent not in TRAINABLE:
        raise unknown_name("agent", agent, TRAINABLE)
    model = tabulate(importlib.import_module(f"agents.{agent}").load(folder), player.rules)
    different = int((model.table != player.table).any(axis=1).sum())
    if different:
        raise ValueError(f"the network of {folder} moves otherwise than its certificate in {different:,} of {len(player.table):,} positions")
    print(f"{folder}: the network makes the certified move in all {len(player.table):,} positions")


if __name__ == "__main__":
    sys.exit(main())
