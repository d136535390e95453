"""A damaged or hostile store: each bit of a row, its id, its pages, and SQL that is not ours."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
from any_games import RUN, game
from text_cases import refuses
from wrong_files import at_most

from tictactoe_env import store as module
from tictactoe_env.games import ORIGINS
from tictactoe_env.store import GameStore, StoreError, UnknownGameError

STORES = Path(__file__).parent / "stores"
LEAF_OF_TABLE = 0x0D
alarms = pytest.mark.skipif(os.name != "posix", reason="alarms")


def of_games(path, count, **about):
    """The games of a new store."""
    with GameStore(path) as store:
        store.add_many([game(seed=seed, **about) for seed in range(count)])
        return list(store)


def varint(data, at):
    """A number of SQLite's file format, and where it ends."""
    number = 0
    for end in range(at + 1, at + 9):
        number = number << 7 | data[end - 1] & 0x7F
        if data[end - 1] < 0x80:
            return number, end
    return number << 8 | data[at + 8], at + 9


def rows_in(data):
    """Where the rows of `games` stand in the bytes of a store: {id: (start, of the id, end)}."""
    page, found = int.from_bytes(data[16:18], "big"), {}
    for start in range(page, len(data), page):  # the first page holds the schema
        if data[start] != LEAF_OF_TABLE:
            continue
        count = int.from_bytes(data[start + 3 : start + 5], "big")
        for number in range(count):
            at = start + 8 + 2 * number
            cell = start + int.from_bytes(data[at : at + 2], "big")
            size, of_id = varint(data, cell)
            id, of_row = varint(data, of_id)
            found[id] = (cell, of_id, of_row + size)
    return found


def flipped(data, place, bit):
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return bytes(changed)


def said(call):
    """What a call returns, or the damage that it tells."""
    try:
        return call()
    except UnknownGameError as error:
        return error
    except StoreError as error:
        return "damage" if "is damaged: " in str(error) else error


@pytest.fixture
def damaged(tmp_path):
    """A function that gives what `get`, `list` and iteration say of a store with these bytes."""

    def read(data, id):
        path = tmp_path / "damaged.db"
        path.write_bytes(data)
        calls = (
            lambda store: store.get(id),
            lambda store: store.list(1_000),
            lambda store: store.list(1_000, origin=ORIGINS)[::-1],
            list,
        )
        with at_most(20):
            try:
                store = GameStore(path, read_only=True)
            except StoreError:
                return ["damage"] * len(calls)
            with store:
                return [said(lambda call=call: call(store)) for call in calls]

    return read


@pytest.mark.slow
@alarms
def test_every_bit_of_a_row_is_told_by_each_way_to_read_it(tmp_path, damaged):
    games = of_games(tmp_path / "games.db", 3, o=RUN)
    data = (tmp_path / "games.db").read_bytes()
    start, _, end = rows_in(data)[2]
    assert 80 < end - start < 200
    right, damages = [games[1], games[::-1], games, games], 0
    for place in range(start, end):
        for bit in range(8):
            found = damaged(flipped(data, place, bit), 2)
            is_told = found == ["damage"] * 4
            assert is_told or found == right, (place - start, bit, found)
            damages += is_told
    assert damages > 0.9 * 8 * (end - start)


@alarms
@pytest.mark.parametrize("count", [3, 40, pytest.param(300, marks=pytest.mark.slow)])
def test_every_bit_of_an_id_is_told_by_each_way_to_read_its_game(count, tmp_path, damaged):
    of_games(tmp_path / "games.db", count, origin="training" if count == 3 else "web")
    data = (tmp_path / "games.db").read_bytes()
    rows = rows_in(data)
    assert list(rows) == list(range(1, count + 1))
    some = (1, 2, 3) if count == 3 else (1, 17, 127, 128, 129, 255, count)
    for id in (id for id in some if id <= count):
        _, of_id, _ = rows[id]
        for place in range(of_id, varint(data, of_id)[1]):
            for bit in range(8):
                found = damaged(flipped(data, place, bit), id)
                assert found[0] == "damage"
                assert found[2:] == ["damage"] * 2, (id, bit, found)
                assert found[1] == ([] if count == 3 else "damage")


@alarms
@pytest.mark.slow
def test_a_page_over_another_never_makes_a_reader_endless_and_shows_no_game_under_another_id(
    tmp_path, damaged
):
    """A write that was lost leaves an old page; a misplaced one stands over another page."""
    games = of_games(tmp_path / "games.db", 200)
    data = (tmp_path / "games.db").read_bytes()
    pages = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    assert len(pages) > 8
    for number in range(1, len(pages)):
        for other in range(1, len(pages)):
            if number == other:
                continue
            changed = pages.copy()
            changed[number] = pages[other]
            one, listed, everything, iterated = damaged(b"".join(changed), 100)
            assert one in ("damage", games[99]) or isinstance(one, UnknownGameError)
            assert iterated in ("damage", games)
            for found in (listed, everything):
                assert found == "damage" or set(found) <= set(games)
    assert damaged(data, 100) == [games[99], games[::-1], games, games]


def test_a_game_is_added_after_damage_if_its_number_is_sure_and_not_otherwise(tmp_path):
    path = tmp_path / "games.db"
    of_games(path, 3)
    data = path.read_bytes()
    _, of_id, end = rows_in(data)[3]
    path.write_bytes(flipped(data, end - 1, 0))
    with GameStore(path) as store:
        assert store.add(game()) == 4
    path.write_bytes(flipped(data, of_id, 5))
    with (
        GameStore(path) as store,
        refuses(f"{path} is damaged: no index knows its last game, 35", error=StoreError),
    ):
        store.add(game())


def write(path, *statements):
    """Execute statements in a store, as another program may do."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_the_largest_number_is_told_as_damage(tmp_path):
    path = tmp_path / "games.db"
    of_games(path, 2)
    write(path, f"UPDATE games SET id = {2**63 - 1} WHERE id = 2")
    with GameStore(path) as store:
        for call in (lambda: store.add(game()), lambda: store.get(2**63 - 1), store.list):
            with refuses(f"{path} is damaged: ", error=StoreError):
                call()
        with refuses(
            "its last game is 9223372036854775807, and no number is larger", error=StoreError
        ):
            store.add(game())
        assert store.get(1).id == 1


HOSTILE = {
    "an endless view": (
        "DROP TABLE games",
        "CREATE VIEW games AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
        "SELECT * FROM n",
    ),
    "a view of a gigabyte": (
        "DROP TABLE games",
        "CREATE VIEW games AS SELECT hex(zeroblob(300000000)) AS id",
    ),
    "a trigger that ignores": (
        "CREATE TRIGGER none BEFORE INSERT ON games BEGIN SELECT RAISE(IGNORE); END",
    ),
    "a trigger that deletes": (
        "CREATE TRIGGER gone AFTER INSERT ON games BEGIN DELETE FROM games; END",
    ),
    "another table": ("CREATE TABLE more (id)",),
    "no index": ("DROP INDEX games_x",),
    "another index": (
        "DROP INDEX games_x",
        "CREATE INDEX games_x ON games (o_name) WHERE origin <> 'training'",
    ),
    "another column": ("ALTER TABLE games ADD COLUMN more TEXT",),
}


@alarms
@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("name", HOSTILE)
def test_sql_that_is_not_ours_is_refused_and_the_file_left_as_it_is(name, version, tmp_path):
    path = tmp_path / "games.db"
    of_games(path, 2)
    write(path, *HOSTILE[name], f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    kind = "table 'games'" if version == 0 else ""
    for read_only in (False, True):
        if read_only and version < 2:
            continue  # it is refused for its version
        with at_most(20), pytest.raises(StoreError, match=r"is damaged: it has (no|an)") as raised:
            GameStore(path, read_only)
        assert kind in str(raised.value) or version == 0
    assert path.read_bytes() == before


def test_the_statistics_of_sqlite_are_no_damage(tmp_path):
    path = tmp_path / "games.db"
    games = of_games(path, 300)
    write(path, "ANALYZE")
    with GameStore(path) as store:
        assert list(store) == games == store.list(300)[::-1]


def test_a_schema_that_is_no_utf_8_is_told_as_damage(tmp_path):
    """SQLite quotes a damaged name in its error, and Python fails to decode the text of that."""
    path = tmp_path / "games.db"
    games, told = of_games(path, 2), 0
    data = path.read_bytes()
    schema = range(data.index(b"table"), data.index(b"CREATE TABLE") + 30)
    for place in (*schema, data.index(b"games_origin")):
        path.write_bytes(flipped(data, place, 7))
        with suppress(StoreError), GameStore(path, read_only=True) as store:
            told -= 1
            assert list(store) == games
        told += 1
    assert told > 20


@pytest.mark.parametrize("name", [b"games_origin", b"CREATE TABLE games", b"PRIMARY KEY"])
def test_what_sqlite_quotes_of_a_damaged_schema_cannot_change_what_a_terminal_shows(tmp_path, name):
    path = tmp_path / "games.db"
    of_games(path, 3)
    data = path.read_bytes()
    assert name in data
    path.write_bytes(data.replace(name, name[:-6] + b"\x1b[8m" + name[-2:]))
    with pytest.raises(StoreError, match="is damaged: ") as told:
        GameStore(path)
    assert str(told.value).isprintable()


def test_a_value_that_is_too_large_is_told_as_damage(tmp_path):
    path = tmp_path / "games.db"
    of_games(path, 2)
    write(path, "UPDATE games SET moves = zeroblob(50000000) WHERE id = 2")
    with GameStore(path, read_only=True) as store:
        for call in (lambda: store.get(2), store.list, lambda: list(store)):
            with refuses(f"{path} is damaged: ", error=StoreError):
                call()
        assert store.get(1).id == 1


@pytest.mark.parametrize("error", [MemoryError(), OverflowError("int too large")])
def test_a_lack_of_memory_and_a_number_too_large_are_told_as_damage(tmp_path, error):
    with GameStore(tmp_path / "games.db") as store:

        def fail(*_):
            raise error

        with refuses("is damaged: it holds a value that is too large", error=StoreError):  # noqa: SIM117
            with store._explained():
                fail()


# --- checksums without the id --------------------------------------------------------------------


def of_version_1(path):
    """A store of four games as version 1 wrote it; its games as lines."""
    connection = sqlite3.connect(path)
    connection.executescript((STORES / "version-1.sql").read_text(encoding="utf-8"))
    connection.close()
    return (STORES / "version-1.txt").read_text(encoding="utf-8").splitlines()


def test_a_store_of_version_1_keeps_its_games_and_gets_checksums_with_ids(tmp_path):
    path = tmp_path / "games.db"
    lines = of_version_1(path)
    with refuses(
        "is of version 1, this program reads 2: open it for writing once", error=StoreError
    ):
        GameStore(path, read_only=True)
    for _ in range(2):
        with GameStore(path) as store:
            assert list(store.export_lines()) == lines
    write(path, "UPDATE games SET id = 5 WHERE id = 2")
    with GameStore(path) as store, refuses("game 5 is not what was written", error=StoreError):
        store.get(5)


@pytest.mark.parametrize("change", ["x_name = 'Bob'", "x_name = CAST(x'ff00' AS TEXT)"])
def test_a_game_that_was_damaged_before_the_migration_is_a_damaged_one_afterwards(change, tmp_path):
    path = tmp_path / "games.db"
    lines = of_version_1(path)
    write(path, f"UPDATE games SET {change} WHERE id = 2")
    with GameStore(path) as store:
        assert [store.get(id).line() for id in (1, 3, 4)] == [lines[0], *lines[2:]]
        with refuses(f"{path} is damaged: ", error=StoreError):
            store.get(2)


def test_ids_that_may_be_wrong_get_no_checksum_and_a_failed_migration_changes_nothing(
    tmp_path, monkeypatch
):
    path = tmp_path / "games.db"
    of_version_1(path)
    data = path.read_bytes()
    _, of_id, _ = rows_in(data)[2]
    path.write_bytes(flipped(data, of_id, 6))
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"(?s)is damaged: .* out of order"):
        GameStore(path)
    assert path.read_bytes() == before
    path.write_bytes(data)
    stopped = (*module.MIGRATIONS, ("SELECT nonsense",))
    monkeypatch.setattr(module, "MIGRATIONS", stopped)
    with pytest.raises(StoreError):
        GameStore(path)
    assert path.read_bytes() == data
