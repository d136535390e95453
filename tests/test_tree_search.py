"""search/mcts.py: what it counts, that answers do not depend on each other, how it plays."""

import itertools
import math
import random

import numpy as np
import pytest
from text_cases import refuses

from tictactoe_env.exact.best_response import best_responses
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.notation import cell_text, parse_board
from tictactoe_env.rules import Rules
from tictactoe_env.search.mcts import Graph, MCTSPolicy

RULES = Rules()
LARGE = Rules(5, 5, 4)
RANDOM = [737 / 1260, 8 / 63, 121 / 420]  # X wins, draw, O wins, both at random
WON = "XX./OO./..."  # X to move, wins at once
BOARDS = positions_of(RULES).boards[positions_of(RULES).unfinished]


def grown(rules=RULES, playouts=300, draws=0.5, board=None):
    """A graph and its root after some playouts, from the empty board by default."""
    graph = Graph(rules, random.Random(0), 1.4, draws)
    empty = np.zeros(rules.cells, dtype=np.int8)
    root = graph.root(empty if board is None else parse_board(board, rules))
    for _ in range(playouts):
        graph.playout(root)
    return graph, root


def moves_of(player, text):
    """The names of the moves that a player may make on a board."""
    probs = player.probs(parse_board(text, player.rules)[None])[0]
    return " ".join(cell_text(cell, player.rules) for cell in np.flatnonzero(probs))


@pytest.mark.parametrize("draws", [0.0, 0.5, 1.0])
def test_a_draw_counts_as_is_said_for_both_sides_and_a_win_for_the_side_that_moved(draws):
    graph, root = grown(playouts=0, draws=draws, board="XOX/XOO/OX.")
    (drawn,) = graph.children(root)
    assert drawn.result == 0
    graph.count([root, drawn])
    assert (root.total, drawn.total) == (draws, draws)
    _, root = grown(playouts=100, draws=draws, board=WON)
    best = max(root.children, key=lambda child: child.mean)
    assert (best.result, best.mean, best.visits > 50 or draws == 1) == (1, 1.0, True)


def test_rollouts_have_the_results_of_random_games():
    """20,000 games are within four standard errors."""
    graph, root = grown(playouts=0)
    results = np.array([graph.rollout(root) for _ in range(20_000)])
    for result, expected in zip((1, 0, -1), RANDOM, strict=True):
        error = (expected * (1 - expected) / 20_000) ** 0.5
        assert abs((results == result).mean() - expected) < 4 * error


def test_a_live_search_by_descent_uses_no_random_numbers():
    players = [MCTSPolicy(RULES, 60, draws=1.0, seed=seed, playout="descent") for seed in (0, 1)]
    assert (players[0].probs(BOARDS[::50]) == players[1].probs(BOARDS[::50])).all()
    assert moves_of(players[0], WON) == "c1"
    for board in BOARDS[::700]:
        turned = RULES.symmetries
        images = players[0].probs(board[turned])
        assert (images == players[0].probs(board[None])[0][turned]).all()


def test_an_answer_does_not_depend_on_what_is_asked_beside_it():
    def player(seed=7):
        return MCTSPolicy(RULES, 30, seed=seed)

    alone = np.concatenate([player().probs(board[None]) for board in BOARDS[::400]])
    some = BOARDS[::40]
    assert (player().probs(some[::-1])[::-1][::10] == alone).all()
    with refuses("board"):
        player().probs(parse_board("XXX/OO./...", RULES)[None])
    for other in (player(seed=8), MCTSPolicy(RULES, 30, exploration=0.0, seed=7)):
        assert (other.probs(some)[::10] != alone).any()
    assert len(moves_of(MCTSPolicy(RULES, 1), WON)) == len("c1"), "one playout, one move"


def test_milliseconds_bound_the_playouts_of_a_search():
    """The clock moves by a second at each look; one playout is made before the first."""
    board = np.zeros((1, 25), dtype=np.int8)
    for milliseconds, playouts in ((1_500, 2), (9_500, 10), (0.001, 1)):
        timed = MCTSPolicy(LARGE, milliseconds=milliseconds)
        timed.clock = itertools.count().__next__
        assert (timed.probs(board) == MCTSPolicy(LARGE, playouts).probs(board)).all()


@pytest.mark.slow
def test_a_thousand_playouts_a_move_make_it_unbeatable():
    responses = best_responses(tabulate(MCTSPolicy(RULES, seed=0), RULES))
    assert not any(side.can_lose for side in responses.values())


def test_bad_options_are_refused():
    wrong = {"playouts": 0, "milliseconds": math.inf, "draws": -1, "exploration": "much"}
    for option, value in {**wrong, "seed": 1.5, "playout": "decent"}.items():
        with refuses(option, value):
            MCTSPolicy(RULES, **{option: value})
