"""Saved games: the list of them, and the replay of one, with a verdict on every move."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table as Columns
from rich.text import Text

from apps.terminal.game import replay_command, versus
from apps.terminal.keys import Keys
from apps.terminal.picture import STYLES, legend, picture, values_on_cells
from apps.terminal.plain import plain
from apps.terminal.report import print_whole, width_of
from apps.terminal.talk import Talk
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import can_enumerate
from tictactoe_env.games.analysis import Verdict, truth, verdicts
from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore
from tictactoe_env.games.table import result_text, what_decided
from tictactoe_env.notation import SIDES, cell_text, rules_text

DELAY = 1.0  # seconds a move by default
FASTEST, SLOWEST = 0.05, 10.0  # seconds a move
KEYS = "left/right, home/end: move, space: run/pause, +/-: speed, v: values, q: quit"
ALSO = {"n": "right", "b": "left", "\n": "right", "\r": "right", "Q": "q", "escape": "q", "=": "+"}


class Replay:
    """A replay of a game, after `at` of its moves.

    verdicts: on each move; None on boards too large to solve. values: show exact results on the
    free cells.
    """

    def __init__(self, game: Game):
        self.game, self.at, self.values = game, 0, False
        self.verdicts: list[Verdict] | None = verdicts(game) if can_enumerate(game.rules) else None
        self.boards = game.boards

    @property
    def is_at_end(self) -> bool:
        """Whether all moves are shown."""
        return self.at >= len(self.game.moves)

    def go(self, key: str) -> None:
        """Follow a key: "left", "right", "home" or "end"; "v" switches the values."""
        places = {"left": self.at - 1, "right": self.at + 1, "home": 0, "end": len(self.game.moves)}
        self.at = max(0, min(len(self.game.moves), places.get(key, self.at)))
        self.values ^= key == "v"

    def picture(self, console: Console) -> Text:
        """The board after these moves, the verdict on the last one, and the result at the end."""
        game, board = self.game, self.boards[min(self.at, len(self.boards) - 1)]
        last = game.moves[self.at - 1] if self.at else None
        taken = SIDES[(self.at - 1) % 2] if self.is_at_end and game.ended == "illegal" else ""
        is_shown = self.values and self.verdicts is not None and not self.is_at_end
        exact = truth(board, game.rules) if is_shown else None
        about = None if exact is None else values_on_cells(game.rules, None, exact)
        found = self.heading().append("\n")
        found.append(picture(board, game.rules, console, last, about, taken))
        found.append("\n").append(self.sentence())
        if exact is not None:
            found.append("\n" + legend("", None, exact, game.rules), "dim")
        if self.is_at_end:
            found.append(f"\n{result_text(game)}", "bold").append(f"\n{what_decided(game)}")
        return found

    def heading(self) -> Text:
        """The number of the game, its date and board, and the players."""
        game = self.game
        return (
            Text(f"game {game.id}, " if game.id else "")
            .append(f"{local_time(game)[:10]}, {game.rules}: ")
            .append(versus(game.x.name, game.o.name))
        )

    def sentence(self) -> Text:
        """The last move and the verdict on it."""
        if self.at == 0:
            return Text(f"before the first of {len(self.game.moves)} moves")
        side, cell = SIDES[(self.at - 1) % 2], self.game.moves[self.at - 1]
        found = Text(f"move {self.at} of {len(self.game.moves)}: ")
        found.append(f"{side} {cell_text(cell, self.game.rules)}", STYLES[side])
        if self.verdicts is None:
            return found
        verdict = self.verdicts[self.at - 1]
        found.append(": ").append(
            verdict.text,
            "red" if not verdict.optimal else "green" if verdict.after.value > 0 else "",
        )
        return found.append("   (this decided the game)" if verdict.threw_away else "", "bold")


def watch(game: Game, talk: Talk, delay: float | None = None) -> None:
    """Show a game move by move: controlled by keys at a terminal, else from start to end.

    delay: seconds a move; if it is given, the replay runs by itself.
    """
    with talk.waiting("evaluating every move"):
        replay = Replay(game)
    if talk.console.is_terminal and talk.source.isatty():
        _watch_by_keys(replay, talk, delay)
        return
    while True:
        talk.say(replay.picture(talk.console))
        if replay.is_at_end:
            return
        time.sleep(delay or 0.0)
        replay.go("right")


def _watch_by_keys(replay: Replay, talk: Talk, delay: float | None) -> None:
    runs, delay = delay is not None, max(FASTEST, DELAY if delay is None else delay)
    with Keys(talk.source) as keys, talk.in_place() as show:
        while True:
            runs = runs and not replay.is_at_end
            state = f"running, {delay:.2g} s a move" if runs else "paused"
            show(replay.picture(talk.console).append(f"\n\n{state}\n{KEYS}", "dim"))
            key = keys.read(delay if runs else None)
            key = ALSO.get(key, key)
            if key == "q":
                return
            if key == " ":
                runs = not runs
                if runs and replay.is_at_end:
                    replay.at = 0
            elif key in ("+", "-"):
                delay = min(SLOWEST, max(FASTEST, delay / 1.5 if key == "+" else delay * 1.5))
            else:
                runs = runs and key in ("", "v")
                replay.go(key or "right")


def print_list(
    store: GameStore, talk: Talk, limit: int, player: str | None = None, result: str | None = None
) -> None:
    """Print the newest games of a store, without those of training."""
    games = store.list(limit, player=player, result=result)
    if not games:
        is_all = player is None and result is None
        talk.say(f"{'no game yet' if is_all else 'no such game'} in {store.path}")
        return
    print_games(games, talk)
    count = store.count(player=player, result=result)
    if count > len(games):
        talk.say(f"{len(games)} of {count:,} games; more by --list {count}")
    talk.say(f"to see one again: {replay_command(games[0].id, store)}", "dim")


def print_games(games: Sequence[Game], talk: Talk) -> None:
    """Print games as a table; without their moves if the terminal is too narrow for these.

    On a still narrower one each game has two lines. Times are local.
    """
    if not talk.console.is_terminal:
        print_whole(table_of(games), talk.console)
        return
    for table in (table_of(games), table_of(games, with_moves=False)):
        if width_of(table, talk.console) <= talk.console.width:
            talk.console.print(table)
            return
    for game in games:
        x, o = (plain(printable(player.name)) for player in (game.x, game.o))
        talk.say(Text(f"{game.id:>4}  {local_time(game)}  {rules_text(game.rules)}"), "dim")
        talk.say(Text("      ").append_text(x).append(" against ").append_text(o))
        talk.say(Text(f"      {ended_text(game)}, {moves_text(game)}"))


def table_of(games: Sequence[Game], with_moves: bool = True) -> Columns:
    """Games as a table, with their moves or with the number of these."""
    table = Columns()
    for heading in ("game", "time", "X", "O", "board", "result", "moves"):
        is_number = heading == "game" or (heading == "moves" and not with_moves)
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=True)
    for game in games:
        table.add_row(
            str(game.id),
            local_time(game),
            plain(printable(game.x.name)),
            plain(printable(game.o.name)),
            rules_text(game.rules),
            ended_text(game),
            game.text if with_moves else str(len(game.moves)),
        )
    return table


def local_time(game: Game) -> str:
    """When a game was saved, in the time zone of this computer: "2026-05-09 07:35"."""
    when = datetime.fromisoformat(game.time.replace("Z", "+00:00")).astimezone()
    return when.strftime("%Y-%m-%d %H:%M")


def ended_text(game: Game) -> str:
    """How a game ended, in few words."""
    if game.result == "draw":
        return "draw"
    loser = SIDES[game.result == "X"]
    how = {"resigned": f"{loser} resigned, ", "illegal": f"illegal move by {loser}, "}
    return f"{how.get(game.ended, '')}{game.result} won"


def moves_text(game: Game) -> str:
    """The number of moves of a game, in words."""
    return f"{len(game.moves)} move{'s' * (len(game.moves) != 1)}"
