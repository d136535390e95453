"""agents/tabular_q.py: its arithmetic, and that it learns what is known to be true."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from learners import trained

from agents import tabular_q as page
from agents.tabular_q import Config, TabularQ
from tictactoe_env.evaluation import evaluate
from tictactoe_env.notation import parse_board
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.solver import solve
from training.selfplay import Moves

RULES = Rules()
SMALL = Config(steps=2_000, games=32, judge_every=500, snapshot_every=300, snapshots=3)
CLASSES = 765  # positions up to the symmetries of the square, the empty board included
POSITIONS = 5_478
EMPTY = np.zeros((1, 9), dtype=np.int8)


def row(text):
    return int(positions_of(RULES).rows(parse_board(text, RULES)[None])[0])


def place(text):
    """Where a position's value is in the table that symmetric positions share."""
    return int(positions_of(RULES).canonical[row(text)])


@pytest.fixture(scope="module")
def learner():
    """Trained until the best achievable results are reached, about 0.2 s."""
    return trained(page, Config(steps=400_000))


@pytest.mark.parametrize(
    ("text", "words"),
    [("not-loosing", "did you mean 'not-losing'"), ("1,0", "three numbers"), ("1,nan,0", "finite")],
)
def test_rewards_that_are_no_name_and_not_three_numbers_are_refused(text, words):
    with pytest.raises(ValueError, match=words):
        Config(rewards=text)


def test_exploration_falls_at_each_tenth_down_to_its_end():
    learner, seen = TabularQ(Config(epsilon_end=0.0, anneal_steps=1_000)), []
    for learner.steps in (0, 99, 100, 199, 650, 700, 5_000):
        seen.append(round(learner.notes()["epsilon"], 12))
    assert seen == [0.7, 0.7, 0.6, 0.6, 0.1, 0.0, 0.0]


@pytest.mark.parametrize(
    ("symmetry", "moves", "places"), [(True, 3, CLASSES), (False, 9, POSITIONS)]
)
def test_the_value_of_a_move_is_that_of_the_position_after_it(symmetry, moves, places):
    learner = TabularQ(Config(symmetry=symmetry))
    assert len(set(learner.after[0].tolist())) == moves
    is_illegal = learner.after[row("X../.../...")] == POSITIONS
    assert is_illegal.tolist() == [True] + [False] * 8
    # without the empty board, with the place of illegal moves
    assert len(set(learner.after.ravel().tolist())) == places


def test_a_value_moves_by_its_rate_later_games_count_less_and_games_of_a_round_one_by_one():
    """A constant rate of 0.4, three games of the same target: 1 - 0.6^3 of the way."""
    learner = TabularQ(replace(SMALL, tables=1, rate_power=1.0))
    for target, low, high in ((1.0, 1, 1), (0.0, 0.01, 0.99), (0.5, 0.01, 0.99)):
        learner.update(np.array([0]), np.array([7]), np.array([target]))
        assert low <= learner.values[0, 7] <= high
    assert learner.games[0, 7] == learner.games.sum() == 3
    learner = TabularQ(replace(SMALL, tables=1, learning_rate=0.4, rate_power=0.0))
    learner.update(np.zeros(3, dtype=int), np.full(3, 7), np.ones(3))
    assert learner.values[0, 7] == pytest.approx(1 - 0.6**3, abs=1e-15)


def test_a_table_learns_by_the_values_of_the_others():
    """Its own best move, valued by the mean of the other two tables; a single one by itself."""
    learner, alone = TabularQ(replace(SMALL, tables=3)), TabularQ(replace(SMALL, tables=1))
    corner_and_edge = [place("X../.../..."), place(".X./.../...")]
    learner.values[:, corner_and_edge] = [(0.9, 0.1), (0.2, 0.8), (0.4, 0.3)]
    best = learner.best(np.array([0, 1, 2]), np.zeros(3, dtype=np.intp))
    assert best == pytest.approx([(0.2 + 0.4) / 2, (0.1 + 0.3) / 2, (0.9 + 0.2) / 2])
    alone.values[0, corner_and_edge] = (0.2, 0.7)
    assert alone.best(np.array([0]), np.array([0])).tolist() == [0.7]


@pytest.mark.parametrize(
    ("rewards", "expected"), [("win-loss", -1), ("not-losing", 0), ("1, 0,-3", -3)]
)
def test_a_result_reaches_the_first_move_of_its_game_at_once(rewards, expected):
    """Learned from the last move back to the first: X a1, b1, a3 against O c1, c2, c3."""
    learner = TabularQ(replace(SMALL, games=2, tables=1, rewards=rewards, initial=-3.0))
    before = (".../.../...", "X.O/.../...", "XXO/..O/...")
    after = [place(text) for text in ("X../.../...", "XXO/.../...", "XXO/..O/X..")]
    game, cells = np.array([0]), (0, 1, 6)
    moves = [
        Moves(game, np.array([row(b)]), np.array([c])) for b, c in zip(before, cells, strict=True)
    ]
    learner.learn(moves, np.array([row("XXO/..O/X.O"), 0]), np.array([True, False]))
    assert learner.values[0, after].tolist() == [expected] * 3


# --- what is learned, with numbers from outside ---------------------------------------------------


def best_response_values(slip):
    """Expected result of each first move as X and best moves after it, by plain recursion."""
    positions, solution = positions_of(RULES), solve(RULES)

    @cache
    def value(at):
        if positions.is_over[at]:
            return float(positions.outcome_x[at])
        children = [int(child) for child in positions.children[at] if child >= 0]
        if positions.x_to_move[at]:
            return max(value(child) for child in children)
        perfect = [child for child in children if -solution.value[child] == solution.value[at]]
        means = [np.mean([value(child) for child in some]) for some in (perfect, children)]
        return (1 - slip) * means[0] + slip * means[1]

    return [value(int(child)) for child in positions.children[0]]


def test_it_reaches_the_best_achievable_results_on_both_sides(learner):
    """191/192 wins as X, 866/945 as O, unbeatable; an untrained table can be beaten as O."""
    assert evaluate(learner.policy()).optimal
    assert not evaluate(TabularQ(SMALL).policy()).unbeatable_o


def test_a_loaded_player_has_the_values_of_the_best_response_and_none_for_illegal_moves(learner):
    loaded = page.player(learner.config, learner.model())
    assert loaded.q_values(EMPTY)[0] == pytest.approx(best_response_values(0.6), abs=0.02)
    assert (loaded.values == learner.policy().values).all()
    free = positions_of(RULES).boards[positions_of(RULES).unfinished] == 0
    assert (np.isfinite(loaded.values) == free).all()
    assert np.isneginf(loaded.values[~free]).all()


@pytest.mark.parametrize(("symmetry", "count"), [(True, CLASSES), (False, POSITIONS)])
def test_every_position_but_the_empty_board_learns_once(symmetry, count):
    alone = Config(steps=400_000, tables=1, symmetry=symmetry, epsilon=1.0, epsilon_end=1.0)
    assert (trained(page, alone).games > 0).sum() == count - 1


def test_a_draw_that_gives_as_much_as_a_win_makes_a_player_that_never_loses_and_seldom_wins():
    """What nestedsoftware/tictac learns: unbeatable, and wins well below 91.6 % as O."""
    options = {**page.PRESETS["tictac"].options, "games": 1_024, "judge_every": 20_000}
    config = Config(**{**options, "steps": 150_000, "anneal_steps": 150_000})
    results = evaluate(trained(page, config).policy())
    assert results.unbeatable
    assert 0.4 < results.o.win < 0.85


def test_snapshots_begin_with_the_untrained_table_and_are_never_more_than_asked_for():
    learner = page.begin(replace(SMALL, opponents="self:1"))
    untrained = learner.policy().table.argmax(axis=1)
    (first,) = learner.state()["pool"]["snapshots"]
    assert (first == untrained).all()
    learner.advance(2_000)
    assert len(learner.state()["pool"]["snapshots"]) == 3


def test_opponents_are_cycled_on_and_snapshots_are_kept_where_a_training_continues():
    config = replace(SMALL, turns="cycled", opponents="random,minimax,self")
    part, rest = trained(page, config, evaluations=2), page.begin(config)
    rest.steps = part.steps
    rest.restore(part.model(), part.state())
    rest.advance(config.steps - rest.steps)
    assert (rest.values == trained(page, config).values).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goal", "options"),
    [
        *(("optimal", {"seed": s, "steps": 12_000_000}) for s in range(10)),
        *(("optimal", {"seed": s, "steps": 12_000_000, "symmetry": False}) for s in range(10)),
        *(("unbeatable", {"seed": s, "steps": 4_000_000, "opponents": "self"}) for s in range(10)),
        ("unbeatable", {"rows": 2, "cols": 5}),  # 15,983 positions, a draw with best play
    ],
)
def test_every_seed_reaches_what_its_opponents_can_teach(goal, options):
    assert evaluate(trained(page, Config(**options), goal).policy()).reached(goal)
