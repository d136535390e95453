"""training/rivals.py and train.py --rival: two learners that are trained against each other."""

import re
import signal
from types import SimpleNamespace

import pytest
from sample_players import fixed_table
from small_runs import JUDGE_EVERY, assert_same, metrics, small_config, trained
from text_cases import called

import agents
import train
from agents import TRAINABLE
from agents.tabular_q import TabularQ
from apps.terminal import rivals
from tictactoe_env.certificates.certificate import read, table_of, verify
from tictactoe_env.rules import Rules
from training import rivals as runs_of_two
from training import run as runs
from training.learner import Learner

RULES = Rules()
TURN = 2 * JUDGE_EVERY  # longer than a round of the rival
MORE = f"--snapshot-every {TURN} --judge-every {JUDGE_EVERY}"
pytestmark = pytest.mark.usefixtures("no_charts")


def fight(folder, agent="tabular_q", rival="tictacnet", *options, steps=2 * TURN):
    """The exit code of a small training of two learners."""
    small = f"--board 2x3x3 --opponents rival {MORE} --rival {rival}"
    return trained(agent, folder, *small.split(), *options, steps=steps)


def rival_of(folder):
    return folder.with_name(f"{folder.name}-rival")


def test_a_turn_is_against_the_other_learner_for_the_longer_way_between_two_snapshots(monkeypatch):
    met = []

    def made(learner, config):
        learner.steps = config.steps
        return []

    def run_of(name, every):
        config = small_config("tabular_q", snapshot_every=every, steps=20)
        learner = SimpleNamespace(steps=0, snapshot=lambda: name)
        learner.add_rival = lambda other: met.append((name, other, learner.steps))
        return SimpleNamespace(config=config, learner=learner)

    monkeypatch.setattr(runs_of_two, "evaluations", made)
    both = runs_of_two.Rivals(run_of("one", 7), run_of("two", 5))
    for _ in range(4):
        both.turn()
    assert met == [("one", "two", 0), ("two", "one", 0), ("one", "two", 7), ("two", "one", 7)]


@pytest.mark.parametrize("agent", TRAINABLE)
def test_agents_that_can_meet_a_rival_are_those_with_a_pool_of_snapshots(agent):
    learner = agents.module(agent).begin(small_config(agent))
    can_meet = type(learner).add_rival is not Learner.add_rival
    assert can_meet == rivals.has_snapshots(agents.module(agent)) == hasattr(learner, "pool")
    if not can_meet:
        with pytest.raises(NotImplementedError):
            learner.add_rival(fixed_table(RULES))


@pytest.mark.parametrize("agent", ["dqn", "tabular_q"])
def test_the_rival_is_who_is_played_against(agent):
    """Random play stands in for it; a snapshot of somebody else leads to another model."""
    one, other = (agents.module(agent).begin(small_config(agent, opponents="rival")) for _ in "12")
    other.add_rival(fixed_table(RULES))
    one.advance(500)
    other.advance(500)
    assert (one.policy().table != other.policy().table).any()


def test_each_learner_becomes_a_run_of_its_own_and_the_first_one_continues_both(tmp_path, capsys):
    folder = tmp_path / "run"
    other = tmp_path / "run-rival"
    assert fight(folder, "tabular_q", "tabular_q", steps=500) == 0
    assert re.search(r"┃ +tabular_q +┃ +tabular_q \(rival\) +$", capsys.readouterr().out, re.M)
    for run, seed in ((folder, 0), (other, 1)):
        content = read(run)
        verify(content)
        config = content.stated.config
        made = int(metrics(run)[-1]["steps"])
        assert (config["opponents"], content.stated.seed) == ("rival", seed)
        assert config["steps"] == 500 <= made
        assert (agents.load(run).table == table_of(content).table).all()
    code, _, said = called(train, ["--resume", str(other)], capsys)
    assert (code, said.count("\n"), str(folder) in said) == (2, 1, True)
    assert train.main(["--resume", str(folder)]) == 0
    assert f"complete: {other}" in capsys.readouterr().out
    other.rename(tmp_path / "elsewhere")
    code, _, said = called(train, ["--resume", str(folder), "--steps", "9000"], capsys)
    assert (code, "run-rival" in said) == (2, True)


def test_ctrl_c_ends_with_the_turn_and_a_second_one_keeps_the_checkpoint(
    tmp_path, capsys, monkeypatch
):
    """The interrupts come in the middle of a turn."""
    advance = TabularQ.advance
    calls = []

    def interrupted(self, most):
        advance(self, most)
        calls.append(self.steps)
        if len(calls) in (3, 5):  # the first part of the second and of the third turn
            signal.raise_signal(signal.SIGINT)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(runs, "CHECKPOINT_SECONDS", -1)
    monkeypatch.setattr(TabularQ, "advance", interrupted)
    folder = tmp_path / "run"
    whole = tmp_path / "whole"
    steps = 4 * TURN
    assert fight(folder, steps=steps) == 0
    assert f"--resume {folder}\n" in capsys.readouterr().out
    made = [int(metrics(run)[-1]["steps"]) // TURN for run in (folder, rival_of(folder))]
    assert made == [2, 1], "the rival has the next turn"
    assert train.main(["--resume", str(folder)]) == 130
    said = capsys.readouterr().err
    assert (said.count("\n"), f"--resume {folder}" in said) == (1, True)
    assert train.main(["--resume", str(folder)]) == 0
    assert fight(whole, steps=steps) == 0
    assert_same(folder, whole)
    assert_same(rival_of(folder), rival_of(whole))
