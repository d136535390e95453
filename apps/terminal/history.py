"""The history of learners: every kept policy as X against every one as O, exactly.

`evaluate.py RUN --history` prints it, and writes a heat map; agents without a history are one
player each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from apps.players.rounds import Player, Rounds, evenly, lost_games, played, players_of, sentences
from apps.terminal import report
from apps.terminal.report import PipedConsole
from tictactoe_env.errors import printable
from tictactoe_env.exact.proof import Limit
from tictactoe_env.rules import SIDES, Rules
from training.files import write_csv
from training.standings import Standings

MOST_LINES = 16  # of the table


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
    lines = []
    for number in evenly(range(len(players)), MOST_LINES):
        score = rating = ""
        if standings is not None:
            score = f"{standings.scores[number]:+.3f}"
            rating = f"{standings.ratings[number]:+.0f}"
        games = [lost[number].get(side, "") for side in sides]
        lines.append([players[number].name, score, rating, *games])
    return headings, lines


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
