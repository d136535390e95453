"""The opponents of a learner: weights, snapshots and many games at once."""

import numpy as np
import pytest
from sample_players import fixed_table

from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules
from training.selfplay import SelfPlay

RULES = Rules(2, 3, 3)
SQUARE = Rules()
SNAPSHOTS = [fixed_table(RULES, seed) for seed in range(6)]


def pool_with(text, snapshots, **settings):
    opponents = SelfPlay(text, RULES, **settings)
    for snapshot in snapshots:
        opponents.add(snapshot)
    return opponents


def ages(opponents):
    return [SNAPSHOTS.index(snapshot) for snapshot in opponents.own.snapshots]


@pytest.mark.parametrize("count", [0, 1, 6])
def test_the_share_of_self_is_spread_over_the_snapshots(count):
    """Random play stands in for self until the first snapshot."""
    opponents, copies = pool_with("random:1,self:3", SNAPSHOTS[:count], size=4), min(count, 4)
    pool, shares = opponents.pool(), max(copies, 1)
    weights = [weight for _, weight in pool.pairs]
    assert weights == pytest.approx([1 / 4] + [3 / 4 / shares] * shares, abs=1e-15)
    assert pool.policies[1:] == opponents.own.snapshots or copies == 0
    kept = ages(opponents)
    assert (len(kept), kept) == (copies, sorted(kept)), "older ones in order"
    assert kept[-1:] == [count - 1][:count], "the newest always"


def test_half_of_the_time_the_oldest_snapshot_makes_room_and_otherwise_any():
    replaced = np.zeros(3)
    for seed in range(1000):
        left = ages(pool_with("self", SNAPSHOTS[:4], size=3, seed=seed))
        replaced[({0, 1, 2} - set(left)).pop()] += 1
    assert replaced / 1000 == pytest.approx([1 / 2 + 1 / 6, 1 / 6, 1 / 6], abs=0.05)


def test_snapshots_may_explore_and_are_saved_in_one_byte_a_board_without_it():
    uniform, opponents = tabulate(RandomPolicy(), RULES), pool_with("self:1", [], epsilon=0.3)
    opponents.add(SNAPSHOTS[0])
    (copy,) = opponents.pool().policies
    table = tabulate(copy, RULES).table
    assert table == pytest.approx(0.7 * SNAPSHOTS[0].table + 0.3 * uniform.table)
    assert list(opponents.own.snapshots) == SNAPSHOTS[:1]
    opponents.add(uniform)
    assert [array.dtype for array in opponents.state()["snapshots"]] == [np.uint8, float]
