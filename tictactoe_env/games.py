"""Games that were played, kept in one SQLite file: who, on which board, every move, how it ended.

    with GameStore("games.db") as store:
        number = store.add(Game(x=Player("human", "Ann"), o=Player("agent", "minimax"), moves=(0, 4, 8, 1, 7, 6, 2, 5, 3), origin="web"))
        store.get(number).result                        # "draw": it follows from the moves
        store.list(20, player="Ann", result="X")        # newest first; training games only where `origin` names them
        store.import_lines(["b2 a1 c2 b1 a2"])          # a line of moves is a game; export_lines() writes behind them what else is known

When `add` has returned, the game is on the disk (write-ahead log, flushed at every commit). Several processes may use a
store at once. Threads may share a `GameStore`, a lock lets in one at a time; processes may not: open it after a fork.

Every row holds a checksum, and a game is played through again whenever it is read, so that damage is told, not shown.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sqlite3
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tictactoe_env.errors import unknown_name, whole_number
from tictactoe_env.notation import SIDES, cell_text, game_text, parse_cell, replay
from tictactoe_env.rules import Boards, Rules

KINDS = (
    "human",
    "agent",
    "run",
    "unknown",
)  # a person; a player known by its name, such as minimax; a saved run; nobody wrote it down
RESULTS = (*SIDES, "draw")
ENDINGS = (
    "line",
    "full",
    "early",
    "illegal",
    "resigned",
)  # early: nobody could win any more, with the option `early_draw`
ORIGINS = ("human", "battle", "web", "training", "file")  # file: a line of text that says no more
LISTED = tuple(origin for origin in ORIGINS if origin != "training")
SQUARE = Rules()
MAX_NAME, MAX_SOURCE = 100, 1000  # characters
LARGEST = 2**63 - 1  # of SQLite's whole numbers


class StoreError(ValueError):
    """A store that cannot be read or written: damaged, locked, of a newer version, write-protected, or no store at all."""


class UnknownGameError(StoreError, LookupError):
    """An id that no game of the store has."""


# --- a game ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Player:
    """Who played. kind: one of KINDS. source: the folder of a run or the sha256 of its certificate, if there is one."""

    kind: str
    name: str
    source: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind of player", self.kind, KINDS)
        for what, low, high in (("name", 1, MAX_NAME), ("source", 0, MAX_SOURCE)):
            text = getattr(self, what)
            if not (
                isinstance(text, str)
                and low <= len(text) <= high
                and text.isprintable()
                and text == text.strip()
            ):
                raise ValueError(
                    f"the {what} of a player must be {low} to {high} printable characters, no blank at either end, got {text!r:.120}"
                )

    def __str__(self) -> str:
        """kind:name or kind:name:source, with blanks and `%#:` written as %20 and so on."""
        parts = (self.kind, self.name, self.source)
        return ":".join(
            re.sub(r"[%#:\s]", lambda found: quote(found[0]), part) for part in parts if part
        )

    @classmethod
    def parse(cls, text: str) -> Player:
        """The player that `str` writes so."""
        parts = text.split(":")
        if not 2 <= len(parts) <= 3:
            raise ValueError(
                f'a player is written as kind:name or kind:name:source, such as "human:Ann", got {text!r}'
            )
        return cls(*(unquote(part, errors="strict") for part in parts))


UNKNOWN = Player("unknown", "unknown")
FIELDS = (
    "x",
    "o",
    "board",
    "result",
    "ended",
    "side",
    "seed",
    "origin",
    "time",
)  # of a game that is written down, beside its moves


@dataclass(frozen=True, kw_only=True)
class Game:
    """A finished game. Everything is checked: ValueError says what does not fit, IllegalMoveError which move is illegal.

    x, o: who played X and O. moves: cells from 0, X first. origin: one of ORIGINS.
    result ("X", "O", "draw") and ended ("line", "full") follow from the moves and may be left out. ended="illegal": the last
    move, and no other, is on a taken cell, and loses. "early": a draw, since nobody could complete a line any more.
    "resigned": the result must be given. side: that of the person or the learner, if there is one. time: ISO text with its
    zone, kept as UTC to the second; now, if left out. id: the number in the store; None before the game was added.
    """

    x: Player = UNKNOWN
    o: Player = UNKNOWN
    moves: tuple[int, ...]
    origin: str
    rules: Rules = SQUARE
    result: str = ""
    ended: str = ""
    side: str | None = None
    seed: int | None = None
    time: str = ""
    id: int | None = None

    def __post_init__(self) -> None:
        def change(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        for name, kind, example in (
            ("x", Player, 'Player("human", "Ann")'),
            ("o", Player, 'Player("agent", "minimax")'),
            ("rules", Rules, "Rules()"),
        ):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(
                    f"{name} of a game must be a {kind.__name__} such as {example}, got {getattr(self, name)!r}"
                )
        for name, known in (
            ("origin", ORIGINS),
            ("ended", ("", *ENDINGS)),
            ("result", ("", *RESULTS)),
            ("side", (None, *SIDES)),
        ):
            if getattr(self, name) not in known:
                raise unknown_name(f"{name} of a game", getattr(self, name), filter(None, known))
        for name, low in (("seed", 0), ("id", 1)):
            if getattr(self, name) is not None:
                change(name, whole_number(getattr(self, name), f"{name} of a game", low, LARGEST))
        change("time", _utc(self.time))
        change(
            "moves",
            tuple(whole_number(cell, "a cell", 0, self.rules.cells - 1) for cell in self.moves),
        )
        ended, result = self._ending()
        for name, found in (("ended", ended), ("result", result)):
            if getattr(self, name) not in ("", found):
                raise ValueError(
                    f"by the moves {self.text!r} {name} is {found!r}, got {getattr(self, name)!r}: correct it, or leave it out"
                )
            change(name, found)

    def _ending(self) -> tuple[str, str]:
        """How it ended and the result, by the moves where they say it."""
        bits, shortest, marks, plies, ended = (
            self.rules.cell_bits,
            2 * self.rules.k - 1,
            [0, 0],
            len(self.moves),
            "",
        )
        for ply, cell in enumerate(self.moves):
            mover = ply % 2
            if ended or (marks[0] | marks[1]) & bits[cell]:
                if not ended and self.ended == "illegal" and ply == plies - 1:
                    return "illegal", SIDES[1 - mover]
                replay(self.moves[: ply + 1], self.rules)  # says what is wrong with the move
            marks[mover] |= bits[cell]
            has_line = ply + 1 >= shortest and self.rules.has_line(marks[mover])
            ended = "line" if has_line else "full" if ply + 1 == len(bits) else ""
        if ended:
            return ended, SIDES[(plies - 1) % 2] if ended == "line" else "draw"
        if self.ended == "early" and self.rules.is_dead(*marks):
            return "early", "draw"
        if self.ended == "resigned" and self.result in SIDES:
            return "resigned", self.result
        raise ValueError(
            f"a finished game is expected, this one goes on after {plies} moves ({self.text!r} on {self.rules}, ended {self.ended!r}, "
            f'result {self.result!r}): play it to its end, or say ended="resigned" and result="X" or "O"'
        )

    @property
    def text(self) -> str:
        """The moves, such as "b2 a1 c3"."""
        return game_text(self.moves, self.rules)

    @property
    def boards(self) -> Boards:
        """The boards of the game, the empty one first, (moves + 1, cells); without a last move that was illegal."""
        return replay(self.moves[: len(self.moves) - (self.ended == "illegal")], self.rules)

    def line(self) -> str:
        """The game as a line of text: its moves, and behind them what else is known, as name=value. The id is the store's own."""
        board = {"board": f"{self.rules.rows}x{self.rules.cols}", "k": self.rules.k}
        about = {
            "x": self.x,
            "o": self.o,
            **board,
            "result": self.result,
            "ended": self.ended,
            "side": self.side,
            "seed": self.seed,
        }
        about |= {"origin": self.origin, "time": self.time}
        return " ".join(
            [
                *self.text.split(),
                *(f"{name}={value}" for name, value in about.items() if value is not None),
            ]
        )

    @classmethod
    def parse(cls, line: str, rules: Rules = SQUARE) -> Game:
        """The game of a line as `line` writes it, `#` begins a comment. The moves are enough; `rules`: the board if the line names none."""
        words = line.partition("#")[0].split()
        about: dict[str, Any] = {}
        for name, _, value in (word.partition("=") for word in words if "=" in word):
            if name in about:
                raise ValueError(f"{name}= stands twice in the line: leave one out")
            if name not in (*FIELDS, "k"):
                raise unknown_name("field of a game", name, (*FIELDS, "k"))
            about[name] = value
        rows, _, cols = about.pop("board", f"{rules.rows}x{rules.cols}").partition("x")
        rules = _rules(
            _number(rows, "rows"), _number(cols, "cols"), _number(about.pop("k", str(rules.k)), "k")
        )
        about |= {side: Player.parse(about[side]) for side in ("x", "o") if side in about}
        about |= {"seed": _number(about["seed"], "seed")} if "seed" in about else {}
        return cls(
            moves=_cells(" ".join(word for word in words if "=" not in word), rules),
            rules=rules,
            **{"origin": "file", **about},
        )

    def as_json(self) -> dict[str, Any]:
        """The game as JSON values: players as kind, name and source, `board` as rows, cols and k, `moves` as text."""
        values = {
            field.name: getattr(self, field.name) for field in fields(self) if field.name != "rules"
        }
        return values | {
            "x": asdict(self.x),
            "o": asdict(self.o),
            "board": asdict(self.rules),
            "moves": self.text,
        }

    @classmethod
    def from_json(cls, content: Any) -> Game:
        """The game of such values; what has a default may be left out. ValueError if they are none."""
        try:
            values = dict(content)
            for name in values:
                if name not in (*FIELDS, "moves", "id"):
                    raise unknown_name("field of a game", name, (*FIELDS, "moves", "id"))
            rules = Rules(**values.pop("board", {}))
            values |= {side: Player(**values[side]) for side in ("x", "o") if side in values}
            return cls(**values | {"rules": rules, "moves": _cells(values["moves"], rules)})
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"a game is an object of {', '.join((*FIELDS, 'moves', 'id'))}, got {content!r:.200} ({error!r})"
            ) from None


_rules = lru_cache(maxsize=256, typed=True)(Rules)  # they keep what they compute


@lru_cache(maxsize=256)
def _names(rules: Rules) -> dict[str, int]:
    return {cell_text(cell, rules): cell for cell in range(rules.cells)}


def _cells(text: str, rules: Rules) -> tuple[int, ...]:
    """The cells of "b2 a1 c3", whether or not these are legal moves."""
    if not isinstance(text, str):
        raise ValueError(
            f'the moves of a game are written as text such as "b2 a1 c3", got {text!r:.200}'
        )
    known = _names(rules)
    return tuple(known[name] if name in known else parse_cell(name, rules) for name in text.split())


def _number(text: str, what: str) -> int:
    """The whole number of digits."""
    if not re.fullmatch("[0-9]{1,19}", text):
        raise ValueError(f"{what} must be a whole number, got {text!r}")
    return int(text)


def _utc(text: str) -> str:
    """A time with its zone as UTC to the second, such as 2026-05-09T07:35:25Z; now for no text."""
    try:
        when = (
            datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))
            if text != ""
            else datetime.now(timezone.utc)
        )
        if when.tzinfo is None:
            raise ValueError("it names no zone")
        return when.astimezone(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(
            f"the time of a game must be ISO text with a zone, such as 2026-05-09T07:35:25Z, got {text!r:.80} ({error})"
        ) from None


# --- files -----------------------------------------------------------------------------------------------------------


def parse_lines(lines: Iterable[str], rules: Rules = SQUARE, source: str = "") -> Iterator[Game]:
    """The games of lines of text, one a line; empty ones and comments are skipped. ValueError names the line, and `source`, that is no game."""
    for number, line in enumerate(lines, 1):
        if line.partition("#")[0].strip():
            try:
                yield Game.parse(line, rules)
            except ValueError as error:
                raise ValueError(f"line {number}{source and f' of {source}'}: {error}") from None


def read_games(path: str | os.PathLike[str], rules: Rules = SQUARE) -> Iterator[Game]:
    """The games of a file, oldest first: a store, known by its first bytes, or text (`rules`: the board of lines that name none)."""
    if (
        Path(path).is_file()
        and Path(path).stat().st_size > 0
        and _application(Path(path)) is not None
    ):
        with GameStore(path, read_only=True) as store:
            yield from store
        return
    try:
        with open(path, encoding="utf-8-sig") as lines:
            yield from parse_lines(lines, rules, str(path))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} holds no games: expected a store, or text with one game a line, got bytes that are neither ({error})"
        ) from None


# --- the store -------------------------------------------------------------------------------------------------------

APPLICATION = 0x58284F29  # "X(O)", marks a file as a store of games
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE games (
            id INTEGER PRIMARY KEY, time TEXT NOT NULL,
            x_kind TEXT NOT NULL, x_name TEXT NOT NULL, x_source TEXT NOT NULL,
            o_kind TEXT NOT NULL, o_name TEXT NOT NULL, o_source TEXT NOT NULL,
            side TEXT, rows INTEGER NOT NULL, cols INTEGER NOT NULL, k INTEGER NOT NULL, seed INTEGER, moves TEXT NOT NULL,
            result TEXT NOT NULL, ended TEXT NOT NULL, origin TEXT NOT NULL, checksum INTEGER NOT NULL)""",
        # An index ends with the id, so each gives its games newest first; training games, which may be many, are in one only.
        "CREATE INDEX games_listed ON games (id) WHERE origin <> 'training'",
        "CREATE INDEX games_x ON games (x_name) WHERE origin <> 'training'",
        "CREATE INDEX games_o ON games (o_name) WHERE origin <> 'training'",
        "CREATE INDEX games_origin ON games (origin)",
    ),
)
"""What each version adds to the one before, as statements; `user_version` counts those that a file has seen. Only ever add to the end."""

COLUMNS = "id, time, x_kind, x_name, x_source, o_kind, o_name, o_source, side, rows, cols, k, seed, moves, result, ended, origin, checksum"
CHUNK = 1_000  # games that are read at once where all are read


class GameStore:
    """The games of one file, made if there is none yet; a context that closes it.

    read_only: nothing is made, changed or added. timeout: seconds to wait for another process that is writing.
    Raises StoreError, and leaves the file as it is, if this is no store, or damaged, locked, of a newer version or write-protected.
    """

    def __init__(self, path: str | os.PathLike[str], read_only: bool = False, timeout: float = 5.0):
        self.path, self.read_only, self.timeout = Path(path), read_only, timeout
        self._lock, self._process = threading.RLock(), os.getpid()
        self._check_file()
        with self._explained():
            self._connection = self._connect()
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> GameStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        with self._explained():
            self._connection.close()

    # --- adding --------------------------------------------------------------------------------------------------------

    def add(self, game: Game) -> int:
        """Keep a game; its id. An id that it has from elsewhere is not kept."""
        return self.add_many((game,))[0]

    def add_many(self, games: Iterable[Game]) -> range:
        """Keep games, all of them or, if anything fails, none; their ids."""
        rows = [_values(game) for game in games]
        places = ", ".join("?" * len(COLUMNS.split(", ")))
        with self._writing() as connection:
            last = connection.execute("SELECT ifnull(max(id), 0) FROM games").fetchone()[0]
            ids = range(last + 1, last + 1 + len(rows))
            connection.executemany(
                f"INSERT INTO games ({COLUMNS}) VALUES ({places})",
                ((id, *row, _checksum(row)) for id, row in zip(ids, rows, strict=True)),
            )
        return ids

    def import_lines(self, lines: Iterable[str], rules: Rules = SQUARE) -> range:
        """Add the games of lines of text (an open file is such lines), all or none; their ids. `rules`: the board of lines that name none."""
        return self.add_many(list(parse_lines(lines, rules)))

    def import_json(self, text: str | bytes) -> range:
        """Add the games of a JSON list as `export_json` writes it, all or none; their new ids."""
        try:
            contents = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"expected games as JSON, got something else: {error}") from None
        if not isinstance(contents, list):
            raise ValueError(f"expected a JSON list of games, got {contents!r:.120}")
        games = []
        for number, content in enumerate(contents, 1):
            try:
                games.append(Game.from_json(content))
            except ValueError as error:
                raise ValueError(f"game {number} of the list: {error}") from None
        return self.add_many(games)

    # --- reading -------------------------------------------------------------------------------------------------------

    def get(self, id: int) -> Game:
        """The game with this number; UnknownGameError if there is none."""
        id = whole_number(id, "the id of a game", 1)
        found = self._rows(f"SELECT {COLUMNS} FROM games WHERE id = ?", (min(id, LARGEST),))
        if not found:
            count, low, high = self._rows("SELECT count(*), min(id), max(id) FROM games")[0]
            has = (
                f"{count:,} {'game' if count == 1 else 'games'}, {low} to {high}"
                if count
                else "no game yet"
            )
            raise UnknownGameError(f"unknown game {id}: {self.path} holds {has}")
        return self._game(found[0])

    def list(
        self,
        limit: int = 50,
        before: int | None = None,
        *,
        origin: str | Collection[str] = LISTED,
        player: str | None = None,
        result: str | None = None,
        rules: Rules | None = None,
    ) -> Sequence[Game]:
        """The newest games, the newest first; those with ids below `before`, to go on with the next page.

        origin: one or several of ORIGINS, all but training by default. player: a name, of either side. rules: the board.
        """
        before = LARGEST if before is None else whole_number(before, "before", 1)
        ids, values = self._ids(origin, player, result, rules, min(before, LARGEST))
        values["limit"] = whole_number(limit, "limit", 0, LARGEST)
        statement = f"SELECT {COLUMNS} FROM games WHERE id IN ({ids} ORDER BY id DESC LIMIT :limit) ORDER BY id DESC"
        return [self._game(row) for row in self._rows(statement, values)]

    def count(
        self,
        *,
        origin: str | Collection[str] = LISTED,
        player: str | None = None,
        result: str | None = None,
        rules: Rules | None = None,
    ) -> int:
        """How many games `list` has to show."""
        ids, values = self._ids(origin, player, result, rules)
        return self._rows(f"SELECT count(*) FROM ({ids})", values)[0][0]

    def __iter__(self) -> Iterator[Game]:
        """Every game, those of training too, the oldest first."""
        last = 0
        while rows := self._rows(
            f"SELECT {COLUMNS} FROM games WHERE id > ? ORDER BY id LIMIT {CHUNK}", (last,)
        ):
            yield from map(self._game, rows)
            last = rows[-1][0]

    def export_lines(self) -> Iterator[str]:
        """Every game as a line of text, the oldest first."""
        return (game.line() for game in self)

    def export_json(self) -> str:
        """Every game as one JSON list, the oldest first."""
        return (
            "["
            + ",\n".join(json.dumps(game.as_json(), ensure_ascii=False) for game in self)
            + "]\n"
        )

    def check(self) -> int:
        """Look at every page and play every game through; how many games there are. StoreError says what is damaged."""
        found = [text for (text,) in self._rows("PRAGMA integrity_check(5)")]
        if found != ["ok"]:
            raise _damaged(self.path, "; ".join(found))
        return sum(1 for _ in self)

    # --- the file ------------------------------------------------------------------------------------------------------

    def _check_file(self) -> None:
        """Raises StoreError unless the path is free, or a file that a store has made. SQLite has changed nothing by then."""
        try:
            if not self.path.exists():
                if self.read_only:
                    raise StoreError(
                        f"there is no store at {self.path}: give the path of one, or play a game to make it"
                    )
                self.path.parent.mkdir(parents=True, exist_ok=True)
                return
            if not self.path.is_file():
                kind = "folder" if self.path.is_dir() else "device"
                raise StoreError(
                    f"{self.path} is a {kind}: expected a file, such as {self.path / 'games.db'}"
                )
            is_empty = self.path.stat().st_size == 0
        except OSError as error:
            raise StoreError(f"{self.path} {NOT_OPENED} ({error})") from None
        application = _application(self.path)
        if application == APPLICATION or (
            is_empty and not self.read_only
        ):  # empty: begun just now, by another process or by `touch`
            return
        got = (
            "an empty file"
            if is_empty
            else "another kind of file"
            if application is None
            else "the SQLite file of another program"
        )
        raise StoreError(
            f"{self.path} is no store of games: expected an SQLite file made by one, got {got}; nothing was changed, give another path"
        )

    def _connect(self) -> sqlite3.Connection:
        mode = "ro" if self.read_only else "rwc"
        if (
            self.read_only
            and not os.path.exists(f"{self.path}-wal")
            and not os.access(self.path.parent, os.W_OK)
        ):
            mode += "&immutable=1"  # nobody can write beside it, not even the file by which readers and writers agree
        url = f"{self.path.absolute().as_uri()}?mode={mode}"
        return sqlite3.connect(
            url, timeout=self.timeout, isolation_level=None, check_same_thread=False, uri=True
        )

    def _prepare(self) -> None:
        """Bring a new or older file to this version; StoreError for one of a newer version."""
        version, latest = self._version(), len(MIGRATIONS)
        if version > latest:
            raise StoreError(
                f"{self.path} was written by a newer program (version {version}, this one knows {latest}): update tictactoe-env"
            )
        if self.read_only:
            if version < latest:
                raise StoreError(
                    f"{self.path} is of version {version}, this program reads {latest}: open it for writing once, which brings it up to date"
                )
            return
        self._rows("PRAGMA synchronous = FULL")
        if version < latest:
            with self._writing() as connection:
                for statement in itertools.chain(
                    *MIGRATIONS[self._version() :]
                ):  # asked again: another process may have been faster
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {latest}")
        self._rows("PRAGMA journal_mode = WAL")

    def _version(self) -> int:
        return self._rows("PRAGMA user_version")[0][0]

    def _rows(self, statement: str, values: Any = ()) -> Sequence[Any]:
        """All rows that a statement gives."""
        with self._explained():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction of the only writer: at its end all of it is on the disk, or nothing."""
        with self._explained():
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """One thread at a time, and StoreError for what goes wrong in SQLite."""
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path} was opened by another process: open it again after a fork"
            )
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise _explain(self.path, error) from error

    # --- rows ----------------------------------------------------------------------------------------------------------

    def _ids(
        self,
        origin: str | Collection[str],
        player: str | None,
        result: str | None,
        rules: Rules | None,
        before: int = LARGEST,
    ) -> tuple[str, dict[str, Any]]:
        """The statement that gives the ids of the games asked for, and its values."""
        origins = {origin} if isinstance(origin, str) else set(origin)
        for name in origins - set(ORIGINS):
            raise unknown_name("origin of a game", name, ORIGINS)
        if result not in (None, *RESULTS):
            raise unknown_name("result of a game", result, RESULTS)
        values: dict[str, Any] = {
            "before": before,
            "player": player,
            "result": result,
            **({} if rules is None else asdict(rules)),
        }
        where = ["id < :before"]
        if origins == set(LISTED):
            where.append("origin <> 'training'")  # as the indexes say it
        elif origins != set(ORIGINS):
            where.append(f"origin IN ({', '.join(repr(name) for name in sorted(origins))})")
        where += [
            f"{name} = :{name}"
            for name in ("result", "rows", "cols", "k")
            if values.get(name) is not None
        ]
        names = ([],) if player is None else (["x_name = :player"], ["o_name = :player"])
        return " UNION ".join(
            f"SELECT id FROM games WHERE {' AND '.join(where + name)}" for name in names
        ), values

    def _game(self, row: tuple[Any, ...]) -> Game:
        """The game of a row; StoreError if it is not what was written."""
        id, when, *players, side, rows, cols, k, seed, moves, result, ended, origin, checksum = row
        if checksum != _checksum(row[1:-1]):
            raise _damaged(self.path, f"game {id} is not what was written, its checksum differs")
        try:
            x, o, rules = Player(*players[:3]), Player(*players[3:]), _rules(rows, cols, k)
            return Game(
                x=x,
                o=o,
                moves=_cells(moves, rules),
                origin=origin,
                rules=rules,
                result=result,
                ended=ended,
                side=side,
                seed=seed,
                time=when,
                id=id,
            )
        except ValueError as error:
            raise _damaged(self.path, f"game {id}: {error}") from None


NOT_OPENED = "cannot be opened: a store needs a file and a folder that may be read and written"
REASONS = (
    (
        "locked",
        "is locked: another program has been writing for too long; let it finish, and try again",
    ),
    (
        "readonly",
        "cannot be written: it was opened for reading only, or the file or its folder is write-protected",
    ),
    ("unable to open", NOT_OPENED),
    (
        "disk I/O",
        "cannot be read or written, the disk reports an error: see whether it is full or failing",
    ),
    ("full", "cannot grow, the disk is full: make room, and try again; nothing was changed"),
    ("closed database", "is closed: open the store again"),
)
"""What SQLite says, and what that means."""


def _explain(path: Path, error: sqlite3.Error) -> StoreError:
    """The error for what SQLite says: one of REASONS, or damage."""
    return next(
        (StoreError(f"{path} {reason}") for words, reason in REASONS if words in str(error)),
        _damaged(path, error),
    )


def _damaged(path: Path, what: object) -> StoreError:
    return StoreError(f"{path} is damaged: {what}; nothing was changed, bring back a copy of it")


def _application(path: Path) -> int | None:
    """The application id of an SQLite file, None for any other file; the file is not locked, recovered or changed.

    SQLite reads it, since a process that closes a file of its own loses the locks that its stores hold on the same file.
    """
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            return int(connection.execute("PRAGMA application_id").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise _explain(path, error) from error
    except sqlite3.DatabaseError as error:
        return (
            None if "not a database" in str(error) else APPLICATION
        )  # damaged, or being written: the store will see


def _values(game: Game) -> tuple[Any, ...]:
    """The row of a game, without id and checksum."""
    players = (game.x.kind, game.x.name, game.x.source, game.o.kind, game.o.name, game.o.source)
    board = (game.rules.rows, game.rules.cols, game.rules.k)
    return (
        game.time,
        *players,
        game.side,
        *board,
        game.seed,
        game.text,
        game.result,
        game.ended,
        game.origin,
    )


def _checksum(values: Sequence[Any]) -> int:
    return zlib.crc32(json.dumps(values, default=str).encode())
