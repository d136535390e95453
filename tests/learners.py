"""Learners that are driven as `train.py` drives them, without a folder, and what they learn on."""

import numpy as np

from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.notation import parse_board
from tictactoe_env.observation import observe
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Rules
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


def best_response(opponent, rewards=(1, 0, -1), discount=1.0):
    """Values of the moves (U, 9) against an opponent by backward induction; -inf if occupied."""
    table = tabulate(make_opponent(opponent, RULES), RULES).by_row()
    best = np.full((len(POSITIONS), 9), -np.inf)
    for seat in (1, -1):
        values = np.array(rewards, dtype=float)[1 - seat * POSITIONS.outcome_x]
        for at in np.flatnonzero(~POSITIONS.is_over)[::-1]:
            children, free = POSITIONS.children[at], POSITIONS.children[at] >= 0
            if POSITIONS.x_to_move[at] == (seat == 1):
                best[at, free] = values[children[free]]
                values[at] = discount * best[at].max()
            else:
                values[at] = table[at, free] @ values[children[free]]
    return best[POSITIONS.unfinished]
