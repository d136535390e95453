"""Studies: seeds trained in processes, disturbed in every way, and the tables over them."""

import signal
import threading
from dataclasses import asdict, replace

import pytest
from small_runs import small_config
from text_cases import called, refuses

import train
from terminal.job import train as do_the_job
from tictactoe_env.certificates.certificate import read, verify
from training import cluster, files
from training.cluster import Lost, cluster_address
from training.files import locked, read_json
from training.jobs import (
    EXIT_FINISHED,
    EXIT_STOPPED,
    FAILED,
    KILL,
    STOPPED,
    Job,
    Outcome,
    Owner,
    do_job,
    read_outcome,
)
from training.study import parse_seeds, seeds_text

AGENT, PROGRAM = "tabular_q", "terminal.job"
QUICK = "--rows 2 --judge-every 64 --until unbeatable --opponents minimax-slip=0.6 --steps 50000"
QUICK = [AGENT, *["--games", "32", "--turns", "cycled"], *QUICK.split()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a study of two seeds that ended at their goal, not to be changed."""
    folder = tmp_path_factory.mktemp("study") / "study"
    assert train.main([*QUICK, "--seeds", "3,5", "--jobs", "2", "--out", str(folder)]) == 0
    return folder


def error_of(capsys, *arguments):
    """The error that a command line ends with, on one line and with exit code 2."""
    code, _, said = called(train, [str(argument) for argument in arguments], capsys)
    assert (code, said.count("\n")) == (2, 1)
    return said


def test_seeds_are_ranges_and_lists_and_a_cluster_has_an_address():
    assert parse_seeds("0-4,7") == (0, 1, 2, 3, 4, 7)
    assert parse_seeds("7, 3 - 5,4") == (3, 4, 5, 7)
    assert [seeds_text(parse_seeds(text)) for text in ("0-99", "3,2,9,1")] == ["0-99", "1-3,9"]
    for text in ("", "-1", "9-2", "1-", "a", "1;2", "1,,2", "1.5", "0-100000"):
        with refuses(repr(text)):
            parse_seeds(text)
    for good in ("dask://head:8786", "ray://10.0.0.1:10001", "dask://[::1]:8786"):
        assert cluster_address(good) == good
    for bad in ("head:8786", "dask://head", "spark://head:1", "dask://head:99999", "ray://:1"):
        with refuses(bad):
            cluster_address(bad)


# --- results -------------------------------------------------------------------------------------


def test_every_seed_is_a_run_of_its_own_and_the_tables_say_what_the_certificates_say(finished):
    contents = [read(finished / name) for name in ("seed-03", "seed-05")]
    for content in contents:
        verify(content)
    saved = read_json(finished / "study.json")
    assert (saved["agent"], saved["until"], saved["seeds"]) == (AGENT, "unbeatable", [3, 5])
    found = saved["summary"]
    assert (found["finished"], found["unbeatable_both"], found["failed"]) == (2, 2, 0)
    steps = sorted(content.stated.training["first_unbeatable"]["steps"] for content in contents)
    assert found["unbeatable_both_steps"] == [steps[0], sum(steps) / 2, steps[1]]
    assert found["win_x"][0] == min(content.results["X"].vs_random.win for content in contents)
    rows = (finished / "study.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["seed", "3", "5"]
    assert (finished / "study.png").read_bytes().startswith(b"\x89PNG")
    assert "2 of 2" in (finished / "study.md").read_text()


def test_a_finished_study_trains_nothing_again_and_refuses_other_options_by_name(
    finished, capsys, monkeypatch
):
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    monkeypatch.setattr("terminal.study.connect", None)
    monkeypatch.setattr(files, "LOCK_SECONDS", 0)
    assert train.main([*QUICK, "--seeds", "5", "--out", str(finished)]) == 0
    for option, value in (("--games", "8"), ("--until", "optimal")):
        line = [*QUICK, option, value, "--seeds", "3-9", "--out", finished]
        assert option in error_of(capsys, *line)
    assert AGENT in error_of(capsys, "trie", "--seeds", "0", "--out", finished)
    for other in (finished / "study.csv", finished / "seed-03"):
        assert str(other) in error_of(capsys, *QUICK, "--seeds", "3", "--out", other)
    with locked(finished):
        assert str(finished) in error_of(capsys, *QUICK, "--seeds", "3", "--out", finished)
    changed = [path.name for path, data in before.items() if path.read_bytes() != data]
    assert set(changed) <= {"study.png"}, "all seeds of the folder stay in its tables"


# --- disturbed -----------------------------------------------------------------------------------


def test_ctrl_c_asks_the_trainings_to_stop_and_a_second_one_ends_them(tmp_path, capsys):
    owner = Owner.begin(tmp_path, is_local=True, program=PROGRAM)
    assert owner.is_wanting
    with cluster.stopping(owner) as stops:
        signal.raise_signal(signal.SIGINT)
        assert (owner.said, owner.is_wanting, len(stops)) == ("", False, 1)
        signal.raise_signal(signal.SIGINT)
    assert owner.said == KILL
    assert "Ctrl-C again" in " ".join(capsys.readouterr().err.split())


def test_the_process_of_a_job_stops_at_an_evaluation_and_goes_on_from_there(tmp_path, no_charts):
    config, ended = asdict(small_config(AGENT)), threading.Event()
    job = Job("seed 0", str(tmp_path / "seed-00"), AGENT, config)
    ended.set()
    assert do_the_job(job, ended) == EXIT_STOPPED
    assert 0 < job.steps_saved < config["steps"]
    ended.clear()
    assert do_the_job(job, ended) == do_the_job(job, ended) == EXIT_FINISHED
    assert job.has_reached_its_goal


@pytest.mark.parametrize(
    ("program", "state", "mention"),
    [
        ("os.kill(os.getpid(), 9)", "failed", "SIGKILL"),  # as by a system out of memory
        ("sys.exit(0)", "failed", "finished.json"),
        ("owner.write_text(''); sys.stdin.read(); sys.exit(3)", "stopped", ""),
        ("owner.write_text('kill'); sys.stdin.read(); time.sleep(99)", "stopped", ""),
    ],
)
def test_a_training_that_dies_each_time_or_is_told_to_stop_ends(tmp_path, program, state, mention):
    owner = replace(Owner.begin(tmp_path, is_local=True, program="ending"), root=str(tmp_path))
    script = f"import os, pathlib, sys, time; owner = pathlib.Path({str(owner.file)!r}); {program}"
    (tmp_path / "ending.py").write_text(script)
    job = Job("seed 0", str(tmp_path / "seed-00"), AGENT, {})
    do_job(job, owner)
    said = read_outcome(job, owner)
    assert (said.state, mention in said.error) == (state, True)
    later = Owner.begin(tmp_path, is_local=True, program=PROGRAM)
    assert read_outcome(job, later) is None, "that was said to another owner"


def test_lost_workers_failed_seeds_and_what_is_missing_are_named(tmp_path, monkeypatch, capsys):
    def outcomes(jobs, owner, workers):
        yield Lost("no answer")
        yield Outcome(jobs[0], FAILED, "no memory")
        yield Outcome(jobs[1], STOPPED)

    monkeypatch.setattr("terminal.study.outcomes", outcomes)
    arguments = [*QUICK, "--seeds", "4-5", "--jobs", "1", "--out", str(tmp_path / "study")]
    code, out, err = called(train, arguments, capsys)
    assert (code, "4-5" in err) == (1, True)
    assert [words for words in ("no answer", "seed 4", "no memory") if words not in out] == []
