"""train.py: whole runs that end at their goal, are continued, killed, or have a failing disk."""

import errno
import os
import re
import shutil
from itertools import count

import pytest
from small_runs import assert_same, contents, killed_at, metrics, trained
from text_cases import called

import agents
import train
from apps.terminal.trainer import new_folder
from tictactoe_env.certificates.certificate import certify, read, write
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.rules import Rules
from training import files
from training import run as runs
from training.files import check_all, read_json

ROUNDS = "tabular_q"  # the quickest agent with all kinds of options
SMALL = ("--board", "2x3x3")
pytestmark = pytest.mark.usefixtures("no_charts")


def last_step(folder):
    return int(metrics(folder)[-1]["steps"])


def test_a_goal_that_is_not_reached_is_said_with_the_command_to_go_on(tmp_path, capsys):
    folder = tmp_path / "a run"
    assert trained(ROUNDS, folder, "--until", "unbeatable", steps=5) == 1
    made = read(folder).stated.training["steps"]
    assert made == last_step(folder) > 10, "a round is not cut short"
    more = f"--resume '{folder}' --steps {2 * made} --until unbeatable"
    assert f"python train.py {more}\n" in capsys.readouterr().out
    assert train.main(["--resume", str(folder), "--steps", str(2 * made)]) == 0
    assert read(folder).stated.training["steps"] >= 2 * made


def test_a_goal_that_is_reached_ends_the_run_and_is_exit_code_0(tmp_path, capsys, monkeypatch):
    """The run is named for its agent and seed; the next one of that name gets the time."""
    monkeypatch.chdir(tmp_path)
    options = "--judge-every 64 --until unbeatable --opponents minimax-slip=0.6 --seed 5"
    assert trained(ROUNDS, "runs/tabular_q-5", *SMALL, *options.split(), steps=50_000) == 0
    printed, folder = capsys.readouterr().out, tmp_path / "runs" / "tabular_q-5"
    assert "PROVEN on 2x3, 3 in a row: cannot be beaten" in printed
    assert "evaluate.py runs/tabular_q-5" in printed
    assert "play.py --o runs/tabular_q-5" in printed
    assert read(folder).unbeatable
    assert last_step(folder) < 50_000
    again, said = new_folder("tabular_q", 5)
    assert re.fullmatch(r"runs/tabular_q-5-\d{8}-\d{6}", str(again))
    assert str(again) in said
    assert "train.py --resume runs/tabular_q-5" in said


def test_a_preset_names_the_run_and_other_options_override_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train.main(["trie", "--preset", "tophep", "--steps", "100", "--side", "X"]) == 0
    run = tmp_path / "runs" / "trie-tophep-0"
    config = read_json(run / "config.json")["config"]
    expected = {"untried": "tophep", "opponents": "minimax", "side": "X", "steps": 100}
    assert config == {**config, **expected}
    assert train.main(["--resume", str(run), "--steps", "150"]) == 0
    assert read_json(run / "config.json")["preset"] == read(run).stated.preset == "tophep"


@pytest.fixture(autouse=True, scope="module")
def often():
    """A checkpoint at each evaluation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "CHECKPOINT_SECONDS", -1)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory, no_charts, often):
    """The folder of a run, not to be changed, and how many files or folders it renames."""
    folder, renamed, rename = tmp_path_factory.mktemp("runs") / "run", count(), os.replace
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", lambda *paths: (next(renamed), rename(*paths)))
        assert trained(ROUNDS, folder, *SMALL, steps=1_500) == 0
    return folder, next(renamed)


@pytest.mark.skipif(os.name != "posix", reason="forks and signals")
@pytest.mark.parametrize("left", [1, 8, 20])
def test_a_run_that_is_killed_before_any_change_of_its_files_ends_with_the_same_bytes(
    left, whole, tmp_path
):
    """left: how many changes it would still have made."""
    (reference, renamed), folder = whole, tmp_path / "run"
    assert killed_at(renamed - left, lambda: trained(ROUNDS, folder, *SMALL, steps=1_500))
    assert not (folder / "manifest.json").exists()
    assert train.main(["--resume", str(folder)]) == 0
    check_all(folder)
    assert_same(folder, reference)


def test_a_run_is_loaded_without_its_opponent_and_continues_with_it(tmp_path, capsys):
    folder, foe = tmp_path / "run", tmp_path / "foe"
    write(certify(MinimaxPolicy(Rules()), "minimax"), foe / "certificate.json")
    assert trained(ROUNDS, folder, "--opponents", f"{foe}:1,random:1", steps=1_024) == 0
    foe.rename(tmp_path / "elsewhere")
    agents.load(folder)
    resume = ["--resume", str(folder), "--steps", "2048"]
    code, _, err = called(train, resume, capsys)
    assert (code, err.count("\n"), str(foe) in err) == (2, 1, True)
    (tmp_path / "elsewhere").rename(foe)
    assert train.main(resume) == 0


def test_a_run_that_is_complete_says_so_and_stays_as_it_is(whole, capsys):
    folder, _ = whole
    before = contents(folder)
    for more in ([], ["--until", "unbeatable"]):
        assert train.main(["--resume", str(folder), *more]) == 0
        assert f"complete: {folder}" in capsys.readouterr().out
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("place", "after", "code"),
    [
        ("fsync", 1, errno.EROFS),
        ("fsync", 40, errno.ENOSPC),
        ("replace", 25, errno.ENOSPC),
    ],
)
def test_an_error_of_the_disk_says_how_to_go_on_and_loses_nothing(
    place, after, code, whole, tmp_path, capsys, monkeypatch
):
    """after: how many calls of the system succeed before every further one fails."""
    folder, calls, really = tmp_path / "runs" / "run", count(), getattr(os, place)

    def fail(*arguments):
        if next(calls) >= after:
            named = [str(arguments[0])] if place == "replace" else []  # as the system does
            raise OSError(code, os.strerror(code), *named)
        return really(*arguments)

    with monkeypatch.context() as disk:
        disk.setattr(os, place, fail)
        with pytest.raises(SystemExit, match="2"):
            trained(ROUNDS, folder, *SMALL, steps=1_500)
    said, is_saved = capsys.readouterr().err, after > 1
    assert (said.count("\n"), os.strerror(code) in said) == (1, True)
    assert ("make room" in said) == (code == errno.ENOSPC)
    assert said.count(str(folder)) >= 1 + is_saved, "the file is named"
    assert (f"--resume {folder}" in said, "--out" in said) == (is_saved, not is_saved)
    if is_saved:
        assert train.main(["--resume", str(folder)]) == 0
        check_all(folder)
        assert_same(folder, whole[0])


def test_two_trainings_of_one_run_are_refused(whole, capsys, monkeypatch):
    monkeypatch.setattr(files, "LOCK_SECONDS", 0)
    folder, before = whole[0], contents(whole[0])
    with files.locked(folder):
        code, _, said = called(train, ["--resume", str(folder), "--steps", "9000"], capsys)
    assert (code, str(folder) in said, contents(folder)) == (2, True, before)


def test_a_file_that_is_gone_is_written_again(whole, tmp_path, capsys):
    folder = shutil.copytree(whole[0], tmp_path / "run")
    for name in ("certificate.json", "metrics.csv", "values.npz", "model.safetensors"):
        (folder / name).unlink()
    assert train.main(["--resume", str(folder)]) == 0
    assert_same(folder, whole[0])
    shutil.rmtree(folder / "checkpoint")
    code, _, said = called(train, ["--resume", str(folder)], capsys)
    assert (code, said.count("\n"), "checkpoint" in said) == (2, 1, True)
