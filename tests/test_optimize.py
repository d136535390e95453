"""`train.py AGENT --optimize N`: scores, pruning, and searches that are killed or shared."""

import csv
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from small_runs import OPTIONS, ROOT, environment, python, small_config

import agents
import train
from tictactoe_env.evaluation import Evaluation
from tictactoe_env.match import Result

optuna = pytest.importorskip("optuna", reason="needs the dependency group optimize")

from optuna.trial import TrialState, create_trial  # noqa: E402

from training import tuning  # noqa: E402
from training.learner import drive  # noqa: E402

SMALL = "--rows 2 --steps 1500 --judge-every 300 --until unbeatable --seeds-per-trial 2"
QUICK = ["tabular_q", *SMALL.split(), "--opponents", "random"]


def search(folder, trials, *options, agent_and_options=QUICK):
    """The exit code of a search."""
    arguments = [*agent_and_options, "--optimize", trials, "--out", folder, *options]
    return train.main([str(argument) for argument in arguments])


def error_of(capsys, folder, trials, *options, **more):
    """The error of one line that a search ends with."""
    with pytest.raises(SystemExit) as ended:
        search(folder, trials, *options, **more)
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err.count("\n"), printed.out) == (2, 1, "")
    assert printed.err.startswith("train.py: ")
    return printed.err


def rows(folder):
    """The rows of trials.csv."""
    with open(folder / "trials.csv", newline="") as file:
        return list(csv.DictReader(file))


def by_trial(folder):
    """The rows of trials.csv by the numbers of the trials."""
    return {int(row["trial"]): row for row in rows(folder)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished search of eight trials, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "a search"
    assert search(folder, 8) in (0, 1)
    return folder


def evaluation(x, o, unbeatable_x, unbeatable_o):
    """Of a policy with these wins against random, all other games being lost."""
    results = Result(x, 0.0, 1 - x, 0.0), Result(o, 0.0, 1 - o, 0.0)
    return Evaluation(*results, unbeatable_x, unbeatable_o, False, False)


def test_the_score_falls_as_the_rank_grows_and_a_proven_goal_is_below_all_others():
    rates, truths = (0.0, 0.3, 1.0), (False, True)
    found = [evaluation(x, o, a, b) for x in rates for o in rates for a in truths for b in truths]
    for side in ("both", "X", "O"):
        ranked = sorted(found, key=lambda one: one.rank(side))
        lacking = [tuning.shortfall(one, side) for one in ranked]
        assert lacking == sorted(lacking, reverse=True)
    assert tuning.shortfall(evaluation(1.0, 1.0, True, True)) == 0
    assert tuning.shortfall(evaluation(0.5, 0.0, False, True)) == 1 + (2 - (0 - 1)) / 4
    assert tuning.shortfall(evaluation(0.5, 0.0, False, True), "O") == 1.0
    training = tuning.Training(agents.page("trie"), small_config("trie", steps=300), "optimal")
    training.best = evaluation(0.99, 0.99, True, True)
    assert 1 < training.score < 1.02
    training.reached = 301  # the last round may end beyond the steps that were allowed
    assert training.score == 1


@pytest.mark.parametrize(
    ("others", "own", "is_pruned"),
    [
        ([[3, 2, 2, 2, 1, 1]] * 4, [3, 3, 3], False),  # too few trials
        ([[3, 2, 2, 2, 1, 1]] * 5, [3, 3], False),  # the first third of six
        ([[3, 2, 2, 2, 1, 1]] * 5, [3, 3, 3], True),
        ([[3, 2, 2, 2, 1, 1]] * 5, [3, 3, 2], False),  # as good as the median
        ([[3, 2, 0.3]] * 3 + [[3, 3, 3, 3, 3, 3]] * 2, [3, 2, 2, 1.5], True),  # others have ended
        ([[3, 2, 0.3]] * 2 + [[3, 3, 3, 3, 3, 3]] * 3, [3, 2, 2, 1.5], False),
    ],
)
def test_a_trial_is_pruned_above_the_median_where_those_that_ended_count(others, own, is_pruned):
    study = optuna.create_study()
    for scores in others:
        study.add_trial(create_trial(value=scores[-1], intermediate_values=dict(enumerate(scores))))
    running = create_trial(state=TrialState.RUNNING, intermediate_values=dict(enumerate(own)))
    assert tuning.ExactMedianPruner().prune(study, running) == is_pruned


@pytest.mark.slow
@pytest.mark.parametrize("agent", OPTIONS)
def test_the_seeds_of_a_trial_train_as_they_would_alone(agent):
    page, config = agents.page(agent), small_config(agent)
    together = [tuning.Training(page, replace(config, seed=seed), "steps") for seed in (0, 1)]
    models = [[], []]
    while not all(training.is_over for training in together):
        for training, found in zip(together, models, strict=True):
            training.go_on()
            found.append((training.learner.steps, training.learner.policy().table.tobytes()))
    for training, found in zip(together, models, strict=True):
        learner, alone = page.begin(training.config), []
        drive(
            learner,
            training.config,
            lambda one, alone=alone: alone.append((one.steps, one.policy().table.tobytes())),
        )
        assert alone == found
        assert len(alone) > 1


@pytest.mark.slow
def test_a_search_prints_the_command_that_makes_its_best_trial_again(tmp_path, capsys):
    folder = tmp_path / "a search"
    code = search(folder, 6)
    printed = capsys.readouterr().out
    assert len(re.findall(r"^trial +\d  ", printed, re.M)) == 6
    best = rows(folder)[0]
    assert [float(row["score"]) for row in rows(folder)[:2]] == sorted(
        float(row["score"]) for row in rows(folder)[:2]
    )
    line = next(line for line in printed.splitlines() if line.startswith("python train.py"))
    words = shlex.split(line)[2:]
    assert ("--optimize" in words, "--learning-rate" in words) == (False, best["trial"] != "0")
    train.main([*words, "--out", str(tmp_path / "run")])
    again = capsys.readouterr().out
    reached = best["steps_of_seed_0"]
    assert code == (0 if reached and best["steps_of_seed_1"] else 1)
    assert ("PROVEN on 2x3, 3 in a row: unbeatable as X and as O" in again) == (reached != "")
    if reached:
        assert f"trained for {int(reached):,} steps in" in again
    assert {path.name for path in folder.iterdir()} == {
        ".claims.lock",
        "history.png",
        "study.db",
        "trials.csv",
    }


def test_a_goal_that_is_proven_after_the_last_step_scores_1_and_the_table_says_so(tmp_path, capsys):
    board = "--rows 1 --cols 2 --k 2 --until unbeatable --seeds-per-trial 1"
    options = ["tabular_q", *board.split(), "--games", "64", "--steps", "10", "--judge-every", "5"]
    assert search(tmp_path / "a", 1, agent_and_options=options) == 0
    printed = capsys.readouterr().out
    (row,) = rows(tmp_path / "a")
    assert int(row["steps_of_seed_0"]) > 10
    assert float(row["score"]) == 1
    assert "the best trials of tabular_q, until unbeatable or 10 moves\n" in printed
    assert "trainings end with a rollout: a goal proven after 10 moves scores 1" in printed
    assert "state" not in printed, "every trial is complete"


def test_the_first_trial_has_the_options_of_the_agent_and_given_options_are_fixed(finished):
    first = by_trial(finished)[0]
    config = agents.page("tabular_q").Config()
    names = set(agents.page("tabular_q").SEARCH) - {"opponents"}
    assert set(first) == {"trial", "state", "score", "steps_of_seed_0", "steps_of_seed_1", *names}
    assert all(float(first[name]) == getattr(config, name) for name in names)
    others = [tuple(row[name] for name in sorted(names)) for row in rows(finished)]
    assert len(set(others)) == 8


@pytest.mark.slow
def test_the_number_of_trials_is_a_total_and_a_longer_search_begins_as_a_shorter_one(
    finished, tmp_path, capsys
):
    search(tmp_path / "a", 3)
    before = by_trial(tmp_path / "a")
    search(tmp_path / "a", 3)
    capsys.readouterr()
    search(tmp_path / "a", 8)
    printed = capsys.readouterr().out
    assert "a has 3 of 8 trials\n" in printed
    assert len(re.findall(r"^trial +\d  ", printed, re.M)) == 5
    after = by_trial(tmp_path / "a")
    assert {number: after[number] for number in before} == before
    assert after == by_trial(finished)


def command(folder, trials, options=QUICK):
    """The command of a search in a process of its own."""
    more = ["--optimize", str(trials), "--out", str(folder)]
    return [sys.executable, "train.py", *options, *more]


def begun(folder, trials, options=QUICK):
    """A search in a process of its own."""
    return subprocess.Popen(
        command(folder, trials, options),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=environment() | {"PYTHONUNBUFFERED": "1"},
    )


@pytest.mark.slow
def test_a_killed_search_goes_on_and_ends_as_if_it_had_not_been_killed(finished, tmp_path):
    folder = tmp_path / "killed"
    for kills in range(2):
        process = begun(folder, 8)
        seen = 0
        for line in process.stdout:
            seen += line.startswith("trial ")
            if seen == 2:
                time.sleep(0.05 * kills)
                process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert search(folder, 8) in (0, 1)
    assert by_trial(folder) == by_trial(finished)


@pytest.mark.slow
def test_two_processes_share_a_search_and_make_each_trial_once(tmp_path):
    processes = [begun(tmp_path / "shared", 9) for _ in range(2)]
    printed = [process.communicate()[0] for process in processes]
    assert all("the best trials of tabular_q" in text for text in printed), printed
    made = [set(re.findall(r"^trial +(\d+)  ", text, re.M)) for text in printed]
    assert made[0] | made[1] == {str(number) for number in range(9)}
    assert not made[0] & made[1]
    assert sorted(by_trial(tmp_path / "shared")) == list(range(9))


def test_what_a_process_has_claimed_is_left_to_it_until_it_is_gone(tmp_path):
    page, config = agents.page("trie"), small_config("trie")
    task = tuning.Task(page, config)
    first, second = (tuning.Search(tmp_path / "s", task) for _ in range(2))
    with second:
        with first:
            assert tuning.place_of(first.claim(2)) == 0
            assert tuning.place_of(second.claim(2)) == 1
            assert tuning.place_of(first.claim(3)) == 0  # its own, which it has not finished
        assert tuning.place_of(second.claim(2)) == 0


def test_an_interrupted_search_says_that_it_goes_on(tmp_path, capsys, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("agents.tabular_q.TabularQ.advance", interrupted)
        assert search(tmp_path / "s", 2) == 130
    assert "stopped; the same command goes on\n" in capsys.readouterr().out
    search(tmp_path / "s", 2)
    assert sorted(by_trial(tmp_path / "s")) == [0, 1]


def test_on_larger_boards_opponents_are_not_searched_since_few_have_perfect_ones(monkeypatch):
    found = {}
    monkeypatch.setattr("terminal.tuner.optimize", lambda *_, **given: found.update(given) or 0)
    board = ["--rows", "4", "--cols", "4", "--k", "4"]
    assert train.main(["dqn", "--optimize", "2", *board, "--hidden", "32"]) == 0
    assert found["fixed"] == ["cols", "hidden", "k", "opponents", "rows"]
    page, config = agents.page("dqn"), agents.page("dqn").Config(hidden=(32,), average=0.5)
    searched = set(tuning.searched_options(page, config, ["epsilon_end"]))
    assert searched == set(page.SEARCH) - {"epsilon_end", "hidden", "average"}


def test_options_that_contradict_each_other_are_a_failed_trial_with_its_reason(tmp_path, capsys):
    options = ["trie", "--rule", "one-tie", "--opponents", "random", "--steps", "40"]
    search(tmp_path / "s", 6, "--seeds-per-trial", 1, agent_and_options=options)
    printed = capsys.readouterr().out
    assert "failed: ValueError: untried is of the rule counting" in printed
    assert [row["score"] == "" for row in rows(tmp_path / "s")].count(True) > 0
    assert rows(tmp_path / "s")[0]["untried"] == "last"


def test_errors_of_a_search_are_one_line_and_change_nothing(finished, tmp_path, capsys):
    before = (finished / "study.db").read_bytes()
    for trials, options, said in (
        ("0", "", "--optimize: expected a whole number of at least 1, got '0'"),
        ("3", "--seeds-per-trial 0", "--seeds-per-trial: expected a whole number of at least 1"),
        ("3", "--resume runs/x", "x/config.json is missing"),
        ("3", "--rival dqn", "--optimize is not for two learners: leave --rival out"),
        ("3", "--export-sb3 x.zip", "--optimize is not for a model: leave --export-sb3 out"),
        ("9", "--seed 1", "is another search: seed is 0 there, not 1; continue it with the"),
        ("9", "--k 2", "is another search: k is 3 there, not 2"),
        ("9", "--epsilon 0.5", "is another search: epsilon is None there, not 0.5"),
    ):
        assert said in error_of(capsys, finished, trials, *options.split())
    fixed = "--tables 1 --games 8 --learning-rate 1 --rate-power 1 --epsilon 1 --epsilon-end 1"
    said = error_of(capsys, tmp_path / "s", 1, *fixed.split(), "--anneal-steps", "9")
    assert "nothing is left to search: leave out one of opponents, tables, games" in said
    said = error_of(capsys, tmp_path / "s", 1, agent_and_options=["tabular_q", "--steps", "0"])
    assert "--steps: expected a whole number of at least 1" in said
    other = ["tabular_q", "--opponents", "minmax"]
    assert "unknown opponent" in error_of(capsys, tmp_path / "s", 1, agent_and_options=other)
    other = ["trie"]
    said = error_of(capsys, finished, 9, agent_and_options=other)
    assert "is another search: agent is tabular_q there, not trie" in said
    with pytest.raises(SystemExit):
        train.main(["trie", "--seeds-per-trial", "2"])
    assert "--seeds-per-trial is for --optimize" in capsys.readouterr().err
    assert (finished / "study.db").read_bytes() == before
    assert not (tmp_path / "s").exists()


def test_a_file_that_is_no_study_or_is_damaged_is_refused_in_one_line(finished, tmp_path, capsys):
    whole = (finished / "study.db").read_bytes()
    sqlite3.connect(tmp_path / "games.db").execute("CREATE TABLE games (id)").connection.close()
    optuna.create_study(storage=f"sqlite:///{tmp_path / 'other.db'}", study_name="theirs")
    for content, said in (
        (b"no database" * 100, "study.db is damaged: file is not a database"),
        (whole[: len(whole) // 2], "study.db is damaged: "),
        (whole[:9000] + bytes(9000) + whole[18000:], "study.db is damaged: "),
        ((tmp_path / "games.db").read_bytes(), "study.db is not a study of Optuna"),
        ((tmp_path / "other.db").read_bytes(), "study.db holds other studies, theirs: give anoth"),
    ):
        folder = tmp_path / "s"
        folder.mkdir(exist_ok=True)
        (folder / "study.db").write_bytes(content)
        assert said in error_of(capsys, folder, 8)
        assert (folder / "study.db").read_bytes() == content
    assert "is not an empty folder" in error_of(capsys, tmp_path, 8)


def test_without_optuna_the_error_says_what_to_install():
    program = (
        "import sys; sys.modules['optuna'] = None; import train;"
        "train.main(['tabular_q', '--optimize', '3'])"
    )
    done = python("-c", program)
    assert done.stderr == (
        "train.py: --optimize needs Optuna: pip install -e . --group optimize (pip 25.1 or newer)\n"
    )
    assert done.returncode == 2
