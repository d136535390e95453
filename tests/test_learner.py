"""The training loop, and the arrays and JSON that a learner's state becomes."""

import numpy as np
from text_cases import refuses

from tictactoe_env.files import DamagedFileError
from training import checkpoint
from training.learner import Learner, evaluations
from training.options import BoardConfig


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


class Forgetful(Learner):
    """Has a model, which it names nowhere."""

    advance = policy = None

    def __init__(self):
        self.values = np.zeros(3)

    def model(self):
        return {"values": self.values}


def test_a_learner_that_brings_back_another_model_is_refused(tmp_path):
    """So that no training goes on without it."""
    learner = Forgetful()
    learner.values[:] = 1
    checkpoint.save(tmp_path, "sarsa", BoardConfig(), learner)
    with refuses("'values'", error=DamagedFileError):
        checkpoint.restore(tmp_path, "sarsa", BoardConfig(), Forgetful())


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
