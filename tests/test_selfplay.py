"""The opponents of a learner: weights, snapshots and many games at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_players import fixed_table

from tictactoe_env.notation import parse_board
from tictactoe_env.opponents import make_opponent, make_pool
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training.selfplay import Opponents, SelfPlay

RULES = Rules(2, 3, 3)
SQUARE = Rules()
SNAPSHOTS = [fixed_table(RULES, seed) for seed in range(6)]
WEIGHTS = st.integers(0, 9)


def pool_with(text, snapshots, **settings):
    opponents = SelfPlay(text, RULES, **settings)
    for snapshot in snapshots:
        opponents.add(snapshot)
    return opponents


def ages(opponents):
    return [SNAPSHOTS.index(snapshot) for snapshot in opponents.snapshots]


@given(WEIGHTS, WEIGHTS, WEIGHTS, st.integers(0, 6))
def test_the_share_of_self_is_spread_over_the_snapshots(random, minimax, own, count):
    if random + minimax + own == 0:
        return
    opponents = pool_with(
        f"random:{random},minimax:{minimax},self:{own}", SNAPSHOTS[:count], size=4
    )
    pool, copies = opponents.pool(), min(count, 4)
    total = random + minimax + own
    expected = [random / total, minimax / total]
    kinds = [RandomPolicy, MinimaxPolicy]
    if own:  # random play stands in for self until the first snapshot
        expected += [own / total / max(copies, 1)] * max(copies, 1)
        kinds += [type(SNAPSHOTS[0])] * copies or [RandomPolicy]
        assert pool.policies[2:] == tuple(opponents.snapshots) or copies == 0
    assert pool.weights == pytest.approx(expected, abs=1e-15)
    assert [type(policy) for policy in pool.policies] == kinds
    assert make_pool(pool, RULES) is pool


def test_no_more_than_size_snapshots_are_kept_the_newest_always_and_older_ones_in_order():
    opponents = SelfPlay("self", RULES, size=3, seed=1)
    for number, snapshot in enumerate(SNAPSHOTS):
        opponents.add(snapshot)
        assert len(opponents.snapshots) == min(number + 1, 3)
        assert ages(opponents)[-1] == number
        assert ages(opponents) == sorted(ages(opponents))


def test_half_of_the_time_the_oldest_snapshot_makes_room_and_otherwise_any():
    replaced = np.zeros(3)
    for seed in range(2000):
        left = ages(pool_with("self", SNAPSHOTS[:4], size=3, seed=seed))
        assert seed > 9 or left == ages(pool_with("self", SNAPSHOTS[:4], size=3, seed=seed))
        replaced[({0, 1, 2} - set(left)).pop()] += 1
    assert replaced / 2000 == pytest.approx([1 / 2 + 1 / 6, 1 / 6, 1 / 6], abs=0.04)


def test_bad_pools_are_refused_with_what_is_wrong():
    """All that can be wrong with one is tested in test_opponents.py."""
    for text, said in (("minmax", "did you mean 'minimax'"), ("self:0", "not all zero")):
        with pytest.raises(ValueError, match=said):
            SelfPlay(text, RULES)


def test_opponents_are_cycled_whatever_their_weights_or_drawn_by_them():
    pool = make_pool([["random", 1], ["minimax", 8], ["minimax-first", 1]], SQUARE)
    positions, rng = positions_of(SQUARE), np.random.default_rng(0)
    cycled, drawn = (
        Opponents(pool, positions, turns).choose(np.arange(10_000), rng)
        for turns in ("cycled", "drawn")
    )
    assert cycled[4:9].tolist() == [1, 2, 0, 1, 2]
    assert abs((drawn == 1).sum() - 8_000) < 200


def test_opponents_move_as_their_tables_say():
    positions, rng = positions_of(SQUARE), np.random.default_rng(0)
    players = [make_opponent(name, SQUARE) for name in ("minimax-slip=0.5", "random")]
    opponents = Opponents(make_pool([[player, 1] for player in players], SQUARE), positions)
    rows = np.full(40_000, positions.rows(parse_board("XX./O../...", SQUARE)[None])[0])
    for which, player in enumerate(players):
        cells = opponents.move(np.full(len(rows), which), rows, rng)
        expected = tabulate(player, SQUARE).by_row()[rows[0]]
        assert np.abs(np.bincount(cells, minlength=9) / len(rows) - expected).max() < 0.01


def test_a_pool_continues_from_its_state():
    stochastic = tabulate(RandomPolicy(), RULES)
    whole = pool_with("self:1", [*SNAPSHOTS[:3], stochastic], size=3, seed=1)
    half = pool_with("self:1", [*SNAPSHOTS[:3], stochastic], size=3, seed=1)
    state, again = half.state(), SelfPlay("self:1", RULES, size=3)
    assert {array.dtype for array in state["snapshots"]} == {np.dtype(np.uint8), np.dtype(float)}
    again.restore(state)
    for snapshot in SNAPSHOTS[3:]:
        whole.add(snapshot)
        again.add(snapshot)
    tables = [[copy.table.tolist() for copy in pool.snapshots] for pool in (whole, again)]
    assert tables[0] == tables[1]


def test_snapshots_may_explore():
    opponents = pool_with("self:1", SNAPSHOTS[:1], epsilon=0.3)
    (copy,) = opponents.pool().policies
    uniform = tabulate(RandomPolicy(), RULES).table
    assert copy.table == pytest.approx(0.7 * SNAPSHOTS[0].table + 0.3 * uniform)
    assert opponents.snapshots == SNAPSHOTS[:1]
