"""The training loop, and the arrays and JSON that a learner's state becomes."""

import numpy as np
from text_cases import refuses

from training.learner import Learner, evaluations
from training.options import BoardConfig


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
