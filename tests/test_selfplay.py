import numpy as np
import pytest
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


def ages(pool):
    return [SNAPSHOTS.index(snapshot) for snapshot in pool.snapshots]


@pytest.mark.parametrize(
    "text",
    [
        "random:0.5,minimax:0.25,self:0.25",
        "self:1",
        "self",
        "random:3,self:9",
        "minimax",
        "self:0,random:1",
    ],
)
def test_the_weights_sum_to_one_with_any_number_of_snapshots(text):
    opponents = SelfPlay(text, RULES, size=3)
    for snapshot in (None, *SNAPSHOTS):
        if snapshot is not None:
            opponents.add(snapshot)
        pool = opponents.pool()
        assert sum(pool.weights) == pytest.approx(1, abs=1e-15)
        assert len(pool.weights) == len(pool.policies)
        assert make_pool(pool, RULES) is pool


def test_the_share_of_self_is_spread_over_the_snapshots():
    opponents = SelfPlay("random:2,minimax:1,self:1", RULES, size=4)
    for snapshot in SNAPSHOTS[:2]:
        opponents.add(snapshot)
    pool = opponents.pool()
    assert [type(policy) for policy in pool.policies[:2]] == [RandomPolicy, MinimaxPolicy]
    assert pool.policies[2:] == tuple(SNAPSHOTS[:2])
    assert pool.weights == (0.5, 0.25, 0.125, 0.125)


def test_random_play_stands_in_for_self_until_the_first_snapshot():
    opponents = SelfPlay("self:1", RULES)
    assert [type(policy) for policy in opponents.pool().policies] == [RandomPolicy]
    assert opponents.pool().weights == (1.0,)
    opponents.add(SNAPSHOTS[0])
    assert opponents.pool().policies == (SNAPSHOTS[0],)


def test_a_pool_without_self_holds_no_snapshots():
    opponents = SelfPlay("random:1,self:0", RULES)
    opponents.add(SNAPSHOTS[0])
    assert [type(policy) for policy in opponents.pool().policies] == [RandomPolicy]


def test_no_more_than_size_snapshots_are_kept_the_newest_always_and_older_ones_in_order():
    opponents = SelfPlay("self", RULES, size=3, seed=1)
    for number, snapshot in enumerate(SNAPSHOTS):
        opponents.add(snapshot)
        assert len(opponents.snapshots) == min(number + 1, 3)
        assert ages(opponents)[-1] == number
        assert ages(opponents) == sorted(ages(opponents))


def test_which_snapshots_survive_follows_from_the_seed_and_is_not_always_the_newest_ones():
    def survivors(seed):
        opponents = SelfPlay("self", RULES, size=3, seed=seed)
        for snapshot in SNAPSHOTS:
            opponents.add(snapshot)
        return tuple(ages(opponents))

    assert [survivors(seed) for seed in range(20)] == [survivors(seed) for seed in range(20)]
    found = {survivors(seed) for seed in range(20)}
    assert (3, 4, 5) in found
    assert len(found) > 3


def test_half_of_the_time_the_oldest_snapshot_makes_room_and_otherwise_any():
    replaced = np.zeros(3)
    for seed in range(2000):
        opponents = SelfPlay("self", RULES, size=3, seed=seed)
        for snapshot in SNAPSHOTS[:4]:
            opponents.add(snapshot)
        replaced[({0, 1, 2} - set(ages(opponents))).pop()] += 1
    assert replaced / 2000 == pytest.approx([1 / 2 + 1 / 6, 1 / 6, 1 / 6], abs=0.04)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("minmax", "did you mean 'minimax'"),
        ("random:0", "not all zero"),
        ("random:-1,self:2", "not negative"),
        ("random:x", "name:weight"),
        ("", "name:weight"),
    ],
)
def test_bad_pools_are_refused_with_what_is_wrong(text, said):
    with pytest.raises(ValueError, match=said):
        SelfPlay(text, RULES)


def test_opponents_are_cycled_whatever_their_weights_or_drawn_by_them():
    pool = make_pool([["random", 1], ["minimax", 8], ["minimax-first", 1]], SQUARE)
    positions, rng = positions_of(SQUARE), np.random.default_rng(0)
    assert Opponents(pool, positions, "cycled").choose(np.arange(4, 9), rng).tolist() == [
        1,
        2,
        0,
        1,
        2,
    ]
    drawn = np.bincount(
        Opponents(pool, positions, "drawn").choose(np.arange(10_000), rng), minlength=3
    )
    assert abs(drawn[1] - 8_000) < 200


def test_opponents_move_as_their_tables_say():
    positions, rng = positions_of(SQUARE), np.random.default_rng(0)
    policy = make_opponent("minimax-slip=0.5", SQUARE)
    opponents = Opponents(make_pool([[policy, 1], ["random", 1]], SQUARE), positions, "drawn")
    rows = np.full(40_000, positions.rows(parse_board("XX./O../...", SQUARE)[None])[0])
    for which, player in enumerate((policy, make_opponent("random", SQUARE))):
        cells = opponents.move(np.full(len(rows), which), rows, rng)
        expected = tabulate(player, SQUARE).by_row()[rows[0]]
        assert np.abs(np.bincount(cells, minlength=9) / len(rows) - expected).max() < 0.01


def test_a_pool_continues_from_its_state():
    whole, half = (SelfPlay("self:1", RULES, size=3, seed=1) for _ in range(2))
    stochastic = tabulate(RandomPolicy(), RULES)
    for snapshot in (*SNAPSHOTS[:3], stochastic):
        whole.add(snapshot)
        half.add(snapshot)
    state = half.state()
    assert {array.dtype for array in state["snapshots"]} <= {np.dtype(np.uint8), np.dtype(float)}
    again = SelfPlay("self:1", RULES, size=3)
    again.restore(state)
    for snapshot in SNAPSHOTS[3:]:
        whole.add(snapshot)
        again.add(snapshot)
    tables = [[copy.table.tolist() for copy in pool.snapshots] for pool in (whole, again)]
    assert tables[0] == tables[1]


def test_snapshots_may_explore():
    opponents = SelfPlay("self:1", RULES, epsilon=0.3)
    opponents.add(SNAPSHOTS[0])
    (copy,) = opponents.pool().policies
    uniform = tabulate(RandomPolicy(), RULES).table
    assert copy.table == pytest.approx(0.7 * SNAPSHOTS[0].table + 0.3 * uniform)
    assert opponents.snapshots == [SNAPSHOTS[0]]
