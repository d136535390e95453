"""Saved games: the list of them, and the replay of one, with a verdict on every move."""

from __future__ import annotations

import sys
import time
from datetime import datetime

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from apps.players.titles import title_of
from apps.terminal.game import replay_command, versus
from apps.terminal.picture import STYLES, picture
from apps.terminal.report import plain
from apps.terminal.talk import Talk, keys
from tictactoe_env.errors import printable
from tictactoe_env.exact.solver import reason_unknown
from tictactoe_env.games.analysis import Verdict, analyse, verdicts
from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore
from tictactoe_env.notation import SIDES, cell_text, rules_text
from tictactoe_env.session import called, result_text, what_decided

DELAY = 1.0  # seconds a move by default
HELP = "left/right: move, space: run/pause, v: values, q: quit"
ESCAPE = "\x1b"
STEPS = {"left": -1, "right": 1, "\n": 1}
DATE = len("2026-05-09")  # of a time


class Replay:
    """A replay of a game, with a verdict on each move if its board can be solved."""

    def __init__(self, game: Game):
        self.game = game
        self.unknown = reason_unknown(game.rules)
        self.verdicts = [] if self.unknown else verdicts(game)

    def picture(self, at: int, console: Console, values: bool = False) -> Group:
        """The board after `at` moves, the verdict on the last one, and the result at the end.

        values: show the exact results on the free cells.
        """
        game = self.game
        is_end = at == len(game.moves)
        board = game.boards[min(at, len(game.boards) - 1)]  # an illegal move adds none
        last = game.moves[at - 1] if at > 0 else None
        taken = side_of(at - 1) if is_end and game.ended == "illegal" else ""
        exact = None
        if values and self.verdicts and not is_end:
            exact = analyse(board, game.rules)
        heading = Text()
        if game.id:
            heading.append(f"game {game.id}, ")
        heading.append(f"{local_time(game)[:DATE]}, {game.rules}: ")
        heading.append(versus(game.x, game.o))
        drawn = picture(board, game.rules, console, last, taken, exact=exact)
        end = []
        if is_end:
            end = [Text(result_text(game, title_of), "bold"), Text(what_decided(game))]
        elif values and self.unknown:
            end = [Text(self.unknown, "dim")]
        return Group(heading, drawn, self.sentence(at), *end)

    def sentence(self, at: int) -> Text:
        """The last of `at` moves and the verdict on it."""
        count = len(self.game.moves)
        if at == 0:
            return Text(f"before the first of {count} moves")
        side = side_of(at - 1)
        cell = self.game.moves[at - 1]
        found = Text(f"move {at} of {count}: ")
        found.append(f"{side} {cell_text(cell, self.game.rules)}", STYLES[side])
        if self.verdicts:
            verdict = self.verdicts[at - 1]
            found.append(": ").append(verdict.text, _style_of(verdict))
            if verdict.threw_away:
                found.append("   (this decided the game)", "bold")
        return found


def side_of(ply: int) -> str:
    """The side that makes the move of this number; the first one is 0."""
    return SIDES[ply % 2]


def _style_of(verdict: Verdict) -> str:
    """The style of a verdict: red for a mistake, green for a move that wins."""
    if not verdict.optimal:
        return "red"
    return "green" if verdict.after.value > 0 else ""


def watch(game: Game, talk: Talk, delay: float | None = None) -> None:
    """Show a game move by move: controlled by keys at a terminal, else from start to end.

    delay: seconds a move; if it is given, the replay runs by itself.
    """
    with talk.console.status("evaluating every move"):
        replay = Replay(game)
    if talk.console.is_terminal and sys.stdin.isatty():
        _watch_by_keys(replay, talk, delay)
        return
    for at in range(len(game.moves) + 1):
        talk.say(replay.picture(at, talk.console))
        time.sleep(delay or 0.0)


def _watch_by_keys(replay: Replay, talk: Talk, delay: float | None) -> None:
    end = len(replay.game.moves)
    at = 0  # moves that are shown
    values = False
    runs = delay is not None
    with keys() as read, talk.in_place() as show:
        while True:
            runs = runs and at < end
            drawn = replay.picture(at, talk.console, values)
            state = "running" if runs else "paused"
            show(Group(drawn, Text(f"\n{state}\n{HELP}", "dim")))
            pause = (delay or DELAY) if runs else None
            key = read(pause) or "right"  # no key: it goes on by itself
            if key in ("q", "Q", ESCAPE):
                return
            if key == " ":
                runs = not runs
                if runs and at == end:
                    at = 0
            elif key == "v":
                values = not values
            at = max(0, min(end, at + STEPS.get(key, 0)))


def print_list(store: GameStore, talk: Talk, limit: int, player: str | None = None) -> None:
    """Print the newest games of a store; games of trainings are left out. Times are local.

    player: only those of players of this name or title.
    """
    names = None
    if player:
        names = [name for name in store.players() if player in (name, title_of(name))]
    games = store.list(limit, player=names)
    if not games:
        whose = f" of {player}" if player else ""
        talk.say(f"no game{whose} in {store.path}")
        return
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    for heading in ("game", "time", "X", "O", "board", "result", "moves"):
        table.add_column(heading, overflow="fold")
    for game in games:
        table.add_row(
            str(game.id),
            local_time(game),
            plain(printable(called(game.x, title_of))),
            plain(printable(called(game.o, title_of))),
            rules_text(game.rules),
            _short_result(game),
            str(len(game.moves)),
        )
    talk.console.print(table)
    count = store.count(player=names)
    if count > len(games):
        talk.say(f"{len(games)} of {count:,} games; more by --list {count}")
    talk.say(f"to see one again: {replay_command(games[0].id, store)}", "dim")


def _short_result(game: Game) -> str:
    """The result of a game in a list: "draw", or "X won, resigned"."""
    if game.result == "draw":
        return "draw"
    text = f"{game.result} won"
    if game.ended in ("resigned", "illegal"):
        text += f", {game.ended}"
    return text


def local_time(game: Game) -> str:
    """When a game was saved, in the time zone of this computer: "2026-05-09 07:35"."""
    when = datetime.fromisoformat(game.time).astimezone()
    return when.strftime("%Y-%m-%d %H:%M")
