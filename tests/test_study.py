"""Studies: seeds trained in processes, disturbed in every way, and the tables over them."""

import csv
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_runs import python
from studies import (
    AGENT,
    check,
    often,
    parent_of,
    printed_by,
    started,
    starts,
    training_of,
    undisturbed,
    wait_for,
)

import train
from tictactoe_env.certificate import read, verify
from training import cluster, study
from training.cluster import ClusterError, Lost, cluster_address, connect
from training.files import read_json
from training.jobs import KILL, Job, Owner, do_job, read_outcome
from training.locks import locked
from training.study import parse_seeds, seeds_text, summary, summary_table

QUICK = "--rows 2 --judge-every 64 --until unbeatable --opponents minimax-slip=0.6 --steps 50000"
QUICK = [AGENT, *["--games", "32", "--turns", "cycled"], *QUICK.split()]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a study of two seeds that ended at their goal, not to be changed."""
    folder = tmp_path_factory.mktemp("study") / "study"
    assert train.main([*QUICK, "--seeds", "3,5", "--jobs", "2", "--out", str(folder)]) == 0
    return folder


def error_of(capsys, *arguments):
    """The error that a command line ends with, on one line and with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        train.main([str(argument) for argument in arguments])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("train.py: ")
    assert said.count("\n") == 1
    return said


# --- seeds, options ------------------------------------------------------------------------------


def test_seeds_are_ranges_and_lists():
    assert parse_seeds("0-4,7") == (0, 1, 2, 3, 4, 7)
    assert parse_seeds("7, 3 - 5,4") == (3, 4, 5, 7)
    assert [seeds_text(parse_seeds(text)) for text in ("0-99", "3,2,9,1")] == ["0-99", "1-3,9"]
    for text in ("", "-1", "9-2", "1-", "a", "1;2", "1,,2", "1.5"):
        with pytest.raises(ValueError, match=r"expected seeds such as 0-99 or 0-4,7, got "):
            parse_seeds(text)
    with pytest.raises(ValueError, match="at most 100,000 seeds, got '0-100000'"):
        parse_seeds("0-100000")


def test_addresses_of_clusters():
    for good in ("dask://head:8786", "ray://10.0.0.1:10001", "dask://[::1]:8786"):
        assert cluster_address(good) == good
    for bad in ("head:8786", "dask://head", "spark://head:1", "dask://head:99999", "ray://:1"):
        with pytest.raises(ValueError, match=r"expected dask://HOST:PORT or ray://HOST:PORT, got"):
            cluster_address(bad)


def test_options_that_a_study_lacks_and_those_that_only_a_study_has(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, said in (
        ("dqn --seeds 0-2 --seed 3", "a study has no --seed, because its seeds are those of"),
        ("dqn --seeds 0 --rival dqn", "a study has no --rival, because it trains one learner"),
        ("dqn --seeds 0 --export-sb3 a.zip", "a study has no --export-sb3, because it trains many"),
        ("dqn --jobs 2", "--jobs is for a study: give --seeds too, such as --seeds 0-9"),
        ("dqn --cluster dask://a:1", "--cluster is for a study: give --seeds too"),
        ("dqn --seeds 2-1", "--seeds: expected seeds such as 0-99 or 0-4,7, got '2-1'"),
        ("dqn --seeds 0 --jobs 0", "--jobs: expected a whole number of at least 1, got '0'"),
        ("dqn --seeds 0 --cluster x", "--cluster: expected dask://HOST:PORT or ray://HOST:PORT"),
    ):
        assert said in error_of(capsys, *arguments.split())
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("address", "package"), [("dask://127.0.0.1:9", "distributed"), ("ray://127.0.0.1:9", "ray")]
)
def test_a_missing_package_and_an_address_where_nobody_is_are_errors(
    address, package, capsys, tmp_path, monkeypatch
):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    line = [*QUICK, "--seeds", "0", "--out", tmp_path / "a", "--cluster", address]
    said = f"--cluster {address} needs {package}, which is not installed"
    assert said in error_of(capsys, *line)
    monkeypatch.setattr(cluster, "_need", lambda *_: None)
    assert f"nothing answers at {address}: start the cluster (" in error_of(capsys, *line)


# --- results -------------------------------------------------------------------------------------


def test_every_seed_is_a_run_of_its_own_and_the_tables_say_what_the_certificates_say(finished):
    contents = [read(finished / name) for name in ("seed-03", "seed-05")]
    for content in contents:
        verify(content)
    saved = read_json(finished / "study.json")
    assert (saved["agent"], saved["until"], saved["seeds"]) == (AGENT, "unbeatable", [3, 5])
    assert saved["config"]["rows"] == 2
    assert "seed" not in saved["config"]
    found = saved["summary"]
    assert (found["finished"], found["unbeatable_both"], found["failed"]) == (2, 2, 0)
    steps = sorted(content["training"]["first_unbeatable"]["steps"] for content in contents)
    assert found["unbeatable_both_steps"] == [steps[0], sum(steps) / 2, steps[1]]
    assert found["win_x"][0] == min(content["as_x"]["vs_random"]["win"] for content in contents)
    with open(finished / "study.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["seed"], row["state"], row["unbeatable_o"]) for row in rows] == [
        ("3", "finished", "1"),
        ("5", "finished", "1"),
    ]
    assert (finished / "study.png").read_bytes().startswith(b"\x89PNG")
    assert "| proven unbeatable | 2 of 2 | 2 of 2 | 2 of 2 |" in (finished / "study.md").read_text()


def test_a_table_counts_the_proven_and_gives_medians_and_ranges():
    rows = [
        {
            **{"seed": seed, "state": "finished", "steps": 10_000 * seed, "seconds": seed / 2},
            **{"unbeatable_x": seed > 1, "optimal_x": False, "win_x": 0.9, "loss_x": 0.01 * seed},
            **{"unbeatable_both": seed > 1, "optimal_both": False},
            **({"unbeatable_x_steps": 1_000 * seed} if seed > 1 else {"unbeatable_x_steps": None}),
        }
        for seed in (1, 2, 3)
    ]
    rows.append({"seed": 4, "state": "failed", "error": "no memory"})
    headings, lines = summary_table(rows)
    assert headings == ["", "as X"]
    assert lines == [
        ["proven unbeatable", "2 of 3"],
        ["- steps until then", "2,500 (2,000 to 3,000)"],
        ["proven optimal", "0 of 3"],
        ["wins against random, %", "90.00"],
        ["losses against random, %", "2.00 (1.00 to 3.00)"],
        ["steps in all", "20,000 (10,000 to 30,000)"],
        ["seconds in all", "1.0 (0.5 to 1.5)"],
    ]
    found = summary(rows)
    assert (found["seeds"], found["finished"], found["failed"]) == (4, 3, 1)
    assert found["unbeatable_x_steps"] == [2_000, 2_500, 3_000]
    assert summary_table(rows[3:]) == ([""], [])


def test_where_x_wins_with_best_play_a_table_counts_who_wins_against_everybody_as_x():
    row = {"seed": 0, "state": "finished", "steps": 100, "seconds": 2.0}
    row |= {"always_wins_x": True, "always_wins_x_steps": 100, "always_wins_x_seconds": 2.0}
    row |= {f"unbeatable_{name}": name == "x" for name in ("x", "o", "both")}
    headings, lines = summary_table([row])
    assert headings == ["", "as X", "as O", "both sides"]
    assert lines == [
        ["wins against everybody", "1 of 1", "", ""],
        ["- steps until then", "100", "", ""],
        ["- seconds until then", "2.0", "", ""],
        ["steps in all", "", "", "100"],
        ["seconds in all", "", "", "2.0"],
    ]
    assert summary([row])["always_wins_x_steps"] == [100, 100, 100]


@pytest.mark.slow
def test_a_study_on_a_board_that_x_wins_says_so(tmp_path, capsys):
    folder = tmp_path / "study"
    line = f"{AGENT} --rows 2 --cols 3 --k 2 --until unbeatable --judge-every 64 --games 32 --seeds"
    assert train.main([*line.split(), "0", "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "training 1 seed on this machine" in printed
    assert "seed 0: wins against everybody as X, " in printed
    assert "X wins with best play on 2x3, 2 in a row: the goal is that X wins" in printed
    assert "| wins against everybody | 1 of 1 |  |  |" in (folder / "study.md").read_text()
    assert read_json(folder / "study.json")["summary"]["always_wins_x"] == 1


def test_a_finished_study_trains_nothing_again_and_takes_further_seeds(
    finished, tmp_path, capsys, monkeypatch
):
    line = [*QUICK, "--seeds", "5", "--out", str(finished)]
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    monkeypatch.setattr("terminal.study.connect", None)
    assert train.main(line) == 0
    assert "1 of 1 seeds are finished already" in capsys.readouterr().out
    changed = [path.name for path, data in before.items() if path.read_bytes() != data]
    assert set(changed) <= {"study.png"}, "all seeds of the folder stay in its tables"


@pytest.mark.parametrize("content", ["{}", "[]", '{"steps": 1, "reached": true}', "changed"])
def test_a_damaged_note_of_the_end_of_a_run_is_refused_and_written_anew(
    finished, tmp_path, capsys, content
):
    folder = shutil.copytree(finished, tmp_path / "study")
    end = folder / "seed-05" / "finished.json"
    before = end.read_text()
    end.write_text(before.replace("true", "false") if content == "changed" else content)
    line = [*QUICK, "--seeds", "5", "--out", str(folder)]
    said = error_of(capsys, *line)
    assert str(end) in said
    assert "delete this file, and the same command looks at the run again" in said
    if content == "changed":
        assert "reached" in before
        end.unlink()
        assert train.main(line) == 0
        assert end.read_text() == before


@pytest.mark.slow
def test_another_value_of_an_option_is_refused_by_its_name(finished, capsys, tmp_path):
    before = sorted(finished.iterdir())
    for more, said in (
        (["--games", "8"], "another --games (32 before, now 8): give the same options to"),
        (["--until", "optimal"], "another --until (unbeatable before, now optimal)"),
        (["--preset", "tictac"], "another --preset (None before, now tictac); "),
    ):
        assert said in error_of(capsys, *QUICK, *more, "--seeds", "3-9", "--out", finished)
    assert sorted(finished.iterdir()) == before
    said = error_of(capsys, "dqn", "--seeds", "0", "--out", finished)
    assert "another --agent (tabular_q before, now dqn); " in said
    said = error_of(capsys, *QUICK, "--seeds", "0", "--out", finished / "seed-03")
    assert "holds no study, but " in said
    (tmp_path / "study.json").write_text("[]")
    assert "is not the file of a study" in error_of(
        capsys, *QUICK, "--seeds", "0", "--out", tmp_path
    )
    with locked(finished):
        said = error_of(capsys, *QUICK, "--seeds", "3", "--out", finished)
        assert "another process is training the runs of" in said


# --- disturbed -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_ctrl_c_saves_each_training_and_the_same_command_continues_them(plain, tmp_path):
    folder = tmp_path / "study"
    process = started(folder, often(tmp_path), "--jobs", "2")
    wait_for(lambda: training_of(folder, 0), process)
    process.send_signal(signal.SIGINT)
    printed = printed_by(process, 130)
    assert "stopping each training at its next evaluation, where its state is saved" in printed
    assert "seeds are not finished (0-2): the same command continues them" in printed
    assert "Traceback" not in printed
    assert read_json(folder / "study.json")["summary"]["finished"] == 0
    again = started(folder, often(tmp_path), "--jobs", "2")
    printed_by(again)
    check(folder, plain)


@pytest.mark.slow
def test_kills_of_the_study_of_a_worker_and_of_a_training_lose_nothing(plain, tmp_path):
    folder, env = tmp_path / "study", often(tmp_path)
    process = started(folder, env, "--jobs", "2")
    os.kill(wait_for(lambda: training_of(folder, 0), process), signal.SIGKILL)
    wait_for(lambda: starts(folder, 0) == 2 and training_of(folder, 0), process)
    process.kill()
    process.communicate()
    process = started(folder, env, "--jobs", "2")
    training = wait_for(lambda: starts(folder, 0) == 3 and training_of(folder, 0), process)
    os.kill(parent_of(training), signal.SIGKILL)
    printed = printed_by(process)
    assert "a worker was lost (TerminatedWorkerError: " in printed
    assert starts(folder, 0) >= 4
    check(folder, plain)


@pytest.mark.slow
def test_a_seed_that_fails_is_reported_and_the_others_go_on(tmp_path, capsys):
    folder = tmp_path / "study"
    (folder / "seed-00" / "checkpoint").mkdir(parents=True)
    (folder / "seed-00" / "checkpoint" / "manifest.json").write_text("{")
    (folder / "study.json").write_text(json.dumps({"config": {}, "agent": AGENT}))
    saved = study.Study(
        folder,
        AGENT,
        train.configuration(
            train.agents.page(AGENT), train.command_line(train.agents.page(AGENT)).parse(QUICK), {}
        )[0],
        None,
        "unbeatable",
        (0, 1),
    )
    saved.write(saved.rows())
    assert train.main([*QUICK, "--seeds", "0-1", "--jobs", "1", "--out", str(folder)]) == 1
    printed = capsys.readouterr()
    assert f"seed 0: FAILED: {folder}/seed-00/checkpoint/manifest.json is damaged" in printed.out
    assert "seed 1: unbeatable as X and O" in printed.out
    assert "1 of 2 seeds are not finished (0): the same command continues them" in printed.err
    rows = read_json(folder / "study.json")["runs"]
    assert [row["state"] for row in rows] == ["failed", "finished"]
    assert "is damaged: it is not JSON" in rows[0]["error"]


def test_a_training_that_is_killed_each_time_is_given_up(tmp_path, monkeypatch):
    """A kill without a new checkpoint in between, as by a system that is out of memory."""
    monkeypatch.chdir(tmp_path)
    owner = Owner.begin(Path("study"), is_local=True, program="terminal.job")
    dying = "import os; os.kill(os.getpid(), 9)"
    (tmp_path / "terminal").mkdir()
    (tmp_path / "terminal" / "__init__.py").touch()
    (tmp_path / "terminal" / "job.py").write_text(dying)
    job = Job("seed 0", str(tmp_path / "study" / "seed-00"), AGENT, {})
    do_job(job, Owner(**{**vars(owner), "root": str(tmp_path)}))
    said = read_outcome(job, owner)
    assert said.state == "failed"
    assert (
        said.error == "killed by SIGKILL (out of memory?), 3 times before it wrote a new checkpoint"
    )
    later = Owner.begin(Path("study"), is_local=True, program="terminal.job")
    assert read_outcome(job, later) is None, "that was said to another owner"


def test_a_worker_of_a_killed_owner_that_is_late_hides_nothing_from_the_next(tmp_path):
    first = Owner.begin(tmp_path, is_local=False, program="terminal.job")
    second = Owner.begin(tmp_path, is_local=False, program="terminal.job")
    job = Job("seed 0", str(tmp_path / "seed-00"), AGENT, {})
    (tmp_path / "seed-00").mkdir()
    job.finish(1, reached=True)
    do_job(job, second)
    do_job(job, first)
    assert read_outcome(job, second).state == "finished"
    assert read_outcome(job, first) is None, "nobody would read or remove it"
    job.forget_outcomes()
    assert sorted(os.listdir(tmp_path)) == [".owner", "seed-00"]


def test_an_owner_that_stops_its_jobs_still_hears_what_came_of_them(tmp_path):
    owner = Owner.begin(tmp_path, is_local=False, program="terminal.job")
    job = Job("seed 0", str(tmp_path / "seed-00"), AGENT, {})
    for said in ("", KILL):
        owner.say(said)
        do_job(job, owner)
        assert read_outcome(job, owner).state == "stopped"
        job.forget_outcomes()


def test_workers_that_never_work_end_the_study_with_one_line(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError("no such\nmodule")

    monkeypatch.setattr(cluster, "do_job", broken)
    owner = Owner.begin(tmp_path, is_local=True, program="terminal.job")
    job = Job("seed 0", str(tmp_path / "seed-00"), AGENT, {})
    found = []
    with connect(None, 1) as workers, pytest.raises(ClusterError) as error:
        found.extend(cluster.outcomes([job], owner, workers))
    said = "the workers do not work, 3 times in a row: OSError: no such module; start them again"
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert all(isinstance(one, Lost) for one in found)


class BusyRay:
    """Ray whose head fails to start a client server a few times, as that of 2.60 now and then does.

    A failure takes longer than a head node is waited for.
    """

    def __init__(self, failures, clock):
        self.failures, self.clock, self.tries = failures, clock, 0

    def is_initialized(self):
        return self.tries > self.failures

    def init(self, *_, **__):
        self.tries += 1
        if self.tries <= self.failures:
            self.clock.now += cluster.RAY_SECONDS + 1
            raise ConnectionAbortedError("Starting Ray client server failed")

    def cluster_resources(self):
        return {"CPU": 2.0}

    def shutdown(self):
        """Nothing was started."""


class Clock:
    """A clock that only sleeping and a busy head move."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.mark.parametrize("failures", [1, cluster.RAY_TRIES - 1, cluster.RAY_TRIES])
def test_a_ray_head_that_fails_to_start_a_server_is_asked_again(monkeypatch, failures):
    clock = Clock()
    ray = BusyRay(failures, clock)
    joblib = SimpleNamespace(register_ray=lambda: None)
    modules = {"ray": ray, "ray.util": SimpleNamespace(), "ray.util.joblib": joblib}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(cluster, "time", clock)
    connection = cluster._ray("ray://127.0.0.1:1", "127.0.0.1", 1, None)
    if failures < cluster.RAY_TRIES:
        with connection as workers:
            assert workers.jobs == 2
        assert ray.tries == failures + 1
    else:
        with pytest.raises(ClusterError, match="no Ray client server that can be used"), connection:
            pass
        assert ray.tries == cluster.RAY_TRIES


def test_help_says_what_a_study_is():
    shown = " ".join(python("train.py", AGENT, "--help").stdout.replace("│", "").split())
    for said in (
        "--seeds SEEDS train a study: a run for each of these seeds, such as 0-99 or 0-4,7,",
        "--jobs INT of a study: the most runs that are trained at a time",
        "--cluster ADDRESS of a study: train on this cluster, dask://HOST:PORT (a scheduler)",
    ):
        assert said in shown
