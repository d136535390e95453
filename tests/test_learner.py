"""The training loop, and the arrays and JSON that a learner's state becomes."""

import numpy as np
from text_cases import refuses

from training.learner import Learner, crossed, evaluations
from training.options import BoardConfig


class Rounds(Learner):
    """Makes rounds of a given number of steps, and notes what it was asked for."""

    def __init__(self, size, steps=0):
        self.size, self.steps, self.asked = size, steps, []

    def advance(self, most):
        self.asked.append(most)
        goal = self.steps + most
        while self.steps < goal:
            self.steps += self.size

    model = state = policy = restore = None


def evaluated(size, steps, every, begin=0):
    """The steps of the evaluations of a training, and what the learner was asked for."""
    learner, config = Rounds(size, begin), BoardConfig(steps=steps, judge_every=every)
    seen = [learner.steps for _ in evaluations(learner, config)]
    return seen, learner.asked


def test_an_evaluation_follows_every_multiple_and_the_end():
    for training, at, asked in (
        ((1, 10, 4), [4, 8, 10], [4, 4, 2]),
        ((3, 10, 4), [6, 9, 12], [4, 2, 1]),
        ((7, 20, 2), [7, 14, 21], [2, 1, 2]),
        ((1, 3, 100), [3], [3]),
        ((1, 1, 4, 1), [1], [0]),
    ):
        assert evaluated(*training) == (at, asked)
    found = [crossed(*steps, 4) for steps in ((0, 3), (3, 4), (4, 7), (7, 13))]
    assert found == [False, True, False, True]


def test_a_learner_that_does_not_count_its_steps_is_stopped_and_numpys_counts_are_made_ints():
    learner, config = Rounds(0), BoardConfig(steps=10, judge_every=4)
    learner.advance = lambda most: None
    with refuses("4", "0", error=RuntimeError):
        next(evaluations(learner, config))
    learner = Rounds(np.int64(3))
    next(evaluations(learner, config))
    assert type(learner.steps) is int
