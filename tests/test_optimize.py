"""`train.py AGENT --optimize N`: scores, pruning, and searches that are killed or shared."""

import csv
import shlex
from dataclasses import replace

import pytest
from text_cases import called

import agents
import train
from tictactoe_env.exact.evaluation import Evaluation
from tictactoe_env.exact.match import Result
from training.options import BoardConfig, options_of
from training.search_space import Choice, text_of

optuna = pytest.importorskip("optuna", reason="needs the dependency group optimize")

from optuna.trial import TrialState, create_trial  # noqa: E402

from training import tuning  # noqa: E402

SMALL = "--rows 2 --steps 1500 --judge-every 300 --until unbeatable --seeds-per-trial 2"
QUICK = ["tabular_q", *SMALL.split(), "--opponents", "random"]
TRIALS = 5


def search(folder, trials, *options, agent_and_options=QUICK):
    """The exit code of a search."""
    arguments = [*agent_and_options, "--optimize", trials, "--out", folder, *options]
    return train.main([str(argument) for argument in arguments])


def by_trial(folder):
    """The rows of trials.csv by the numbers of the trials, the best first."""
    with open(folder / "trials.csv", newline="") as file:
        return {int(row["trial"]): row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished search, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "a search"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "RANDOM_TRIALS", 2)
        assert search(folder, TRIALS) in (0, 1)
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


@pytest.mark.parametrize(
    ("others", "own", "is_pruned"),
    [
        ([[3, 2, 2, 2, 1, 1]] * 4, [3, 3, 3], False),  # too few trials
        ([[3, 2, 2, 2, 1, 1]] * 5, [3, 3], False),  # the first third of six
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


def test_the_first_trial_has_the_options_of_the_agent_and_given_options_are_fixed(finished):
    trials, config = by_trial(finished), agents.page("tabular_q").Config()
    names = set(agents.page("tabular_q").SEARCH) - {"opponents"}
    assert names < set(trials[0])
    assert "opponents" not in trials[0]
    assert all(float(trials[0][name]) == getattr(config, name) for name in names)
    others = [tuple(row[name] for name in sorted(names)) for row in trials.values()]
    assert len(set(others)) == TRIALS


@pytest.mark.slow
def test_a_search_prints_the_command_that_makes_its_best_trial_again(tmp_path, capsys):
    code, folder = search(tmp_path / "s", TRIALS), tmp_path / "s"
    printed, best = capsys.readouterr().out, next(iter(by_trial(folder).values()))
    line = next(line for line in printed.splitlines() if line.startswith("python train.py"))
    train.main([*shlex.split(line)[2:], "--out", str(tmp_path / "run")])
    again, reached = capsys.readouterr().out, best["steps_of_seed_0"]
    assert code == (0 if reached and best["steps_of_seed_1"] else 1)
    assert ("PROVEN" in again) == (reached != "")
    assert not reached or f"{int(reached):,} steps" in again


def test_options_that_contradict_each_other_are_a_failed_trial_with_its_reason(tmp_path, capsys):
    options = ["trie", "--rule", "one-tie", "--opponents", "random", "--steps", "40"]
    search(tmp_path / "s", 4, "--seeds-per-trial", 1, agent_and_options=options)
    failed = [row for row in by_trial(tmp_path / "s").values() if row["score"] == ""]
    assert 0 < len(failed) == capsys.readouterr().out.count("untried is of the rule counting")


def test_another_search_or_a_file_that_is_none_is_refused_and_left_as_it_is(
    finished, tmp_path, capsys
):
    def error_of(folder, *options):
        line = [*QUICK, "--optimize", "9", "--out", str(folder), *options]
        code, out, err = called(train, line, capsys)
        assert (code, out, err.count("\n")) == (2, "", 1)
        return err

    whole = (finished / "study.db").read_bytes()
    for option, value in (("--seed", "1"), ("--epsilon", "0.5")):
        assert option.strip("-") in error_of(finished, option, value)
    assert (finished / "study.db").read_bytes() == whole
    fixed = "--tables 1 --games 8 --learning-rate 1 --rate-power 1 --epsilon 1 --epsilon-end 1"
    assert "tables, games" in error_of(tmp_path / "s", *fixed.split(), "--anneal-steps", "9")
    assert not (tmp_path / "s").exists()
    (tmp_path / "s").mkdir()
    optuna.create_study(storage=f"sqlite:///{tmp_path / 'other.db'}", study_name="theirs")
    other = (tmp_path / "other.db").read_bytes()
    for content in (b"no database" * 100, whole[: len(whole) // 2], other):
        (tmp_path / "s" / "study.db").write_bytes(content)
        assert "study.db" in error_of(tmp_path / "s")
        assert (tmp_path / "s" / "study.db").read_bytes() == content


@pytest.mark.parametrize("agent", agents.TRAINABLE)
def test_the_ranges_of_an_agent_are_within_the_bounds_of_its_options_and_hold_the_defaults(agent):
    page = agents.page(agent)
    known = {option.name: option for option in options_of(page.Config)}
    assert set(page.SEARCH) <= set(known) - {option.name for option in options_of(BoardConfig)}
    lowest, highest = {}, {}
    for name, place in page.SEARCH.items():
        option = known[name]
        if isinstance(place, Choice):
            values = [option.parsed(text) for text in place.texts]
            assert [text_of(option, value) for value in values] == list(place.texts)
            assert option.default in values
        else:
            values = [option.checked(place.low), option.checked(place.high)]
            assert values[0] <= option.default <= values[1]
        lowest[name], highest[name] = values[0], values[-1]
    for options in (lowest, highest):
        assert replace(page.Config(), **options) != page.Config()
