"""Files as somebody writes them who knows the formats: hostile values, with checksums made anew."""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import json
import pickle
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from attack.guard import EXECUTED
from attack.mutations import as_json, damaged_bytes, damaged_json
from tictactoe_env.games import Game, json_text
from tictactoe_env.store import GameStore
from training.manifest import write_manifest

GAMES = tuple(
    Game(moves=moves, origin=origin)
    for origin in ("human", "web", "training")
    for moves in ((0, 4, 8, 1, 7, 6, 2, 5, 3), (0, 3, 1, 4, 2), (8, 3, 7, 4, 6))
)
ARRAY_TYPES = ("<f4", "<f8", "|u1", "|b1", ">i2", "<c8", "|S3", "<U1", "<M8[s]")
NUMBERS = ("", "nan", "-inf", "1e15", "1e308", "-1", "0.5", "x", "1" * 5_000, "\x1b[8m", "0x10")
SWOLLEN = 30 << 20  # bytes of a file, of which a reader must not make much more


class Planted:
    """An object that runs a program when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"{EXECUTED} = __import__('os').getpid()",)


def furnish(folder: Path) -> None:
    """Add a file of each further kind to a run: games, a dataset, a store, a study, a log."""
    with GameStore(folder / "learned.db") as store:
        store.add_many(GAMES)
    (folder / "games").write_text("".join(f"{game.line()}\n" for game in GAMES), "utf-8")
    (folder / "games.json").write_text(json_text(GAMES), "utf-8")
    (folder / "run.log").write_text("one line\nthe last line\n", "utf-8")
    from attack.loaders import dataset_columns, search_of

    search_of(folder / "study")

    names = dataset_columns()
    lines = [[1] + [0] * (len(names) - 2) + [0.25], [0, 1] + [0] * (len(names) - 3) + [-0.5]]
    with open(folder / "dataset.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *lines])


def make_manifests(folder: Path) -> None:
    """Write the manifests anew, so that they agree with the damaged files."""
    with contextlib.suppress(ValueError, OSError, LookupError, TypeError, RecursionError):
        steps = json.loads((folder / "checkpoint" / "progress.json").read_bytes())["steps"]
        for place in (folder / "checkpoint", folder):
            write_manifest(place, steps)


def plant(draw: Any, path: Path) -> str:
    """Put a file that executes something, if it is taken for what it is not, in its place."""
    program = pickle.dumps(Planted())
    array = io.BytesIO()
    np.savez(array, values=np.array([Planted()], dtype=object), known=[1], about=[1])
    contents = {
        "a pickle": program,
        "an archive of pickles": array.getvalue(),
        "a program": f"__import__('os').system('{EXECUTED}')\n".encode(),
        "a YAML program": f"!!python/object/apply:os.system ['{EXECUTED}']\n".encode(),
        "nothing": b"",
        "zeros": bytes(5_000),
    }
    name = draw.choice(list(contents))
    path.write_bytes(contents[name])
    return f"replaced by {name}"


def swell(draw: Any, path: Path) -> str:
    """Put a file in its place that is small or allowed, and large in memory."""
    contents: dict[str, Callable[[], bytes]] = {
        "empty lists": lambda: b"[" + b"[]," * (SWOLLEN // 30) + b"[]]",
        "nested lists": lambda: b"[" * 200_000 + b"]" * 200_000,
        "one long line": lambda: b"a" * SWOLLEN,
        "many lines": lambda: b"1,2\n" * (SWOLLEN // 40),
        "a long number": lambda: b"1" * 4_000_000,
        "empty objects": lambda: b'{"a":[' + b"{}," * (SWOLLEN // 30) + b"{}]}",
        "one long name": lambda: b'{"' + b"a" * SWOLLEN + b'": 1}',
        "a hole": lambda: b"",
    }
    name = draw.choice(list(contents))
    path.write_bytes(contents[name]())
    if name == "a hole":
        with open(path, "r+b") as file:
            file.truncate(1 << 34)
    return f"replaced by {name}"


def rewrite(draw: Any, path: Path) -> str:
    """Change the content of a file in its own format, and make its checksums anew."""
    ways = {".json": _json, ".safetensors": _arrays, ".csv": _table, ".npz": _archive, ".db": _sql}
    data = path.read_bytes()
    way = ways.get(path.suffix)
    if way is None or not data:
        path.write_bytes(damaged_bytes(draw, data))
        return "changed"
    return f"rewritten: {way(draw, path)}"


def _json(draw: Any, path: Path) -> str:
    content = json.loads(path.read_bytes())
    has_moves = isinstance(content, dict) and isinstance(content.get("moves"), dict)
    if has_moves and draw.random() < 0.6:
        content = with_other_moves(draw, content)
    else:
        content = damaged_json(draw, content)
    path.write_bytes(as_json(signed(draw, content, path)))
    return "JSON"


def with_other_moves(draw: Any, content: dict[str, Any]) -> dict[str, Any]:
    """A certificate with another move in one to three positions, or another stated number.

    It is true if the player meets none of these positions.
    """
    moves = content["moves"]
    for _ in range(draw.randint(1, 3)):
        board = draw.choice(list(moves))
        rows = board.split("/")
        free = [
            f"{chr(ord('a') + col)}{row + 1}"
            for row, line in enumerate(rows)
            for col, letter in enumerate(line)
            if letter == "."
        ]
        one, two = draw.choice(free), draw.choice(free)
        share = draw.choice((0.5, 1e-9, 1e-13))
        mixed = {one: share, two: 1 - share} if one != two else {one: 1.0}
        moves[board] = draw.choice((one, one, mixed))
    if draw.random() < 0.2:
        side = content[draw.choice(("as_x", "as_o"))]
        name = draw.choice(list(side))
        if isinstance(side[name], float):
            side[name] += draw.choice((1e-6, -1e-6, 1e-13, -1e-13))
    return content


def signed(draw: Any, content: Any, path: Path) -> Any:
    """JSON with its checksums made anew, unless they were what was changed."""
    if not isinstance(content, dict):
        return content
    if "sha256_of_moves" in content and draw.random() < 0.9:
        text = _moves_text(content)
        content["sha256_of_moves"] = hashlib.sha256(text).hexdigest()
    if "seal" in content:
        rest = {key: value for key, value in content.items() if key != "seal"}
        text = json.dumps(rest, sort_keys=True).encode()
        content["seal"] = hashlib.sha256(text).hexdigest()
    return content


def _moves_text(content: dict[str, Any]) -> bytes:
    moves = content.get("moves")
    if isinstance(moves, str):
        with contextlib.suppress(ValueError, zlib.error):
            return zlib.decompress(base64.b64decode(moves))
    return json.dumps(moves, sort_keys=True, separators=(",", ":")).encode()


def _arrays(draw: Any, path: Path) -> str:
    """Other arrays, or another header, and a JSON beside them that knows their sha256."""
    from safetensors.numpy import load, save

    data = path.read_bytes()
    arrays = load(data)
    if arrays and draw.random() < 0.5:
        name = draw.choice(list(arrays))
        arrays[name] = hostile_array(draw, arrays[name])
        data, how = save(arrays), "an array"
    else:
        size = int.from_bytes(data[:8], "little")
        header = as_json(damaged_json(draw, json.loads(data[8 : 8 + size])))
        data, how = len(header).to_bytes(8, "little") + header + data[8 + size :], "its header"
    path.write_bytes(data)
    beside = path.with_suffix(".json")
    content = json.loads(beside.read_bytes())
    content["sha256"] = hashlib.sha256(data).hexdigest()
    beside.write_bytes(as_json(signed(draw, content, beside)))
    return how


def hostile_array(draw: Any, array: Any) -> Any:
    """An array with other numbers, or of another shape or type."""
    kind = draw.choice(("numbers", "shape", "type", "empty"))
    if kind == "numbers" and array.size:
        array = array.copy()
        flat = array.reshape(-1)
        number = draw.choice((np.nan, np.inf, -1, 0, 1e30, 200))
        with np.errstate(all="ignore"):
            flat[draw.randrange(len(flat))] = np.array(number).astype(array.dtype)
        return array
    if kind == "shape":
        return np.ascontiguousarray(array.reshape(-1)[: draw.randrange(5)])
    if kind == "type":
        return array.astype(draw.choice((np.float64, np.int8, np.bool_, np.uint8)))
    return np.zeros((draw.randrange(3), draw.randrange(3)), array.dtype)


def _table(draw: Any, path: Path) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    for _ in range(draw.randint(1, 3)):
        row = draw.choice(rows)
        if row:
            row[draw.randrange(len(row))] = draw.choice(NUMBERS)
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return "a number"


def _archive(draw: Any, path: Path) -> str:
    with np.load(path, allow_pickle=False) as content:
        arrays = dict(content)
    name = draw.choice(list(arrays))
    if name == "about" and draw.random() < 0.7:
        about = damaged_json(draw, json.loads(arrays[name].tobytes()))
        arrays[name] = np.frombuffer(as_json(about), dtype=np.uint8)
    elif draw.random() < 0.5:
        arrays[name] = hostile_array(draw, arrays[name])
    else:
        shape = [draw.randrange(10) for _ in range(draw.randrange(4))]
        arrays[name] = np.zeros(shape, draw.choice(ARRAY_TYPES))
    new = io.BytesIO()
    np.savez(new, **arrays)
    path.write_bytes(new.getvalue())
    return f"the array {name}"


def _sql(draw: Any, path: Path) -> str:
    """SQL that a hostile store may hold."""
    statements = draw.choice(tuple(_statements()))
    with contextlib.suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        connection.executescript(statements)
        connection.commit()
    return statements[:60]


def _statements() -> Iterator[str]:
    view = "DROP TABLE games; CREATE VIEW games AS"
    yield f"{view} WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id+1 FROM n) SELECT * FROM n"
    yield f"{view} SELECT hex(zeroblob(300000000)) AS id"
    yield "CREATE TRIGGER t AFTER INSERT ON games BEGIN DELETE FROM games; END"
    yield "CREATE TRIGGER t BEFORE INSERT ON games BEGIN SELECT RAISE(IGNORE); END"
    yield f"UPDATE games SET id = {2**63 - 1} WHERE id = 2"
    yield "UPDATE games SET id = -5 WHERE id = 2"
    yield "UPDATE games SET moves = zeroblob(50000000) WHERE id = 2"
    yield "UPDATE games SET x_name = char(27) || '[8m' WHERE id = 1"
    yield "UPDATE games SET x_name = CAST(x'ff00' AS TEXT) WHERE id = 1"
    yield "UPDATE games SET rows = 9999999, cols = 9999999"
    yield "DROP INDEX games_origin"
    yield "PRAGMA user_version = 9"
    yield "PRAGMA user_version = 0"
    yield "DELETE FROM games WHERE id = 3"
