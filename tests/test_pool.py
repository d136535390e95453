"""Pools with snapshots of the learner, in both environments, and frozen players."""

import functools
import types
import weakref

import gymnasium as gym
import numpy as np
import pytest
import sample_players
from sample_players import CellPlayer, FixedPlayer, fixed_table
from text_cases import refuses

from tictactoe_env import (
    CanonicalPolicy,
    FunctionPolicy,
    RandomPolicy,
    Rules,
    TabularPolicy,
    make_opponent,
    register_opponent,
    snapshot,
    unregister_opponent,
)
from tictactoe_env.notation import board_text, parse_board
from tictactoe_env.policy import GreedyPolicy, one_hot
from tictactoe_env.pool import Snapshots, make_pool

ID = "tictactoe_env/TicTacToe-v0"
SMALL, LARGE = Rules(2, 3, 2), Rules(4, 4, 4)
BOARDS = {"rows": 2, "cols": 3, "k": 3}, {"rows": 4, "cols": 4, "k": 4}


def made(num_envs, opponent, **arguments):
    """One environment, or a vector environment of several games."""
    if num_envs == 1:
        return gym.make(ID, opponent=opponent, **arguments)
    return gym.make_vec(ID, num_envs=num_envs, opponent=opponent, **arguments)


def marks_of(env, games):
    """The cell of the opponent's first mark as X in each of many games."""
    cells = []
    for _ in range(games):
        env.reset()
        boards = np.atleast_2d(env.board if hasattr(env, "board") else env.boards)
        cells += boards.argmax(axis=1).tolist()
    return cells


class Model(CellPlayer):
    """The same with Stable-Baselines3's predict."""

    probs = None

    def predict(self, observation, deterministic=False):
        return np.full(len(observation), self.cell), None


@pytest.mark.parametrize("num_envs", [1, 5])
@pytest.mark.parametrize("board", BOARDS, ids=["2x3", "4x4"])
@pytest.mark.parametrize("kind", [CellPlayer, Model])
def test_a_snapshot_plays_on_as_it_was_on_every_board(num_envs, board, kind):
    env, learner = made(num_envs, "self", side="O", **board), kind(2)
    assert len(set(marks_of(env, 60))) > 3, "random play until there is a snapshot"
    env.add_snapshot(learner)
    learner.cell = 4
    assert set(marks_of(env, 3)) == {2}
    env.add_snapshot(learner)
    learner.cell = 0
    assert set(marks_of(env, 40)) == {2, 4}
    env.set_opponent(learner)
    learner.cell = 1
    assert set(marks_of(env, 3)) == {0}, "any opponent is frozen"


@pytest.mark.parametrize("num_envs", [1, 5])
@pytest.mark.parametrize("board", BOARDS, ids=["2x3", "4x4"])
def test_a_snapshot_of_a_player_that_sees_images_moves_on_the_board_as_it_is(num_envs, board):
    env = made(num_envs, "self", symmetric=True, **board)
    env.add_snapshot(FixedPlayer(0))
    for cell in range(env.config.rules.cells):
        start = np.eye(1, env.config.rules.cells, cell, dtype=np.int8)
        env.reset(options={"side": "X", "board": board_text(start[0], env.config.rules)})
        replied = CanonicalPolicy(FixedPlayer(0), env.config.rules).probs(start)[0] > 0
        found = np.atleast_2d(env.boards if num_envs > 1 else env.board)
        assert (replied[(found < 0).argmax(axis=1)]).all()


@pytest.mark.parametrize("num_envs", [1, 3])
def test_the_newest_snapshots_are_kept_and_shared_with_later_opponents(num_envs):
    env = made(num_envs, [["self-keep=2-replace=oldest", 1], ["random", 0]], side="O", k=3)
    for cell in (0, 1, 2):
        env.add_snapshot(CellPlayer(cell))
    assert env.self_play == {"keep": 2, "replace": "oldest", "snapshots": 2}
    assert set(marks_of(env, 40)) == {1, 2}
    env.set_opponent([["random", 0], ["self-keep=4", 1]])
    assert env.self_play == {"keep": 4, "replace": "mixed", "snapshots": 2}
    env.set_opponent([["random", 1], ["self-keep=4", 0]])
    assert env.self_play["snapshots"] == 2, "without weight, but still there"
    env.set_opponent([["self-keep=1", 0.5], ["minimax-first", 0.5]])
    assert set(marks_of(env, 40)) == {0, 2}, "the newest, and minimax-first in the corner"
    env.reset(options={"opponent": "self"})
    env.set_opponent("random")
    assert env.self_play is None
    with refuses('"self"'):
        env.add_snapshot(CellPlayer(0))


def test_a_running_game_goes_on_against_the_snapshot_that_replaces_its_opponent():
    env = made(1, "self-keep=1", side="O", rows=2, cols=3, k=3)
    env.add_snapshot(CellPlayer(0))
    env.reset()
    env.add_snapshot(CellPlayer(1))
    env.step(5)
    assert env.board.tolist() == parse_board("XX./..O", Rules(2, 3, 3)).tolist()
    right = types.SimpleNamespace(probs=lambda b: one_hot(np.where(b[:, 2], 3, 2), 6))
    env.reset(options={"opponent": right})  # stays, whatever joins the pool
    env.add_snapshot(CellPlayer(1))
    env.step(5)
    assert env.board.tolist() == parse_board("..X/X.O", Rules(2, 3, 3)).tolist()
    for keep in (1, 2):  # the second snapshot replaces the first, or stands beside it
        games = made(2, [[f"self-keep={keep}", 1], ["random", 0]], side="O", rows=2, cols=3, k=3)
        games.add_snapshot(CellPlayer(0))
        games.reset()
        mask = np.array([True, False])
        games.reset(options={"opponent": right, "reset_mask": mask})  # game 0 only
        games.add_snapshot(CellPlayer(1))
        games.step(np.array([5, 5]))
        expected = [parse_board(text, Rules(2, 3, 3)).tolist() for text in ("..X/X.O", "XX./..O")]
        assert games.boards.tolist()[: 3 - keep] == expected[: 3 - keep]


def test_a_running_game_keeps_its_opponent_when_another_one_makes_room():
    env = made(1, "self-keep=2-replace=oldest", side="O", rows=2, cols=3, k=3)
    for cell in (0, 1):
        env.add_snapshot(CellPlayer(cell))
    while marks_of(env, 1) != [1]:
        pass
    env.add_snapshot(CellPlayer(2))  # in place of the first
    *_, info = env.step(5)
    assert info["illegal_move"], "it knows one move, which it has made"


@pytest.mark.parametrize(
    ("replace", "shares"),
    [("oldest", (1, 0, 0)), ("random", (1 / 3, 1 / 3, 1 / 3)), ("mixed", (2 / 3, 1 / 6, 1 / 6))],
)
def test_the_way_of_replacing_decides_who_makes_room(replace, shares):
    rng = np.random.default_rng(0)
    players = tuple(CellPlayer(cell) for cell in range(3))
    full = Snapshots(1.0, 3, replace, players)
    left = [full.with_snapshot(CellPlayer(3), rng).snapshots for _ in range(2_000)]
    gone = [[player not in kept for player in players] for kept in left]
    assert np.mean(gone, axis=0) == pytest.approx(shares, abs=0.04)
    room = Snapshots(1.0, 3, replace, players[:2])
    assert room.with_snapshot(players[2], rng).snapshots == players


def test_a_game_finds_its_opponent_in_a_later_pool_or_who_plays_on_for_it():
    rng = np.random.default_rng(0)
    pools = [make_pool("self-keep=2-replace=oldest:1,best-response:1,minimax:2", SMALL)]
    for cell in (0, 1, 2):
        pools.append(pools[-1].with_snapshot(CellPlayer(cell), rng, CellPlayer(cell + 3)))
    assert [player.cell for player in pools[-1].policies[1:]] == [5, 1, 2]
    later = [pools[-1].indices_of(pool).tolist() for pool in pools]
    assert later == [[0, 1, 3], [0, 1, 3], [0, 1, 3, 2], [0, 1, 2, 3]]


def test_a_snapshot_is_a_table_on_small_boards_and_a_copy_on_large_ones():
    table = fixed_table(SMALL, 0)
    assert snapshot(table, SMALL) is (frozen := snapshot(table, SMALL)), "prepared once"
    kept, table.table = table.table, fixed_table(SMALL, 1).table
    assert frozen.table is kept is not snapshot(table, SMALL).table
    assert isinstance(snapshot(make_opponent("search", SMALL), SMALL), TabularPolicy)
    search = make_opponent("search-depth=1", LARGE)
    copy, board = snapshot(search, LARGE), np.zeros((1, 16), np.int8)
    assert copy is not search
    assert np.array_equal(copy.probs(board), search.probs(board))
    unique = types.SimpleNamespace(probs=RandomPolicy().probs, lock=(n for n in ()))
    with refuses("TypeError"):
        snapshot(unique, LARGE)
    with refuses("probs"):
        made(1, "self").add_snapshot(None)
    ends = made(1, "self", side="X", rows=1, cols=4, k=1)
    with refuses("first move"):
        ends.reset(options={"side": "O"})
    with refuses("first move"):
        made(1, "self", side="X", opening="b2", k=3).add_snapshot(CellPlayer(4))


CELLS = [0]


class Shared:
    """A player that has a learner's cells as an attribute."""

    def __init__(self):
        self.cells = CELLS

    def learn(self):
        CELLS[0] += 1

    def probs(self, boards):
        return one_hot(np.full(len(boards), self.cells[0]), boards.shape[1])

    def choose(self, seen, masks):
        return np.full(len(seen), self.cells[0])


def of_global(seen, masks):
    return np.full(len(seen), CELLS[0])


def of_module(seen, masks):
    return np.full(len(seen), sample_players.CellPlayer(0).cell)


def of_import(seen, masks):
    from sample_players import CellPlayer

    return np.full(len(seen), CellPlayer(0).cell)


def of_cells(cells, seen, masks):
    return np.full(len(seen), cells[0])


def pure(seen, masks, cell=0):
    return np.full(len(seen), cell)


def closure(cell):
    return functools.wraps(pure)(lambda seen, masks: np.full(len(seen), np.ravel(cell)[0]))


def with_function(function):
    return FunctionPolicy(function, LARGE)


def with_class(**attributes):
    """A player whose class has these attributes."""
    return type("Player", (), {"probs": Shared.probs} | attributes)()


def with_cells(cells):
    return types.SimpleNamespace(cells=cells, probs=lambda boards: boards)


KEPT = {
    "closure": (lambda: with_function(closure(CELLS)), 0),
    "global": (lambda: with_function(of_global), 0),
    "module": (lambda: with_function(of_module), 0),
    "import": (lambda: with_function(of_import), 0),
    "greedy": (lambda: GreedyPolicy(with_function(of_global)), 0),
    "class attribute": (lambda: with_class(cells=CELLS), 0),
    "descriptor": (lambda: with_class(cells=property(functools.partial(of_cells, [CELLS], 0))), 0),
    "method of a class attribute": (lambda: with_class(choose=Shared().choose), 0),
    "special method": (lambda: with_class(__len__=lambda self: CELLS[0]), 0),
    "weak reference": (lambda: with_cells(weakref.ref(Shared)), 0),
    "partial": (lambda: with_function(functools.partial(of_cells, CELLS)), 1),
    "method": (lambda: with_function(Shared().choose), 1),
    "attribute": (Shared, 1),
    "no state": (lambda: with_function(pure), 1),
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_a_player_uses_is_copied_with_it_or_it_is_refused(kind, request):
    """A deep copy returns functions and classes as they are."""
    make, is_copied = KEPT[kind]
    boards = np.zeros((1, 16), np.int8)
    register_opponent("shared", lambda rules: make())
    request.addfinalizer(lambda: unregister_opponent("shared"))
    freezes = snapshot, lambda player, rules: make_pool("shared", rules).policies[0]
    for freeze in freezes:
        if is_copied:
            copy = freeze(make(), LARGE)
            CELLS[0] = 5
            found = copy.probs(boards)
            CELLS[0] = 0
            assert np.array_equal(found, make().probs(boards))
        else:
            with refuses("cannot be frozen"):
                freeze(make(), LARGE)
