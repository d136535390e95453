"""A store of games in one SQLite file.

    with GameStore("games.db") as store:
        number = store.add(Game(moves=(0, 4, 8, 1, 7, 6, 2, 5, 3), origin="web"))
        store.get(number).result                    # "draw": it follows from the moves
        store.list(20, player="Ann", result="X")    # newest first, without games of training

    python -m tictactoe_env.games games.db --check
    python -m tictactoe_env.games games.db --export json > games.json
    python -m tictactoe_env.games games.db --import games.txt

When `add` returns, the game is on the disk (flushed at every commit). Several processes may use a
store at the same time. Threads may share a `GameStore`, which admits one thread at a time. A forked
process must open the store again.

The moves of a game are replayed whenever it is read, and a damaged game raises StoreError. A list
may lack games whose index is damaged; `check` tells.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tictactoe_env.errors import check_arguments, one_of, printable, whole_number
from tictactoe_env.files import check_file, read_file
from tictactoe_env.games.game import (
    LARGEST,
    MAX_JSON,
    MAX_LINE,
    ORIGINS,
    RESULTS,
    SQUARE,
    Game,
    Participant,
    parse_json,
    parse_lines,
    rules_of,
)
from tictactoe_env.notation import parse_cells, parse_variant, variant_words
from tictactoe_env.rules import SIZES, Rules

LISTED = tuple(origin for origin in ORIGINS if origin != "training")
_SQLITE = b"SQLite format 3\0"  # the first bytes of its files
GAMES_AT_ONCE = 1_000  # that `__iter__` reads
_APPLICATION = 0x58284F29  # "X(O)", the application id of a store of games
_VERSION = 2  # `user_version` of the file
_COLUMNS = (
    "id, time, x_kind, x_name, x_source, o_kind, o_name, o_source, side, rows, cols, k, seed, "
    "moves, result, ended, origin"
)
_SCHEMA = (
    """CREATE TABLE games (
        id INTEGER PRIMARY KEY, time TEXT NOT NULL,
        x_kind TEXT NOT NULL, x_name TEXT NOT NULL, x_source TEXT NOT NULL,
        o_kind TEXT NOT NULL, o_name TEXT NOT NULL, o_source TEXT NOT NULL,
        side TEXT, rows INTEGER NOT NULL, cols INTEGER NOT NULL, k INTEGER NOT NULL,
        seed INTEGER, moves TEXT NOT NULL, result TEXT NOT NULL, ended TEXT NOT NULL,
        origin TEXT NOT NULL, checksum INTEGER NOT NULL)""",  # 0, and never read
    # Every index ends with the id, so it gives its games newest first. There may be many games of
    # training, so they are in one index only.
    "CREATE INDEX games_listed ON games (id) WHERE origin <> 'training'",
    "CREATE INDEX games_x ON games (x_name) WHERE origin <> 'training'",
    "CREATE INDEX games_o ON games (o_name) WHERE origin <> 'training'",
    "CREATE INDEX games_origin ON games (origin)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)
# The last kind of entry by name is "table" in a store; a view or a trigger is none of its entries.
_KIND = """SELECT (SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version),
    (SELECT max(type) FROM sqlite_master)"""
NEW = (0, 0, None)
STORE = (_APPLICATION, _VERSION, "table")


class StoreError(ValueError):
    """The store is damaged, locked, of another version or write-protected, or it is no store."""


class UnknownGameError(StoreError, LookupError):
    """No game in the store has this id."""


class GameStore:
    """The games in one file, which is created if it does not exist. A context manager.

    read_only: the file is neither created nor changed. timeout: seconds to wait while another
    process is writing. Raises StoreError, and does not change the file, if it is no store, damaged,
    locked, of another version or write-protected.
    """

    def __init__(self, path: str | os.PathLike[str], read_only: bool = False, timeout: float = 5.0):
        self.path = Path(path)
        self.read_only = read_only
        self.timeout = timeout
        self._lock = threading.RLock()
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
        """Close the file. Closing it again has no effect."""
        with self._explained():
            self._connection.close()

    # --- adding ----------------------------------------------------------------------------------

    def add(self, game: Game) -> int:
        """Add a game and return its new id."""
        return self.add_many((game,))[0]

    def add_many(self, games: Iterable[Game]) -> range:
        """Add all games, or none if one of them fails, and return their new ids."""
        rows = [_values(game) for game in games]
        places = ", ".join("?" * len(_COLUMNS.split(", ")))
        with self._writing() as connection:
            last = self._rows("SELECT max(id) FROM games")[0][0] or 0
            ids = range(last + 1, last + 1 + len(rows))
            numbered = ((id, *row) for id, row in zip(ids, rows, strict=True))
            connection.executemany(
                f"INSERT INTO games ({_COLUMNS}, checksum) VALUES ({places}, 0)", numbered
            )
        return ids

    # --- reading ---------------------------------------------------------------------------------

    def get(self, id: int) -> Game:
        """The game with this id; UnknownGameError if there is none."""
        id = whole_number(id, "the id of a game", 1)
        for row in self._rows(f"SELECT {_COLUMNS} FROM games WHERE id = ?", (min(id, LARGEST),)):
            return self._game(row)
        last = self._rows("SELECT max(id) FROM games")[0][0]
        raise UnknownGameError(f"unknown game {id}: the last one in {self.path} is {last or 0}")

    def list(
        self,
        limit: int = 50,
        before: int | None = None,
        *,
        origin: str | Collection[str] = LISTED,
        player: str | Collection[str] | None = None,
        people: bool | None = None,
        result: str | None = None,
    ) -> Sequence[Game]:
        """The newest games, newest first. For the next page set `before` to the last id seen.

        before: only games with smaller ids. origin: one or several of ORIGINS, by default all but
        training. player: the name of X or O, or several names. people: only games in which a
        person played, or in which none did; no index helps here.
        """
        most = LARGEST if before is None else whole_number(before, "before", 1) - 1
        ids, values = self._ids(min(most, LARGEST), origin, player, people, result)
        values["limit"] = whole_number(limit, "limit", 0, LARGEST)
        newest = f"{ids} ORDER BY id DESC LIMIT :limit"
        statement = f"SELECT {_COLUMNS} FROM games WHERE id IN ({newest}) ORDER BY id DESC"
        return [self._game(row) for row in self._rows(statement, values)]

    def count(self, **filters: Any) -> int:
        """The number of games that `list` finds with these filters and without a limit."""
        check_arguments("count", filters, ("origin", "player", "people", "result"))
        ids, values = self._ids(LARGEST, **filters)
        return self._rows(f"SELECT count(*) FROM ({ids})", values)[0][0]

    def players(self) -> Sequence[str]:
        """The names of all who played, sorted; those of training games are left out."""
        sides = (f"SELECT {x}_name FROM games WHERE origin <> 'training'" for x in "xo")
        return sorted(name for (name,) in self._rows(" UNION ".join(sides)))

    def __iter__(self) -> Iterator[Game]:
        """Every game, oldest first, including those of training."""
        statement = f"SELECT {_COLUMNS} FROM games WHERE id > ? ORDER BY id LIMIT {GAMES_AT_ONCE}"
        last = 0
        while rows := self._rows(statement, (last,)):
            for row in rows:
                if row[0] <= last:
                    raise _damaged(self.path, f"game {row[0]} comes after game {last}")
                yield self._game(row)
                last = row[0]

    def check(self) -> int:
        """Check the file and replay every game; returns the number of games.

        Raises StoreError if anything is damaged.
        """
        if (found := self._rows("PRAGMA integrity_check(1)")) != [("ok",)]:
            raise _damaged(self.path, found[0][0])
        return sum(1 for _ in self)

    # --- the file --------------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        try:
            check_file(self.path, StoreError)
        except FileNotFoundError:
            if self.read_only:
                raise StoreError(f"there is no {self.path}: no game was saved in it yet") from None
            self.path.parent.mkdir(parents=True, exist_ok=True)
        # A reader opens the file for writing too: what a killed program began is taken back.
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={'rw' if self.read_only else 'rwc'}",
            timeout=self.timeout,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )

    def _prepare(self) -> None:
        """Make the tables of a new file. StoreError for a file that is no store."""
        self._rows("PRAGMA trusted_schema = OFF")  # SQL in the file calls harmless functions only
        self._rows("PRAGMA synchronous = EXTRA")
        self._rows(f"PRAGMA query_only = {self.read_only}")
        if not self.read_only and self._kind() == NEW:
            with self._writing() as connection:
                if self._kind() == NEW:  # otherwise another process has just made them
                    for statement in _SCHEMA:
                        connection.execute(statement)
        if self._kind() != STORE:
            raise StoreError(
                f"{self.path} is no store of games of version {_VERSION}: give another path, or "
                "update the package"
            )

    def _kind(self) -> Any:
        """The numbers that name the format of the file, and its last kind of entry by name."""
        return self._rows(_KIND)[0]

    def _rows(self, statement: str, values: Any = ()) -> Sequence[Any]:
        """All rows of a statement's result."""
        with self._explained():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction. Afterwards all of it is on the disk, or after an error nothing."""
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
        """Admits one thread at a time, and raises StoreError for an error of SQLite."""
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError, UnicodeDecodeError, OverflowError) as error:
                # Its words may quote what is in the file.
                raise StoreError(f"{self.path} cannot be used: {printable(error)}") from error

    # --- rows ------------------------------------------------------------------------------------

    def _ids(
        self,
        most: int,
        origin: str | Collection[str] = LISTED,
        player: str | Collection[str] | None = None,
        people: bool | None = None,
        result: str | None = None,
    ) -> tuple[str, dict[str, Any]]:
        """The SQL statement for the ids of the games that pass the filters, and its parameters."""
        values: dict[str, Any] = {"most": most, "result": result, "people": people}
        conditions = ["id <= :most"]
        origins = {origin} if isinstance(origin, str) else set(origin)
        for name in origins:
            one_of("origin of a game", name, ORIGINS)
        if origins == set(LISTED):
            conditions.append("origin <> 'training'")  # as the indexes have it, word for word
        elif origins != set(ORIGINS):
            conditions.append(f"origin IN ({', '.join(repr(name) for name in sorted(origins))})")
        if result is not None:
            one_of("result of a game", result, RESULTS)
            conditions.append("result = :result")
        if people is not None:
            conditions.append("('human' IN (x_kind, o_kind)) = :people")
        chosen = " AND ".join(conditions)
        if player is None:
            return f"SELECT id FROM games WHERE {chosen}", values
        names = [player] if isinstance(player, str) else player
        players = {f"player{number}": name for number, name in enumerate(names)}
        among = ", ".join(f":{name}" for name in players)
        statement = (
            f"SELECT id FROM games WHERE {chosen} AND x_name IN ({among}) "
            f"UNION SELECT id FROM games WHERE {chosen} AND o_name IN ({among})"
        )
        return statement, {**values, **players}

    def _game(self, row: tuple[Any, ...]) -> Game:
        """The game in a row; StoreError if the row is damaged."""
        values = dict(zip(_COLUMNS.split(", "), row, strict=True))
        try:
            return _game_of(values)
        except (ValueError, TypeError, AttributeError) as error:
            raise _damaged(self.path, f"game {row[0]}: {error}") from None


def _game_of(values: dict[str, Any]) -> Game:
    """The game of a row, by column. Raises an error if it is damaged."""
    words = values.pop("moves").split()
    variant = parse_variant(word for word in words if "=" in word)
    rules = rules_of(*(values.pop(name) for name in SIZES), **variant)
    for side in "xo":
        parts = (values.pop(f"{side}_{name}") for name in ("kind", "name", "source"))
        values[side] = Participant(*parts)
    moves = parse_cells(" ".join(word for word in words if "=" not in word), rules)
    return Game(rules=rules, moves=tuple(moves), **values)


def read_games(
    path: str | os.PathLike[str],
    rules: Rules = SQUARE,
    numbers_from: int | None = None,
    on_error: Callable[[ValueError], object] | None = None,
) -> Iterator[Game]:
    """The games of a file, oldest first: a store, JSON, or a game a line as text or JSON.

    `store.add_many(read_games(path))` adds all of them to a store, or none.

    The content of the file decides which, not its name. Text is UTF-8, or UTF-16 with a byte order
    mark, as Windows PowerShell writes it. One JSON value has at most 16 MB. rules: the board of
    games that name none. numbers_from: 0 or 1, the first number of moves that are numbers; without
    it they are refused. on_error: called with the ValueError of a line or an entry that is no game,
    which is then left out; by default it is raised. It names the place in the file.
    """
    reading = {"rules": rules, "numbers_from": numbers_from, "on_error": on_error}
    check_file(path)
    with open(path, "rb") as file:
        start = file.read(len(_SQLITE))
    if start == _SQLITE:
        with GameStore(path, read_only=True) as store:
            yield from store
        return
    encoding = "utf-16" if start.startswith((BOM_UTF16_BE, BOM_UTF16_LE)) else "utf-8-sig"
    with open(path, encoding=encoding, errors="surrogateescape") as text:
        is_one_value = _is_one_value(text)
        text.seek(0)
        if is_one_value:
            value = read_file(path, MAX_JSON).decode(encoding, "surrogateescape")
            yield from parse_json(value, str(path), **reading)
        else:
            yield from parse_lines(_lines(text), str(path), **reading)


def _lines(text: TextIO) -> Iterator[str]:
    """The lines of a file. A line that is too long for a game comes in parts."""
    return iter(lambda: text.readline(MAX_LINE + 1), "")


def _is_one_value(text: TextIO) -> bool:
    """True for a file of one JSON value, False if each line is a game by itself."""
    lines = filter(None, map(str.strip, _lines(text)))
    first = next(lines, "")
    is_alone = not next(lines, "")
    is_closed = first.endswith(("}", "]"))
    return first.startswith(("{", "[")) and (is_alone or not is_closed)


def _damaged(path: Path, what: object) -> StoreError:
    """The error for a damaged file. SQLite's words on it may quote what is in the file."""
    return StoreError(f"{path} is damaged: {printable(what)}; restore it from a copy")


def _values(game: Game) -> tuple[Any, ...]:
    """The row of a game without its id."""
    players = (game.x.kind, game.x.name, game.x.source, game.o.kind, game.o.name, game.o.source)
    board = (game.rules.rows, game.rules.cols, game.rules.k)
    # The table has no column for what makes a board a variant: it follows the moves, as in a line.
    moves = " ".join([*game.text.split(), *variant_words(game.rules)])
    ending = (moves, game.result, game.ended, game.origin)
    return (game.time, *players, game.side, *board, game.seed, *ending)
