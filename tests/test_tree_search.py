"""tictactoe_env/mcts.py: what it counts, that answers do not depend on each other, how it plays."""

import itertools
import random

import numpy as np
import pytest
from text_cases import cases, refuses

from tictactoe_env import match
from tictactoe_env.certificate import certify, write
from tictactoe_env.mcts import Graph, GraphPolicy, TreeSearchPolicy, value_of
from tictactoe_env.notation import cell_text, parse_board
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

RULES, RECTANGLE, LARGE = Rules(), Rules(2, 4, 3), Rules(5, 5, 4)
RANDOM = [737 / 1260, 8 / 63, 121 / 420]  # X wins, draw, O wins, both at random

WON = "XX./OO./..."  # X to move, wins at once


@pytest.fixture(scope="module")
def boards():
    positions = positions_of(RULES)
    return positions.boards[positions.unfinished]


def grown(rules=RULES, playouts=300, draws=0.5):
    """A graph and its root after some playouts from the empty board."""
    graph = Graph(rules, random.Random(0), 1.4, draws)
    root = graph.root(np.zeros(rules.cells, dtype=np.int8))
    for _ in range(playouts):
        graph.playout(root)
    return graph, root


def moves_of(player, text):
    """The names of the moves that a player may make on a board."""
    rules = player.rules
    probs = player.probs(parse_board(text, rules)[None])[0]
    return " ".join(cell_text(cell, rules) for cell in np.flatnonzero(probs))


# --- the graph --------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [RULES, RECTANGLE, Rules(2, 3, 2)], ids=str)
def test_positions_are_shared_by_all_ways_to_them_and_all_orientations(rules):
    graph, root = grown(rules, 3_000)
    positions = positions_of(rules)
    assert len(graph.nodes) <= len(np.unique(positions.canonical))
    for node in graph.nodes.values():
        marks = (np.array([one & rules.full], dtype=np.uint64) for one in (node.x, node.o))
        row = positions.rows(rules.to_boards(*marks))[0]
        assert node.result == (int(positions.outcome_x[row]) if positions.is_over[row] else None)
    assert root.visits == sum(child.visits for child in root.children) == 3_000


def test_a_playout_adds_one_visit_to_each_position_on_one_way_and_images_are_one_child():
    graph, root = grown(playouts=50)
    assert (len(root.children), len(grown(LARGE, 1)[1].children)) == (3, 6)
    before = {key: node.visits for key, node in graph.nodes.items()}
    graph.playout(root)
    added = {key: node.visits - before.get(key, 0) for key, node in graph.nodes.items()}
    assert set(added.values()) == {0, 1}
    nodes = [graph.nodes[key] for key, visits in added.items() if visits]
    plies = sorted((node.x | node.o).bit_count() for node in nodes)
    assert plies == sorted(set(plies))
    assert plies[0] == 0


@pytest.mark.parametrize("draws", [0.0, 0.5, 1.0])
def test_a_draw_counts_as_many_successes_for_both_sides_as_is_said(draws):
    graph, _ = grown(playouts=0, draws=draws)
    (drawn,) = graph.children(graph.root(parse_board("XOX/XOO/OX.", RULES)))
    assert drawn.result == 0
    assert graph.successes(drawn) == (draws, draws)


def test_a_win_counts_for_the_side_that_moved():
    graph, _ = grown(playouts=0)
    root = graph.root(parse_board(WON, RULES))
    for _ in range(100):
        graph.playout(root)
    best = max(root.children, key=lambda child: child.mean)
    assert (best.result, best.mean) == (1, 1.0)
    assert best.visits > 50


def test_rollouts_have_the_results_of_random_games():
    """20,000 games are within four standard errors."""
    graph, root = grown(playouts=0)
    results = np.array([graph.rollout(root) for _ in range(20_000)])
    for result, expected in zip((1, 0, -1), RANDOM, strict=True):
        error = (expected * (1 - expected) / 20_000) ** 0.5
        assert abs((results == result).mean() - expected) < 4 * error


def test_a_players_value_is_the_exact_result_of_the_player_against_itself(boards):
    empty, won = np.zeros((1, 9), dtype=np.int8), parse_board(WON, RULES)[None]
    players = RandomPolicy(), MinimaxPolicy(RULES)
    uniform, perfect = (value_of(tabulate(player, RULES)) for player in players)
    assert uniform(empty)[0] == pytest.approx(RANDOM)
    assert perfect(np.concatenate([empty, won])) == pytest.approx(np.array([[0, 1, 0], [1, 0, 0]]))
    assert np.allclose(uniform(boards).sum(axis=1), 1)


def test_a_saved_player_or_a_function_can_value_positions_instead_of_rollouts(tmp_path):
    def even(boards):
        return np.tile([0.25, 0.5, 0.25], (len(boards), 1))

    write(certify(MinimaxPolicy(RULES), "minimax"), tmp_path / "certificate.json")
    saved = TreeSearchPolicy(RULES, playouts=50, value=str(tmp_path))
    assert moves_of(saved, WON) == "c1"
    player = TreeSearchPolicy(LARGE, playouts=200, value=even)
    assert moves_of(player, "XXX../OO.../...../...../O....") == "d1"


# --- playing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tree", "graph"])
def test_an_answer_does_not_depend_on_what_is_asked_beside_it(kind, boards):
    def player():
        is_tree = kind == "tree"
        return TreeSearchPolicy(RULES, 30, seed=7) if is_tree else GraphPolicy(grown()[0])

    alone = np.concatenate([player().probs(board[None]) for board in boards[::50]])
    assert (player().probs(boards)[::50] == alone).all()
    assert (player().probs(boards[::-1])[::-1][::50] == alone).all()
    assert np.allclose(alone.sum(axis=1), 1)
    assert (alone[boards[::50] != 0] == 0).all()
    with refuses("finished board"):
        player().probs(parse_board("XXX/OO./...", RULES)[None])


@pytest.mark.parametrize("rules", [RULES, RECTANGLE], ids=str)
def test_boards_that_are_images_of_each_other_get_images_of_an_answer(rules):
    positions, player = positions_of(rules), TreeSearchPolicy(rules, playouts=20)
    for board in positions.boards[positions.unfinished][::97]:
        answer = player.probs(board[None])[0]
        images = player.probs(board[positions.symmetries])
        assert (images == answer[positions.symmetries]).all()


def test_a_seed_is_an_answer_and_another_seed_may_be_another(boards):
    players = [TreeSearchPolicy(RULES, playouts=20, seed=seed) for seed in (1, 1, 2)]
    one, again, other = (player.probs(boards[::20]) for player in players)
    assert (one == again).all()
    assert (one != other).any()


@pytest.mark.parametrize(("milliseconds", "playouts"), [(1_500, 2), (9_500, 10), (0.001, 1)])
def test_milliseconds_bound_the_playouts_of_a_search(milliseconds, playouts):
    """The clock moves by a second at each look; one playout is made before the first."""
    timed = TreeSearchPolicy(LARGE, milliseconds=milliseconds)
    timed.clock = itertools.count().__next__
    counted, board = TreeSearchPolicy(LARGE, playouts=playouts), np.zeros((1, 25), dtype=np.int8)
    assert (timed.probs(board) == counted.probs(board)).all()


def test_an_empty_graph_moves_at_random(boards):
    assert (GraphPolicy(grown(playouts=0)[0]).probs(boards) == RandomPolicy().probs(boards)).all()


THREATS = """
    XXX../...../OOO../...../..... | d1
    XXX../..O../O..../...../..... | d1
    ...../.XX../...../.O.O./..... | d2
"""


@pytest.mark.parametrize(("text", "move"), cases(THREATS))
def test_it_wins_blocks_and_makes_double_threats_on_a_large_board(text, move):
    assert moves_of(TreeSearchPolicy(LARGE, playouts=1_000), text) == move


@pytest.mark.parametrize("rules", [Rules(4, 4, 4), LARGE], ids=str)
def test_it_wins_against_random_play_on_large_boards(rules):
    """As X in ten games; random play as X wins about 37 % of them on 4x4 and 60 % on 5x5."""
    player = TreeSearchPolicy(rules, playouts=200)
    result = match.sampled_result(player, RandomPolicy(), rules, games=10).result
    assert result.loss == 0
    assert result.win >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_playouts_a_move_make_it_unbeatable(seed):
    responses = match.best_responses(tabulate(TreeSearchPolicy(RULES, seed=seed), RULES))
    assert not any(side.can_lose for side in responses.values())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"playouts": 0}, "playouts must be a whole number of at least 1"),
        ({"milliseconds": -1}, "milliseconds must be a finite number of at least 0"),
        ({"milliseconds": float("inf")}, "milliseconds must be"),
        ({"draws": -1}, "draws must be a number from 0 to 1"),
        ({"draws": True}, "draws must be"),
        ({"exploration": "much"}, "exploration must be a finite number of at least 0"),
        ({"exploration": float("nan")}, "exploration must be"),
        ({"value": "rolouts"}, "did you mean 'rollouts'"),
        ({"seed": 1.5}, "seed must be"),
    ],
)
def test_bad_options_are_refused(wrong, words):
    with refuses(words):
        TreeSearchPolicy(RULES, **wrong)
