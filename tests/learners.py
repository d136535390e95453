"""Learners that are driven as `train.py` drives them, without a folder."""

from tictactoe_env.evaluation import evaluate
from training.learner import drive


def trained(page, config, until="steps", evaluations=None):
    """A learner that was driven to the end, to a goal, or up to a number of evaluations."""
    learner, done = page.begin(config), []

    def note(learner):
        done.append(learner.steps)
        reached = until != "steps" and evaluate(learner.policy()).reached(until)
        return reached or len(done) == evaluations

    drive(learner, config, note)
    return learner
