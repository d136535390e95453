"""Evaluate agents exactly: `python evaluate.py runs/dqn-0 minimax random`, `--verify FILE`.

`--position "X.O/.X./..."` shows what they think of one position. `--program "./bot"` evaluates a
program in any language.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import SimpleNamespace
from typing import Any

from apps.terminal.interpreter import explained

with explained("evaluate.py", "play"):
    from agents import load
    from apps.players.program import SECONDS, Program
    from apps.players.pupil import learns
    from apps.players.rounds import board_of_histories
    from apps.players.seat import NAMES_TEXT, board_of, path_of, policy_of, seat_of
    from apps.players.titles import id_of
    from apps.terminal import report
    from apps.terminal.battle import battle
    from apps.terminal.command_line import CommandLine, Option
    from apps.terminal.examine import MET, examine, remembers, tree_text
    from apps.terminal.report import PipedConsole
    from apps.terminal.talk import seconds
    from tictactoe_env.certificates.certificate import (
        VERIFIED,
        certify,
        policy_in,
        read,
        verify,
    )
    from tictactoe_env.certificates.content import PROVEN_HELP, Certificate, exit_code
    from tictactoe_env.certificates.stated import Stated, name_of
    from tictactoe_env.errors import printable
    from tictactoe_env.exact.evaluation import evaluate
    from tictactoe_env.exact.positions import TABULATED, can_enumerate
    from tictactoe_env.exact.proof import Limit, Progress, ProofLimitError
    from tictactoe_env.exact.provable import reason_to_vary
    from tictactoe_env.notation import parse_size
    from tictactoe_env.opponents import is_trained
    from tictactoe_env.policy import (
        CanonicalPolicy,
        Policy,
        RandomPolicy,
        keeps,
        plays_symmetrically,
    )
    from tictactoe_env.rules import Rules
    from tictactoe_env.search.mcts import MCTSPolicy
    from tictactoe_env.trained.packed import facts_of
    from training.options import Count, Natural

GAMES = 1000  # games of a sampled result, of agents that meet too many positions for a proof

LINE = CommandLine(
    "evaluate.py",
    [
        Option("agents", "the agents to evaluate, see below", id_of, kind="arguments", default=()),
        Option("json", "also write all results to a JSON file", Path, metavar="FILE"),
        Option(
            "verify",
            "recompute every result in these certificates, or those of runs, from their moves; "
            "needs no model",
            kind="flag",
            default=False,
            without=("json", "board", "position", "from_model", "games", "battle"),
        ),
        Option("proven", PROVEN_HELP, kind="flag", default=False, needs="verify"),
        Option(
            "board",
            "rows, columns and marks in a row (default: those of the first run, or 3x3x3)",
            parse_size,
            metavar="3x4x3",
        ),
        Option("gravity", "pieces fall, as in Connect Four", kind="flag", default=False),
        Option(
            "position",
            "only print what the agents think of this board: probabilities, own values, results "
            "against random moves, and the exact result of each move",
            metavar="X.O/.X./...",
            without=("battle", "games", "from_model", "json"),
        ),
        Option(
            "tree",
            "only print the moves of the agents as a tree, N moves deep (default: what fits a "
            "screen); of a trie the games that it has learned from, with their results",
            Count,
            kind="optional",
            metavar="N",
            without=("position", "battle", "games", "from_model", "json"),
        ),
        Option(
            "expectations",
            "only write the positions in games of two agents to FILE, with their expected results, "
            "for train.py value_net --dataset; as many examples as --games has (default: "
            f"{GAMES:,})",
            Path,
            metavar="FILE.csv",
            without=("position", "tree", "battle", "from_model", "json"),
        ),
        Option(
            "from_model",
            "load the model of each run and check that it makes the certified moves",
            kind="flag",
            default=False,
        ),
        Option(
            "games",
            "also sample N games of each pair; where results cannot be exact, they are sampled "
            f"anyway (default: {GAMES:,})",
            Count,
            metavar="N",
        ),
        Option(
            "max_positions",
            f"on boards of more than {TABULATED} cells, results are computed from the positions "
            "that an agent can meet: at most N, else games are sampled "
            f"(default: {Limit().positions:,}, for --verify {VERIFIED.positions:,})",
            Count,
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
            without=("games", "from_model", "json"),
        ),
        Option(
            "history",
            "let all policies that the runs have kept play each other, exactly, and say who beats "
            "whom, what was forgotten, and what ratings would say; the picture is FILE, by default "
            "history.png of the first run",
            Path,
            kind="optional",
            metavar="FILE.png",
            without=("verify", "position", "from_model", "games", "battle", "program"),
        ),
        Option(
            "program",
            "evaluate a program in any language, which reads a position and answers with a cell, a "
            "line each; no shell runs it",
            metavar="COMMAND",
            without=("json", "verify", "position", "from_model", "games", "battle"),
        ),
        Option("seconds", "its time for a move", seconds, SECONDS, metavar="N", needs="program"),
        Option(
            "answers",
            "file of its answers, a line of JSON each; what is in it is not asked again",
            Path,
            metavar="FILE",
            needs="program",
        ),
        Option("game_seed", "seed of all games that are sampled", Natural, 0, metavar="N"),
    ],
    usage="evaluate.py AGENTS... [options], or evaluate.py --verify FILE...",
    about="Evaluate agents exactly: their results, whether any opponent can beat them and by which "
    "game, and a cross table of several agents.",
    epilog=f"agents:\n{NAMES_TEXT}",
)


@explained("evaluate.py", "play")
def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    given = LINE.values(arguments)
    try:
        if given.program is not None:
            evaluate_program(given, PipedConsole())
            return 0
        if not given.agents:
            LINE.print_help()
            return 2
        if given.verify:
            limit = limit_of(given, VERIFIED)
            found = [verified(Path(path), limit) for path in given.agents]
            return exit_code(found, given.proven)
        if given.json is not None and (given.json.is_dir() or not given.json.parent.is_dir()):
            raise ValueError(f"--json must be a file in a folder that exists, got {given.json}")
        rules = given.board
        if rules is None and given.history is not None:
            rules = board_of_histories(given.agents)
        rules = board_of(given.agents, rules, given.gravity)
        names = report.names_of(given.agents)
        console = PipedConsole()
        agents = dict(zip(names, given.agents, strict=True))
        if given.position is not None:
            seats = {name: seat_of(spec, rules, "agent") for name, spec in agents.items()}
            examine(seats, given.position, rules, console)
        elif given.expectations is not None:
            expectations(agents, given, rules, console)
        elif given.tree is not None:
            print_trees(agents, given, rules, console)
        elif given.battle is not None:
            fight(agents, given, rules, console)
        else:
            if given.history is not None:
                results = histories(agents, given, rules, console)
            else:
                results = evaluate_all(agents, given, rules, console)
            if given.json is not None:
                given.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
                report.say(f"results: {printable(given.json)}", console)
        return 0
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {error_text(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as error:
        print(f"evaluate.py: interrupted{printable(error)}", file=sys.stderr)
        return 130


def error_text(error: Exception) -> str:
    """An error in one line; that of a limit says how to raise it."""
    how = "; --max-positions and --max-megabytes set the limit"
    return f"{printable(error)}{how * isinstance(error, ProofLimitError)}"


def limit_of(given: SimpleNamespace, default: Limit = Limit()) -> Limit:  # noqa: B008
    """The limit of a proof, by the options."""
    return Limit(given.max_positions or default.positions, given.max_megabytes or default.megabytes)


def verified(path: Path, limit: Limit) -> Certificate | None:
    """A certificate that is verified, and printed; None if a result does not follow from moves."""
    try:
        certificate = read(path)
        with report.proving(path.name, certificate.rules) as progress:
            verify(certificate, limit, progress)
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {printable(path)}: {error_text(error)}", file=sys.stderr)
        return None
    print(certificate.verified_text(printable(path)))
    return certificate


def evaluate_program(given: SimpleNamespace, console: PipedConsole) -> None:
    """Print the exact evaluation of a program.

    Its answers are kept in a file, which is left where the program or a person ends the proof.
    Raises ValueError for a program that does not answer as it should.
    """
    if given.agents:
        raise ValueError(f"--program is evaluated alone, got {' '.join(given.agents)} too")
    rules = board_of((), given.board, given.gravity)
    with Program(given.program, rules, given.seconds) as program:
        file = given.answers or new_file()
        player = program.player(file)
        try:
            with report.proving(given.program, rules) as progress:
                found = evaluate(player, rules, limit_of(given), progress)
            player.check()
        except (ValueError, KeyboardInterrupt) as error:
            player.forget_unchecked()
            if not player.answers:
                file.unlink()
                raise
            kept = f"{len(player.answers):,} of its answers are kept"
            raise type(error)(f"{error}; {kept}, --answers {file} goes on from there") from None
    if given.answers is None:
        file.unlink()
    report.say(str(found), console)
    counted = f"{found.asked:,} positions, of which {player.illegal:,} name a cell that is not free"
    report.say(
        f"\nwhat is proven holds for its answers to {counted}; none but the first was asked twice",
        console,
    )


def new_file() -> Path:
    """An empty file for the answers of a program, in the folder for temporary files."""
    with NamedTemporaryFile(prefix="answers-", suffix=".jsonl", delete=False) as file:
        return Path(file.name)


def evaluate_all(
    agents: Mapping[str, str], given: SimpleNamespace, rules: Rules, console: PipedConsole
) -> dict[str, Any]:
    """Print the verdict on every agent, then their exact results, and a cross table.

    agents: by name. If one can meet more positions than the limit allows, the results of all pairs
    are sampled. Returns all results as a JSON value.
    """
    players: dict[str, Policy] = {}
    certificates: dict[str, Certificate] = {}
    for name, spec in agents.items():
        with report.proving(name, rules) as progress:
            players[name], found = proven(spec, rules, given, progress)
        if isinstance(found, Certificate):
            certificates[name] = found
            text = found.claim
        else:
            text = f"results on {rules} are sampled and prove nothing, because {found}"
        report.say(f"{name}: {text}" if len(agents) > 1 else text, console, "bold")
    for name, certificate in certificates.items():
        report.certificate(certificate, console)
        pupil = seat_of(agents[name], rules, "agent").pupil if rules.cells <= TABULATED else None
        if pupil is not None:
            report.say(
                f"{name} has {pupil.text}: these are the results of what it plays now", console
            )
    results: dict[str, Any] = {
        "agents": {name: certificate.to_json() for name, certificate in certificates.items()}
    }
    is_proven = len(certificates) == len(players)
    if is_proven:
        exact = partial(report.exact_rates, rules=rules, limit=limit_of(given))
        sides = {name: certificate.sides for name, certificate in certificates.items()}
        results["cross_table"] = report.cross_table(players, exact, sides)
        if len(players) > 1:
            report.print_cross_table(results["cross_table"], console)
    if given.games or not is_proven:
        games = given.games or GAMES
        seed = given.game_seed
        sampled = partial(report.sampled_rates, rules=rules, games=games, seed=seed)
        results["sampled"] = report.cross_table(players, sampled)
        report.print_cross_table(results["sampled"], console)
    return results


def print_trees(
    agents: Mapping[str, str], given: SimpleNamespace, rules: Rules, console: PipedConsole
) -> None:
    """Print the game tree of each agent, of a trie that of its games."""
    depth = None if given.tree is True else given.tree
    for name, spec in agents.items():
        policy = policy_of(spec, rules, "agent")
        report.say(name, console, "bold")
        side = MET if remembers(policy) else "both"
        report.say(tree_text(policy, rules, depth, side), console)


def histories(
    agents: Mapping[str, str], given: SimpleNamespace, rules: Rules, console: PipedConsole
) -> dict[str, Any]:
    """Print the history of runs and agents, and return it as a JSON value."""
    with explained("evaluate.py", "train"):
        from apps.terminal import history

    picture = given.history
    if picture is True:
        folders = (path_of(spec, rules, "agent") for spec in agents.values())
        folder = next((path for path in folders if path is not None and path.is_dir()), Path())
        picture = folder / "history.png"
    return history.show(agents, rules, limit_of(given), picture, console)


def proven(
    spec: str, rules: Rules, given: SimpleNamespace, progress: Progress
) -> tuple[Policy, Certificate | str]:
    """An agent's moves, and their certificate, or why nothing can be proven of them.

    The certificate of a run is verified. A run that has learned from people since its training gets
    a new one. Raises ValueError for a certificate that is wrong or beyond the limit.
    """
    path = path_of(spec, rules, "agent")
    limit = limit_of(given)
    stated = facts_of(spec, rules).stated if is_trained(spec, rules) else None
    if path is not None:
        certificate = read(path)
        if certificate.rules != rules:
            raise ValueError(f"{path} plays on {certificate.rules}, not on {rules}")
        if given.from_model:
            with explained("evaluate.py", "train"):
                compare_with_model(path, certificate, limit)
        if not learns(path, certificate.stated.agent):
            return verify(certificate, limit, progress), certificate
        stated = certificate.stated
    policy = policy_of(spec, rules, "agent")
    stated = stated or Stated.of(name_of(spec), seed_of(policy))
    if rules.cells > TABULATED and (reason := reason_to_vary(policy)):
        return policy, reason
    if keeps(policy, RandomPolicy) and not can_enumerate(rules):
        return policy, "it can meet all positions"
    try:
        made = certify(policy, stated.agent, rules, limit=limit, progress=progress)
    except ProofLimitError as error:
        return policy, error_text(error)
    made = replace(made, stated=stated)
    return policy if made.is_of_lines else policy_in(made), made


def seed_of(policy: Policy) -> int | None:
    """The seed of the random numbers of a tree search, for which alone its proof holds."""
    is_drawn = isinstance(policy, MCTSPolicy) and policy.playout != "descent"
    return policy.seed if is_drawn else None


def compare_with_model(folder: Path, certificate: Certificate, limit: Limit) -> None:
    """Raise ValueError unless the saved model makes the certified moves, and print that it does."""
    rules = certificate.rules
    model: Policy = load(folder)
    if certificate.canonical and not plays_symmetrically(model):
        model = CanonicalPolicy(model, rules)
    found = certify(
        model,
        certificate.stated.agent,
        rules,
        sides=certificate.sides,
        lines_only=certificate.is_of_lines,
        limit=limit,
    )
    if found.sha256_of_moves != certificate.sha256_of_moves:
        raise ValueError(f"the model of {folder} does not make the moves of its certificate")
    where = f"{certificate.decisions:,} positions{' that it can meet' * certificate.is_of_lines}"
    print(f"{printable(folder)}: the model makes the certified move in all {where}")


def expectations(
    agents: Mapping[str, str], given: SimpleNamespace, rules: Rules, console: PipedConsole
) -> None:
    """Write and print the positions in games of two agents with their expected results."""
    with explained("evaluate.py", "train"):
        from apps.terminal import expectations

    (_, one), (_, other) = pair(agents, rules, "expectations")
    games = given.games or GAMES
    expectations.show(one, other, rules, games, given.expectations, console)


def fight(
    agents: Mapping[str, str], given: SimpleNamespace, rules: Rules, console: PipedConsole
) -> None:
    """Play games between two agents, and print them."""
    battle(pair(agents, rules, "battle"), rules, given.battle, given.game_seed, console)


def pair(
    agents: Mapping[str, str], rules: Rules, option: str
) -> tuple[tuple[str, Policy], tuple[str, Policy]]:
    """Two agents, each with its name. Raises ValueError for another number of them."""
    if len(agents) != 2:
        raise ValueError(f"--{option} is of games between two agents, got {len(agents)}")
    one, other = ((name, policy_of(spec, rules, "agent")) for name, spec in agents.items())
    return one, other


if __name__ == "__main__":
    sys.exit(main())
