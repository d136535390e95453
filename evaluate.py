"""Evaluate agents exactly: `python evaluate.py runs/dqn-0 minimax random`, `--verify FILE`.

`--board "X.O/.X./..."` shows what they think of one position.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from apps.terminal.installed import explained

with explained("evaluate.py"):
    import numpy as np

    from agents import TRAINABLE, load
    from apps.players.seat import NAMES_TEXT, path_of, policy_of, seat_of
    from apps.terminal import battle, position, proving, report
    from apps.terminal.command_line import CommandLine, Option, with_size
    from tictactoe_env.certificates.certificate import (
        VERIFIED,
        certify,
        certify_lines,
        lines_of,
        load_policy,
        read,
        verify,
    )
    from tictactoe_env.certificates.content import Certificate
    from tictactoe_env.certificates.lines import LinesPolicy
    from tictactoe_env.certificates.stated import Stated, name_of
    from tictactoe_env.errors import printable, unknown_name
    from tictactoe_env.exact.positions import TABULATED, can_enumerate
    from tictactoe_env.exact.proof import Limit, ProofLimitError
    from tictactoe_env.exact.provable import provable, varies
    from tictactoe_env.exact.symmetry import CanonicalPolicy, plays_symmetrically
    from tictactoe_env.exact.tables import TabularPolicy, tabulate
    from tictactoe_env.notation import lengths, parse_size
    from tictactoe_env.opponents import is_trained
    from tictactoe_env.policy import Policy, RandomPolicy
    from tictactoe_env.rules import Rules
    from tictactoe_env.search.mcts import TreeSearchPolicy
    from tictactoe_env.trained.packed import facts_of
    from training.options import Count, Natural

GAMES = 1000  # games of a sampled result, of agents that meet too many positions for a proof
HIGHER = "--max-positions and --max-megabytes set the limit"


def _size_or_position(text: str) -> Any:
    """The board of a size such as 3x4x3; any other text as it is."""
    return parse_size(text) if text[:1].isdigit() else text


LINE = CommandLine(
    "evaluate.py",
    [
        Option("agents", "the agents to evaluate, see below", kind="arguments", default=()),
        Option("json", "also write all results to a JSON file", Path, metavar="FILE"),
        Option(
            "verify",
            "recompute every result in these certificates from their moves; needs no model",
            Path,
            kind="several",
            metavar="FILE...",
        ),
        Option(
            "board",
            "a size such as 3x4x3: rows, columns and marks in a row, in place of --rows, --cols "
            "and --k; or a position such as X.O/.X./...: only print what the agents think of it: "
            "probabilities, own values, results against random moves, and the exact result of each "
            "move",
            _size_or_position,
            metavar="3x4x3|X.O/.X./...",
        ),
        Option(
            "from_model",
            "load the model of each run and check that it makes the certified moves",
            kind="flag",
            default=False,
        ),
        Option(
            "rows",
            "rows of the board (default: 3; without --rows, --cols and --k the board is that of "
            "the first run, or has the rows and columns of --board)",
            Count,
            metavar="N",
        ),
        Option("cols", "columns of the board (default: 3)", Count, metavar="N"),
        Option(
            "k",
            "marks in a row that win (default: 3; a position with a side longer than 3 needs it)",
            Count,
            metavar="N",
        ),
        Option(
            "games",
            "also sample N games as X and N games as O against random play; where results cannot "
            f"be exact, N is the number of games of each pair (default: {GAMES:,})",
            Count,
            metavar="N",
        ),
        Option(
            "max_positions",
            f"on boards of more than {TABULATED} cells, results are computed from the positions "
            "that an agent can meet: at most N, else games are sampled; 0 samples at once "
            f"(default: {Limit().positions:,}, for --verify {VERIFIED.positions:,})",
            Natural,
            metavar="N",
        ),
        Option(
            "max_megabytes",
            "memory for these positions, without that of the agents "
            f"(default: {Limit().megabytes:,})",
            Count,
            metavar="N",
        ),
        Option(
            "battle",
            "only play N games between two agents, which swap sides after each, and print them",
            Count,
            metavar="N",
        ),
        Option("game_seed", "seed of all games that are sampled", Natural, 0, metavar="N"),
    ],
    usage="evaluate.py AGENTS... [options], or evaluate.py --verify FILE...",
    about="Evaluate agents exactly: their results, whether any opponent can beat them and by which "
    "game, and a cross table of several agents.",
    epilog=f"agents:\n{NAMES_TEXT}",
)


@explained("evaluate.py")
def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    typed = LINE.parse(arguments)
    try:
        if not isinstance(typed.get("board", ""), str):
            typed = with_size(typed)
        given = SimpleNamespace(**{**LINE.defaults, **typed})
        check(given, typed)
        if given.verify is not None:
            return max([print_verified(path, limit_of(given, VERIFIED)) for path in given.verify])
        if not given.agents:
            LINE.print_help()
            return 2
        rules = board_of(given)
        if given.board is not None:
            return examine(given, rules)
        if given.battle is not None:
            return fight(given, rules)
        return evaluate_all(given, rules)
    except ProofLimitError as error:
        print(f"evaluate.py: {printable(error)}; {HIGHER}", file=sys.stderr)
        return 1
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {printable(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("evaluate.py: interrupted", file=sys.stderr)
        return 130


def check(given: SimpleNamespace, typed: Mapping[str, Any]) -> None:
    """Raises ValueError for options that cannot be combined, before anything is computed."""
    limits = ("max_positions", "max_megabytes")
    others = [name.replace("_", "-") for name in typed if name not in ("verify", *limits)]
    if given.verify is not None and others:
        raise ValueError(f"--verify only checks certificates: leave {', '.join(others)} out")
    if given.battle is not None and (
        len(given.agents) != 2 or given.games is not None or given.from_model
    ):
        raise ValueError(
            "--battle only plays games between two agents: name two, and leave --games and "
            "--from-model out"
        )
    beside = [name.replace("_", "-") for name in ("battle", "games", "from_model") if name in typed]
    if given.board is not None and beside:
        raise ValueError(f"--board only shows one position: leave --{' and --'.join(beside)} out")
    if given.board is not None and not given.agents:
        raise ValueError("--board shows what agents think: name one, such as minimax or a run")
    if given.json is not None and (given.json.is_dir() or not given.json.parent.is_dir()):
        raise ValueError(f"--json must be a file in a folder that exists, got {given.json}")


def limit_of(given: SimpleNamespace, default: Limit = Limit()) -> Limit:  # noqa: B008
    """How large a proof may become, by the options; it has at least one position."""
    positions, megabytes = given.max_positions, given.max_megabytes
    return Limit(
        default.positions if positions is None else max(1, positions),
        default.megabytes if megabytes is None else megabytes,
    )


def print_verified(path: Path, limit: Limit) -> int:
    """Verify a certificate. Returns 0 if every result in it follows from its moves, else 1."""
    try:
        certificate = read(path)
        with proving.shown(path.name, certificate.rules) as progress:
            verify(certificate, limit, progress)
    except (ValueError, OSError) as error:
        how = f"; {HIGHER}" * isinstance(error, ProofLimitError)
        print(f"evaluate.py: {printable(f'{path}: {error}')}{how}", file=sys.stderr)
        return 1
    print(certificate.verified_text(printable(path)))
    return 0


def evaluate_all(given: SimpleNamespace, rules: Rules) -> int:
    """Print the verdict on every agent, then their exact results, an example game, a cross table.

    If an agent can meet more positions than the limit allows, the results of all pairs are sampled.
    """
    from apps.terminal.piped import PipedConsole

    console, names = PipedConsole(), report.names_of(given.agents)
    players: dict[str, Policy] = {}
    certificates, counted = {}, {}
    for name, spec in zip(names, given.agents, strict=True):
        if rules.cells > TABULATED:
            players[name], certificate = proven(name, spec, rules, given, console)
        else:
            players[name], certificate = player_of(spec, rules, given.from_model)
        if certificate is not None:
            certificates[name] = certificate
            whose = f"{name}: " if len(names) > 1 else ""
            report.say(f"{whose}{certificate.claim}", console, "bold")
    for name, spec in zip(names, given.agents, strict=True):
        if name not in certificates:
            continue
        if given.games is not None:
            counted[name] = report.counted_against_random(
                players[name], rules, given.games, given.game_seed
            )
        report.certificate(certificates[name], console, counted.get(name))
        if rules.cells <= TABULATED:
            print_thoughts(name, spec, certificates[name], console)
    written = agents_json(certificates)
    if len(certificates) < len(players):
        games = GAMES if given.games is None else given.games
        written["sampled"] = report.sampled_table(players, rules, games, given.game_seed)
        report.print_sampled_table(written["sampled"], rules, games, console)
    else:
        print_example(players, certificates, rules, console, given.game_seed)
        sides = {name: found.sides for name, found in certificates.items()}
        written["cross_table"] = report.cross_table(players, rules, limit_of(given), sides)
        if len(names) > 1:
            report.print_cross_table(written["cross_table"], console)
    if counted:
        written["sampled_against_random"] = counted
    write_results(given.json, written, console)
    return 0


def print_thoughts(name: str, spec: str, found: Certificate, console: Any) -> None:
    """Print what an agent has learned from people, and its own values of the first moves."""
    seat = seat_of(spec, found.rules, "agent")
    if seat.pupil is not None:
        now = "; these are the results of what it plays now" if seat.pupil.games else ""
        report.say(f"{name} has {seat.pupil.text}{now}", console)
    if found.only != "O":
        empty = np.zeros(found.rules.cells, dtype=np.int8)
        position.print_first_moves(seat.thoughts(empty), found.rules, console)


def proven(
    name: str, spec: str, rules: Rules, given: SimpleNamespace, console: Any
) -> tuple[Policy, Certificate | None]:
    """An agent on a board of more than 12 cells, and its certificate.

    The certificate is None, and the reason is printed, if the agent can meet too many positions.
    Raises ValueError for a saved run whose certificate cannot be verified within the limit.
    """
    path, limit = path_of(spec, rules, "agent"), limit_of(given)
    if path is not None:
        certificate = read(path)
        if certificate.rules != rules:
            raise ValueError(f"{path} plays on {certificate.rules}, not on {rules}")
        with proving.shown(name, rules) as progress:
            player = verify(certificate, limit, progress)
            if given.from_model:
                compare_lines_with_model(path, certificate, limit)
        return player, certificate
    policy = policy_of(spec, rules, "agent")
    meets_all = type(policy) is RandomPolicy and not can_enumerate(rules)
    reason = varies(policy) or ("it can meet all positions" if meets_all else "")
    if given.max_positions == 0 or reason:
        why = f"because {reason}" if reason else "as --max-positions 0 asks"
        report.say(f"{name} on {rules}: results are sampled and prove nothing, {why}", console)
        return policy, None
    try:
        with proving.shown(name, rules) as progress:
            reaches = lines_of(policy, rules, limit=limit, progress=progress)
        stated = Stated.of(name_of(spec), seed_of(policy))
        return LinesPolicy(reaches, rules), certify_lines(reaches, stated)
    except ProofLimitError as error:
        report.say(
            f"{name} on {rules}: results are sampled and prove nothing, because "
            f"{printable(error)}; {HIGHER}",
            console,
        )
        return policy, None


def print_example(
    players: Mapping[str, Policy],
    certificates: Mapping[str, Certificate],
    rules: Rules,
    console: Any,
    seed: int,
) -> None:
    """Play the first agent against the last, or against random play, on the side it is trained for.

    Nothing is printed if the last one plays the same side only.
    """
    first, *_, last = [*players, *players]
    pair = [(players[first], first), (players[last], last)]
    if len(players) == 1:
        pair[1] = (RandomPolicy(), "random")
    elif certificates[first].only and certificates[first].only == certificates[last].only:
        return
    if certificates[first].only == "O":
        pair.reverse()
    (x, name_x), (o, name_o) = pair
    battle.example_game(x, o, (name_x, name_o), rules, console, seed)


def fight(given: SimpleNamespace, rules: Rules) -> int:
    """Play games between two agents and print them."""
    from apps.terminal.piped import PipedConsole

    console = PipedConsole()
    first, second = (policy_of(spec, rules, "agent") for spec in given.agents)
    name, other = report.names_of(given.agents)
    result = battle.battle(
        (first, second), (name, other), rules, given.battle, given.game_seed, console
    )
    write_results(given.json, {"battle": result}, console)
    return 0


def examine(given: SimpleNamespace, rules: Rules) -> int:
    """Print what the agents think of one position."""
    from apps.terminal.piped import PipedConsole

    console, board = PipedConsole(), position.unfinished(given.board, rules)
    seats = {
        name: seat_of(spec, rules, "agent")
        for name, spec in zip(report.names_of(given.agents), given.agents, strict=True)
    }
    found = position.examined(seats, board, rules)
    position.print_examined(found, rules, console)
    write_results(given.json, {"position": found}, console)
    return 0


def agents_json(certificates: Mapping[str, Certificate]) -> dict[str, Any]:
    """The certificates of the agents as they are written to a JSON file."""
    return {"agents": {name: found.to_json() for name, found in certificates.items()}}


def write_results(path: Path | None, results: dict[str, Any], console: Any) -> None:
    """Write results to a JSON file, if a path is given."""
    if path is not None:
        path.write_text(json.dumps(results, indent=1), encoding="utf-8")
        report.say(f"results: {printable(path)}", console)


def board_of(given: SimpleNamespace) -> Rules:
    """The board of the options if there are any, else that of the first run, else 3x3.

    Sizes that are not given are those of the text of --board, or 3.
    """
    asked = (given.rows, given.cols, given.k)
    for path in (path_of(spec, what="agent") for spec in given.agents if not any(asked)):
        if path is not None:
            return read(path).rules
    rows, cols = (3, 3) if given.board is None else position.size_of(given.board)
    rows, cols = given.rows or rows, given.cols or cols
    possible = [3] if given.board is None else lengths(rows, cols)
    if given.k is None and len(possible) > 1:
        raise ValueError(
            f"--board: on {rows}x{cols}, {possible[0]} to {possible[-1]} in a row may win: give --k"
        )
    return Rules(rows, cols, given.k or possible[0])


def player_of(
    spec: str, rules: Rules, from_model: bool = False
) -> tuple[TabularPolicy, Certificate]:
    """The table of what an agent plays, and its certificate, which is computed from the table.

    What the certificate of a run or of a trained agent of the package states is copied.
    from_model: check the model of a run too. A certificate of lines is verified, and its policy
    makes random moves off its lines.
    """
    path = path_of(spec, rules, "agent")
    certificate = None if path is None else read(path)
    if path is not None and certificate is not None and certificate.is_of_lines:
        if from_model:
            compare_lines_with_model(path, certificate, Limit())
        return tabulate(verify(certificate), rules), certificate
    policy = policy_of(spec, rules, "agent")
    player, stated = (
        tabulate(provable(policy, rules), rules),
        Stated.of(name_of(spec), seed_of(policy)),
    )
    if certificate is not None:
        stated = certificate.stated
    elif is_trained(spec, rules):
        stated = facts_of(spec).stated
    if path is not None and from_model:
        compare_with_model(path, load_policy(path, rules))
    return player, replace(certify(player, stated.agent, rules), stated=stated)


def seed_of(policy: Policy) -> int | None:
    """The seed of the random numbers of a tree search, for which alone its proof holds."""
    is_drawn = isinstance(policy, TreeSearchPolicy) and policy.playout != "descent"
    return policy.seed if is_drawn else None


def compare_with_model(folder: Path, player: TabularPolicy) -> None:
    """Raises ValueError unless the saved model makes the certified moves in every position."""
    model = tabulate(model_of(folder), player.rules)
    different = int((model.table != player.table).any(axis=1).sum())
    positions = f"{len(player.table):,} positions"
    if different:
        raise ValueError(
            f"the model of {folder} differs from its certificate in {different:,} of {positions}"
        )
    print(f"{printable(folder)}: the model makes the certified move in all {positions}")


def compare_lines_with_model(folder: Path, certificate: Certificate, limit: Limit) -> None:
    """Raises ValueError unless the saved model makes the certified moves on its lines."""
    model, rules = model_of(folder), certificate.rules
    if certificate.canonical and not plays_symmetrically(model):
        model = CanonicalPolicy(model, rules)
    reaches = lines_of(model, rules, certificate.sides, limit)
    found = certify_lines(reaches, certificate.stated)
    if found.sha256_of_moves != certificate.sha256_of_moves:
        raise ValueError(f"the model of {folder} does not make the moves of its certificate")
    print(
        f"{printable(folder)}: the model makes the certified move in all {certificate.decisions:,} "
        "positions that it can meet"
    )


def model_of(folder: Path) -> Policy:
    """The saved model of a run. Raises ValueError for a file and for an agent without models."""
    if not folder.is_dir():
        raise ValueError(f"--from-model needs the folder of a run, {folder} is a file")
    agent = read(folder).stated.agent
    if agent not in TRAINABLE:
        raise unknown_name("agent", agent, TRAINABLE)
    return load(folder)


if __name__ == "__main__":
    sys.exit(main())
