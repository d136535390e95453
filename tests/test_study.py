"""Studies: seeds trained in processes, disturbed in every way, and the tables over them."""

import csv
import os
import signal
import subprocess
import sys

import pytest
from programs import ROOT
from small_runs import contents, metrics, small_config
from text_cases import called, refuses

import train
from apps.terminal import study
from apps.terminal.study_table import facts, goals_of, parse_seeds, table
from tictactoe_env.certificates.certificate import read, verify
from training import cluster
from training.cluster import cluster_address, results
from training.metrics import COLUMNS

AGENT = "tabular_q"
QUICK = "--board 2x3x3 --judge-every 64 --until unbeatable --opponents minimax-slip=0.6"
QUICK = [AGENT, "--games", "32", "--steps", "50000", *QUICK.split()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a study of two seeds that ended at their goal, not to be changed."""
    folder = tmp_path_factory.mktemp("study") / "study"
    assert train.main([*QUICK, "--seeds", "3,5", "--jobs", "2", "--out", str(folder)]) == 0
    return folder


def test_seeds_are_ranges_and_lists_and_a_cluster_has_an_address():
    assert parse_seeds("7, 3 - 5,4") == (3, 4, 5, 7)
    for text in ("", "-1", "9-2", "1-", "a", "1;2", "1,,2", "1.5", "0-100000"):
        with refuses(repr(text)):
            parse_seeds(text)
    for good in ("dask://head:8786", "ray://[::1]:10001"):
        assert cluster_address(good) == good
    for bad in ("head:8786", "dask://head", "spark://head:1", "dask://head:99999", "ray://:1"):
        with refuses(bad):
            cluster_address(bad)


def test_every_seed_is_a_run_of_its_own_and_the_tables_say_what_the_certificates_say(finished):
    contents = [read(finished / name) for name in ("seed-03", "seed-05")]
    for content in contents:
        verify(content)
    with open(finished / "study.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["seed"] for row in rows] == ["3", "5"]
    for row, content in zip(rows, contents, strict=True):
        first = content.stated.training["first_unbeatable"]
        assert int(row["unbeatable_both_steps"]) == first["steps"] == int(row["steps"])
        assert float(row["win_x"]) == content.results["X"].vs_random.win
    assert (finished / "study.png").read_bytes().startswith(b"\x89PNG")
    assert "| proven unbeatable | 2 of 2 | 2 of 2 | 2 of 2 |" in (finished / "study.md").read_text()


def test_one_side_and_a_board_that_x_wins_have_tables_of_their_own():
    row = {"steps": 9, "seconds": 1.0, "always_wins_x": 1, **dict.fromkeys(COLUMNS[2:], 0)}
    won, as_o = small_config("dqn", cols=4, k=3), small_config("dqn", side="O")
    found = facts([row | {"unbeatable_x": 1}], won, "unbeatable")
    assert (goals_of(won.rules), found["reached"]) == (("always_wins",), True)
    headings, lines = table([found], goals_of(won.rules))
    assert (headings[1:], lines[0][1:]) == (["as X", "as O", "both sides"], ["1 of 1", "", ""])
    found = facts([row | {"unbeatable_x": 1}], as_o, "unbeatable")
    headings, lines = table([found], ["unbeatable", "optimal"])
    assert (found["reached"], headings[1:], lines[0][1:]) == (False, ["as O"], ["0 of 1"])


def test_a_finished_study_trains_nothing_again_and_refuses_other_options_by_name(finished, capsys):
    (finished / ".study.png.0123456789abcdef.tmp").touch()  # by a kill while it was written
    before = [contents(finished / name) for name in ("seed-03", "seed-05")]
    assert train.main([*QUICK, "--seeds", "3,5", "--jobs", "1", "--out", str(finished)]) == 0
    assert [contents(finished / name) for name in ("seed-03", "seed-05")] == before
    assert list(finished.glob("*.tmp")) == []
    for agent_and_options, out, mention in (
        ([*QUICK, "--games", "8"], finished, "games"),
        (["trie"], finished, AGENT),
        (QUICK, finished / "study.csv", finished / "study.csv"),
        (QUICK, finished / "seed-03", finished / "seed-03"),
    ):
        line = [*agent_and_options, "--seeds", "3-9", "--out", str(out)]
        code, _, said = called(train, line, capsys)
        assert (code, said.count("\n"), str(mention) in said) == (2, 1, True)


def test_options_are_varied_in_one_table_and_what_is_finished_is_not_trained_again(tmp_path):
    folder = tmp_path / "vary"
    line = [*QUICK, "--seeds", "3,5", "--jobs", "2", "--out", str(folder)]
    pools = "opponents=random;minimax-slip=0.6:0.5,self:0.5"
    line[line.index("--opponents") : line.index("--opponents") + 2] = ["--vary", pools]
    line += ["--vary", "learning-rate=0.5,1"]
    train.main(line)
    with open(folder / "vary.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["opponents"], row["learning_rate"], row["seed"]) for row in rows[:4]] == [
        ("random", rate, seed) for rate in ("0.5", "1") for seed in "35"
    ]
    runs = sorted(folder.glob("*/*/seed-*/certificate.json"))
    assert len(runs) == len(rows) == 8
    found = {read(run).sha256_of_moves for run in runs}
    assert len(found) > 1
    wins = {read(run).results["X"].vs_random.win for run in runs}
    assert {float(row["win_x"]) for row in rows} == wins
    evaluations = [metrics(run.parent) for run in runs]
    assert max(map(len, evaluations)) > 1
    last = sorted(seen[-1]["steps"] for seen in evaluations)  # of the first that is unbeatable
    for name in ("steps", "unbeatable_both_steps"):
        assert sorted(row[name] for row in rows) == last
    table = (folder / "vary.md").read_text()
    assert table.count("2 of 2") == 4
    kept = [contents(run.parent) for run in runs]
    (folder / "vary.csv").unlink()
    train.main(line)
    assert [contents(run.parent) for run in runs] == kept
    assert (folder / "vary.csv").exists()


@pytest.mark.parametrize(
    ("varied", "mention"),
    [
        ("learning-rat=1,2", "learning_rate"),
        ("seed=1,2", "seed"),
        ("epsilon=0.1,2", "2"),
        ("epsilon=0.1,0.1", "once"),
        ("games=8,16", "games"),  # it is typed too
        ("board=3x3x3,2x3x2", "rows"),
        ("preset=tictac,tic", "tic"),
    ],
)
def test_what_cannot_be_varied_is_refused_before_anything_is_trained(
    tmp_path, capsys, varied, mention
):
    folder = tmp_path / "vary"
    line = [*QUICK, "--seeds", "0-1", "--vary", varied, "--out", str(folder)]
    code, _, said = called(train, line, capsys)
    assert (code, said.count("\n"), mention in said, folder.exists()) == (2, 1, True, False)


def test_a_training_that_fails_says_why_and_goes_on_when_it_is_called_again(
    tmp_path, monkeypatch, no_charts
):
    config = small_config(AGENT)
    call = tmp_path / "seed-00", AGENT, config, None, "steps"
    for broken in ("training.run.Run.judge", "training.run.Run.finish"):
        with monkeypatch.context() as patch:
            patch.setattr(broken, lambda *_: 1 / 0)
            rows, error = study.train_run(*call)
            assert (rows, "ZeroDivisionError" in error, "seed-00.log" in error) == ([], True, True)
    rows, error = study.train_run(*call)
    assert (rows[-1]["steps"] >= config.steps, error) == (True, "")
    assert str(tmp_path / "other") in study.train_run(tmp_path / "other" / "seed-00", *call[1:])[1]


def killed(folder, number):
    """The task of a worker that is killed when it has the first of three tasks, once."""
    if number == 0 and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_what_a_lost_worker_had_is_done_again_but_not_for_ever(tmp_path, monkeypatch):
    calls = [(tmp_path, number) for number in range(3)]
    with pytest.warns(UserWarning, match="lost"):
        found = dict(results(killed, calls, jobs=1))
    assert found == {0: 0, 1: 1, 2: 2}
    (tmp_path / "killed").unlink()
    monkeypatch.setattr(cluster, "TRIES", 1)
    with refuses("1 times"):
        list(results(killed, calls, jobs=2))


SLEEPING = """
import time
from training.cluster import results

def sleep(number):
    print("asleep", flush=True)
    time.sleep(60)

list(results(sleep, [(0,), (1,)], jobs=2))
"""


def test_the_processes_of_a_study_that_is_killed_end_by_themselves():
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", SLEEPING], cwd=ROOT, **pipes) as study:
        assert study.stdout.readline() + study.stdout.readline() == b"asleep\nasleep\n"
        study.kill()
        study.communicate(timeout=30)  # returns when the last process that can write has ended


def test_failed_seeds_and_what_is_missing_are_named(tmp_path, monkeypatch, capsys):
    def some(task, calls, address, jobs):
        yield 0, ([], "MemoryError: no memory")
        raise KeyboardInterrupt

    monkeypatch.setattr("apps.terminal.study.results", some)
    arguments = [*QUICK, "--seeds", "4-5", "--jobs", "1", "--out", str(tmp_path / "study")]
    code, out, err = called(train, arguments, capsys)
    assert (code, "4, 5" in err, "seed 4: failed: MemoryError" in out) == (130, True, True)
