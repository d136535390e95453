"""Errors of the disk, two trainings of one run, links in its folder, and what kills leave."""

import errno
import io
import json
import multiprocessing
import os
import shutil
import sys
import tracemalloc
import warnings
from dataclasses import asdict
from pathlib import Path

import pytest
from small_runs import trained

import train
from terminal import trainer
from terminal.job import main as job_main
from tictactoe_env import files
from tictactoe_env.certificate import read
from tictactoe_env.files import write_file
from training import events, run
from training import files as training_files
from training.checkpoint import is_same_model
from training.events import Events
from training.jobs import Job
from training.locks import locked
from training.manifest import check_all

AGENT, STEPS = "tabular_q", 2000


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A checkpoint at each evaluation, and no charts, which take half a second each."""
    monkeypatch.setattr(run, "CHECKPOINT_SECONDS", -1)
    for name in ("chart", "learning_curves"):
        monkeypatch.setattr(run, name, lambda *arguments: None)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished small run, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert trained(AGENT, folder, steps=STEPS) == 0
    return folder


def error_of(capsys, action):
    """The error that a command ends with, on one line and with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        action()
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    return printed


def resume(folder, *more):
    return lambda: train.main(["--resume", str(folder), *map(str, more)])


def full(monkeypatch, after, code=errno.ENOSPC):
    """Let the disk fail from some flush of a file on."""
    flushes, fsync = [], os.fsync

    def fail(number):
        flushes.append(number)
        if len(flushes) > after:
            raise OSError(code, os.strerror(code))
        fsync(number)

    monkeypatch.setattr(files.os, "fsync", fail)


@pytest.mark.parametrize("after", [40, 52, 70])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_error_of_the_disk_says_how_to_go_on(tmp_path, capsys, monkeypatch, after, code):
    folder = tmp_path / "run"
    with monkeypatch.context() as disk:
        full(disk, after, code)
        said = error_of(capsys, lambda: trained(AGENT, folder, "--until", "optimal", steps=STEPS))
    assert os.strerror(code) in said
    assert f"continue with: python train.py --resume {folder} --until optimal" in said
    assert resume(folder)() == 0
    check_all(folder)


def test_a_full_disk_before_the_first_checkpoint_leaves_nothing(tmp_path, capsys, monkeypatch):
    full(monkeypatch, 1)
    said = error_of(capsys, lambda: trained(AGENT, tmp_path / "runs" / "run", steps=STEPS))
    assert os.strerror(errno.ENOSPC) in said
    assert "continue with" not in said


class BrokenFile:
    """A file that fails from some write on."""

    def __init__(self, writes):
        self.left = writes

    def write(self, data):
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    flush = close = lambda self: self.write(b"")


@pytest.mark.parametrize("writes", [0, 1, 7])
def test_a_training_goes_on_without_the_file_of_tensorboard(tmp_path, capsys, monkeypatch, writes):
    opened = lambda path, mode: BrokenFile(writes)  # noqa: E731
    monkeypatch.setattr(events, "open", opened, raising=False)
    assert trained(AGENT, tmp_path / "run", steps=STEPS) == 0
    check_all(tmp_path / "run")
    printed = capsys.readouterr()
    said = "which TensorBoard shows, cannot be written: [Errno 28] No space left on device; the"
    assert " ".join(printed.out.split()).count(said) == 1
    assert "Exception" not in printed.out + printed.err


def test_a_disk_that_fails_between_two_checkpoints_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    """The old checkpoint has been moved away, and the new one cannot be put in its place."""
    folder, replaced = tmp_path / "run", []
    replace = os.replace

    def fail(source, target):
        is_moved = Path(target).name == ".checkpoint.old"
        if replaced:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        replaced.extend([target] * is_moved)
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        message = error_of(capsys, lambda: trained(AGENT, folder, steps=STEPS))
    assert f"continue with: python train.py --resume {folder}" in message
    assert resume(folder)() == 0
    check_all(folder)


def test_a_path_cannot_change_what_the_terminal_shows_of_an_error_of_the_disk(tmp_path):
    with pytest.warns(UserWarning, match=r"a\\x1b\[8m.* cannot be written") as told:
        Events(tmp_path / "a\x1b[8m")
    assert str(told[0].message).isprintable()


def test_a_job_that_fails_says_why_in_one_printable_line(tmp_path, monkeypatch):
    job = Job("seed 0", str(tmp_path / "a\x1b[8m\nb"), "trie", {})
    job.lock.mkdir()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{json.dumps(asdict(job))}\n"))
    with pytest.raises(SystemExit, match="is a folder: expected a file") as ended:
        job_main()
    assert ended.value.code.isprintable()


@pytest.mark.parametrize("ending", [b"", b"x"])
def test_two_models_are_compared_with_a_part_of_them_in_memory(tmp_path, ending):
    one, other = tmp_path / "one.safetensors", tmp_path / "other.safetensors"
    for path in (one, other):
        path.write_bytes(bytes(30_000_000))
        path.with_suffix(".json").write_bytes(b"{}")
    assert is_same_model(one, other)
    with other.open("ab") as file:
        file.write(ending)
    tracemalloc.start()
    assert is_same_model(one, other) == (ending == b"")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000
    other.with_suffix(".json").write_bytes(b"{ }")
    assert not is_same_model(one, other)
    other.unlink()
    assert not is_same_model(one, other)


def test_numbers_are_added_until_the_file_fails(tmp_path):
    log = Events(tmp_path)
    log.add({"a": 1.0, "b": float("nan")}, 5)
    size = log.path.stat().st_size
    log.close()
    log.add({"a": 2.0}, 6)  # after its end
    assert log.path.stat().st_size == size
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        log = Events(tmp_path / "none")
        log.add({"a": 1.0}, 5)
        log.close()
    assert len(told) == 1


def hold(folder, is_held, is_over):
    with locked(folder):
        is_held.set()
        is_over.wait(60)


@pytest.mark.slow
def test_two_trainings_of_one_run_are_refused(finished, tmp_path, capsys):
    folder = shutil.copytree(finished, tmp_path / "run")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    context = multiprocessing.get_context("spawn")
    is_held, is_over = context.Event(), context.Event()
    other = context.Process(target=hold, args=(folder, is_held, is_over))
    other.start()
    try:
        assert is_held.wait(60)
        said = error_of(capsys, resume(folder, "--steps", 9000))
    finally:
        is_over.set()
        other.join()
    assert f"another process is training the run in {folder}: wait for its end" in said
    assert {path: path.read_bytes() for path in before} == before
    assert resume(folder, "--steps", 3000)() == 0


def test_a_lock_or_a_checkpoint_that_is_a_link_is_refused(finished, tmp_path, capsys):
    folder, elsewhere = shutil.copytree(finished, tmp_path / "run"), tmp_path / "elsewhere"
    (folder / "checkpoint").rename(elsewhere)
    (folder / "checkpoint").symlink_to(elsewhere)
    said = error_of(capsys, resume(folder, "--steps", 9000))
    assert f"{folder / 'checkpoint'} is a link: a checkpoint is replaced as a whole" in said
    (folder / "checkpoint").unlink()
    elsewhere.rename(folder / "checkpoint")
    (folder / ".lock").unlink(missing_ok=True)
    (folder / ".lock").symlink_to(tmp_path / "victim")
    assert ".lock is a link, where a file is expected" in error_of(capsys, resume(folder))
    assert not (tmp_path / "victim").exists()


def test_what_kills_have_left_is_removed_when_a_run_continues(finished, tmp_path):
    folder, kept = shutil.copytree(finished, tmp_path / "run"), tmp_path / "kept"
    kept.mkdir()
    (kept / ".a.tmp").touch()
    for name in (".model.json.123.tmp", "level-01/.losses.csv.0f.tmp", ".checkpoint.new/x/.b.tmp"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "link").symlink_to(kept)
    (folder / ".checkpoint.old").symlink_to(kept)
    assert resume(folder, "--steps", 3000)() == 0
    hidden = {path.name for path in folder.rglob(".*")}
    assert hidden <= {".lock"}
    assert (kept / ".a.tmp").exists(), "no link is followed"
    check_all(folder)


def test_a_checkpoint_that_could_not_be_removed_is_gone_when_the_training_ends(
    tmp_path, monkeypatch
):
    """The last removal of an old checkpoint fails once."""
    removed, remove = [], shutil.rmtree

    def count(path, **options):
        if Path(path).name == ".checkpoint.old" and Path(path).exists():
            removed.append(Path(path).parent)
            if len(removed) == 2 * removed.count(tmp_path / "one"):
                return
        remove(path, **options)

    monkeypatch.setattr(training_files.shutil, "rmtree", count)
    for name in ("one", "two"):
        assert trained(AGENT, tmp_path / name, steps=STEPS) == 0
        assert {path.name for path in (tmp_path / name).rglob(".*")} <= {".lock"}
    assert removed.count(tmp_path / "two") == removed.count(tmp_path / "one") + 1


def test_what_is_left_in_a_complete_run_is_removed_when_it_is_resumed(finished, tmp_path, capsys):
    folder = shutil.copytree(finished, tmp_path / "run")
    for name in (".checkpoint.old/state.json", ".model.json.123.tmp"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    assert resume(folder)() == 0
    assert "complete: " in capsys.readouterr().out
    assert {path.name for path in folder.rglob(".*")} <= {".lock"}
    check_all(folder)


def test_a_file_is_not_written_through_a_planted_link(tmp_path, monkeypatch):
    victim, path = tmp_path / "victim", tmp_path / "file"
    victim.write_text("precious")
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "guessed")
    (tmp_path / ".file.guessed.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_file(path, lambda file: file.write(b"new"))
    assert victim.read_text() == "precious"


def test_the_certificate_follows_the_best_model_of_the_checkpoint(finished, tmp_path):
    """A kill leaves a model that is ahead of its checkpoint: the run goes on from the latter."""
    folder = shutil.copytree(finished, tmp_path / "run")
    stated = read(folder)
    ahead = tmp_path / "ahead"
    assert trained(AGENT, ahead, "--seed", "1", steps=STEPS) == 0
    for name in ("model.json", "model.safetensors"):
        shutil.copy(ahead / name, folder / name)
    (folder / "manifest.json").unlink()
    assert resume(folder)() == 0
    assert read(folder)["moves"] == stated["moves"]
    assert (folder / "model.json").read_bytes() == (finished / "model.json").read_bytes()
    check_all(folder)


def test_the_way_to_go_on_is_said_of_a_saved_run_only(tmp_path):
    class Saved:
        folder, until, is_saved = tmp_path, "steps", False

    for is_saved in (False, True):
        Saved.is_saved = is_saved
        with pytest.raises(OSError, match="disk") as error, trainer.way_to_go_on(Saved()):
            raise OSError("disk")
        assert ("--resume" in str(error.value)) == is_saved
