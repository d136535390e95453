"""agents/tabular_q.py: its arithmetic, that it is reproducible to the bit, and that it learns what is known to be true."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from small_runs import python, saving

from agents import tabular_q
from tictactoe_env.notation import parse_board
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.solver import solve
from training.evaluation import judge, silent
from training.files import read_arrays

RULES = Rules()
SMALL = tabular_q.Config(steps=2_000, games=32, judge_every=500, snapshot_every=300, snapshots=3)
CLASSES = 765  # positions up to the symmetries of the square, the empty board included
POSITIONS = 5_478


def bytes_of(folder):
    return (folder / "model.safetensors").read_bytes(), (folder / "state.safetensors").read_bytes()


def row(text):
    return int(positions_of(RULES).rows(parse_board(text, RULES)[None])[0])


def place(text):
    """Where a position's value is in the table that symmetric positions share."""
    return int(positions_of(RULES).canonical[row(text)])


@pytest.fixture(scope="module")
def trained():
    """Trained until both limits are reached, about 0.2 s: (learner's table, its values by position)."""
    return tabular_q.train(tabular_q.Config(steps=400_000), silent())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run with a pool of everything, saved at its last judgement: (config, table, folder)."""
    config, folder = (
        replace(SMALL, opponents="random:0.5,minimax:0.25,self:0.25"),
        tmp_path_factory.mktemp("run"),
    )
    return config, tabular_q.train(config, saving(folder)), folder


# --- configuration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be"),
        ({"games": 1}, "games must be a whole number of at least 2, got 1"),
        ({"tables": True}, "tables must be"),
        ({"epsilon": 1.5}, "epsilon must be a probability"),
        ({"rate_power": float("nan")}, "rate_power must be a probability"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"initial": float("inf")}, "initial must be a finite number"),
        ({"turns": "cycle"}, "did you mean 'cycled'"),
        ({"rewards": "not-loosing"}, "did you mean 'not-losing'"),
        ({"rewards": "1,0"}, "three numbers"),
        ({"rewards": "1,nan,0"}, "rewards must be finite"),
        ({"opponents": "minmax"}, "did you mean 'minimax'"),
        ({"k": 4}, "k must be at most"),
        ({"rows": 4, "cols": 4, "k": 4}, "boards of at most"),
    ],
)
def test_a_bad_configuration_is_refused_with_a_reason(wrong, words):
    with pytest.raises(ValueError, match=words):
        tabular_q.Config(**wrong)


@pytest.mark.parametrize(
    ("text", "rewards"),
    [("win-loss", (1, 0, -1)), ("not-losing", (1, 1, 0)), ("1, 0.5,-2", (1, 0.5, -2))],
)
def test_rewards_are_a_name_or_three_numbers(text, rewards):
    assert tabular_q.parse_rewards(text) == rewards


def test_exploration_falls_at_each_tenth_down_to_its_end():
    learner = tabular_q.Learner(
        tabular_q.Config(epsilon=0.7, epsilon_drop=0.1, epsilon_end=0.0, anneal_steps=1_000)
    )
    seen = []
    for learner.steps in (0, 99, 100, 199, 650, 700, 5_000):
        seen.append(round(learner.epsilon, 12))
    assert seen == [0.7, 0.7, 0.6, 0.6, 0.1, 0.0, 0.0]


# --- the update --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetry", [True, False])
def test_a_move_is_worth_what_the_position_after_it_is(symmetry):
    """Boards that are images of each other have images of the same values, where they share them."""
    learner = tabular_q.Learner(tabular_q.Config(symmetry=symmetry))
    empty = learner.after[0]
    assert len(set(empty.tolist())) == (3 if symmetry else 9)
    assert (learner.after[row("X../.../...")] == learner.values.shape[1] - 1).tolist() == [True] + [
        False
    ] * 8
    assert len(set(learner.after.ravel().tolist())) == (
        CLASSES if symmetry else POSITIONS
    )  # no empty board, but the place of no move


def test_one_game_moves_a_value_by_its_rate_and_later_games_by_less():
    learner = tabular_q.Learner(replace(SMALL, tables=1, rate_power=1.0))
    for target, mean in ((1.0, 1.0), (0.0, 0.5), (0.5, 0.5), (1.0, 0.625)):
        learner._move(np.array([0]), np.array([7]), np.array([target]))
        if learner.games[0, 7] > 1:
            assert 0 < learner.values[0, 7] < 1
        else:
            assert learner.values[0, 7] == mean
    assert learner.games[0].tolist() == [0] * 7 + [4] + [0] * (POSITIONS - 8)


def test_games_of_one_round_move_a_value_as_much_as_one_after_the_other():
    """A constant rate of 0.4, three games of the same target: 1 - 0.6^3 of the way."""
    learner = tabular_q.Learner(replace(SMALL, tables=1, learning_rate=0.4, rate_power=0.0))
    learner._move(np.array([0, 0, 0]), np.array([7, 7, 7]), np.array([1.0, 1.0, 1.0]))
    assert learner.values[0, 7] == pytest.approx(1 - 0.6**3, abs=1e-15)


def test_a_table_learns_by_the_values_of_the_others():
    """Its own best move, valued by the mean of the other two tables."""
    learner = tabular_q.Learner(replace(SMALL, tables=3))
    corner, edge = place("X../.../..."), place(".X./.../...")
    (
        learner.values[0, [corner, edge]],
        learner.values[1, [corner, edge]],
        learner.values[2, [corner, edge]],
    ) = (0.9, 0.1), (0.2, 0.8), (0.4, 0.3)
    best = learner._best(np.array([0, 1, 2]), np.zeros(3, dtype=np.intp))
    assert best == pytest.approx([(0.2 + 0.4) / 2, (0.1 + 0.3) / 2, (0.9 + 0.2) / 2])
    alone = tabular_q.Learner(replace(SMALL, tables=1))
    alone.values[0, [corner, edge]] = (0.2, 0.7)
    assert alone._best(np.array([0]), np.array([0])).tolist() == [0.7]


@pytest.mark.parametrize(
    ("rewards", "expected"), [("win-loss", -1.0), ("not-losing", 0.0), ("1,0,-3", -3.0)]
)
def test_a_result_reaches_the_first_move_of_its_game_at_once(rewards, expected):
    """Learned from the last move back to the first: X a1, b1, a3 against O c1, c2, c3."""
    learner = tabular_q.Learner(
        replace(SMALL, games=2, tables=1, rewards=rewards, initial=min(-3.0, expected))
    )
    moves = [
        (".../.../...", "X../.../..."),
        ("X.O/.../...", "XXO/.../..."),
        ("XXO/..O/...", "XXO/..O/X.."),
    ]
    game = np.array([0])
    moved = [(game, np.array([row(before)]), np.array([place(after)])) for before, after in moves]
    ends = np.array([row("XXO/..O/X.O"), 0])
    learner._learn(moved, ends, np.array([True, False]))
    assert [learner.values[0, place(after)] for _, after in moves] == [expected] * 3


# --- what is learned, with numbers from outside --------------------------------------------------------------------------


def best_answer_values(slip):
    """Expected result of each first move as X against `minimax-slip`, the best moves following, by plain recursion."""
    positions, solution = positions_of(RULES), solve(RULES)

    @cache
    def value(at):
        if positions.is_over[at]:
            return float(positions.outcome_x[at])
        children = [int(child) for child in positions.children[at] if child >= 0]
        if positions.x_to_move[at]:
            return max(value(child) for child in children)
        perfect = [child for child in children if -solution.value[child] == solution.value[at]]
        return (1 - slip) * np.mean([value(child) for child in perfect]) + slip * np.mean(
            [value(child) for child in children]
        )

    return [value(int(child)) for child in positions.children[0]]


def test_the_values_of_the_first_moves_are_those_of_the_best_answer(trained):
    assert trained.q_values(np.zeros((1, 9), dtype=np.int8))[0] == pytest.approx(
        best_answer_values(0.6), abs=0.02
    )


def test_it_reaches_both_mathematical_limits_within_a_second(trained):
    """191/192 wins as X, 866/945 as O, no loss to anyone; an untrained table wins about half of its games and can be beaten."""
    figures = judge(trained)
    assert figures.optimal
    assert not judge(tabular_q.Learner(SMALL).table()).unbeatable_o


def test_every_position_has_a_value_once_and_without_symmetry_each_has_its_own(tmp_path):
    for symmetry, count in (
        (True, CLASSES - 1),
        (False, POSITIONS - 1),
    ):  # nobody moves to the empty board
        config = tabular_q.Config(
            steps=400_000,
            judge_every=400_000,
            tables=1,
            symmetry=symmetry,
            epsilon=1.0,
            epsilon_end=1.0,
        )
        tabular_q.train(config, saving(tmp_path / str(symmetry)))
        games = read_arrays(tmp_path / str(symmetry) / "state.safetensors")[0]["games"]
        assert (games > 0).sum() == count


def test_a_draw_that_gives_as_much_as_a_win_makes_a_player_that_never_loses_and_seldom_wins():
    """What nestedsoftware/tictac learns: it cannot be beaten, and wins well below the limit of 91.6 % as O."""
    config = tabular_q.Config(
        steps=150_000,
        rewards="not-losing",
        opponents="random",
        learning_rate=0.4,
        rate_power=0.0,
        epsilon_end=0.0,
        anneal_steps=150_000,
    )
    figures = judge(tabular_q.train(config, silent()))
    assert figures.unbeatable
    assert 0.4 < figures.o.win < 0.85


# --- the same bytes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", tabular_q.TURNS)
@pytest.mark.parametrize(
    "opponents", ["minimax-slip=0.6", "random:0.5,minimax:0.25,self:0.25", "self:1"]
)
def test_a_run_that_was_interrupted_goes_on_bit_by_bit(tmp_path, opponents, turns):
    config = replace(SMALL, opponents=opponents, turns=turns)
    whole = tabular_q.train(config, saving(tmp_path / "whole"))
    tabular_q.train(replace(config, steps=900), saving(tmp_path / "part"))
    rest = tabular_q.train(config, saving(tmp_path / "rest"), resume=tmp_path / "part")
    assert (whole.values == rest.values).all()
    assert bytes_of(tmp_path / "whole") == bytes_of(tmp_path / "rest")


def test_frozen_copies_begin_with_the_untrained_table_and_are_never_more_than_asked_for(tmp_path):
    config = replace(SMALL, opponents="self:1", steps=1, judge_every=1)
    tabular_q.train(config, saving(tmp_path / "first"))
    state, _ = read_arrays(tmp_path / "first" / "state.safetensors")
    assert (state["snapshot/0"] == tabular_q.Learner(config).table().table.argmax(axis=1)).all()
    tabular_q.train(replace(config, steps=2_000), saving(tmp_path / "later"))
    state, _ = read_arrays(tmp_path / "later" / "state.safetensors")
    assert sorted(state) == ["games", "snapshot/0", "snapshot/1", "snapshot/2"]


# --- files -----------------------------------------------------------------------------------------------------------------


def test_a_saved_run_plays_the_same_table_and_knows_its_values(run):
    _, table, folder = run
    loaded = tabular_q.load(folder)
    boards = positions_of(RULES).boards[positions_of(RULES).unfinished]
    assert (loaded.table == table.table).all()
    assert (loaded.q_values(boards) == table.values).all()
    assert (
        np.concatenate([loaded.probs(boards[i : i + 1]) for i in range(0, 4520, 500)])
        == table.table[::500]
    ).all()
    assert np.isneginf(loaded.q_values(boards)[boards != 0]).all()
    assert np.isfinite(loaded.q_values(boards)[boards == 0]).all()


def test_the_page_needs_no_torch(run):
    program = "import sys\nfrom pathlib import Path\nfrom agents import tabular_q\ntabular_q.load(Path(sys.argv[1]))\nprint('torch' in sys.modules)"
    assert python("-c", program, run[2]).stdout == "False\n"


# --- learning ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_every_seed_reaches_both_limits(seed, symmetry):
    assert judge(
        tabular_q.train(
            tabular_q.Config(seed=seed, symmetry=symmetry, steps=12_000_000), silent("optimal")
        )
    ).optimal


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_frozen_copies_of_itself_are_enough_to_become_unbeatable(seed):
    assert judge(
        tabular_q.train(
            tabular_q.Config(seed=seed, opponents="self:1", steps=4_000_000), silent("unbeatable")
        )
    ).unbeatable


@pytest.mark.slow
def test_it_learns_a_board_that_is_not_square():
    """Three in a row on two rows of five is drawn with best play; 15,983 positions."""
    assert judge(tabular_q.train(tabular_q.Config(rows=2, cols=5), silent("unbeatable"))).unbeatable
