"""Learners that are driven as `train.py` drives them, without a folder, and what they learn on."""

import random

import numpy as np
import torch

from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.notation import parse_board
from tictactoe_env.observation import observe
from tictactoe_env.rules import Rules
from training import checkpoint
from training.learner import evaluations

RULES = Rules()
POSITIONS = positions_of(RULES)
BOARDS = POSITIONS.boards[POSITIONS.unfinished]
OBSERVATIONS = observe(BOARDS, RULES, "planes")


def trained(page, config, until="steps"):
    """A learner that was driven to the end or to a goal."""
    learner = page.begin(config)
    for _ in evaluations(learner, config):
        if until != "steps" and evaluate(learner.policy()).reached(until):
            break
    return learner


def board(text):
    """A board of 3x3 as a batch: (1, 9)."""
    return parse_board(text, RULES)[None]


def row(text):
    """The row of a position of 3x3."""
    return int(POSITIONS.rows(board(text))[0])


def forgotten(page, learner, folder):
    """The attributes of a learner that its page does not restore, by their paths: "pool.rng".

    What only one of the two has, because it was computed and kept, is no difference.
    """
    again = page.begin(learner.config)
    checkpoint.save(folder, page.AGENT, learner.config, learner)
    checkpoint.restore(folder, page.AGENT, learner.config, again)
    one, other = (dict(parts_of(vars(each), seen=set())) for each in (learner, again))
    return [name for name in one if name in other and one[name] != other[name]]


def parts_of(value, name="", *, seen):
    """The values in an object that can be compared, with the paths of their attributes.

    seen: the ids of the objects that were looked into, each once.
    """
    if isinstance(value, np.random.Generator):
        yield name, repr(value.bit_generator.state)
    elif type(value) is random.Random:
        yield name, repr(value.getstate())
    elif isinstance(value, (np.ndarray, torch.Tensor)):
        array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
        yield name, (array.shape, array.tobytes())
    elif isinstance(value, (bool, int, float, str, type(None))):
        yield name, repr(value)
    elif id(value) not in seen:
        seen.add(id(value))
        if name and isinstance(value, (list, tuple, dict)):
            yield name, len(value)
        for key, part in inside(value).items():
            yield from parts_of(part, f"{name}.{key}".lstrip("."), seen=seen)


def inside(value):
    """The parts of a list, a dict, a network, an optimizer, or an object of this repository."""
    if isinstance(value, dict):
        return value
    if isinstance(value, (torch.nn.Module, torch.optim.Optimizer)):
        return {"state_dict": value.state_dict()}
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    is_own = type(value).__module__.startswith(("agents.", "training.", "tictactoe_env."))
    return getattr(value, "__dict__", {}) if is_own else {}
