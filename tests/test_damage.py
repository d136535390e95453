"""A damaged file of a run or of a store is told by whoever reads it, or changes nothing of it."""

import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from itertools import product
from pathlib import Path

import pytest
from any_games import game
from fuzz.damage import changed, damaged
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import trained
from text_cases import refuses

import agents
from apps.players.gallery import Gallery
from apps.players.rounds import players_of
from apps.players.seat import seat_of
from apps.web.work import growth
from tictactoe_env.certificates import __main__ as verify
from tictactoe_env.certificates.certificate import load_policy, read
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.files import MANIFEST, read_manifest
from tictactoe_env.games.store import GameStore, StoreError
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Rules
from training.files import check_all
from training.options import read_config
from training.run import Run
from training.run_files import read_config_file
from training.values import read_values

GAMES = 40


def proven(path):
    """The moves of a certificate, and what is proven of them; the rest cannot be verified."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as errors:
        if verify.main([str(path)]) != 0:
            raise ValueError(errors.getvalue().rstrip("\n"))
    content = read(path).to_json()
    names = ("format", "board", "moves", "unbeatable", "optimal", "as_x", "as_o")
    return [content[name] for name in names]


def moves(path):
    """The moves of the model of a run on all boards."""
    player = agents.load(path.parent)
    positions = positions_of(player.rules)
    return player.probs(positions.boards[positions.unfinished]).tobytes()


def values(path):
    """The own values of a run, and what is said of them."""
    stated = read(path.parent).sha256_of_moves
    policy = read_values(path, load_policy(path.parent), stated)
    return policy.own.values.tobytes(), policy.meaning, policy.scale, repr(policy.own.known)


def resumed(path):
    """The rows and the state from which a training goes on."""
    folder = path.parents[1]
    about = read_config_file(folder)
    module = agents.module(about["agent"])
    run = Run(folder, module, read_config(module.Config, about["config"], path))
    run.read()
    model = {name: array.tobytes() for name, array in run.learner.model().items()}
    best = run.record.best
    return run.record.rows, best.results, best.model.steps, model, repr(run.learner.state())


def listed(path):
    """The manifest of a run, of whose files each is as it was."""
    return check_all(path.parent)


READERS = {
    "certificate.json": proven,
    "values.npz": values,
    "model.json": moves,
    "model.safetensors": moves,
    "config.json": lambda path: read_config_file(path.parent),
    "metrics.csv": listed,
    "growth.png": listed,
    "history.npz": listed,
    MANIFEST: listed,
    **{
        f"checkpoint/{name}": resumed
        for name in (
            *("best.json", "best.safetensors", "model.json", "model.safetensors"),
            *("state.json", "state.safetensors", "metrics.csv", "progress.json", MANIFEST),
            "history.npz",
        )
    },
}
"""Who reads which file of a run."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A small run, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert trained("tabular_q", folder, "--board", "2x3x3", "--judge-every", "100", steps=300) == 0
    return folder


@pytest.fixture(scope="module")
def run(whole, tmp_path_factory):
    """A copy of it, of which a test may damage one file, and then writes it as it was."""
    return Path(shutil.copytree(whole, tmp_path_factory.mktemp("damaged") / "run"))


@cache
def right(name, whole):
    """What the reader of a file finds in the run that is not changed."""
    return READERS[name](whole / name)


def is_told_or_equal(read_again, path, expected):
    """Whether reading tells of the file in one line, or finds what it was."""
    try:
        found = read_again(path)
    except (ValueError, OSError) as error:
        return path.name in str(error) and str(error).isprintable()
    return found == expected


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25)
@given(drawn=st.data())
def test_a_damaged_file_of_a_run_is_told_or_changes_nothing(name, run, whole, drawn):
    path, data = run / name, (whole / name).read_bytes()
    others = damaged(data) | st.none()
    if path.suffix == ".json":
        others |= changed(json.loads(data)).map(lambda value: json.dumps(value).encode())
    content = drawn.draw(others)
    try:
        path.unlink() if content is None else path.write_bytes(content)
        assert is_told_or_equal(READERS[name], path, right(name, whole))
    finally:
        path.write_bytes(data)


PLAYED_BY = {
    "opponent": lambda run: make_opponent(str(run), Rules(2, 3, 3)),
    "seat": lambda run: seat_of(str(run), Rules(2, 3, 3)),
    "page": lambda run: Gallery([run.parent]).entry(f"{run.parent.name}/run").seat(Rules(2, 3, 3)),
    "verifier": read,
}
SHOWN_BY = {
    "history": lambda run: players_of({"run": str(run)}, Rules(2, 3, 3)),
    "growth": lambda run: growth(Gallery([run.parent]).entry(f"{run.parent.name}/run")),
}


@pytest.mark.parametrize(
    ("door", "name"),
    [
        *product(PLAYED_BY, ("certificate.json", "config.json", "values.npz")),
        *[("history", "history.npz"), ("growth", "metrics.csv")],
    ],
)
def test_who_plays_or_shows_a_run_refuses_it_by_the_file_that_was_changed(door, name, run):
    path = run / name
    data = path.read_bytes()
    try:
        path.write_bytes(data + b"\n")
        with refuses(name):
            {**PLAYED_BY, **SHOWN_BY}[door](run)
    finally:
        path.write_bytes(data)


def test_every_file_of_a_run_is_damaged_and_listed(whole):
    files = {path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file()}
    files = {name for name in files if not name.startswith((".lock", "events.out"))}
    assert files == set(READERS)
    assert files - {MANIFEST} <= set(read_manifest(whole)["files"])


# --- stores of games ------------------------------------------------------------------------------


WAYS = {
    "get": lambda store: store.get(GAMES // 2),
    "list": lambda store: store.list(GAMES),
    "iteration": list,
}


@pytest.fixture
def store(tmp_path):
    """The path of a store."""
    path = tmp_path / "games.db"
    with GameStore(path) as made:
        made.add_many([game(seed=seed) for seed in range(GAMES)])
    return path


def told_of(path, read):
    """What a store tells of its damage; "" if it can be read."""
    try:
        with GameStore(path, read_only=True) as found:
            read(found)
    except StoreError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_store_is_told_in_a_line_or_is_read(store, way):
    data = store.read_bytes()
    for place in range(0, len(data), 307):
        flipped = bytes([data[place] ^ 1 << place % 8])
        store.write_bytes(data[:place] + flipped + data[place + 1 :])
        told = told_of(store, WAYS[way])
        assert told == "" or (store.name in told and told.isprintable())


def test_a_check_tells_of_a_page_of_a_store_that_is_lost_or_another_one(store):
    data = store.read_bytes()
    pages = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    for number, page in product(range(len(pages)), (pages[0], b"", bytes(4096))):
        if page != pages[number]:
            store.write_bytes(b"".join([*pages[:number], page, *pages[number + 1 :]]))
            assert store.name in told_of(store, GameStore.check), number
