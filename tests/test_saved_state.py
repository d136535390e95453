"""What is read back of a run is checked entry by entry: no file leads to a traceback."""

import copy
import json
import math
import re
import shutil

import numpy as np
import pytest
from small_runs import metrics, small_config, trained
from text_cases import refuses

import agents
import train
from agents import TRAINABLE
from training import checkpoint
from training.files import DamagedFileError, read_arrays, read_json, write_arrays
from training.learner import drive
from training.manifest import write_manifest
from training.metrics import read_metrics
from training.schema import (
    Array,
    Either,
    Entries,
    Free,
    LayoutError,
    Many,
    Number,
    Random,
    Text,
    Whole,
    check,
    generator_of,
    like,
)

EACH = pytest.mark.parametrize("agent", sorted(TRAINABLE))
WRONG = [None, -1, 2**70, math.inf, math.nan, "x", [], {}, [[1]], True, {"$array": "none"}]
RNG = np.random.default_rng(5).bit_generator.state


def saved(agent, folder, steps=None):
    """The configuration of a small training whose first evaluation is saved in a folder."""
    config = small_config(agent, **({"steps": steps} if steps else {}))
    learner = agents.page(agent).begin(config)
    done = []

    def save(learner):
        done.append(checkpoint.save(folder, agent, config, learner))
        return len(done) == 2

    drive(learner, config, save)
    return config


def leaves(tree, path=()):
    """The paths of all entries of a JSON tree, those of lists and objects included."""
    pairs = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else []
    )
    for key, value in list(pairs)[:40]:
        yield (*path, key)
        yield from leaves(value, (*path, key))


def put(tree, path, value):
    """The tree with another value at a path."""
    tree = copy.deepcopy(tree)
    at = tree
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return tree


def restored(folder, agent, config):
    """The error with which a learner refuses a checkpoint; None if it goes on from there."""
    learner = agents.page(agent).begin(config)
    try:
        checkpoint.restore(folder, agent, config, learner)
    except DamagedFileError as error:
        return str(error)
    learner.advance(1)
    learner.policy()
    return None


@pytest.mark.slow
@EACH
def test_an_entry_of_a_state_is_right_or_refused_by_name(agent, tmp_path):
    folder = tmp_path / "saved"
    config = saved(agent, folder)
    arrays, about = read_arrays(folder / checkpoint.STATE)
    paths = [path for path in leaves(about["state"]) if "$array" not in path]
    assert paths or agent == "mcts"
    draw = np.random.default_rng(0)
    for path in paths:
        value = WRONG[draw.integers(len(WRONG))]
        changed = {**about, "state": put(about["state"], path, value)}
        write_arrays(folder / checkpoint.STATE, arrays, changed)
        error = restored(folder, agent, config)
        if error is not None:
            assert "state" in error
    for name, array in arrays.items():
        for wrong in wrong_arrays(array, draw):
            write_arrays(folder / checkpoint.STATE, {**arrays, name: wrong}, about)
            error = restored(folder, agent, config)
            if error is not None:
                assert "state.safetensors" in error


def wrong_arrays(array, draw):
    """Arrays of another shape, another dtype, and other content."""
    found = [array.ravel()[:1], array[..., None], array.astype(np.float16)]
    if array.size:
        for value in (np.nan, -1e300, 255, 200, -7):
            wrong = array.copy().astype(array.dtype)
            with np.errstate(invalid="ignore"):
                wrong.flat[draw.integers(array.size)] = np.array(value).astype(array.dtype)
            found.append(wrong)
    return found


@pytest.mark.parametrize("agent", ["tabular_q", "tictacnet"])
def test_a_hostile_state_is_refused_with_the_file_and_the_entry(agent, tmp_path):
    config = saved(agent, tmp_path)
    arrays, about = read_arrays(tmp_path / checkpoint.STATE)
    snapshot = "state/pool/snapshots/0"
    odd = {**about["state"]["rng"]["$generator"]}
    odd["state"] = {**odd["state"], "inc": odd["state"]["inc"] - 1}
    for path, value, said in (
        (("rng",), {"$generator": odd}, "state/rng/state/inc must be odd"),
        (("rng", "$generator", "bit_generator"), "MT19937", "state/rng/bit_generator must be"),
        (("rng", "$generator", "uinteger"), 2**32, "state/rng/uinteger must be a whole number"),
        (("rng",), 1, "state/rng must be the state of a random generator, got 1"),
        (("played",), -1, "state/played must be a whole number from 0 to"),
        (("played",), True, "state/played must be a whole number from 0 to"),
        (("pool", "snapshots"), [0], "state/pool/snapshots/0 must be"),
        (("pool", "colour"), 1, "state/pool has the unknown entry 'colour' (its entries: sn"),
        (("games" if agent == "tabular_q" else "keys",), {"$array": "x"}, "there is no array 'x'"),
    ):
        write_arrays(
            tmp_path / checkpoint.STATE,
            arrays,
            {**about, "state": put(about["state"], path, value)},
        )
        with refuses(said, error=DamagedFileError):
            checkpoint.restore(tmp_path, agent, config, agents.page(agent).begin(config))
    for wrong in (np.full_like(arrays[snapshot], 200), np.zeros((3, 0)), arrays[snapshot][:5]):
        write_arrays(tmp_path / checkpoint.STATE, {**arrays, snapshot: wrong}, about)
        with refuses(f"{snapshot} must be", error=DamagedFileError):
            checkpoint.restore(tmp_path, agent, config, agents.page(agent).begin(config))


@pytest.mark.slow
def test_results_of_fewer_than_no_games_are_refused(tmp_path):
    config = saved("value_net", tmp_path)
    arrays, about = read_arrays(tmp_path / checkpoint.STATE)
    wrong = arrays["state/results"].copy()
    wrong[0, 5] = -7
    write_arrays(tmp_path / checkpoint.STATE, {**arrays, "state/results": wrong}, about)
    with refuses(
        "the numbers of games and the sums of squares must be 0 or more", error=ValueError
    ):
        checkpoint.restore(tmp_path, "value_net", config, agents.page("value_net").begin(config))


@EACH
def test_the_layout_of_a_learner_holds_from_its_first_step_on(agent):
    config = small_config(agent)
    learner, sizes = agents.page(agent).begin(config), []

    def fits(learner):
        arrays = {}
        tree = json.loads(json.dumps(checkpoint.pack(learner.state(), "state", arrays)))
        check(checkpoint.with_arrays(tree, arrays), learner.state_layout(), "state")
        sizes.append(len(arrays))
        return False

    drive(learner, config, fits)
    assert len(sizes) > 1


# --- the kinds of a layout -----------------------------------------------------------------------

ONES = np.ones((2, 3))


@pytest.mark.parametrize(
    ("layout", "right", "wrong", "said"),
    [
        (Whole(1, 5), [1, 5], [0, 6, 1.0, True, "1", None], "must be a whole number from 1 to 5"),
        (
            Number(0, 1),
            [0, 0.5, 1],
            [1.1, math.nan, math.inf, True, "0"],
            "must be a finite number",
        ),
        (Number(is_finite=False), [math.nan, math.inf, -3.5], ["nan", None, 2**60], "must be a"),
        (Text(3, "[ab]+"), ["a", "bab"], ["", "abab", "c", "a\n", 1], "must be text of at most 3"),
        (None, [None], [0, "", []], "must be null"),
        ([Whole(), None], [[1, None]], [[1], [1, None, 1], {}, [None, 1]], "must be"),
        (Many(Whole(), 2), [[], [1, 2]], [[1, 2, 3], [-1], {}, "12"], "must be"),
        ({"a": Whole()}, [{"a": 1}], [{}, {"a": 1, "b": 1}, [], {"a": ""}], "entry"),
        (Entries({}, {"b": Whole()}), [{}, {"b": 2}], [{"b": ""}, {"a": 1}], "entry"),
        (Either((None, Whole())), [None, 3], ["", -1], "must be a whole number"),
        (Array(float, (2, 3), 0, 1, 3), [ONES], [ONES[:1], ONES * 2, ONES / 2, 1], "must be"),
        (Array(float, (2, Free(4, 1))), [ONES], [ONES[:, :0], np.ones((2, 5)), ONES[0]], "shape"),
        (Random(is_bare=True), [RNG], [{}, {**RNG, "has_uint32": 2}, "PCG64"], "entry"),
    ],
)
def test_a_layout_accepts_what_it_says(layout, right, wrong, said):
    for value in right:
        check(value, layout, "entry")
    for value in wrong:
        with pytest.raises(LayoutError, match=re.escape(said)):
            check(value, layout, "entry")


def test_the_layout_of_a_value_is_that_of_all_values_like_it():
    value = {"a": np.zeros(3), "b": [1, 0.5, "x", None, True], "rng": np.random.default_rng(1)}
    layout = like(value)
    assert layout["a"] == Array(np.float64, (3,))
    check({"a": np.ones(3), "b": [7, -1.0, "y", None, False], "rng": {"$generator": RNG}}, layout)
    assert generator_of(RNG).random() == np.random.default_rng(5).random()
    with pytest.raises(TypeError, match="a state has no set"):
        like({1})


# --- the other files of a run --------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished small run, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert trained("tabular_q", folder, steps=1000) == 0
    return folder


def error_of(capsys, *arguments):
    """The error that a command line ends with, on one line and with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        train.main([str(argument) for argument in arguments])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    return printed.err


def test_one_flipped_bit_in_any_file_of_a_run_is_told(finished, tmp_path, capsys):
    draw = np.random.default_rng(1)
    names = [path.relative_to(finished) for path in finished.rglob("*") if path.is_file()]
    names = [name for name in names if name.name != ".lock"]
    assert len(names) > 14
    for number, name in enumerate(names):
        folder = shutil.copytree(finished, tmp_path / str(number))
        data = bytearray((folder / name).read_bytes())
        place = int(draw.integers(8 * len(data)))
        data[place // 8] ^= 1 << place % 8
        (folder / name).write_bytes(data)
        steps = draw.choice([1000, 5000])  # nothing is left to train, or something
        said = error_of(capsys, "--resume", folder, "--steps", steps)
        assert name.name in said or "manifest.json" in said


def test_a_file_that_is_gone_is_written_again(finished, tmp_path, capsys):
    folder = shutil.copytree(finished, tmp_path / "run")
    for name in ("growth.png", "certificate.json", "metrics.csv", "values.npz"):
        data = (folder / name).read_bytes()
        (folder / name).unlink()
        assert train.main(["--resume", str(folder)]) == 0
        assert (folder / name).read_bytes() == data
        assert "complete:" not in capsys.readouterr().out
    (folder / "checkpoint" / "state.json").unlink()
    assert "checkpoint/state.json is missing" in error_of(capsys, "--resume", folder)


def test_a_changed_model_of_a_finished_run_is_not_loaded(finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "run")
    arrays, about = read_arrays(folder / checkpoint.MODEL)
    write_arrays(folder / checkpoint.MODEL, {"values": -arrays["values"]}, about)
    with refuses("model.safetensors is damaged: it was changed since", error=DamagedFileError):
        agents.load(folder)


def test_a_run_of_an_earlier_version_is_refused_by_name(finished, tmp_path, capsys):
    folder = shutil.copytree(finished, tmp_path / "run")
    path = folder / "config.json"
    hidden = ("format", "seal")
    path.write_text(
        json.dumps({key: value for key, value in read_json(path).items() if key not in hidden})
    )
    assert "an earlier version of this program wrote it" in error_of(capsys, "--resume", folder)
    (folder / "checkpoint" / "manifest.json").unlink()
    shutil.copy(finished / "config.json", path)
    assert "manifest.json is missing" in error_of(capsys, "--resume", folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("steps,", "stepz,"), "expected the columns steps, seconds"),
        (lambda text: text.replace("x_win", "x_win,x_win"), "expected the columns"),
        (lambda text: text + "1\n", "is damaged in line"),
        (lambda text: text + text.splitlines()[1] + "\n", "steps and seconds fall in line"),
        (lambda text: re.sub(r"\n(\d+),[\d.]+,", r"\n\1,nan,", text), "line 2/seconds must be"),
        (lambda text: re.sub(r"\n\d+,", f"\n{2**80},", text), "line 2/steps must be a whole"),
        (lambda text: text + "9" * 5_000 + "\n", "is damaged in line"),
        (lambda text: text + "1" * 200_000, "a line has 200,000 bytes"),
        (lambda text: "", "expected the columns"),
    ],
)
def test_a_hostile_metrics_file_is_refused(finished, tmp_path, change, said):
    path = tmp_path / "metrics.csv"
    path.write_text(change((finished / "metrics.csv").read_text()))
    with refuses(said, error=DamagedFileError):
        read_metrics(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read_metrics(path)


def test_rows_of_metrics_that_need_too_much_memory_are_refused(finished, tmp_path, monkeypatch):
    header, row = (finished / "metrics.csv").read_text().splitlines()[:2]
    path = tmp_path / "metrics.csv"
    path.write_text("\n".join([header, *[row] * 3_000]))
    assert len(read_metrics(path)) == 3_000
    monkeypatch.setattr("training.metrics.MAX_ROWS_MEMORY", 1 << 20)
    with refuses("metrics.csv has too many rows, they need more than 1 MB", error=DamagedFileError):
        read_metrics(path)


def test_a_manifest_lists_nothing_elsewhere(finished, tmp_path, capsys):
    folder = shutil.copytree(finished, tmp_path / "run")
    (folder / "checkpoint" / "link").symlink_to("/etc/hostname")
    write_manifest(folder / "checkpoint", int(metrics(folder)[-1]["steps"]))
    content = read_json(folder / "checkpoint" / "manifest.json")
    assert "link" not in content["files"]
    assert {"best.safetensors", "metrics.csv", "state.json"} <= content["files"].keys()
