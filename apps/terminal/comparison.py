"""What `evaluate.py AGENTS...` prints: a verdict on each player, and their results.

Each player is proven if that can be; the results of all pairs are exact then, and sampled if not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from agents import load
from apps.players.program import CheckedPlayer
from apps.players.pupil import learns
from apps.players.seat import (
    board_of,
    lacks_proof,
    other_board,
    path_of,
    policy_of,
    seat_of,
    seed_of,
)
from apps.terminal import report
from apps.terminal.interpreter import explained
from apps.terminal.report import PipedConsole
from tictactoe_env.certificates.certificate import (
    FILE,
    certify,
    policy_in,
    read,
    verify,
    with_minimax,
)
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.stated import CertificateError, Stated, name_of
from tictactoe_env.certificates.trained import certificate_of, facts_of, file_of
from tictactoe_env.errors import printable
from tictactoe_env.exact.accuracy import GAMES as JUDGED
from tictactoe_env.exact.accuracy import Accuracy, accuracy_of
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.positions import TABULATED, can_enumerate
from tictactoe_env.exact.proof import Limit, Progress, ProofLimitError
from tictactoe_env.exact.provable import reason_to_vary
from tictactoe_env.exact.solver import asks_library, reason_unknown
from tictactoe_env.opponents import BEST, LATEST, is_trained
from tictactoe_env.policy import CanonicalPolicy, Policy, RandomPolicy, keeps, plays_symmetrically
from tictactoe_env.rules import SIDES, Rules
from training.checkpoint import MODEL
from training.files import write_csv

GAMES = 1000  # of a sampled result, of agents that meet too many positions for a proof
ASKED_GAMES = 100  # the same with minimax on 6x7, of which a game may take a second
HOW_TO_RAISE = "--max-positions and --max-megabytes set the limit"


def by_name(agents: Sequence[str]) -> dict[str, str]:
    """The agents as they were typed, by distinct names."""
    return dict(zip(report.names_of(agents), agents, strict=True))


def on_board(
    agents: Sequence[str], given: Rules | None, gravity: bool, console: PipedConsole
) -> tuple[Rules, dict[str, str], dict[str, str]]:
    """The board of `board_of`, the agents that play on it by name, and why the others do not.

    These are printed. If none plays on it, all are returned, so that the error of the first one
    says why it doesn't. Raises ValueError for an agent that is unknown, or whose file is damaged.
    """
    named = by_name(agents)
    left_out = {name: "holds no certificate" for name, spec in named.items() if is_empty(spec)}
    here = [spec for name, spec in named.items() if name not in left_out]
    rules = board_of(here, given, gravity)
    for name, spec in named.items():
        if name not in left_out and (board := other_board(spec, rules)):
            left_out[name] = f"plays on {board}, not on {rules}"
    if len(left_out) == len(named):
        return rules, named, {}
    for spec in agents:
        if spec.startswith((LATEST, BEST)):
            report.say(printable(f"{spec} is {path_of(spec, rules, 'agent')}"), console)
    for name, reason in left_out.items():
        report.say(printable(f"{named[name]} {reason}: left out"), console)
    return rules, {name: spec for name, spec in named.items() if name not in left_out}, left_out


def is_empty(spec: str) -> bool:
    """True for a folder without a certificate or a model, such as that of a study."""
    path = path_of(spec, what="agent")
    if path is None or not path.is_dir():
        return False
    return not any((path / name).exists() for name in (FILE, MODEL))


def compare(
    named: Mapping[str, str | CheckedPlayer],
    rules: Rules,
    limit: Limit,
    from_model: bool,
    games: int | None,
    game_seed: int,
    tries_all: bool = True,
) -> tuple[dict[str, Certificate], dict[str, Accuracy], dict[str, report.CrossTable]]:
    """Print the results of players by their names, a program's among them.

    Returns the certificates of those that have one, the accuracies of others where the board can be
    solved, and the cross tables by their kinds. tries_all: see `judged`.
    """
    console = PipedConsole()
    players: dict[str, Policy] = {}
    certificates: dict[str, Certificate] = {}
    unloaded: dict[str, str] = {}  # their certificates say all, unless they play
    accuracies: dict[str, Accuracy] = {}
    for name, spec in named.items():
        found: Certificate | str
        if isinstance(spec, CheckedPlayer) and not spec.reason:
            report.say(f"{name}: {spec.forecast}", console)
        if not isinstance(spec, CheckedPlayer) and is_packaged(spec, rules):
            unloaded[name] = spec
            found = certificate_of(spec, rules)
        else:
            with report.proving(name, rules) as progress:
                players[name], found = judged(spec, rules, limit, progress, from_model, tries_all)
        if isinstance(found, Certificate):
            certificates[name] = with_minimax(found)
        said_of = f"{name}: " if len(named) > 1 else ""
        report.say(f"{said_of}{verdict_text(found, rules)}", console, "bold")
        if note := note_on(name, spec, found, rules):
            report.say(note, console)
        if isinstance(found, str) and (reason := reason_unknown(rules)):
            report.say(f"{said_of}its moves are not judged: {reason}", console)
        elif isinstance(found, str):
            with report.proving(name, rules, "judging the moves of {} {}") as progress:
                player = players[name]
                made = accuracy_of(player, rules, games or JUDGED, game_seed, progress)
            accuracies[name] = made
            if made.lost:
                words = f"the games that it lost prove that it {made.verdict}"
                report.say(f"{said_of}{words}", console, "bold")
            report.say(f"{made}\n", console)
    tables: dict[str, report.CrossTable] = {}
    sides = {name: certificate.sides for name, certificate in certificates.items()}
    play = games is not None or len(named) > 1 or any(len(sides[name]) > 1 for name in unloaded)
    if play:
        for name, spec in unloaded.items():
            with console.status(f"loading {name}"):
                players[name] = policy_of(spec, rules, "agent")
    is_proven = len(certificates) == len(named)
    if is_proven:
        exact = partial(report.exact_rates, rules=rules, limit=limit)
        tables["cross_table"] = report.cross_table(players, exact, sides)
    if games is not None or not is_proven:
        if len(players) == 1:
            players["random"] = RandomPolicy(rules)
        if games is None:
            is_asked = any(asks_library(player, rules) for player in players.values())
            games = ASKED_GAMES if is_asked else GAMES
        sampled = partial(report.sampled_rates, rules=rules, games=games, seed=game_seed)
        with Console(stderr=True).status(f"playing {games:,} games of each pair"):
            tables["sampled"] = report.cross_table(players, sampled, sides)
    beaten = [name for name, one in accuracies.items() if {*one.lost, one.hopeless} >= {*SIDES}]
    report.print_results(tables, certificates, {**named, **players}, console, beaten)
    return certificates, accuracies, tables


def is_packaged(spec: str, rules: Rules) -> bool:
    """True for an agent of the package on a board on which its certificate is one of a reach."""
    return rules.cells > TABULATED and is_trained(spec, rules)


def verdict_text(found: Certificate | str, rules: Rules) -> str:
    """The verdict of a certificate, or why there is none."""
    if isinstance(found, Certificate):
        return found.claim
    return f"results on {rules} are sampled and prove nothing, because {found}"


def note_on(name: str, spec: str | CheckedPlayer, found: Certificate | str, rules: Rules) -> str:
    """What has to be said beside the verdict: of a program's answers, or of games with people."""
    if isinstance(spec, CheckedPlayer):
        return spec.basis(found) if isinstance(found, Certificate) else ""
    if is_packaged(spec, rules):
        file = printable(file_of(spec, rules))
        return f"{name}: as its certificate states; evaluate.py --verify {file} computes it again"
    if rules.cells <= TABULATED:
        pupil = seat_of(spec, rules, "agent").pupil
        if pupil and pupil.games:
            return f"{name} has {pupil.text}: these are the results of what it plays now"
    return ""


def judged(
    spec: str | CheckedPlayer,
    rules: Rules,
    limit: Limit,
    progress: Progress,
    from_model: bool,
    tries_all: bool,
) -> tuple[Policy, Certificate | str]:
    """An agent's policy, and its certificate, or why there is none, so that games are sampled.

    The certificate of a run is verified, and with `from_model` compared with the model. A run that
    has none, or has learned from people since its training, gets a new one. On boards of more than
    12 cells there is a reason instead if the agent may vary or can meet too many positions; on
    smaller ones an agent that varies raises ValueError, as does a certificate that is wrong or
    beyond the limit.
    tries_all: try proofs also on 6x7 with gravity, where most agents meet millions of positions.
    """
    if isinstance(spec, CheckedPlayer):
        if spec.reason:
            return spec, spec.reason
        try:
            return spec.certified(limit, progress)
        except ProofLimitError as error:
            return spec, f"{error}; {HOW_TO_RAISE}"
    path = path_of(spec, rules, "agent")
    stated = facts_of(spec, rules).stated if is_trained(spec, rules) else None
    if path is not None and not lacks_proof(path):
        certificate = read(path)
        if certificate.rules != rules:
            raise ValueError(f"{path} plays on {certificate.rules}, not on {rules}")
        if from_model:
            with explained("evaluate.py", "train"):
                compare_with_model(path, certificate, limit)
        if not learns(path, certificate.stated.agent):
            try:
                return verify(certificate, limit, progress), certificate
            except CertificateError as error:
                raise CertificateError(f"{path}: {error}") from None
        stated = certificate.stated
    policy = policy_of(spec, rules, "agent")
    if asks_library(policy, rules):
        return policy, "each of its moves is asked of bitbully, which may take a second"
    if rules == CONNECT_FOUR and stated is None and not tries_all:
        reason = "most players can meet millions of positions; --max-positions N tries a proof"
        return policy, reason
    (name,) = report.names_of([spec])
    stated = stated or Stated.of(name_of(name), seed_of(policy))
    if rules.cells > TABULATED and (reason := reason_to_vary(policy)):
        return policy, reason
    if keeps(policy, RandomPolicy) and not can_enumerate(rules):
        return policy, "it can meet all positions"
    try:
        made = certify(policy, stated.agent, rules, limit=limit, progress=progress)
    except ProofLimitError as error:
        return policy, f"{error}; {HOW_TO_RAISE}"
    made = replace(made, stated=stated)
    if made.is_of_reach:
        return policy, made
    return policy_in(made), made


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
        reach_only=certificate.is_of_reach,
        limit=limit,
    )
    if found.sha256_of_moves != certificate.sha256_of_moves:
        raise ValueError(f"the model of {folder} does not make the moves of its certificate")
    where = f"{certificate.decisions:,} positions"
    if certificate.is_of_reach:
        where += " that it can meet"
    print(f"{printable(folder)}: the model makes the certified move in all {where}")


def write_pairs(
    tables: Mapping[str, report.CrossTable], file: Path | None, console: PipedConsole
) -> None:
    """Write a line for each pair of cross tables as CSV, if a file was asked for."""
    if file is None:
        return
    lines = [
        [x, o, *(rates[name] for name in report.RATES), rates.get("games", "")]
        for table in tables.values()
        for x, row in table.items()
        for o, rates in row.items()
    ]
    write_csv(file, ["x", "o", *report.RATES, "games"], lines)
    report.say(f"results: {printable(file)}", console)
