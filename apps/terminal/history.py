"""The history of learners: every kept policy as X against every one as O, exactly.

`evaluate.py RUN --history` prints it, and writes a heat map; agents without a history are one
player each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import agents
from apps.players.seat import path_of, policy_of
from apps.terminal import report
from apps.terminal.report import PipedConsole
from tictactoe_env.certificates.content import sides_of
from tictactoe_env.errors import printable
from tictactoe_env.exact.match import best_responses, exact_result
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Limit, ProofLimitError
from tictactoe_env.exact.round_robin import payoffs
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.notation import game_text
from tictactoe_env.policy import Policy
from tictactoe_env.rules import SIDES, Rules
from training.files import write_csv
from training.history import FILE, History
from training.options import read_config
from training.run_files import CONFIG, read_config_file
from training.standings import Standings

MOST_LINES = 16  # of the table
MOST_PLAYERS = 24  # of a run on larger boards, where each pair plays its game by itself


class Player(NamedTuple):
    """A policy in the history. run: the number of its run or agent. sides: those that it plays."""

    name: str
    run: int
    policy: Policy
    sides: Sequence[str] = SIDES
    steps: int | None = None


def players_of(specs: Mapping[str, str], rules: Rules) -> list[Player]:
    """The players of runs and agents by name: the kept policies of a run, or the agent itself.

    Raises ValueError for a run on another board.
    """
    found: list[Player] = []
    for number, (name, spec) in enumerate(specs.items()):
        path = path_of(spec, rules, "agent")
        if path is None or not (path / FILE).exists():
            found.append(Player(name, number, policy_of(spec, rules, "agent")))
            continue
        saved = read_config_file(path)
        page: Any = agents.page(saved["agent"])
        config = read_config(page.Config, saved["config"], path / CONFIG)
        if config.rules != rules:
            raise ValueError(f"{path} plays on {config.rules}, not on {rules}")
        entries = History.read(path / FILE).entries
        if rules.cells > TABULATED:
            entries = entries[:: -(-len(entries) // MOST_PLAYERS)]
        prefix = f"{name} " if len(specs) > 1 else ""
        sides = sides_of(dict(config))
        found += [
            Player(f"{prefix}{kept.steps:,}", number, kept.policy(page, config), sides, kept.steps)
            for kept in entries
        ]
    return found


class Rounds(NamedTuple):
    """The exact games of all players. x: (P, Q), the mean result of each X against each O."""

    as_x: Sequence[Player]
    as_o: Sequence[Player]
    x: NDArray[np.float64]

    @property
    def standings(self) -> Standings | None:
        """Who beats whom; None unless all play both sides."""
        return Standings(self.x) if len(self.as_x) == len(self.as_o) else None


def played(players: Sequence[Player], rules: Rules, limit: Limit) -> Rounds:
    """Let every player as X play every one as O, exactly.

    On boards of more than 12 cells each pair is a match by itself. Raises ProofLimitError if the
    two can meet more positions than the limit allows, and ValueError for a policy that is no
    function of the board.
    """
    as_x, as_o = ([one for one in players if side in one.sides] for side in SIDES)
    if not as_x or not as_o:
        raise ValueError("nobody has learned the other side: add a run or an agent that plays it")
    if rules.cells <= TABULATED:
        tables = [[tabulate(one.policy, rules) for one in side] for side in (as_x, as_o)]
        return Rounds(as_x, as_o, payoffs(*tables).x)
    values = [[exact_result(x.policy, o.policy, rules, limit).value for o in as_o] for x in as_x]
    return Rounds(as_x, as_o, np.array(values))


def lost_games(player: Player, rules: Rules, limit: Limit) -> dict[str, str]:
    """The shortest game that a player can lose, by side: "" if none, "?" beyond the limit."""
    try:
        found = best_responses(player.policy, rules, limit)
    except ProofLimitError:
        return dict.fromkeys(player.sides, "?")
    return {side: game_text(found[side].losing_line or (), rules) for side in player.sides}


def show(
    specs: Mapping[str, str], rules: Rules, limit: Limit, picture: Path, console: PipedConsole
) -> dict[str, Any]:
    """Print the history of runs and agents, write its picture, and return it as a JSON value."""
    players = players_of(specs, rules)
    rounds = played(players, rules, limit)
    lost = [lost_games(player, rules, limit) for player in players]
    standings = rounds.standings
    sizes = f"{len(rounds.as_x)} players as X, {len(rounds.as_o)} as O"
    report.say(f"{sizes}: the exact result of each pair", console, "bold")
    report.print_table(*_table(players, lost, standings), console)
    for sentence in sentences(players, lost, standings):
        report.say(sentence, console)
    write_picture(rounds, picture)
    report.say(f"each as X against each as O: {printable(picture)}", console)
    return content(players, lost, rounds)


def _table(
    players: Sequence[Player], lost: Sequence[Mapping[str, str]], standings: Standings | None
) -> tuple[list[str], list[list[str]]]:
    """Headings and lines of a table of the players; of many it has some, the last one included."""
    sides = [side for side in SIDES if any(side in games for games in lost)]
    headings = ["", "score", "rating", *(f"loses as {side}" for side in sides)]
    shown = np.unique(np.linspace(0, len(players) - 1, MOST_LINES).round().astype(int))
    lines = []
    for number in shown.tolist():
        score = rating = ""
        if standings is not None:
            score = f"{standings.scores[number]:+.3f}"
            rating = f"{standings.ratings[number]:+.0f}"
        games = [lost[number].get(side, "") for side in sides]
        lines.append([players[number].name, score, rating, *games])
    return headings, lines


def sentences(
    players: Sequence[Player], lost: Sequence[Mapping[str, str]], standings: Standings | None
) -> list[str]:
    """How many can be beaten, what was forgotten, a circle, and what the ratings say wrong."""
    beatable = sum(any(games.values()) for games in lost)
    found = [f"{beatable} of {len(players)} can be beaten."]
    if standings is None:
        return [*found, "Not all play both sides, so there is no score, rating or circle."]
    forgotten, pairs = standings.forgotten([player.run for player in players])
    if pairs:
        found.append(f"Forgetting: a later policy loses to an earlier one in {forgotten:,} of "
                     f"{pairs:,} pairs of a run, over both seats.")  # fmt: skip
    circle = standings.circle()
    if circle is None:
        found.append("No three beat each other in a circle.")
    else:
        first, second, third = (players[number].name for number in circle)
        found.append(f"A circle: {first} beats {second}, which beats {third}, which beats {first}.")
    wrong, decided = standings.misjudged()
    if decided:
        found.append(f"Elo ratings order {wrong:,} of {decided:,} decided pairs the wrong way.")
    return found


def write_picture(rounds: Rounds, path: Path) -> None:
    """Draw the results of all pairs as PNG, with the numbers as CSV beside it."""
    from training import charts

    as_x = [player.name for player in rounds.as_x]
    as_o = [player.name for player in rounds.as_o]
    charts.heat_map(rounds.x, as_x, as_o, path)
    lines = [[x, *row] for x, row in zip(as_x, rounds.x.tolist(), strict=True)]
    write_csv(path.with_suffix(".csv"), ["X \\ O", *as_o], lines)


def content(
    players: Sequence[Player], lost: Sequence[Mapping[str, str]], rounds: Rounds
) -> dict[str, Any]:
    """The history as a JSON value: players, payoffs of X, and what follows from them."""
    standings = rounds.standings
    found: dict[str, Any] = {
        "players": [
            {"name": player.name, "run": player.run, "steps": player.steps, "loses": games}
            for player, games in zip(players, lost, strict=True)
        ],
        "as_x": [player.name for player in rounds.as_x],
        "as_o": [player.name for player in rounds.as_o],
        "payoff_x": rounds.x.tolist(),
        "sentences": sentences(players, lost, standings),
    }
    if standings is not None:
        found["scores"] = standings.scores.tolist()
        found["ratings"] = standings.ratings.tolist()
        found["circle"] = standings.circle()
    return found
