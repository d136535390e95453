"""Damaged and hostile files mean what they did, or are refused by an error of this project."""

import base64
import hashlib
import io
import json
import tempfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from any_games import game
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import as_json, damaged_bytes, damaged_json
from small_runs import small_config

from agents.value_net import Afterstates, columns_of, read_dataset
from tictactoe_env import certificate
from tictactoe_env.canonical import CanonicalPolicy
from tictactoe_env.certificate import (
    CertificateError,
    certify,
    check_digest,
    policy_in,
    read,
    verify,
)
from tictactoe_env.files import json_value
from tictactoe_env.games import json_text
from tictactoe_env.lines import LinesError, decompressed, reaches_of
from tictactoe_env.own_values import OwnValues, ValuesFileError, read_values, write_values
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.store import GameStore, StoreError, read_games
from training.files import csv_lines, read_csv, read_json

SMALL, LARGE = Rules(2, 3, 3), Rules(1, 13, 2)
FOLDER = tempfile.TemporaryDirectory()  # removed at the end
FILE = Path(FOLDER.name) / "file"


def bytes_of(write):
    """The bytes that a function writes into a file."""
    FILE.unlink(missing_ok=True)
    write(FILE)
    return FILE.read_bytes()


def outcome(read, data, errors):
    """What a reader makes of a file with these bytes, or one of the errors that it may raise."""
    FILE.write_bytes(data)
    try:
        return read(FILE)
    except errors as error:
        return error if str(error) else None


def is_refused_or(expected, found):
    return isinstance(found, Exception) or found == expected


# --- certificates --------------------------------------------------------------------------------

TABLE = certify(RandomPolicy(), "random", SMALL)
LINES = certify(CanonicalPolicy(MinimaxPolicy(LARGE), LARGE), "lines", LARGE)


def meaning(content):
    """All that follows from the moves of a certificate."""
    policy = policy_in(content)
    if content["format"] == certificate.TABLE:
        return policy.rules, policy.table.tobytes()
    reaches = {side: len(policy) for side in policy.sides}
    return policy.rules, reaches, policy.is_symmetric, decompressed(content["moves"])


@pytest.mark.parametrize("content", [TABLE, LINES], ids=["table", "lines"])
@given(st.data())
@settings(max_examples=60)
def test_a_damaged_certificate_has_the_same_moves_or_is_refused(content, data):
    changed = data.draw(damaged_bytes(as_json(content)))
    found = outcome(lambda path: meaning(read(path)), changed, CertificateError)
    assert is_refused_or(meaning(content), found)


@pytest.mark.parametrize("content", [TABLE, LINES], ids=["table", "lines"])
@given(st.data(), st.booleans())
@settings(max_examples=100)
def test_a_certificate_of_hostile_values_is_verified_or_refused(content, data, is_signed):
    changed = data.draw(damaged_json(content))
    if is_signed and isinstance(changed, dict) and content is TABLE:
        text = json.dumps(changed.get("moves"), sort_keys=True, separators=(",", ":"))
        changed["sha256_of_moves"] = hashlib.sha256(text.encode()).hexdigest()

    def verified(path):
        found = read(path)
        verify(found)
        return meaning(found)

    outcome(verified, as_json(changed), CertificateError)


@given(st.data())
@settings(max_examples=60)
def test_moves_on_lines_of_hostile_values_are_read_or_refused(data):
    sides, moves = ("X", "O"), json_value(decompressed(LINES["moves"]))
    text = as_json(data.draw(damaged_json(moves)))
    with suppress(LinesError):
        reaches_of(text, sides, LARGE, is_symmetric=True)


def test_moves_that_are_small_as_text_and_large_in_memory_are_refused():
    """36 MB of empty lists would need 800 MB."""
    text = b'{"X":[' + b"[]," * (12 << 20) + b'[]],"O":[]}'
    packed = base64.b64encode(zlib.compress(text)).decode()
    content = {**LINES, "moves": packed, "sha256_of_moves": hashlib.sha256(text).hexdigest()}
    assert len(packed) < 1 << 20
    check_digest(content)
    with pytest.raises(CertificateError, match="could need more than 400 MB of memory"):
        verify(content)


# --- own values ----------------------------------------------------------------------------------

POLICY = tabulate(RandomPolicy(), SMALL)
NUMBERS = np.linspace(-1, 1, POLICY.table.size).reshape(POLICY.table.shape)
OWN = OwnValues(NUMBERS.astype(np.float32), "a number", known=np.ones(len(NUMBERS), dtype=bool))
VALUES = bytes_of(lambda path: write_values(OWN, "of these", path))


def values_of(path):
    policy = read_values(path, POLICY, "of these")
    known = policy.is_new(positions_of(SMALL).boards[positions_of(SMALL).unfinished])
    return policy.values.tobytes(), policy.meaning, policy.scale, known.tobytes()


@given(damaged_bytes(VALUES))
@settings(max_examples=200)
def test_damaged_values_are_the_same_or_refused(changed):
    expected = outcome(values_of, VALUES, ())
    assert is_refused_or(expected, outcome(values_of, changed, ValuesFileError))


@given(
    st.sampled_from(["values", "known", "about"]),
    st.sampled_from(["<f4", "<f8", "|u1", "|b1", ">i2", "<c8", "|S3", "<U1", "<M8[s]"]),
    st.lists(st.integers(0, 9), max_size=3),
)
@settings(max_examples=150)
def test_values_of_another_type_or_shape_are_read_or_refused(name, kind, shape):
    with np.load(io.BytesIO(VALUES), allow_pickle=False) as content:
        arrays = {**content, name: np.zeros(shape, dtype=kind)}
    changed = io.BytesIO()
    np.savez(changed, **arrays)
    outcome(values_of, changed.getvalue(), ValuesFileError)


@given(damaged_json({"format": 1, "meaning": "a", "low": -1.0, "high": 1.0, "sha256_of_moves": ""}))
@settings(max_examples=200)
def test_values_that_are_described_in_another_way_are_read_or_refused(about):
    with np.load(io.BytesIO(VALUES), allow_pickle=False) as content:
        arrays = {**content, "about": np.frombuffer(as_json(about), dtype=np.uint8)}
    changed = io.BytesIO()
    np.savez(changed, **arrays)
    outcome(lambda path: read_values(path, POLICY, ""), changed.getvalue(), ValuesFileError)


def test_values_whose_header_is_no_python_literal_are_refused():
    """NumPy reads a header that it does not understand once more, with Python's tokenizer."""
    header = "{'descr': '<f4', ("
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(VALUES)) as old, zipfile.ZipFile(changed, "w") as archive:
        for name in old.namelist():
            text = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
            archive.writestr(name, text if name == "known.npy" else old.read(name))
    found = outcome(lambda path: read_values(path, POLICY, ""), changed.getvalue(), ValuesFileError)
    assert isinstance(found, ValuesFileError)


# --- games ---------------------------------------------------------------------------------------

RESIGNED = {"moves": "a1 b2", "ended": "resigned", "result": "X"}
GAMES = [game(seed=seed, **(RESIGNED if seed % 3 else {})) for seed in range(12)]
AS_LINES = "".join(f"{one.line()}\n" for one in GAMES).encode()
AS_JSON = json_text(GAMES).encode()


@pytest.mark.parametrize("whole", [AS_LINES, AS_JSON], ids=["lines", "JSON"])
@given(st.data())
@settings(max_examples=200)
def test_damaged_games_are_games_or_refused(whole, data):
    found = outcome(
        lambda path: list(read_games(path)), data.draw(damaged_bytes(whole)), ValueError
    )
    for one in found if isinstance(found, list) else ():
        assert type(one).parse(one.line()).moves == one.moves


@given(damaged_json([one.as_json() for one in GAMES[:2]]))
@settings(max_examples=200)
def test_games_of_hostile_values_are_games_or_refused(values):
    outcome(lambda path: list(read_games(path)), as_json(values), ValueError)


def stored(path):
    with GameStore(path) as store:
        store.add_many(GAMES * 8)


STORE = bytes_of(stored)


def all_games(path):
    with GameStore(path, read_only=True) as store:
        return list(store)


@given(damaged_bytes(STORE))
@settings(max_examples=150)
def test_a_damaged_store_has_the_same_games_or_is_refused(changed):
    expected = outcome(all_games, STORE, ())
    assert len(expected) == 8 * len(GAMES)
    assert is_refused_or(expected, outcome(all_games, changed, StoreError))


# --- tables of numbers and JSON ------------------------------------------------------------------

STATES = Afterstates(small_config("value_net"))
NAMES = columns_of(STATES)
ROW = ["1", *["0"] * (len(NAMES) - 2)]
DATASET = "".join(
    f"{','.join(line)}\n" for line in ([*NAMES, "deviation", "games"], [*ROW, "0.25", "0.5", "3"])
).encode()


@given(damaged_bytes(DATASET))
@settings(max_examples=200)
def test_a_damaged_dataset_is_one_or_refused(changed):
    found = outcome(lambda path: read_dataset(path, STATES), changed, ValueError)
    assert isinstance(found, ValueError) or np.isfinite(found).all()


@given(
    st.lists(
        st.sampled_from(
            ["0", "1", "-1", "2", "nan", "inf", "-inf", "1e15", "1e200", "1e308", "0.5", "-0", "x"]
        ),
        min_size=len(NAMES) + 2,
        max_size=len(NAMES) + 2,
    )
    | st.tuples(*[st.sampled_from(["0.25", "1e15", "1e308", "nan", "-1", "1e7"])] * 3).map(
        lambda numbers: [*ROW, *numbers]
    )
)
@settings(max_examples=200)
def test_a_dataset_of_hostile_numbers_is_one_or_refused(row):
    text = DATASET.splitlines()[0] + b"\n" + ",".join(row).encode() + b"\n"
    found = outcome(lambda path: read_dataset(path, STATES), text, ValueError)
    if not isinstance(found, ValueError):
        assert np.isfinite(found).all()
        assert found[0].sum() <= 10**9


@given(damaged_bytes(b'{"steps": 3, "list": [1.5, true, null, "text"]}'))
@settings(max_examples=200)
def test_damaged_json_is_json_or_refused(changed):
    outcome(read_json, changed, ValueError)


@given(damaged_bytes(b"steps,seconds\n1,2.5\n3,4.5\n"))
@settings(max_examples=200)
def test_damaged_rows_are_rows_or_refused(changed):
    for read_table in (
        lambda path: list(csv_lines(path)),
        lambda path: read_csv(path, ("steps", "seconds")),
    ):
        found = outcome(read_table, changed, ValueError)
        assert isinstance(found, (ValueError, list, np.ndarray))
