"""What the environments can be told, and how they refuse the rest; every test runs on one game and on many."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from sample_players import CellPlayer, FixedPlayer, fixed_table

from tictactoe_env import IllegalMoveError, RandomPolicy, Rules, TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.observation import last_move
from tictactoe_env.positions import positions_of

BOTH = pytest.mark.parametrize(
    "make",
    [TicTacToeEnv, lambda **arguments: TicTacToeVectorEnv(3, **arguments)],
    ids=["one", "many"],
)

BAD_ARGUMENTS = [
    ({"opponent": "minmax"}, "unknown opponent 'minmax'; did you mean 'minimax'?"),
    ({"opponent": "rando"}, "did you mean 'random'?"),
    ({"opponent": "minimax-last"}, "did you mean 'minimax-first'?"),
    ({"opponent": ""}, "unknown opponent ''"),
    ({"opponent": "x" * 5000}, "unknown opponent"),
    ({"opponent": "minimax-slip=2"}, "slip must be a probability from 0 to 1, got 2.0"),
    ({"opponent": "minimax-slip=1e"}, "slip of an opponent must be a probability"),
    ({"opponent": None}, "got None of type NoneType"),
    ({"opponent": 3}, "got 3 of type int"),
    ({"opponent": {"random": 1}}, "of type dict"),
    ({"opponent": []}, "must be a list of [opponent, weight]"),
    ({"opponent": ["random", "minimax"]}, "must be a list of [opponent, weight]"),
    ({"opponent": [["random", 1, 2]]}, "must be a list of [opponent, weight]"),
    (
        {"opponent": [["random", -1], ["minimax", 2]]},
        "weights must be finite, not negative and not all zero",
    ),
    ({"opponent": [["random", 0]]}, "weights must be finite, not negative and not all zero"),
    ({"opponent": [["random", math.nan]]}, "weights must be finite"),
    ({"opponent": [["random", math.inf]]}, "weights must be finite"),
    ({"opponent": [["random", None]]}, "weights must be finite"),
    ({"opponent": [["random", "half"]]}, "weights must be finite"),
    ({"opponent": [["random", 10**400]]}, "weights must be finite"),
    ({"opponent": [["random", 1], ["minmax", 1]]}, "did you mean 'minimax'?"),
    ({"side": "Y"}, "unknown side 'Y'"),
    ({"side": "alternating"}, "did you mean 'alternate'?"),
    ({"side": b"X"}, "unknown side b'X'"),
    ({"side": None}, "unknown side None"),
    ({"side": 1}, "unknown side 1"),
    ({"rows": 0}, "rows must be a whole number of at least 1, got 0"),
    ({"rows": -3}, "rows must be a whole number of at least 1, got -3"),
    ({"rows": True}, "rows must be a whole number of at least 1, got the bool True"),
    ({"cols": 3.0}, "cols must be a whole number of at least 1, got 3.0 of type float"),
    ({"cols": "3"}, "cols must be a whole number of at least 1, got '3' of type str"),
    ({"k": None}, "k must be a whole number of at least 1, got None"),
    ({"k": 4}, "k must be at most max(rows, cols) = 3, got 4"),
    ({"rows": 8, "cols": 8}, "needs 72 bits, more than 64"),
    ({"illegal": "lost"}, "did you mean 'lose'?"),
    ({"illegal": False}, "unknown treatment of illegal moves False"),
    ({"rewards": {"wins": 1}}, "unknown reward 'wins'; did you mean 'win'?"),
    ({"rewards": {"win": "1"}}, "the reward for 'win' must be a finite number, got '1'"),
    ({"rewards": {"draw": math.nan}}, "the reward for 'draw' must be a finite number"),
    ({"rewards": {"loss": -math.inf}}, "the reward for 'loss' must be a finite number"),
    ({"rewards": {"illegal": True}}, "the reward for 'illegal' must be a finite number"),
    ({"rewards": {"win": 10**400}}, "the reward for 'win' must be a finite number"),
    ({"rewards": {"win": None}}, "the reward for 'win' must be a finite number"),
    ({"rewards": [1, 0, -1, -1]}, "rewards must be a mapping such as"),
    ({"observation": "plane"}, "did you mean 'planes'?"),
    ({"observation": 2}, "unknown observation 2"),
    ({"opening": "d1"}, 'a cell of 3x3 is a column letter and a row number, "a1" to "c3"'),
    ({"opening": "b2 b2"}, "cell 4 is taken in"),
    ({"opening": "a1 a2 b1 b2 c1"}, 'leaves a finished game, "XXX/OO./..."'),
    ({"opening": "a1 a2 b1 b2 c1 c2"}, "the game is over"),
    ({"opening": None}, "a game must be text"),
    ({"opening": ["b2"]}, "a game must be text"),
    (
        {"opening": "b2", "start": "random"},
        'opening and a start other than "empty" exclude each other',
    ),
    ({"opening": "a1 b1 c1 a2 c2 b2 b3 c3 a3", "early_draw": False}, "finished game"),
    ({"opening": "b1 a1 a2 c1 b2 c2 c3 b3", "early_draw": True}, "finished game"),
    ({"start": "randon"}, "did you mean 'random'?"),
    ({"start": "random", "rows": 5, "cols": 5}, "at most 16"),
    ({"early_draw": 1}, "early_draw must be True or False, got 1"),
    ({"early_draw": "yes"}, "early_draw must be True or False, got 'yes'"),
    ({"render_mode": "rgb_aray"}, "did you mean 'rgb_array'?"),
    ({"render_mode": 1}, "unknown render mode 1"),
    ({"render_mode": "human"}, 'opens a window through gym.make(..., render_mode="human")'),
    (
        {"opponent": "minimax", "rows": 5, "cols": 5},
        "positions of a board of 5x5 are too many to enumerate: at most 16 cells",
    ),
]


@BOTH
@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS, ids=lambda value: str(value)[:40])
def test_a_bad_argument_is_refused_with_what_is_wrong(make, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make(**arguments)


@BOTH
def test_an_opponent_whose_path_holds_no_run_is_refused_with_the_path(make, tmp_path):
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(str(tmp_path / "no-run"))):
        make(opponent=str(tmp_path / "no-run"))


@BOTH
@pytest.mark.parametrize(
    "table",
    [
        np.full((4520, 9), np.nan),
        np.full((4520, 9), 0.5),
        np.ones((4520, 9)) * [-1, 2, 0, 0, 0, 0, 0, 0, 0],
        np.ones((4520, 8)) / 8,
    ],
    ids=["nan", "sums to 4.5", "negative", "wrong shape"],
)
def test_an_opponent_whose_probabilities_are_none_is_refused(make, table):
    class Broken:
        def probs(self, boards):
            return table[: len(boards)]

    with pytest.raises(ValueError, match="probabilities must"):
        make(opponent=Broken())


@BOTH
def test_a_table_for_another_board_is_refused(make):
    with pytest.raises(
        ValueError, match="this player plays on 2x3, 2 in a row, not on 3x3, 3 in a row"
    ):
        make(opponent=fixed_table(Rules(2, 3, 2)))


@pytest.mark.parametrize("num_envs", [0, -1, True, 2.0, "2", None, math.nan])
def test_the_number_of_games_is_a_whole_number_of_at_least_one(num_envs):
    with pytest.raises(ValueError, match="num_envs must be a whole number of at least 1"):
        TicTacToeVectorEnv(num_envs)


@pytest.mark.parametrize(
    ("mode", "guess"),
    [("same_stop", "SAME_STEP"), ("NEXT", "NEXT_STEP"), (None, ""), (3, ""), (["x"], "")],
)
def test_an_unknown_autoreset_mode_is_refused(mode, guess):
    with pytest.raises(ValueError, match=f"unknown autoreset mode .*{guess}"):
        TicTacToeVectorEnv(2, autoreset_mode=mode)


# --- reset ------------------------------------------------------------------------------------------------------

BAD_SEEDS = [-1, 1.0, True, np.True_, "1", math.nan, math.inf, [1], (1, 2), {}]
BAD_OPTIONS = [
    ([], "options must be a mapping with the keys side, opponent, board"),
    ("", "options must be a mapping"),
    (0, "options must be a mapping"),
    (False, "options must be a mapping"),
    ("side", "options must be a mapping"),
    ([("side", "X")], "options must be a mapping"),
    ({"sid": "X"}, "unknown reset option 'sid'; did you mean 'side'?"),
    ({1: 2}, "unknown reset option 1"),
    ({"seed": 1}, "unknown reset option 'seed'"),
    ({"side": "x"}, "unknown side 'x'; did you mean 'X'"),
    ({"side": "random"}, "unknown side 'random'"),
    ({"side": None}, "unknown side None"),
    ({"side": 1}, "unknown side 1"),
    ({"opponent": "minimaks"}, "did you mean 'minimax'?"),
    ({"opponent": None}, "got None"),
    ({"opponent": []}, "must be a list of [opponent, weight]"),
    ({"board": None}, "a board must be text such as"),
    ({"board": 5}, "a board must be text such as"),
    ({"board": np.zeros(9, dtype=np.int8)}, "a board must be text such as"),
    ({"board": ""}, 'must be 3 rows of 3 cells joined by "/"'),
    ({"board": "X.O"}, 'must be 3 rows of 3 cells joined by "/"'),
    ({"board": "........."}, 'must be 3 rows of 3 cells joined by "/"'),
    ({"board": ".../.../.../"}, 'must be 3 rows of 3 cells joined by "/"'),
    ({"board": "x../.../..."}, 'must hold only "X", "O" and "."'),
    ({"board": "X0./.../..."}, 'must hold only "X", "O" and "."'),
    ({"board": "XX./.../..."}, "got 2 X and 0 O"),
    ({"board": "O../.../..."}, "got 0 X and 1 O"),
    ({"board": "XXX/OOO/..."}, "both sides have 3 in a row"),
    ({"board": "XXX/OO./..."}, "leaves a finished game"),
    ({"board": "XXX/OO./O.."}, "nobody can have moved after it"),
    ({"board": "OOO/XX./XX."}, "nobody can have moved after it"),
    ({"board": "XOX/XXO/OXO"}, "leaves a finished game"),
]


@BOTH
@pytest.mark.parametrize("seed", BAD_SEEDS, ids=repr)
def test_a_seed_is_a_whole_number_of_at_least_zero(make, seed):
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0 or None"):
        make().reset(seed=seed)


@BOTH
@pytest.mark.parametrize("seed", [0, 2**70, np.int64(3), np.uint8(3)], ids=repr)
def test_a_seed_may_be_any_kind_of_whole_number(make, seed):
    first, again = make().reset(seed=seed), make().reset(seed=int(seed))
    assert np.array_equal(first[0], again[0])


@BOTH
@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS, ids=lambda value: str(value)[:30])
def test_a_bad_reset_option_is_refused_with_what_is_wrong(make, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make().reset(options=options)


@pytest.mark.parametrize(
    "mask",
    [
        [True, True, False],
        np.ones(3, dtype=np.int8),
        np.ones(2, dtype=bool),
        np.zeros(3, dtype=bool),
        np.ones((3, 1), dtype=bool),
        True,
    ],
)
def test_a_reset_mask_is_a_bool_array_with_one_entry_a_game(mask):
    env = TicTacToeVectorEnv(3)
    env.reset(seed=0)
    with pytest.raises(
        ValueError,
        match=re.escape("reset_mask must be a bool array of the shape (3,) with at least one True"),
    ):
        env.reset(options={"reset_mask": mask})


def test_the_first_reset_starts_all_games():
    with pytest.raises(ValueError, match="the first reset must start all games"):
        TicTacToeVectorEnv(2).reset(options={"reset_mask": np.array([True, False])})


def test_one_game_knows_no_reset_mask():
    with pytest.raises(ValueError, match="unknown reset option 'reset_mask'"):
        TicTacToeEnv().reset(options={"reset_mask": np.array([True])})


def test_the_board_option_is_checked_against_the_size_of_the_board():
    env = TicTacToeEnv(rows=2, cols=3, k=2)
    with pytest.raises(ValueError, match='2 rows of 3 cells joined by "/"'):
        env.reset(options={"board": "X../.../..."})
    with pytest.raises(ValueError, match="finished game"):
        env.reset(options={"board": "XX./O.."})
    env.reset(options={"board": "X../.O.", "side": "X"})
    assert env.board.tolist() == [1, 0, 0, 0, -1, 0]


@BOTH
def test_a_board_without_an_open_line_is_finished_only_with_early_draw(make):
    dead = "OXO/XXO/.OX"
    with pytest.raises(ValueError, match="finished game"):
        make(early_draw=True).reset(options={"board": dead})
    make(early_draw=False).reset(options={"board": dead, "side": "X"})


# --- what is drawn ----------------------------------------------------------------------------------------------


def test_the_default_rewards_and_any_part_of_them_can_be_given():
    assert TicTacToeEnv().config.reward_table.tolist() == [0, 1, 0, -1, -1, 1]
    assert TicTacToeEnv(rewards={"draw": 0.5, "illegal": -3}).config.reward_table.tolist() == [
        0,
        1,
        0.5,
        -1,
        -3,
        1,
    ]
    assert TicTacToeEnv(rewards={}).config.reward_table.tolist() == [0, 1, 0, -1, -1, 1]
    assert TicTacToeEnv(
        rewards={"win": 2, "draw": 1, "loss": 0, "illegal": np.float64(-5)}
    ).config.reward_table.tolist() == [0, 2, 1, 0, -5, 2]


def test_the_given_rewards_are_not_changed_and_later_changes_to_them_do_not_count():
    rewards = {"win": 5}
    env = TicTacToeEnv(side="X", rewards=rewards)
    rewards["win"] = 7
    env.reset(options={"board": "XX./OO./..."})
    assert env.step(2)[1] == 5.0
    assert rewards == {"win": 7}


def chi_square(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


def test_random_starts_are_uniform_over_the_4520_unfinished_positions():
    games = 4520 * 40
    env = TicTacToeVectorEnv(games, start="random", opponent="random")
    env.reset(seed=0)
    rows = positions_of(Rules()).rows(env.boards)
    counts = np.bincount(rows, minlength=5478)[positions_of(Rules()).unfinished]
    assert counts.sum() == games
    assert chi_square(counts, 40.0) < 4519 + 5 * math.sqrt(2 * 4519)  # five standard deviations
    assert chi_square(counts, 40.0) > 4519 - 5 * math.sqrt(2 * 4519)


def test_random_starts_of_one_game_are_uniform_over_the_unfinished_positions_of_a_board_that_is_not_square():
    rules = Rules(2, 3, 2)
    env = TicTacToeEnv(start="random", rows=2, cols=3, k=2)
    positions, count = positions_of(rules), 60
    unfinished = len(positions.unfinished)
    env.reset(seed=0)
    rows = []
    for _ in range(unfinished * count):
        env.reset()
        rows.append(env.board)
    counts = np.bincount(positions.rows(np.array(rows)), minlength=len(positions))
    assert (counts[positions.is_over] == 0).all()
    degrees = unfinished - 1
    assert abs(chi_square(counts[positions.unfinished], float(count)) - degrees) < 5 * math.sqrt(
        2 * degrees
    )


@BOTH
@pytest.mark.parametrize("side", ["X", "O", "random", "alternate"])
def test_the_learner_is_to_move_after_every_reset(make, side):
    for start in ("empty", "random"):
        env = make(side=side, start=start)
        for seed in range(60):
            _, info = env.reset(seed=seed) if seed % 3 else env.reset()
            boards = np.atleast_2d(env.boards if isinstance(env, TicTacToeVectorEnv) else env.board)
            expected = np.where((boards != 0).sum(axis=1) % 2 == 0, "X", "O")
            assert np.array_equal(np.atleast_1d(info["side"]), expected)
            assert side not in ("X", "O") or set(expected) == {side}


@BOTH
def test_random_starts_with_early_draw_leave_a_line_open(make):
    env = make(start="random", early_draw=True, opponent="random")
    rules = Rules()
    for seed in range(300):
        env.reset(seed=seed)
        boards = np.atleast_2d(env.boards if isinstance(env, TicTacToeVectorEnv) else env.board)
        assert not rules.is_dead(*rules.to_bits(boards)).any()


@BOTH
def test_a_board_that_one_mark_wins_has_no_random_start_for_o(make):
    with pytest.raises(ValueError, match="no unfinished position"):
        make(k=1, side="O", start="random").reset(seed=0)
    make(k=1, side="X", start="random").reset(seed=0)


@BOTH
def test_an_opponent_that_may_end_the_game_before_the_learner_has_moved_is_refused(make):
    refused = pytest.raises(
        ValueError,
        match="the opponent may end the game before the learner's first move: give side=",
    )
    for arguments in (
        {"k": 1, "side": "O"},
        {"k": 1},
        {"side": "X", "opening": "a1 b1 a2 b2 c3"},
        {"opponent": [["random", 1], [CellPlayer(4), 0.1]], "side": "X", "opening": "b2"},
        {"early_draw": True, "side": "X", "opening": "b2 a1 c1 a3 a2 c2 b3"},
    ):
        with refused:
            make(**arguments)
    make(k=1, side="X").reset(seed=0)
    make(side="X", opening="a1 b1 a2 b2 c3", opponent=CellPlayer(2)).reset(
        seed=0
    )  # an opponent that leaves its line alone
    env = make(side="O", opponent="minimax-first")
    for options in (
        {"board": "XX./OO./..."},
        {"side": "X", "board": "XX./OO./X..", "opponent": "random"},
    ):
        with refused:
            env.reset(seed=0, options=options)
    env.set_opponent(CellPlayer(8))
    env.reset(seed=0, options={"board": "XX./OO./..."})


@BOTH
def test_the_opening_is_on_the_board_and_the_right_side_moves_next(make):
    for opening, marks in (("", 0), ("b2", 1), ("b2 a1", 2), ("b2 a1 c3", 3)):
        env = make(opening=opening, side="X", opponent=FixedPlayer(0))
        env.reset(seed=0)
        boards = np.atleast_2d(env.boards if isinstance(env, TicTacToeVectorEnv) else env.board)
        assert ((boards != 0).sum(axis=1) == marks + marks % 2).all()
        assert marks == 0 or (boards[:, 4] == 1).all()


@BOTH
def test_the_opening_must_be_legal_on_its_own_board(make):
    with pytest.raises(IllegalMoveError, match="cell 0 is taken"):
        make(rows=2, cols=3, k=3, opening="a1 a1")
    env = make(rows=2, cols=3, k=3, opening="c2", side="O")
    env.reset()


@pytest.mark.parametrize(
    ("before", "after", "seat", "cell"),
    [
        (".........", "X........", 1, 0),
        (".........", "X...O....", 1, 4),
        (".........", "X...O....", -1, 0),
        ("X...O....", "X...O....", 1, None),
        ("XX.OO....", "XXXOO....", 1, 2),
    ],
)
def test_the_last_move_is_the_opponents_reply_if_there_is_one(before, after, seat, cell):
    boards = [
        np.array([{"X": 1, "O": -1, ".": 0}[mark] for mark in text], dtype=np.int8)
        for text in (before, after)
    ]
    assert last_move(*boards, seat) == cell


def test_an_opponent_may_be_an_object_with_probs_or_with_predict():
    class Model:
        def predict(self, observation, deterministic=False):
            free = observation.reshape(len(observation), 2, 9).sum(axis=1) == 0
            return free.argmax(axis=1), None

    env = TicTacToeEnv(opponent=Model(), side="X")
    env.reset()
    env.step(4)
    assert env.board.tolist() == [-1, 0, 0, 0, 1, 0, 0, 0, 0]
    env = TicTacToeEnv(opponent=RandomPolicy(), side="O")
    assert env.reset(seed=0)[1]["action_mask"].sum() == 8
