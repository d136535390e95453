"""The training loop, and the arrays and JSON that a learner's state becomes."""

import numpy as np
from text_cases import refuses

from tictactoe_env.rules import Rules
from training import checkpoint
from training.files import DamagedFileError
from training.learner import Learner, evaluations
from training.options import BoardConfig
from training.selfplay import TrainingPool


class Rounds(Learner):
    """Makes rounds of a given number of steps, and notes what it was asked for."""

    def __init__(self, size):
        self.size = size
        self.asked = []

    def advance(self, most):
        self.asked.append(most)
        goal = self.steps + most
        while self.steps < goal:
            self.steps += self.size

    model = state = policy = restore = None


class Sarsa(Learner):
    """Has a model, and what it needs to go on: a generator, a counter and an object with both."""

    MODEL = ("values",)
    STATE = ("games", "rng", "pool")
    advance = policy = None

    def __init__(self):
        self.values = np.zeros(3)
        self.games = 0
        self.rng = np.random.default_rng(0)
        self.pool = TrainingPool("random", Rules())

    def play(self):
        self.values += self.rng.random(3)
        self.games += 1
        self.pool.rng.random()


class Forgetful(Sarsa):
    """Names its model nowhere."""

    MODEL = ()

    def model(self):
        return {"values": self.values}


def continued(learner, folder):
    """A new learner that continues this one."""
    again = type(learner)()
    checkpoint.save(folder, "sarsa", BoardConfig(), learner)
    checkpoint.restore(folder, "sarsa", BoardConfig(), again)
    return again


def test_a_learner_continues_with_the_attributes_that_are_named(tmp_path):
    learner = Sarsa()
    learner.play()
    again = continued(learner, tmp_path)
    learner.play()
    again.play()
    assert again.values.tolist() == learner.values.tolist()
    assert again.games == 2
    assert again.pool.rng.random() == learner.pool.rng.random()


def test_a_learner_that_brings_back_another_model_is_refused(tmp_path):
    """So that no training goes on without it."""
    learner = Forgetful()
    learner.play()
    with refuses("'values'", error=DamagedFileError):
        continued(learner, tmp_path)


def test_an_evaluation_follows_every_multiple_and_the_end():
    for size, steps, every, at, asked in (
        (1, 10, 4, [4, 8, 10], [4, 4, 2]),
        (3, 10, 4, [6, 9, 12], [4, 2, 1]),
        (7, 20, 2, [7, 14, 21], [2, 1, 2]),
        (1, 3, 100, [3], [3]),
    ):
        learner = Rounds(np.int64(size))
        config = BoardConfig(steps=steps, judge_every=every)
        assert [learner.steps for _ in evaluations(learner, config)] == at
        assert learner.asked == asked
        assert type(learner.steps) is int


def test_a_learner_that_does_not_count_its_steps_is_stopped():
    learner = Rounds(4)
    learner.advance = lambda most: None
    with refuses("4", "0", error=RuntimeError):
        next(evaluations(learner, BoardConfig(judge_every=4)))
