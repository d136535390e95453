"""The training loop, and the arrays and JSON that a learner's state becomes."""

from types import SimpleNamespace

import numpy as np
import pytest
from learners import forgotten
from text_cases import refuses

from tictactoe_env.rules import Rules
from training.files import DamagedFileError
from training.learner import Learner, evaluations
from training.options import BoardConfig
from training.selfplay import SelfPlay


class Rounds(Learner):
    """Makes rounds of a given number of steps, and notes what it was asked for."""

    def __init__(self, size):
        self.size, self.asked = size, []

    def advance(self, most):
        self.asked.append(most)
        goal = self.steps + most
        while self.steps < goal:
            self.steps += self.size

    model = state = policy = restore = None


class Sarsa(Learner):
    """Has a model, and what it needs to go on: a generator, a counter and an object with both."""

    advance = policy = None

    def __init__(self):
        self.values, self.games, self.rng = np.zeros(3), 0, np.random.default_rng(0)
        self.pool = SelfPlay("random", Rules())

    def play(self):
        self.values += self.rng.random(3)
        self.games += 1
        self.pool.rng.random()
        return self


class OwnModel(Sarsa):
    def model(self):
        return {"values": self.values}


EVERYTHING = "values games rng pool"


@pytest.mark.parametrize(
    ("kind", "model", "state", "lost"),
    [
        (Sarsa, "values", "games rng pool", ""),
        (OwnModel, "", EVERYTHING, ""),
        (OwnModel, "", "games rng pool", "'values'"),
        (Sarsa, "values", "rng pool", "games"),
        (Sarsa, "values", "games pool", "rng"),
        (Sarsa, "values", "games rng", "pool.rng"),
    ],
)
def test_a_learner_continues_with_its_model_and_what_its_page_forgets_is_named(
    kind, model, state, lost, tmp_path, monkeypatch
):
    """A page that brings back another model is refused, so that no training goes on without it."""
    monkeypatch.setattr(kind, "MODEL", tuple(model.split()))
    monkeypatch.setattr(kind, "STATE", tuple(state.split()))
    page = SimpleNamespace(AGENT="sarsa", begin=lambda config: kind())
    learner = kind().play()
    learner.config = BoardConfig()
    if lost.startswith("'"):
        with refuses(lost, error=DamagedFileError):
            forgotten(page, learner, tmp_path)
    else:
        assert forgotten(page, learner, tmp_path) == lost.split()


def test_an_evaluation_follows_every_multiple_and_the_end():
    for size, steps, every, at, asked in (
        (1, 10, 4, [4, 8, 10], [4, 4, 2]),
        (3, 10, 4, [6, 9, 12], [4, 2, 1]),
        (7, 20, 2, [7, 14, 21], [2, 1, 2]),
        (1, 3, 100, [3], [3]),
    ):
        learner, config = Rounds(np.int64(size)), BoardConfig(steps=steps, judge_every=every)
        assert [learner.steps for _ in evaluations(learner, config)] == at
        assert learner.asked == asked
        assert type(learner.steps) is int


def test_a_learner_that_does_not_count_its_steps_is_stopped():
    learner = Rounds(4)
    learner.advance = lambda most: None
    with refuses("4", "0", error=RuntimeError):
        next(evaluations(learner, BoardConfig(judge_every=4)))
