"""Saved games: the list of them, and the replay of one, with a verdict on every move."""

from __future__ import annotations

import sys
import time
from datetime import datetime

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from apps.terminal.game import replay_command, versus
from apps.terminal.keys import keys
from apps.terminal.picture import STYLES, picture
from apps.terminal.plain import plain
from apps.terminal.talk import Talk
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import can_enumerate
from tictactoe_env.games.analysis import analyse, verdicts
from tictactoe_env.games.game import Game
from tictactoe_env.games.session import result_text, what_decided
from tictactoe_env.games.store import GameStore
from tictactoe_env.notation import SIDES, cell_text, rules_text

DELAY = 1.0  # seconds a move by default
HELP = "left/right: move, space: run/pause, v: values, q: quit"
ESCAPE = "\x1b"
STEPS = {"left": -1, "right": 1, "\n": 1}


class Replay:
    """A replay of a game, with a verdict on each move unless its board is too large to solve."""

    def __init__(self, game: Game):
        self.game = game
        self.verdicts = verdicts(game) if can_enumerate(game.rules) else []

    def picture(self, at: int, console: Console, values: bool = False) -> Group:
        """The board after `at` moves, the verdict on the last one, and the result at the end.

        values: show the exact results on the free cells.
        """
        game, is_end = self.game, at == len(self.game.moves)
        board, last = game.boards[min(at, len(game.boards) - 1)], game.moves[at - 1] if at else None
        drawn = picture(
            board,
            game.rules,
            console,
            last,
            SIDES[(at - 1) % 2] if is_end and game.ended == "illegal" else "",
            exact=analyse(board, game.rules) if values and self.verdicts and not is_end else None,
        )
        heading = Text(f"game {game.id}, " if game.id else "")
        heading.append(f"{local_time(game)[:10]}, {game.rules}: ")
        heading.append(versus(game.x.name, game.o.name))
        end = [Text(result_text(game), "bold"), Text(what_decided(game))] if is_end else []
        return Group(heading, drawn, self.sentence(at), *end)

    def sentence(self, at: int) -> Text:
        """The last of `at` moves and the verdict on it."""
        count = len(self.game.moves)
        if at == 0:
            return Text(f"before the first of {count} moves")
        side, cell = SIDES[(at - 1) % 2], self.game.moves[at - 1]
        found = Text(f"move {at} of {count}: ")
        found.append(f"{side} {cell_text(cell, self.game.rules)}", STYLES[side])
        if self.verdicts:
            one = self.verdicts[at - 1]
            style = "red" if not one.optimal else "green" if one.after.value > 0 else ""
            found.append(": ").append(one.text, style)
            found.append("   (this decided the game)" if one.threw_away else "", "bold")
        return found


def watch(game: Game, talk: Talk, delay: float | None = None) -> None:
    """Show a game move by move: controlled by keys at a terminal, else from start to end.

    delay: seconds a move; if it is given, the replay runs by itself.
    """
    with talk.console.status("evaluating every move"):
        replay = Replay(game)
    if talk.is_terminal and sys.stdin.isatty():
        _watch_by_keys(replay, talk, delay)
        return
    for at in range(len(game.moves) + 1):
        talk.say(replay.picture(at, talk.console))
        time.sleep(delay or 0.0)


def _watch_by_keys(replay: Replay, talk: Talk, delay: float | None) -> None:
    end, at, values, runs = len(replay.game.moves), 0, False, delay is not None
    with keys() as read, talk.in_place() as show:
        while True:
            runs = runs and at < end
            drawn = replay.picture(at, talk.console, values)
            show(Group(drawn, Text(f"\n{'running' if runs else 'paused'}\n{HELP}", "dim")))
            key = read((delay or DELAY) if runs else None) or "right"
            if key in ("q", "Q", ESCAPE):
                return
            if key == " ":
                runs = not runs
                at = 0 if runs and at == end else at
            elif key == "v":
                values = not values
            at = max(0, min(end, at + STEPS.get(key, 0)))


def print_list(store: GameStore, talk: Talk, limit: int, player: str | None = None) -> None:
    """Print the newest games of a store, without those of training. Times are local."""
    games = store.list(limit, player=player)
    if not games:
        talk.say(f"no game{f' of {player}' * bool(player)} in {store.path}")
        return
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    for heading in ("game", "time", "X", "O", "board", "result", "moves"):
        table.add_column(heading, overflow="fold")
    for game in games:
        names = (plain(printable(player.name)) for player in (game.x, game.o))
        ended = "draw" if game.result == "draw" else f"{game.result} won"
        ended += f", {game.ended}" if game.ended in ("resigned", "illegal") else ""
        about = rules_text(game.rules), ended, str(len(game.moves))
        table.add_row(str(game.id), local_time(game), *names, *about)
    talk.console.print(table)
    count = store.count(player=player)
    if count > len(games):
        talk.say(f"{len(games)} of {count:,} games; more by --list {count}")
    talk.say(f"to see one again: {replay_command(games[0].id, store)}", "dim")


def local_time(game: Game) -> str:
    """When a game was saved, in the time zone of this computer: "2026-05-09 07:35"."""
    when = datetime.fromisoformat(game.time).astimezone()
    return when.strftime("%Y-%m-%d %H:%M")
