"""Judge agents exactly: `python evaluate.py runs/dqn-0 minimax random`; `--verify FILE` checks a certificate again."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from agents import TRAINABLE, load
from players.seat import NAMES_TEXT, path_of, policy_of
from terminal import battle, report
from tictactoe_env.certificate import MAX_CELLS, certify, load_policy, read, verify
from tictactoe_env.errors import unknown_name, whole_number
from tictactoe_env.policy import RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.rules import Rules
from training.command_line import Parser

RUN_FACTS = ("agent", "seed", "config", "training", "versions")
GAMES = 1000  # of a sampled result, where the board is too large for an exact one


def parser() -> Parser:
    parser = Parser(
        prog="evaluate.py",
        description="Exact results of agents, whether anybody can beat them and by which game, and a cross table of several.",
        epilog=f"agents:\n{NAMES_TEXT}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "agents", nargs="*", default=[], metavar="RUN-OR-AGENT", help="what to judge"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures as JSON too")
    parser.add_argument(
        "--verify",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="compute every figure of certificates again from their moves, without the model",
    )
    parser.add_argument(
        "--from-model",
        action="store_true",
        help="load each run's network (torch) and check that it makes the certified moves",
    )
    parser.add_argument(
        "--rows", type=int, default=None, help="rows of the board (default: that of the runs, or 3)"
    )
    parser.add_argument("--cols", type=int, default=None, help="columns of the board")
    parser.add_argument("--k", type=int, default=None, help="marks in a line that win")
    parser.add_argument(
        "--games",
        type=int,
        metavar="N",
        help=f"also count N games as X and N as O against random (default: {GAMES:,} on boards of more than {MAX_CELLS} cells, else none)",
    )
    parser.add_argument(
        "--battle",
        type=int,
        metavar="N",
        help="only play N games between two agents, by turns as X and as O, and print every one",
    )
    parser.add_argument(
        "--game-seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the example game and of the games that are counted (default: 0)",
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    try:
        check(given)
        if given.verify is not None:
            return max([print_verified(path) for path in given.verify])
        if not given.agents:
            parser().print_help()
            return 2
        rules = _rules(given)
        if given.battle is not None:
            return fight(given, rules)
        return sample_all(given, rules) if rules.cells > MAX_CELLS else judge_all(given, rules)
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 1


def check(given: argparse.Namespace) -> None:
    """Raises ValueError for what cannot be done, before anything is computed."""
    others = [
        name
        for name, value in vars(given).items()
        if name != "verify" and value != parser().get_default(name)
    ]
    if given.verify is not None and others:
        raise ValueError(
            f"--verify checks files and does nothing else: leave {', '.join(name.replace('_', '-') for name in others)} out"
        )
    whole_number(given.game_seed, "--game-seed", 0)
    for name in ("games", "battle"):
        if getattr(given, name) is not None:
            whole_number(getattr(given, name), f"--{name}", 1)
    if given.battle is not None and (
        len(given.agents) != 2 or given.games is not None or given.from_model
    ):
        raise ValueError(
            "--battle plays two agents and does nothing else: name two, and leave --games and --from-model out"
        )
    if given.json is not None and (given.json.is_dir() or not given.json.parent.is_dir()):
        raise ValueError(f"--json must be a file in a folder that exists, got {given.json}")


def print_verified(path: Path) -> int:
    """Check one certificate: 0 if every figure of it follows from its moves."""
    try:
        content = read(path)
        verify(content)
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {path}: {error}", file=sys.stderr)
        return 1
    print(
        f"verified: {path} ({content.get('agent')}), {len(content['moves']):,} positions; every figure follows from the moves, "
        "but name, seed, configuration and times are statements of whoever wrote the file"
    )
    print(report.verdict(content))
    return 0


def sample_all(given: argparse.Namespace, rules: Rules) -> int:
    """Results of games that are played, on a board that is too large for exact ones."""
    from rich.console import Console

    console, games = Console(), GAMES if given.games is None else given.games
    players = {
        name: policy_of(spec, rules, "agent")
        for name, spec in zip(report.names_of(given.agents), given.agents, strict=True)
    }
    results = report.sampled_table(players, rules, games, given.game_seed)
    report.say(
        f"{rules}: more than {MAX_CELLS} cells, so nothing is proven; games are played and counted instead",
        console,
    )
    report.print_sampled_table(results, rules, games, console)
    write_figures(given.json, {"sampled": results}, console)
    return 0


def fight(given: argparse.Namespace, rules: Rules) -> int:
    """Games between two agents, printed."""
    from rich.console import Console

    console = Console()
    first, second = (policy_of(spec, rules, "agent") for spec in given.agents)
    name, other = report.names_of(given.agents)
    result = battle.battle(
        (first, second), (name, other), rules, given.battle, given.game_seed, console
    )
    write_figures(given.json, {"battle": result}, console)
    return 0


def write_figures(path: Path | None, figures: dict[str, Any], console: Any) -> None:
    if path is not None:
        path.write_text(json.dumps(figures, indent=1), encoding="utf-8")
        report.say(f"figures: {path}", console)


def judge_all(given: argparse.Namespace, rules: Rules) -> int:
    from rich.console import Console

    console = Console()
    names = report.names_of(given.agents)
    players, contents, counted = {}, {}, {}
    for name, spec in zip(names, given.agents, strict=True):
        players[name], contents[name] = player_of(spec, rules)
        path = path_of(spec, rules, "agent")
        if given.from_model and path is not None:
            compare_with_model(path, players[name])
        if given.games is not None:
            counted[name] = {
                side: report.count_games(
                    side, players[name], RandomPolicy(), rules, given.games, given.game_seed
                )
                for side in ("X", "O")
            }
        report.certificate(contents[name], console, counted.get(name))
        report.first_move_values(players[name], console)
    first, last = names[0], names[-1]
    opponent, other = (
        (last, players[last]) if len(names) > 1 else ("random", tabulate(RandomPolicy(), rules))
    )
    battle.example_game(players[first], other, (first, opponent), rules, console, given.game_seed)
    results = report.cross_table(players)
    if len(names) > 1:
        report.print_cross_table(results, console)
    figures = {"agents": contents, "cross_table": results}
    write_figures(
        given.json, {**figures, "sampled_against_random": counted} if counted else figures, console
    )
    return 0


def _rules(given: argparse.Namespace) -> Rules:
    """The board that was asked for, or that of the first run, or 3x3."""
    asked = (given.rows, given.cols, given.k)
    if any(size is not None for size in asked):
        return Rules(*(3 if size is None else size for size in asked))
    for path in (path_of(spec, what="agent") for spec in given.agents):
        if path is not None:
            return load_policy(path).rules
    return Rules()


def player_of(spec: str, rules: Rules) -> tuple[TabularPolicy, dict[str, Any]]:
    """The table of an agent, and its certificate computed anew; what a run's certificate says of the training is kept."""
    path = path_of(spec, rules, "agent")
    player = tabulate(policy_of(spec, rules, "agent"), rules)
    about = (
        {fact: value for fact, value in read(path).items() if fact in RUN_FACTS}
        if path is not None
        else {}
    )
    return player, {**certify(player, spec, rules), **about}


def compare_with_model(folder: Path, player: TabularPolicy) -> None:
    """Raises ValueError unless the saved network makes the certified moves in every position."""
    if not folder.is_dir():
        raise ValueError(f"--from-model needs the folder of a run, {folder} is a file")
    agent = read(folder).get("agent")
    if not isinstance(agent, str) or agent not in TRAINABLE:
        raise unknown_name("agent", agent, TRAINABLE)
    model = tabulate(load(folder), player.rules)
    different = int((model.table != player.table).any(axis=1).sum())
    if different:
        raise ValueError(
            f"the network of {folder} moves otherwise than its certificate in {different:,} of {len(player.table):,} positions"
        )
    print(f"{folder}: the network makes the certified move in all {len(player.table):,} positions")


if __name__ == "__main__":
    sys.exit(main())
