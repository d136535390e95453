"""The opponents of a learner: weights, snapshots and many games at once."""

import numpy as np
import pytest
from sample_players import CellPlayer, fixed_table

from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules
from training.selfplay import TrainingPool, play_games

RULES = Rules(2, 3, 3)
SNAPSHOTS = [fixed_table(RULES, seed) for seed in range(6)]


def pool_with(text, snapshots, **settings):
    opponents = TrainingPool(text, RULES, **settings)
    for snapshot in snapshots:
        opponents.add(snapshot)
    return opponents


@pytest.mark.parametrize("count", [0, 1, 6])
def test_the_shares_of_self_and_of_a_rival_are_spread_over_snapshots_and_saved(count):
    """Random play stands in for self until the first snapshot."""
    text, rival = "random:0.5,self:0.3,rival:0.2", fixed_table(RULES, 7)
    opponents, kept = pool_with(text, SNAPSHOTS[:count], size=4), min(count, 4)
    opponents.add_rival(rival)
    shares = [0.3 / max(kept, 1)] * max(kept, 1)
    pool = opponents.pool()
    assert [weight for _, weight in pool.pairs] == pytest.approx([0.5, *shares, 0.2])
    assert opponents.snapshots == pool.policies[1 : 1 + kept]
    assert len(opponents.snapshots) == kept
    assert opponents.snapshots[-1:] == tuple(SNAPSHOTS[:count][-1:]), "the newest always"
    again = TrainingPool(text, RULES, size=4)
    again.restore(opponents.state())
    pairs = zip(again.pool().policies, pool.policies, strict=True)
    assert all(
        (tabulate(one, RULES).table == tabulate(two, RULES).table).all() for one, two in pairs
    )


def test_snapshots_may_explore_and_are_saved_in_one_byte_a_board_without_it():
    uniform, opponents = tabulate(RandomPolicy(), RULES), pool_with("self:1", [], epsilon=0.3)
    opponents.add(SNAPSHOTS[0])
    (copy,) = opponents.pool().policies
    table = tabulate(copy, RULES).table
    assert table == pytest.approx(0.7 * SNAPSHOTS[0].table + 0.3 * uniform.table)
    assert list(opponents.snapshots) == SNAPSHOTS[:1]
    opponents.add(TabularPolicy(RULES, 0.5 * uniform.table + 0.5 * SNAPSHOTS[0].table))
    assert [array.dtype for array in opponents.state()["snapshots"]] == [np.uint8, float]
    rivals = pool_with("rival:1", [], epsilon=0.3)
    rivals.add_rival(SNAPSHOTS[0])
    assert tabulate(rivals.pool().policies[0], RULES).table == pytest.approx(table)


def test_what_is_played_without_exploration_is_answered():
    best, snapshot = SNAPSHOTS[:2]
    opponents, alike = (pool_with("best-response:1", []) for _ in range(2))
    assert opponents.takes_snapshots
    opponents.add(snapshot, best)
    alike.add(best)
    assert np.array_equal(opponents.response.player.table, alike.response.player.table)


@pytest.mark.parametrize(
    ("first", "later", "results"), [(0, 0, [1, -1]), (1, 1, [-1, 1]), (0, 1, [1, 1])]
)
def test_who_marks_a_taken_cell_has_lost(first, later, results):
    """The opponent always marks a1; the learner is X in the first game and O in the second."""
    opponents = pool_with("self:1", [tabulate(CellPlayer(0), RULES)]).opponents()
    rng = np.random.default_rng()
    is_x = np.array([True, False])
    _, played = play_games(lambda rows: np.where(rows == 0, first, later), is_x, opponents, rng)
    assert played.tolist() == results
