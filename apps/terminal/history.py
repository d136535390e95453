"""The history of learners: every kept policy as X against every one as O, exactly.

`evaluate.py RUN --history` prints it, and writes a heat map; agents without a history are one
player each.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apps.players.rounds import Rounds, evenly, played, players_of
from apps.terminal import report
from apps.terminal.report import PipedConsole
from tictactoe_env.errors import printable
from tictactoe_env.exact.proof import Limit
from tictactoe_env.rules import SIDES, Rules
from training.files import write_csv

MOST_LINES = 16  # of the table


def show(
    specs: Mapping[str, str], rules: Rules, limit: Limit, picture: Path, console: PipedConsole
) -> dict[str, Any]:
    """Print the history of runs and agents, write its picture, and return it as a JSON value."""
    rounds = played(players_of(specs, rules), rules, limit)
    sizes = f"{len(rounds.as_x)} players as X, {len(rounds.as_o)} as O"
    report.say(f"{sizes}: the exact result of each pair", console, "bold")
    report.print_table(*_table(rounds), console)
    for sentence in rounds.sentences:
        report.say(sentence, console)
    write_picture(rounds, picture)
    report.say(f"each as X against each as O: {printable(picture)}", console)
    return content(rounds)


def _table(rounds: Rounds) -> tuple[list[str], list[list[str]]]:
    """Headings and lines of a table of the players; of many it has some, the last one included."""
    standings = rounds.standings
    sides = [side for side in SIDES if any(side in games for games in rounds.lost)]
    headings = ["", "score", "rating", *(f"loses as {side}" for side in sides)]
    lines = []
    for number in evenly(range(len(rounds.players)), MOST_LINES):
        score = rating = ""
        if standings is not None:
            score = f"{standings.scores[number]:+.3f}"
            rating = f"{standings.ratings[number]:+.0f}"
        games = [rounds.lost[number].get(side, "") for side in sides]
        lines.append([rounds.players[number].name, score, rating, *games])
    return headings, lines


def write_picture(rounds: Rounds, path: Path) -> None:
    """Draw the results of all pairs as PNG, with the numbers as CSV beside it."""
    from training import charts

    as_x = [player.name for player in rounds.as_x]
    as_o = [player.name for player in rounds.as_o]
    charts.heat_map(rounds.x, as_x, as_o, path)
    lines = [[x, *row] for x, row in zip(as_x, rounds.x.tolist(), strict=True)]
    write_csv(path.with_suffix(".csv"), ["X \\ O", *as_o], lines)


def content(rounds: Rounds) -> dict[str, Any]:
    """The history as a JSON value: players, payoffs of X, and what follows from them."""
    standings = rounds.standings
    found: dict[str, Any] = {
        "players": [
            {"name": player.name, "run": player.run, "steps": player.steps, "loses": games}
            for player, games in zip(rounds.players, rounds.lost, strict=True)
        ],
        "as_x": [player.name for player in rounds.as_x],
        "as_o": [player.name for player in rounds.as_o],
        "payoff_x": rounds.x.tolist(),
        "sentences": rounds.sentences,
    }
    if standings is not None:
        found["scores"] = standings.scores.tolist()
        found["ratings"] = standings.ratings.tolist()
        found["circle"] = standings.circle()
    return found
