"""Learners that are driven as `train.py` drives them, without a folder."""

from training import checkpoint
from training.evaluation import judge
from training.learner import drive


def trained(page, config, until="steps", evaluations=None):
    """A learner that was driven to the end, to a goal, or up to a number of evaluations."""
    learner, done = page.begin(config), []

    def evaluate(learner):
        done.append(learner.steps)
        reached = until != "steps" and judge(learner.policy()).reached(until)
        return reached or len(done) == evaluations

    drive(learner, config, evaluate)
    return learner


def continued(page, config, folder, evaluations=1):
    """The same, saved after some evaluations and continued by a new learner."""
    checkpoint.save(folder, page.AGENT, config, trained(page, config, evaluations=evaluations))
    learner = page.begin(config)
    checkpoint.restore(folder, page.AGENT, config, learner)
    drive(learner, config, lambda learner: False)
    return learner


def files_of(page, config, learner, folder):
    """The bytes of all that is saved of a learner."""
    checkpoint.save(folder, page.AGENT, config, learner)
    return {path.name: path.read_bytes() for path in folder.iterdir()}
