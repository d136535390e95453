"""agents/tabular_q.py: its arithmetic, and that it learns what is known to be true."""

import numpy as np
import pytest
from learners import POSITIONS, RULES, board, row, trained

from agents import presets
from agents import tabular_q as module
from agents.tabular_q import Config, TabularQ
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.match import action_values
from tictactoe_env.opponents import make_opponent
from training.selfplay import Moves

SMALL = Config(steps=2_000, games=32, judge_every=500, snapshot_every=300, snapshots=3)


def place(text):
    """The column of a position's value in the table that symmetric positions share."""
    return int(POSITIONS.canonical[row(text)])


def test_exploration_falls_at_each_tenth_down_to_its_end():
    learner = TabularQ(Config(epsilon_end=0.0, anneal_steps=1_000))
    seen = []
    for learner.steps in (0, 99, 100, 199, 650, 700, 5_000):
        seen.append(round(learner.notes()["epsilon"], 12))
    assert seen == [0.7, 0.7, 0.6, 0.6, 0.1, 0.0, 0.0]


def test_a_move_has_the_value_of_the_position_after_it_and_all_are_reached():
    """There are 765 positions up to symmetry, with the empty one."""
    learner = trained(module, Config(steps=400_000, tables=1, epsilon=1.0, epsilon_end=1.0))
    plain = TabularQ(SMALL.replace(symmetry=False))
    assert [len(set(one.after[0].tolist())) for one in (learner, plain)] == [3, 9]
    assert (learner.games > 0).sum() == learner.notes()["entries"] == 764


def test_a_value_moves_by_its_rate_for_each_game_of_a_round():
    """A constant rate of 0.4, three games of the same target: 1 - 0.6^3 of the way."""
    learner = TabularQ(SMALL.replace(tables=1, learning_rate=0.4, rate_power=0.0))
    learner.update(np.zeros(3, dtype=int), np.full(3, 7), np.ones(3))
    assert learner.values[0, 7] == pytest.approx(1 - 0.6**3, abs=1e-15)


@pytest.mark.parametrize(("rewards", "end"), [((1, 0, -1), -1), ((1, 1, 0), 0), ((1, 0, -3), -3)])
def test_a_result_reaches_the_first_move_of_its_game_at_once(rewards, end):
    """Learned from the last move back to the first: X a1, b1, a3 against O c1, c2, c3."""
    learner = TabularQ(SMALL.replace(games=2, tables=1, rewards=rewards))
    learner.values[0, :-1] = -3.0
    after = [place(text) for text in ("X../.../...", "XXO/.../...", "XXO/..O/X..")]
    made = ((".../.../...", 0), ("X.O/.../...", 1), ("XXO/..O/...", 6))
    moves = [Moves(*np.array([[0], [row(before)], [cell]])) for before, cell in made]
    learner.learn(moves, np.array([-1, 0]))
    assert learner.values[0, after].tolist() == [end] * 3


def test_it_reaches_the_best_achievable_results_and_the_values_of_its_moves():
    """191/192 wins as X, 866/945 as O, unbeatable; an untrained table can be beaten as O."""
    policy = trained(module, Config(steps=400_000)).policy()
    empty = board(".../.../...")
    assert evaluate(policy).optimal
    assert not evaluate(TabularQ(SMALL).policy()).unbeatable_o
    values = action_values("X", policy, make_opponent("minimax-slip=0.6", RULES), RULES, empty[0])
    assert policy.q_values(empty)[0] == pytest.approx(values, abs=0.02)


def test_a_draw_that_gives_as_much_as_a_win_makes_a_player_that_never_loses_and_seldom_wins():
    """What nestedsoftware/tictac learns: unbeatable, and wins well below 91.6 % as O."""
    options = {**presets("tabular_q")["tictac"].options, "games": 1_024, "judge_every": 20_000}
    config = Config(**{**options, "steps": 150_000, "anneal_steps": 150_000})
    results = evaluate(trained(module, config).policy())
    assert results.unbeatable
    assert 0.4 < results.o.win < 0.85
