"""What a disk that fails, another process and earlier kills leave of a run."""

import errno
import os
import shutil

import pytest
from small_runs import assert_same, contents, trained
from text_cases import called

import train
from tictactoe_env import files
from training import files as files_of_runs
from training import run
from training.files import check_all, locked

AGENT, STEPS, SMALL = "tabular_q", 2000, ("--rows", "2")
pytestmark = pytest.mark.usefixtures("no_charts")


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A checkpoint at each evaluation."""
    monkeypatch.setattr(run, "CHECKPOINT_SECONDS", -1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, no_charts):
    """The folder of a finished small run, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert trained(AGENT, folder, *SMALL, steps=STEPS) == 0
    return folder


def resumed(folder, capsys, *more):
    """The exit code of a run that is continued, and its error."""
    code, _, err = called(train, ["--resume", str(folder), *map(str, more)], capsys)
    return code, err


@pytest.mark.parametrize(("place", "after"), [("fsync", 1), ("fsync", 40), ("replace", 25)])
def test_an_error_of_the_disk_says_how_to_go_on_and_loses_nothing(
    place, after, finished, tmp_path, capsys, monkeypatch
):
    """after: how many calls of the system succeed before every further one fails."""
    folder, calls, really = tmp_path / "runs" / "run", [], getattr(os, place)

    def fail(*arguments):
        calls.append(arguments)
        if len(calls) > after:
            named = [str(arguments[0])] if place == "replace" else []  # as the system does
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *named)
        return really(*arguments)

    with monkeypatch.context() as disk:
        disk.setattr(files.os, place, fail)
        with pytest.raises(SystemExit, match="2"):
            trained(AGENT, folder, *SMALL, steps=STEPS)
    said = capsys.readouterr().err
    assert (said.count("\n"), os.strerror(errno.ENOSPC) in said) == (1, True)
    assert said.count(str(folder)) >= 1 + (after > 1), "the file is named"
    assert (f"--resume {folder}" in said) == (after > 1), "there is a checkpoint by then"
    assert ("--out" in said) == (after == 1)
    if after > 1:
        assert resumed(folder, capsys) == (0, "")
        check_all(folder)
        assert_same(folder, finished)


def test_two_trainings_of_one_run_are_refused(finished, capsys, monkeypatch):
    monkeypatch.setattr(files_of_runs, "LOCK_SECONDS", 0)
    before = contents(finished)
    with locked(finished):
        code, said = resumed(finished, capsys, "--steps", 9000)
    assert (code, str(finished) in said, contents(finished)) == (2, True, before)


def test_a_file_that_is_gone_is_written_again(finished, tmp_path, capsys):
    folder = shutil.copytree(finished, tmp_path / "run")
    names = ("certificate.json", "metrics.csv", "values.npz", "model.safetensors")
    for name in names:
        (folder / name).unlink()
    assert resumed(folder, capsys) == (0, "")
    assert_same(folder, finished)
    shutil.rmtree(folder / "checkpoint")
    code, said = resumed(folder, capsys)
    assert (code, said.count("\n"), "checkpoint" in said) == (2, 1, True)
