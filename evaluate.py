"""Evaluate agents exactly: `python evaluate.py runs/dqn-0 minimax random`, `--verify FILE`.

Each option that asks for something else, such as `--position` or `--battle`, has a function of its
own: LINE lists them. With `--program` a program in any language is one more agent.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from apps.terminal.interpreter import explained

with explained("evaluate.py", "play"):
    from cyclopts import Parameter

    from apps.players.program import SECONDS, CheckedPlayer, Program, reason_to_sample
    from apps.players.rounds import board_of_histories
    from apps.players.seat import NAMES_TEXT, Seat, board_of, path_of, seat_of, with_foe
    from apps.terminal import report
    from apps.terminal.battle import Named
    from apps.terminal.battle import battle as play_games
    from apps.terminal.command_line import CommandLine, Flag, Gravity, OneOrNone, read_by
    from apps.terminal.comparison import (
        GAMES,
        HOW_TO_RAISE,
        JUDGED,
        by_name,
        compare,
        on_board,
        write_pairs,
    )
    from apps.terminal.examine import BOTH, MET, examine, remembers, tree_text
    from apps.terminal.report import PipedConsole
    from apps.terminal.saved_models import text_of, with_models
    from apps.terminal.talk import Seconds
    from tictactoe_env.certificates import __main__ as verifier
    from tictactoe_env.errors import printable
    from tictactoe_env.exact.positions import TABULATED
    from tictactoe_env.exact.proof import Limit, ProofLimitError
    from tictactoe_env.notation import parse_size
    from tictactoe_env.opponents import id_of
    from tictactoe_env.rules import Rules
    from training.options import Count, Natural, Shares

LIMIT = Limit()

Agent = Annotated[
    str, read_by(id_of), Parameter(required=True, help="the agents to evaluate, see below")
]
AgentBeside = Annotated[Agent, Parameter(required=False)]
ProgramOption = Annotated[
    list[str] | None,
    Parameter(
        help="a program in any language is one more agent, and each further one too: its command, "
        "which no shell runs; it reads a position and answers with a cell, a line each",
        show_default=False,
    ),
]
SecondsOption = Annotated[
    Seconds | None, Parameter(help=f"time of the program for a move (default: {SECONDS:g})")
]
Board = Annotated[
    Rules | None,
    read_by(parse_size),
    Parameter(
        metavar="3x4x3",
        help="rows, columns and marks in a row (default: those of most runs, or 3x3x3)",
    ),
]
Json = Annotated[Path | None, Parameter(help="also write all results to this JSON file")]
Csv = Annotated[Path | None, Parameter(help="also write the results of each pair to this CSV file")]
Games = Annotated[
    Count | None,
    Parameter(
        help="also sample so many games of each pair; where results cannot be exact, they are "
        f"sampled anyway (default: {GAMES:,}); and so many of each kind in which moves are judged "
        f"by the truth (default: {JUDGED})",
    ),
]
Epsilons = Annotated[
    Shares,
    Parameter(
        n_tokens=1,
        metavar="SHARE,SHARE",
        help="share of random moves of both agents by move of the game, such as 0.5,0.5,0.1; the "
        "last repeats (default: 0)",
        show_default=False,
    ),
]
GameSeed = Annotated[Natural, Parameter(help="seed of all games that are sampled")]
MaxPositions = Annotated[
    Count | None,
    Parameter(
        help=f"on boards of more than {TABULATED} cells, results are computed from the positions "
        f"that an agent can meet: at most so many, else games are sampled (default: "
        f"{LIMIT.positions:,})",
    ),
]
MaxMegabytes = Annotated[
    Count, Parameter(help="memory for these positions, without that of the agents")
]


@explained("evaluate.py", "play")
def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words:
        LINE.print_help()
        return 2
    program, typed = LINE.parse(words)
    try:
        return int(program(*with_foe(typed.args), **typed.kwargs) or 0)  # most of them return None
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {error_text(error, words)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as error:
        print(f"evaluate.py: interrupted{printable(error)}", file=sys.stderr)
        return 130


def error_text(error: Exception, words: Sequence[str]) -> str:
    """An error of a command line in one line; that of a limit says how to raise it."""
    text = text_of(error, "evaluate.py", words)
    if isinstance(error, ProofLimitError):
        text += f"; {HOW_TO_RAISE}"
    return text


# --- evaluate.py AGENTS... ------------------------------------------------------------------------


def evaluate_agents(
    *agents: AgentBeside,
    program: ProgramOption = None,
    seconds: SecondsOption = None,
    answers: Path | None = None,
    json: Json = None,
    csv: Csv = None,
    board: Board = None,
    gravity: Gravity = False,
    from_model: Flag = False,
    games: Games = None,
    game_seed: GameSeed = 0,
    max_positions: MaxPositions = None,
    max_megabytes: MaxMegabytes = LIMIT.megabytes,
) -> None:
    """Print the verdict on every agent, then their exact results, and a cross table.

    Several agents are ranked: first the proven ones, then by wins less losses. If one agent cannot
    be proven, because its proof is too large or it may vary, the results of all pairs are sampled.
    Agents of another board than most runs are left out, which is said.

    Args:
        answers: file of the program's answers, a line of JSON each; what is in it is not asked
            again
        from_model: load the model of each run and check that it makes the certified moves
    """
    check_file("--json", json)
    check_file("--csv", csv)
    console = PipedConsole()
    rules, here, left_out = on_board(agents, board, gravity, console)
    limit = Limit(max_positions or LIMIT.positions, max_megabytes)
    named: dict[str, str | CheckedPlayer] = {**here}
    with started(here, rules, program, seconds) as programs, ExitStack() as asked:
        if answers and len(programs) != 1:
            LINE.error(f"--answers is for one --program, got {len(programs)}")
        for name, running in programs.items():
            reason = "" if max_positions else reason_to_sample(rules)
            named[name] = asked.enter_context(running.asked(answers, reason))
        tries_all = max_positions is not None
        certificates, accuracies, tables = compare(
            named, rules, limit, from_model, games, game_seed, tries_all
        )
    results: dict[str, Any] = {
        "agents": {name: certificate.to_json() for name, certificate in certificates.items()},
        "vs_minimax": report.minimax_json(certificates),
        **tables,
    }
    if accuracies:
        results["accuracy"] = {name: found.to_json() for name, found in accuracies.items()}
    if left_out:
        results["left_out"] = left_out
    write_json(results, json, console)
    write_pairs(tables, csv, console)


# --- instead of results ---------------------------------------------------------------------------


def show_position(
    *agents: AgentBeside,
    position: str,
    program: ProgramOption = None,
    seconds: SecondsOption = None,
    board: Board = None,
    gravity: Gravity = False,
) -> None:
    """Print what the agents think of one position.

    Args:
        position: the board, such as X.O/.X./..., or the moves until then, such as b2a1:
            probabilities, own values, results against random moves, and the exact result of each
            move
    """
    console = PipedConsole()
    rules, here, _ = on_board(agents, board, gravity, console)
    with seated(here, rules, program, seconds) as seats:
        examine(seats, position, rules, console)


def show_trees(
    *agents: AgentBeside,
    tree: OneOrNone[Count],
    side: Literal["X", "O", "both"] | None = None,
    program: ProgramOption = None,
    seconds: SecondsOption = None,
    board: Board = None,
    gravity: Gravity = False,
) -> None:
    """Print the moves of the agents against every reply, as trees.

    Args:
        tree: so many moves deep (default: what fits a screen, of each side)
        side: of the agents (default: both; a run that learns from games shows these games instead)
    """
    console = PipedConsole()
    rules, here, _ = on_board(agents, board, gravity, console)
    depth = next(iter(tree), None)
    with seated(here, rules, program, seconds) as seats:
        for name, seat in seats.items():
            report.say(name, console, "bold")
            usual = MET if remembers(seat.policy) else BOTH
            report.say(tree_text(seat.policy, rules, depth, side or usual), console)


def write_expectations(
    *agents: Agent,
    expectations: Path,
    epsilons: Epsilons = (0.0,),
    games: Games = None,
    board: Board = None,
    gravity: Gravity = False,
) -> None:
    """Write the positions in games of two agents with their expected results.

    They are a data set of `train.py value_net --dataset`.

    Args:
        expectations: the file, a CSV with a row for each unfinished position of these games: the
            marks of the side that has moved and of the other side, `return`, its expected result,
            and `games`, how many of --games (default: 1,000) are expected to go through it
    """
    with explained("evaluate.py", "train"):
        from apps.terminal.expectations import show

    rules = board_of(agents, board, gravity)
    with seated(by_name(agents), rules) as seats:
        (_, one), (_, other) = pair(seats, "--expectations")
    show(one, other, rules, games or GAMES, epsilons, expectations, PipedConsole())


def fight(
    *agents: AgentBeside,
    battle: Count,
    program: ProgramOption = None,
    seconds: SecondsOption = None,
    game_seed: GameSeed = 0,
    board: Board = None,
    gravity: Gravity = False,
) -> None:
    """Play games between two agents, and print them.

    Args:
        battle: the number of games; the agents swap sides after each
    """
    rules = board_of(agents, board, gravity)
    with seated(by_name(agents), rules, program, seconds) as seats:
        play_games(pair(seats, "--battle"), rules, battle, game_seed, PipedConsole())


def show_history(
    *agents: Agent,
    history: OneOrNone[Path],
    json: Json = None,
    board: Board = None,
    gravity: Gravity = False,
    max_positions: MaxPositions = None,
    max_megabytes: MaxMegabytes = LIMIT.megabytes,
) -> None:
    """Let all policies that the runs have kept play each other.

    Args:
        history: the picture of who beats whom, a PNG (default: history.png of the first run); what
            was forgotten, and what ratings would say, is printed
    """
    with explained("evaluate.py", "train"):
        from apps.terminal.history import show

    check_file("--json", json)
    rules = board_of(agents, board or board_of_histories(agents), gravity)
    limit = Limit(max_positions or LIMIT.positions, max_megabytes)
    console = PipedConsole()
    if history:
        picture = history[0]
    else:
        paths = (path_of(spec, rules, "agent") for spec in agents)
        folders = (path for path in paths if path is not None and path.is_dir())
        picture = next(folders, Path()) / "history.png"
    results = show(by_name(agents), rules, limit, picture, console)
    write_json(results, json, console)


def verify_certificates(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)],
    verify: bool,
    proven: Flag = False,
) -> int:
    """Check certificates.

    They and the options after them are passed on to `python -m tictactoe_env.certificates`.

    Args:
        verify: recompute every result in these certificates, or those of runs, from their moves; in
            short python -m tictactoe_env.certificates
        proven: also ask whether the players can be beaten, by the exit code
    """
    if proven:
        words = (*words, "--proven")
    return verifier.main(words, prog="evaluate.py --verify")


# --- what several of them need --------------------------------------------------------------------


@contextmanager
def started(
    agents: Mapping[str, str], rules: Rules, commands: Sequence[str] | None, seconds: float | None
) -> Iterator[dict[str, Program]]:
    """The programs of the options by their names beside these agents."""
    if seconds is not None and not commands:
        LINE.error("--seconds is for --program: give that too")
    if not agents and not commands:
        LINE.error("expected AGENTS or --program, see --help")
    with ExitStack() as running:
        programs = [
            running.enter_context(Program(command, rules, SECONDS if seconds is None else seconds))
            for command in commands or ()
        ]
        names = report.names_of([*agents.values(), *(program.name for program in programs)])
        yield dict(zip(names[len(agents) :], programs, strict=True))


@contextmanager
def seated(
    agents: Mapping[str, str],
    rules: Rules,
    commands: Sequence[str] | None = None,
    seconds: float | None = None,
) -> Iterator[dict[str, Seat]]:
    """The seats of agents by their names, and those of the programs of the options."""
    seats = {name: seat_of(spec, rules, "agent") for name, spec in agents.items()}
    with started(agents, rules, commands, seconds) as programs:
        yield seats | {name: running.seat() for name, running in programs.items()}


def pair(seats: Mapping[str, Seat], option: str) -> tuple[Named, Named]:
    """The policies of two seats, with their names. Raises ValueError for another number of them."""
    if len(seats) != 2:
        raise ValueError(f"{option} is of games between two agents, got {len(seats)}")
    one, other = ((name, seat.policy) for name, seat in seats.items())
    return one, other


def check_file(option: str, file: Path | None) -> None:
    """Raise ValueError for a file of results that could not be written in the end."""
    if file is not None and (file.is_dir() or not file.parent.is_dir()):
        raise ValueError(f"{option} must be a file in a folder that exists, got {file}")


def write_json(results: Mapping[str, Any], file: Path | None, console: PipedConsole) -> None:
    """Write all results as JSON, if a file was asked for."""
    if file is not None:
        file.write_text(json.dumps(results, indent=1), encoding="utf-8")
        report.say(f"results: {printable(file)}", console)


LINE = CommandLine(
    "evaluate.py",
    {
        "": with_models(evaluate_agents),
        "--position": with_models(show_position),
        "--tree": with_models(show_trees),
        "--expectations": with_models(write_expectations),
        "--battle": with_models(fight),
        "--history": with_models(show_history),
        "--verify": verify_certificates,
    },
    usage="evaluate.py AGENTS... [options], or evaluate.py --verify FILE...",
    description="Evaluate agents exactly: their results, whether any opponent can beat them and by "
    "which game, and a cross table of several agents.",
    epilog=f"agents:\n{NAMES_TEXT}",
)

if __name__ == "__main__":
    sys.exit(main())
