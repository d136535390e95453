"""A player's own values, in the file beside its certificate and on the board."""

import io
import json
import shutil
import zipfile

import numpy as np
import pytest
from sample_players import fixed_table
from small_runs import python, trained
from text_cases import refuses

from players.seat import run_seat
from tictactoe_env.certificate import load_policy, read
from tictactoe_env.notation import parse_board
from tictactoe_env.own_values import (
    OwnValues,
    ValuedPolicy,
    ValuesFileError,
    checked,
    read_values,
    write_values,
)
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

RULES = Rules(2, 3, 2)
POSITIONS = positions_of(RULES)
BOARDS = POSITIONS.boards[POSITIONS.unfinished]
TABLE = fixed_table(RULES)
ABOUT = {"meaning": "expected reward: win 2, draw 0, loss -1", "low": -1.0, "high": 2.0}


def some_values(known=None):
    return OwnValues(np.random.default_rng(0).normal(size=BOARDS.shape), **ABOUT, known=known)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "values.npz"


@pytest.mark.parametrize("knows", [False, True])
def test_values_come_back_with_their_meaning_and_the_same_values_are_the_same_bytes(path, knows):
    known = np.random.default_rng(1).random(len(BOARDS)) < 0.5 if knows else None
    own = checked(some_values(known), RULES)
    write_values(own, "of these moves", path)
    data = path.read_bytes()
    write_values(own, "of these moves", path)
    assert path.read_bytes() == data
    policy = read_values(path, TABLE, "of these moves")
    assert np.array_equal(policy.table, TABLE.table)
    expected = np.where(BOARDS == 0, some_values().values, np.nan).astype(np.float32)
    assert np.array_equal(policy.q_values(BOARDS), expected, equal_nan=True)
    assert (policy.meaning, policy.scale) == (ABOUT["meaning"], (-1.0, 2.0))
    assert np.array_equal(policy.is_new(BOARDS), ~known if knows else np.zeros(len(BOARDS), bool))
    with refuses("a finished board has no move"):
        policy.q_values(POSITIONS.boards[POSITIONS.is_over][:1])


def test_infinities_and_values_of_taken_cells_are_not_kept():
    values = np.full(BOARDS.shape, np.inf)
    values[:, 0] = 3
    kept = ValuedPolicy(RULES, TABLE.table, OwnValues(values, "any")).values
    assert np.array_equal(np.isnan(kept[:, 0]), BOARDS[:, 0] != 0)
    assert np.isnan(kept[:, 1:]).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": np.zeros((3, 6))}, "values must have the shape"),
        ({"known": np.zeros(3, dtype=bool)}, "known must have the shape"),
        ({"low": 2.0}, "the scale must be two finite numbers, got 2.0 to 2.0"),
        ({"high": np.inf}, "the scale must be two finite numbers"),
        ({"meaning": ""}, "the meaning must be a line of at most 300"),
        ({"meaning": "a\nb"}, "the meaning must be a line of at most 300"),
    ],
)
def test_what_are_no_values_is_refused(change, words):
    with refuses(words):
        checked(some_values()._replace(**change), RULES)


def rewritten(path, **arrays):
    """The file with other arrays, as NumPy writes them."""
    with np.load(path) as content:
        arrays = {**content, **arrays}
    file = io.BytesIO()
    np.savez_compressed(
        file, **{name: array for name, array in arrays.items() if array is not None}
    )
    path.write_bytes(file.getvalue())


def about(**changes):
    text = {"format": 1, **ABOUT, "sha256_of_moves": "these", **changes}
    return np.frombuffer(json.dumps(text).encode(), dtype=np.uint8)


def cut(path):
    path.write_bytes(path.read_bytes()[:-30])


def change_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def pickled(path):
    rewritten(path, values=np.array([{"a": 1}], dtype=object))


def huge(path):
    """A small file that would fill the memory."""
    rewritten(path, values=np.zeros((10_000, 1_000), dtype=np.float32))


DAMAGES = [
    *(cut, change_a_byte, pickled, huge),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(b"{}"),
    lambda path: rewritten(path, known=None),
    lambda path: rewritten(path, more=np.zeros(1)),
    lambda path: rewritten(path, values=np.zeros(BOARDS.shape)),
    lambda path: rewritten(path, values=np.zeros((1, 6), dtype=np.float32)),
    lambda path: rewritten(path, known=np.zeros(3, dtype=np.uint8)),
    lambda path: rewritten(path, about=np.frombuffer(b"{", dtype=np.uint8)),
    lambda path: rewritten(path, about=np.frombuffer(b"[1]", dtype=np.uint8)),
    lambda path: rewritten(path, about=about(format=2)),
    lambda path: rewritten(path, about=about(meaning=3)),
    lambda path: rewritten(path, about=about(low="a")),
    lambda path: rewritten(path, about=about(high=-5)),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_by_name_and_the_error_says_what_to_do(path, damage):
    write_values(checked(some_values(), RULES), "these", path)
    assert zipfile.is_zipfile(path)
    damage(path)
    with refuses(f"{path} is damaged", ValuesFileError) as refused:
        read_values(path, TABLE, "these")
    assert "delete the file to play without these values, or train" in str(refused.value)


def test_values_of_other_moves_are_refused_and_a_missing_file_is_missing(path):
    with pytest.raises(FileNotFoundError):
        read_values(path, TABLE, "these")
    write_values(checked(some_values(), RULES), "these", path)
    with refuses("holds the values of other moves than those of the certificate", ValuesFileError):
        read_values(path, TABLE, "those")


# --- the file of a run ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a finished small run of DQN, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "dqn-0"
    assert trained("dqn", folder) == 0
    return folder


THINKS = """
import sys
from pathlib import Path
import numpy as np
from players.seat import run_seat
from tictactoe_env.rules import Rules
found = run_seat(Path(sys.argv[1]), "dqn", Rules()).thoughts(np.zeros(9, dtype=np.int8))
heavy = {"torch", "stable_baselines3", "safetensors", "pydantic", "training"} & set(sys.modules)
print(found.kind, found.values[4], heavy)
"""


def test_the_own_values_of_a_run_are_shown_without_torch_and_without_its_model(run, tmp_path):
    done = python("-c", THINKS, run)
    assert done.stderr == ""
    first = read_values(run / "values.npz", load_policy(run), read(run)["sha256_of_moves"]).values[
        0
    ]
    assert done.stdout == f"own {float(first[4])} set()\n"
    alone = tmp_path / "dqn-0"
    alone.mkdir()
    for name in ("certificate.json", "values.npz"):
        shutil.copy(run / name, alone)
    for path in (alone, alone / "certificate.json"):
        found = run_seat(path, "dqn", Rules()).thoughts(np.zeros(9, dtype=np.int8))
        assert (found.kind, found.meaning) == ("own", "expected reward: win 1, draw 0, loss -2")
        assert (found.scale, found.kinds) == ((-2.0, 1.0), ("own", "expected"))
        assert found.values == first.tolist()


def test_a_run_without_the_file_has_its_results_against_random_and_a_wrong_file_is_refused(
    run, tmp_path
):
    folder = shutil.copytree(run, tmp_path / "dqn-0")
    (folder / "values.npz").write_bytes(b"?")
    with refuses(f"{folder / 'values.npz'} is damaged", ValuesFileError):
        run_seat(folder, "dqn", Rules())
    (folder / "values.npz").unlink()
    seat, board = run_seat(folder, "dqn", Rules()), parse_board("X../.O./...", Rules())
    found = seat.thoughts(board)
    assert (found.kind, found.kinds) == ("expected", ("expected",))
    assert run_seat(run, "dqn", Rules()).thoughts(board, "expected").values == found.values
    assert not seat.is_new(board)


def test_a_continued_training_keeps_certificate_and_values_together(tmp_path):
    folder = tmp_path / "tabular_q-0"
    assert trained("tabular_q", folder) == 0
    before = read(folder)["sha256_of_moves"]
    resumed = python("train.py", "--resume", folder, "--steps", "20000")
    assert resumed.returncode == 0, resumed.stderr
    assert read(folder)["sha256_of_moves"] != before
    assert run_seat(folder, "q", Rules()).kinds == ("own", "expected")
