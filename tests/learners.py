"""Learners that are driven as `train.py` drives them, without a folder, and what they learn on."""

from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.notation import parse_board
from tictactoe_env.observation import observe
from tictactoe_env.rules import Rules
from training.learner import evaluations

RULES = Rules()
POSITIONS = positions_of(RULES)
BOARDS = POSITIONS.boards[POSITIONS.unfinished]
OBSERVATIONS = observe(BOARDS, RULES, "planes")


def trained(module, config, until="steps"):
    """A learner that was driven to the end or to a goal."""
    learner = module.begin(config)
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
