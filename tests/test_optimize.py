"""`train.py AGENT --optimize N`: scores, pruning, and searches that are killed or shared."""

import shlex

import pytest
from text_cases import called

import agents
import train
from tictactoe_env.exact.evaluation import Evaluation
from tictactoe_env.exact.match import Result
from training.options import BoardConfig, options_of, typed
from training.search_space import text_of

optuna = pytest.importorskip("optuna", reason="needs the dependency group optimize")

from optuna.trial import TrialState  # noqa: E402

from training import tuning  # noqa: E402

SMALL = "--board 2x3x3 --steps 1500 --judge-every 300 --until unbeatable --seeds-per-trial 2"
QUICK = ["tabular_q", *SMALL.split(), "--opponents", "random"]
TRIALS = 5
SEARCHED = [agent for agent in agents.TRAINABLE if hasattr(agents.module(agent), "SEARCH")]


def search(folder, trials, *options, agent_and_options=QUICK):
    """The exit code of a search."""
    arguments = [*agent_and_options, "--optimize", trials, "--out", folder, *options]
    return train.main([str(argument) for argument in arguments])


def trials_of(folder):
    """The trials of the one search in a folder."""
    storage = f"sqlite:///{folder / 'study.db'}"
    (name,) = optuna.get_all_study_names(storage)
    return optuna.load_study(study_name=name, storage=storage).trials


def evaluation(x, o, unbeatable_x, unbeatable_o):
    """Of a policy with these wins against random, all other games being lost."""
    results = Result(x, 0.0, 1 - x, 0.0), Result(o, 0.0, 1 - o, 0.0)
    return Evaluation(*results, unbeatable_x, unbeatable_o, False, False)


def test_the_score_falls_as_the_rank_grows_and_a_proven_goal_is_zero():
    rates, truths = (0.0, 0.3, 1.0), (False, True)
    found = [evaluation(x, o, a, b) for x in rates for o in rates for a in truths for b in truths]
    for side in ("both", "X", "O"):
        ranked = sorted(found, key=lambda one: one.rank(side))
        lacking = [tuning.shortfall(one, side) for one in ranked]
        assert lacking == sorted(lacking, reverse=True)
    assert tuning.shortfall(evaluation(1.0, 1.0, True, True)) == 0


def test_the_first_trial_has_the_options_of_the_agent_and_given_options_are_fixed(tmp_path):
    assert search(tmp_path / "a search", 3) in (0, 1)
    trials, config = trials_of(tmp_path / "a search"), dict(agents.module("tabular_q").Config())
    names = set(agents.module("tabular_q").SEARCH) - {"opponents"}
    assert trials[0].params == {name: config[name] for name in names}
    assert len({tuple(trial.params.values()) for trial in trials}) == 3


def test_the_same_command_goes_on_after_a_kill_and_then_makes_no_more(tmp_path, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tuning, "evaluate_or_sample", killed)
        assert search(tmp_path / "s", 2) == 130
    for total in (2, 2, 3):
        assert search(tmp_path / "s", total) in (0, 1)
        states = [trial.state for trial in trials_of(tmp_path / "s")]
        assert states == [TrialState.FAIL, *[TrialState.COMPLETE] * total]
    default = agents.module("tabular_q").Config().learning_rate
    assert trials_of(tmp_path / "s")[1].params["learning_rate"] == default, "again the first"


def test_a_trial_that_others_have_left_behind_is_pruned(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "FIRST_TRIALS", 1)
    reached = iter([True])
    monkeypatch.setattr(Evaluation, "reached", lambda *_: next(reached, False))
    search(tmp_path / "s", 2, "--seeds-per-trial", 1)
    states = [trial.state for trial in trials_of(tmp_path / "s")]
    assert states == [TrialState.COMPLETE, TrialState.PRUNED]


@pytest.mark.slow
def test_a_search_prints_the_command_that_makes_its_best_trial_again(tmp_path, capsys):
    code, folder = search(tmp_path / "s", TRIALS), tmp_path / "s"
    complete = [one for one in trials_of(folder) if one.state == TrialState.COMPLETE]
    scores = min(complete, key=lambda trial: trial.value).user_attrs["scores"]
    printed = capsys.readouterr().out
    line = next(line for line in printed.splitlines() if line.startswith("python train.py"))
    train.main([*shlex.split(line)[2:], "--out", str(tmp_path / "run")])
    assert code == int(max(scores) > 1)
    proven = "" if scores[0] > 1 else f"unbeatable after {round(1500 * scores[0]):,} ("
    again = capsys.readouterr().out
    assert ("PROVEN" in again, proven in again) == (bool(proven), True)


def test_options_that_contradict_each_other_are_a_failed_trial_with_its_reason(
    tmp_path, caplog, monkeypatch
):
    places = {"rewards": ("1.0,0.5,0.0", "1.0,0.0,-1.0")}
    monkeypatch.setattr(agents.module("tictacnet"), "SEARCH", places)
    options = ["tictacnet", "--games", "8", "--steps", "40"]
    optuna.logging.enable_propagation()
    search(tmp_path / "s", 4, "--seeds-per-trial", 1, agent_and_options=options)
    optuna.logging.disable_propagation()
    pruned = [one for one in trials_of(tmp_path / "s") if one.state == TrialState.PRUNED]
    assert (len(pruned) > 0, "rewards must be" in caplog.text) == (True, True)


def test_what_cannot_be_searched_and_a_damaged_file_are_refused(tmp_path, capsys, monkeypatch):
    def error_of(*options):
        line = [*QUICK, "--optimize", "9", "--out", str(tmp_path / "s"), *options]
        code, _, err = called(train, line, capsys)
        assert (code, err.count("\n")) == (2, 1)
        return err

    monkeypatch.setattr(agents.module("tabular_q"), "SEARCH", {})
    assert "tabular_q" in error_of()
    monkeypatch.undo()
    fixed = "--tables 1 --games 8 --learning-rate 1 --rate-power 1 --epsilon 1 --epsilon-end 1"
    assert "tables, games" in error_of(*fixed.split(), "--anneal-steps", "9")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "study.db").write_bytes(b"no database" * 100)
    assert "study.db" in error_of()


@pytest.mark.parametrize("agent", SEARCHED)
def test_the_ranges_of_an_agent_are_within_the_bounds_of_its_options_and_hold_the_defaults(agent):
    module = agents.module(agent)
    known = options_of(module.Config)
    assert set(module.SEARCH) <= set(known) - set(options_of(BoardConfig))
    lowest, highest = {}, {}
    for name, place in module.SEARCH.items():
        option = known[name]
        if isinstance(place, tuple):
            values = [typed(option.rebuild_annotation(), text) for text in place]
            assert [text_of(value) for value in values] == list(place)
            assert option.default in values
        else:
            values = [place.low, place.high]
            assert values[0] <= option.default <= values[1]
        lowest[name], highest[name] = values[0], values[-1]
    for options in (lowest, highest):
        assert module.Config().replace(**options) != module.Config()
