"""One game at a time, seen from outside."""

from __future__ import annotations

import copy
import math
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from sample_players import CellPlayer, FixedPlayer, Stubborn, fixed_table

from tictactoe_env import IllegalMoveError, RandomPolicy, Rules, TicTacToeEnv
from tictactoe_env.notation import parse_board
from tictactoe_env.observation import observe

BOARDS = [
    {},
    {"rows": 2, "cols": 3, "k": 2},
    {"rows": 2, "cols": 5, "k": 3},
    {"rows": 4, "cols": 4, "k": 4},
    {"rows": 7, "cols": 8, "k": 5},
    {"rows": 1, "cols": 5, "k": 2},
]


def snapshot(env):
    """Everything that one can see of a game, and of the chance to come."""
    return env.board.tolist(), env.action_masks().tolist(), env.np_random.bit_generator.state


def play_out(env, rng, illegal_share=0.0):
    """Steps to the end of the game with random moves: the list of all that step returned."""
    results = []
    while not results or not results[-1][2]:
        legal = env.action_masks()
        cell = (
            int(rng.integers(len(legal)))
            if rng.random() < illegal_share
            else int(rng.choice(np.flatnonzero(legal)))
        )
        results.append(env.step(cell))
    return results


def texts(results):
    """Results of steps as something to compare."""
    return [
        repr([value.tolist() if isinstance(value, np.ndarray) else value for value in result[:4]])
        + repr(result[4])
        for result in results
    ]


# --- what is returned -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("board", BOARDS, ids=str)
@pytest.mark.parametrize("observation", ["planes", "grid"])
@pytest.mark.parametrize("side", ["X", "O"])
def test_every_result_has_the_documented_form_and_says_what_the_board_says(
    board, observation, side
):
    env, rng = TicTacToeEnv(side=side, observation=observation, **board), np.random.default_rng(0)
    rows, cols = env.rules.rows, env.rules.cols
    shape, low = ((2, rows, cols), 0) if observation == "planes" else ((rows, cols), -1)
    assert env.observation_space == gym.spaces.Box(low, 1, shape, np.int8)
    assert env.action_space == gym.spaces.Discrete(rows * cols)
    seat = 1 if side == "X" else -1
    outcomes = set()

    def check(seen, info, last):
        assert seen.dtype == np.int8
        assert env.observation_space.contains(seen)
        own, other = (
            (env.board == seat).reshape(rows, cols),
            (env.board == -seat).reshape(rows, cols),
        )
        expected = np.stack([own, other]) if observation == "planes" else own.astype(int) - other
        assert np.array_equal(seen, expected)
        assert info["action_mask"].dtype == np.int8
        assert np.array_equal(info["action_mask"], env.board == 0)
        assert env.action_masks().dtype == np.bool_
        assert np.array_equal(env.action_masks(), env.board == 0)
        assert info["side"] == side
        assert set(info) == (
            {"action_mask", "side", "outcome", "illegal_move"} if last else {"action_mask", "side"}
        )

    for _ in range(12):
        seen, info = env.reset(seed=int(rng.integers(1000)))
        check(seen, info, False)
        assert (env.board != 0).sum() == (side == "O")
        terminated = False
        while not terminated:
            seen, reward, terminated, truncated, info = env.step(
                int(rng.choice(np.flatnonzero(env.action_masks())))
            )
            assert type(reward) is float
            assert type(terminated) is bool
            assert truncated is False
            check(seen, info, terminated)
            if terminated:
                outcomes.add(info["outcome"])
                assert type(info["outcome"]) is str
                assert info["illegal_move"] is False
                assert reward == {"win": 1.0, "draw": 0.0, "loss": -1.0}[info["outcome"]]
            else:
                assert reward == 0.0
    assert outcomes & {"win", "loss"} or board.get("k", 3) == 4


def test_returned_arrays_share_no_memory_with_each_other_nor_with_the_game():
    for board in BOARDS:
        env = TicTacToeEnv(side="X", opponent=FixedPlayer(0), **board)
        seen, info = env.reset(seed=0)
        again, info_again = env.reset(seed=0)
        stepped, *_, info_stepped = env.step(0)
        arrays = [
            seen,
            info["action_mask"],
            again,
            info_again["action_mask"],
            stepped,
            info_stepped["action_mask"],
            env.action_masks(),
            env.board,
        ]
        for i, first in enumerate(arrays):
            for second in arrays[i + 1 :]:
                assert not np.shares_memory(first, second)
        before = snapshot(env)
        for array in arrays:
            array[...] = 1
        assert snapshot(env) == before
        assert np.array_equal(env.reset(seed=0)[0], np.zeros_like(seen))


# --- how games end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "side", "cell", "opponent", "outcome", "illegal"),
    [
        ("XX./OO./...", "X", 2, "random", "win", False),
        ("XX./OO./X..", "O", 5, "random", "win", False),
        ("XX./OO./...", "X", 8, CellPlayer(5), "loss", False),
        ("XX./O../O..", "X", 8, CellPlayer(2), None, False),
        ("XOX/XOO/OX.", "X", 8, "random", "draw", False),
        ("XOX/XO./O.X", "X", 7, CellPlayer(5), "draw", False),
        ("XX./OO./...", "X", 0, "random", "loss", True),
        ("XX./OO./...", "X", 3, "random", "loss", True),
        ("XX./OO./...", "X", 8, CellPlayer(0), "win", True),
        ("XX./OO./...", "X", 8, CellPlayer(8), "win", True),
        ("X../.../...", "O", 1, CellPlayer(1), "win", True),
    ],
)
def test_a_game_ends_as_the_board_says(board, side, cell, opponent, outcome, illegal):
    env = TicTacToeEnv(
        opponent=opponent, rewards={"win": 10, "draw": 5, "loss": -10, "illegal": -20}
    )
    env.reset(seed=0, options={"board": board, "side": side})
    _, reward, terminated, truncated, info = env.step(cell)
    assert truncated is False
    assert terminated is (outcome is not None)
    assert info.get("outcome") == outcome
    assert info.get("illegal_move", False) is illegal
    expected = {None: 0.0, "win": 10.0, "draw": 5.0, "loss": -20.0 if illegal else -10.0}[outcome]
    assert reward == expected


def test_the_loser_gets_minus_one_when_the_opponent_replies_with_a_line():
    env = TicTacToeEnv(opponent=CellPlayer(5))
    env.reset(options={"board": "XX./OO./...", "side": "X"})
    seen, reward, terminated, _, info = env.step(8)
    assert (reward, terminated, info["outcome"]) == (-1.0, True, "loss")
    assert seen[1].tolist() == [[0, 0, 0], [1, 1, 1], [0, 0, 0]], (
        "the winning reply is on the last observation"
    )


def test_every_finished_game_is_a_line_a_full_board_or_an_illegal_move():
    seen = set()
    for board in BOARDS:
        env, rng = TicTacToeEnv(opponent=Stubborn(), **board), np.random.default_rng(1)
        rules = env.rules
        for game in range(150):
            _, info = env.reset(seed=game)
            seat = 1 if info["side"] == "X" else -1
            *_, info = play_out(env, rng, 0.05)[-1]
            won = {
                mark: any((env.board[list(line)] == mark).all() for line in rules.lines)
                for mark in (1, -1)
            }
            seen.add((info["outcome"], info["illegal_move"]))
            if info["illegal_move"]:
                assert info["outcome"] in ("win", "loss")
                assert not won[1]
                assert not won[-1]
            else:
                assert won[seat] == (info["outcome"] == "win")
                assert won[-seat] == (info["outcome"] == "loss")
                assert info["outcome"] != "draw" or (env.board != 0).all()
    assert seen == {("win", True), ("loss", True), ("win", False), ("loss", False), ("draw", False)}


@pytest.mark.parametrize(
    "board",
    [
        {},
        {"rows": 2, "cols": 5, "k": 3},
        {"rows": 4, "cols": 3, "k": 3},
        {"rows": 4, "cols": 5, "k": 4},
    ],
    ids=str,
)
def test_early_draw_ends_a_game_exactly_when_no_line_is_open(board):
    env, rng = TicTacToeEnv(early_draw=True, **board), np.random.default_rng(0)
    early = 0

    def is_dead():
        lines = [env.board[list(line)] for line in env.rules.lines]
        return all((line == 1).any() and (line == -1).any() for line in lines)

    for game in range(400):
        env.reset(seed=game)
        terminated = False
        while not terminated:
            assert not is_dead()
            *_, terminated, _, info = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
        if info["outcome"] == "draw":
            assert is_dead()
            early += (env.board == 0).any()
    assert early > 0


def test_early_draw_can_come_before_the_opponents_reply_or_with_it():
    env = TicTacToeEnv(early_draw=True, opponent=CellPlayer(5))
    for board, side, cell in (("OXO/XX./.OX", "O", 5), ("OXO/X../.OX", "X", 4)):
        env.reset(options={"board": board, "side": side})
        *_, terminated, _, info = env.step(cell)
        assert env.board.tolist() == parse_board("OXO/XXO/.OX", Rules()).tolist()
        assert (terminated, info["outcome"], info["illegal_move"]) == (True, "draw", False)


# --- bad actions ------------------------------------------------------------------------------------------------

BAD_ACTIONS = [
    True,
    False,
    np.True_,
    np.array(True),
    0.0,
    4.5,
    np.float64(4),
    np.array(4.0),
    math.nan,
    math.inf,
    -math.inf,
    None,
    "4",
    "",
    b"4",
    [4],
    (4,),
    np.array([4]),
    {},
    4j,
    -1,
    9,
    2**63,
    -(2**63),
    2**64,
    np.int64(-1),
    np.int64(9),
    np.uint64(2**63),
    slice(4),
    ...,
]


@pytest.mark.parametrize("illegal", ["lose", "raise"])
@pytest.mark.parametrize("action", BAD_ACTIONS, ids=repr)
def test_an_action_that_is_no_cell_is_refused_and_the_game_goes_on(illegal, action):
    for board in ({}, {"rows": 4, "cols": 2, "k": 2}):  # cell 8 is on the first board only
        env = TicTacToeEnv(side="X", illegal=illegal, opponent=FixedPlayer(0), **board)
        env.reset(seed=0)
        before = snapshot(env)
        with pytest.raises(
            ValueError,
            match=f"an action must be a whole number from 0 to {env.rules.cells - 1}, got",
        ):
            env.step(action)
        assert snapshot(env) == before
        assert env.step(0)[2] is False


@pytest.mark.parametrize(
    "action",
    [
        4,
        np.int64(4),
        np.int8(4),
        np.uint8(4),
        np.uint64(4),
        np.array(4),
        np.array(4, dtype=np.int8),
    ],
    ids=repr,
)
def test_any_kind_of_whole_number_is_an_action(action):
    env = TicTacToeEnv(side="X", opponent=FixedPlayer(0))
    env.reset()
    env.step(action)
    assert env.board[4] == 1


@pytest.mark.parametrize("board", BOARDS, ids=str)
def test_a_taken_cell_loses_and_leaves_the_board_as_it_was(board):
    env = TicTacToeEnv(side="O", rewards={"illegal": -7}, **board)
    env.reset(seed=0)
    before, taken = env.board, int(np.flatnonzero(env.board)[0])
    seen, reward, terminated, truncated, info = env.step(taken)
    assert (reward, terminated, truncated, info["outcome"], info["illegal_move"]) == (
        -7.0,
        True,
        False,
        "loss",
        True,
    )
    assert np.array_equal(env.board, before)
    assert np.array_equal(seen, observe(before[None], env.rules, "planes", -1)[0])
    with pytest.raises(ResetNeeded):
        env.step(0)


@pytest.mark.parametrize("board", BOARDS, ids=str)
def test_a_taken_cell_raises_if_told_to_and_the_game_goes_on(board):
    env = TicTacToeEnv(side="O", illegal="raise", **board)
    env.reset(seed=0)
    before, taken = snapshot(env), int(np.flatnonzero(env.board)[0])
    with pytest.raises(
        IllegalMoveError, match=rf"cell {taken} is taken in .* \(O to move, legal: "
    ):
        env.step(taken)
    assert snapshot(env) == before
    env.step(int(np.flatnonzero(env.action_masks())[0]))
    assert (env.board != 0).sum() >= 2


def test_an_opponents_illegal_move_wins_even_where_the_learners_would_raise():
    env = TicTacToeEnv(side="X", illegal="raise", opponent=CellPlayer(4))
    env.reset()
    *_, info = env.step(4)
    assert (info["outcome"], info["illegal_move"]) == ("win", True)


def test_a_step_before_reset_after_the_end_and_after_close_is_refused():
    env = TicTacToeEnv(side="X", opponent=FixedPlayer(0))
    for action in (0, -1, None):
        with pytest.raises(ResetNeeded, match="before reset"):
            env.step(action)
    with pytest.raises(ResetNeeded):
        env.action_masks()
    with pytest.raises(ResetNeeded):
        _ = env.board
    env.reset(options={"board": "XX./OO./..."})
    env.step(2)
    for action in (5, 0, None):
        with pytest.raises(ResetNeeded, match="the game is over"):
            env.step(action)
    env.reset()
    env.step(0)
    env.close()
    env.close()
    for action in (0, None):
        with pytest.raises(ClosedEnvironmentError, match="closed"):
            env.step(action)
    with pytest.raises(ClosedEnvironmentError, match="closed"):
        env.reset()


# --- chance -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"side": "alternate", "opponent": [["random", 1], ["minimax", 2], [FixedPlayer(3), 1]]},
        {"start": "random", "opponent": "minimax-slip=0.3"},
        {"rows": 2, "cols": 5, "k": 3, "early_draw": True, "opponent": Stubborn()},
        {"rows": 4, "cols": 5, "k": 4},
    ],
    ids=["default", "pool", "random starts", "rows", "bits"],
)
def test_the_same_seed_gives_the_same_games(arguments):
    def record(env, seed):
        rng, games = np.random.default_rng(0), []
        seen, info = env.reset(seed=seed)
        for _ in range(10):
            games += [repr((seen.tolist(), info)), *texts(play_out(env, rng, 0.02))]
            seen, info = env.reset()
        return games

    env = TicTacToeEnv(**arguments)
    first = record(env, 7)
    assert record(env, 7) == first, "the same environment again"
    assert record(TicTacToeEnv(**arguments), 7) == first, "a new one"
    assert record(env, 8) != first


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
@pytest.mark.parametrize("board", BOARDS, ids=str)
def test_a_copy_plays_on_alike_and_leaves_the_original_alone(copied, board):
    env = TicTacToeEnv(opponent=[["random", 1], [Stubborn(), 1]], **board)
    for seed in range(4):
        env.reset(seed=seed)
        if env.action_masks().all() or seed % 2:
            *_, over, _, _ = env.step(int(np.flatnonzero(env.action_masks())[-1]))
        else:
            over = False
        before = snapshot(env)
        twin = copied(env)
        assert snapshot(twin) == before

        def go_on(game, seed=seed, over=over):
            rng, seen = np.random.default_rng(seed), []
            if over:
                seen.append(repr(game.reset()))
            seen += texts(play_out(game, rng))
            for _ in range(3):
                seen.append(repr(game.reset()))
                seen += texts(play_out(game, rng))
            return seen

        expected = go_on(twin)
        assert snapshot(env) == before
        assert go_on(env) == expected


def test_a_fresh_and_a_finished_environment_can_be_copied():
    for copied in (copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))):
        env = copied(TicTacToeEnv(side="X"))
        with pytest.raises(ResetNeeded):
            env.step(0)
        env.reset(options={"board": "XX./OO./..."})
        env.step(2)
        with pytest.raises(ResetNeeded, match="over"):
            copied(env).step(5)


def test_sides_alternate_from_x_and_begin_anew_with_a_seed():
    env = TicTacToeEnv(side="alternate")
    assert [env.reset()[1]["side"] for _ in range(5)] == list("XOXOX")
    assert env.reset(seed=0)[1]["side"] == "X"
    assert env.reset()[1]["side"] == "O"
    assert env.reset(options={"side": "O"})[1]["side"] == "O"
    assert env.reset()[1]["side"] == "O", "a forced side counts as a game"


def test_random_sides_are_equally_likely():
    env = TicTacToeEnv()
    env.reset(seed=0)
    count = sum(env.reset()[1]["side"] == "X" for _ in range(10_000))
    assert abs(count - 5_000) < 5 * 50  # five standard deviations


def test_the_pool_draws_an_opponent_anew_for_each_game():
    pool = [[CellPlayer(0), 3], [CellPlayer(8), 1]]
    env = TicTacToeEnv(side="O", opponent=pool)
    env.reset(seed=0)
    games = 4_000
    count = sum(int(env.reset()[0][1, 0, 0]) for _ in range(games))
    assert abs(count - 0.75 * games) < 5 * math.sqrt(games * 0.75 * 0.25)
    replies = set()
    for seed in range(
        50
    ):  # the same opponent throughout a game: a cell player that has moved moves illegally
        env.reset(seed=seed)
        *_, info = env.step(4)
        replies.add((info.get("outcome"), info.get("illegal_move")))
    assert replies == {("win", True)}


def test_an_opponent_of_weight_zero_never_plays():
    env = TicTacToeEnv(
        side="O", opponent=[[CellPlayer(0), 0], [CellPlayer(8), 1], [CellPlayer(4), 0]]
    )
    for seed in range(200):
        assert env.reset(seed=seed)[0][1, 2, 2] == 1


def test_the_random_opponent_replies_uniformly():
    for board in ({}, {"rows": 3, "cols": 4, "k": 3}):
        env, games = TicTacToeEnv(side="O", **board), 6_000
        env.reset(seed=0)
        counts = sum(env.reset()[0][1].ravel().astype(int) for _ in range(games))
        expected = games / env.rules.cells
        chi_square = float(((counts - expected) ** 2 / expected).sum())
        degrees = env.rules.cells - 1
        assert chi_square < degrees + 5 * math.sqrt(2 * degrees)


# --- options and set_opponent -----------------------------------------------------------------------------------


def test_options_count_for_one_game_only():
    env = TicTacToeEnv(side="X", opponent=CellPlayer(0))
    _, info = env.reset(options={"side": "O", "opponent": CellPlayer(8), "board": "X../.O./..."})
    assert info["side"] == "O"
    assert env.board.tolist() == parse_board("X../.O./..X", Rules()).tolist()
    _, info = env.reset()
    assert info["side"] == "X"
    assert env.board.tolist() == [0] * 9
    env.step(4)
    assert env.board[0] == -1


def test_the_board_option_overrides_the_opening_and_the_start():
    for arguments in ({"opening": "b2"}, {"start": "random"}):
        env = TicTacToeEnv(side="X", **arguments)
        env.reset(options={"board": "X../O../..."})
        assert env.board.tolist() == [1, 0, 0, -1, 0, 0, 0, 0, 0]


def test_the_opponent_moves_first_where_it_is_its_turn():
    env = TicTacToeEnv(opponent=FixedPlayer(2))
    for board in (".../.../...", "X../.../...", "XO./.../..."):
        for side in "XO":
            env.reset(options={"board": board, "side": side})
            assert (env.board != 0).sum() % 2 == (side == "O")
            given = parse_board(board, Rules())
            assert np.array_equal(env.board[given != 0], given[given != 0])


def test_set_opponent_counts_at_once_and_for_all_later_games():
    env = TicTacToeEnv(side="X", opponent=CellPlayer(1))
    env.reset(options={"opponent": CellPlayer(2)})
    env.step(0)
    assert env.board[2] == -1
    env.set_opponent(CellPlayer(7))
    env.step(3)
    assert env.board.tolist() == [1, 0, -1, 1, 0, 0, 0, -1, 0]
    env.reset()
    env.step(0)
    assert env.board[7] == -1


def test_set_opponent_works_before_the_first_reset_and_after_the_end():
    env = TicTacToeEnv(side="X")
    env.set_opponent(CellPlayer(5))
    env.reset(options={"board": "XX./OO./..."})
    env.step(2)
    env.set_opponent([[CellPlayer(6), 1.0]])
    env.reset()
    env.step(0)
    assert env.board[6] == -1


@pytest.mark.parametrize(
    "opponent",
    [
        "minmax",
        None,
        [],
        [["random", 0]],
        lambda boards: boards,
        "no/such/run",
        fixed_table(Rules(2, 3, 2)),
    ],
    ids=range(7),
)
def test_a_set_opponent_that_fails_changes_nothing(opponent):
    env = TicTacToeEnv(side="X", opponent=FixedPlayer(5))
    env.reset(seed=3)
    env.step(0)
    before, expected = snapshot(env), texts(play_out(copy.deepcopy(env), np.random.default_rng(0)))
    with pytest.raises((ValueError, FileNotFoundError)):
        env.set_opponent(opponent)
    assert snapshot(env) == before
    assert texts(play_out(env, np.random.default_rng(0))) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"seed": -1},
        {"seed": 1.5},
        {"seed": 1, "options": {"sid": "X"}},
        {"seed": 1, "options": {"side": "Y"}},
        {"seed": 1, "options": {"board": "XXX/.../..."}},
        {"seed": 1, "options": {"opponent": "minmax"}},
        {"seed": 1, "options": {"opponent": "minimax", "board": 3}},
    ],
    ids=str,
)
def test_a_reset_that_fails_changes_nothing(arguments):
    env = TicTacToeEnv(side="alternate", opponent="random")
    env.reset(seed=3)
    env.step(0)
    before, twin = snapshot(env), copy.deepcopy(env)
    with pytest.raises(ValueError, match=r".+"):
        env.reset(**arguments)
    assert snapshot(env) == before
    rng, rng_twin = np.random.default_rng(0), np.random.default_rng(0)
    assert texts(play_out(env, rng)) == texts(play_out(twin, rng_twin))
    assert repr(env.reset()) == repr(twin.reset())


def test_an_opponent_that_breaks_its_word_and_ends_the_game_at_once_leaves_no_game_to_go_on_with():
    class Changing(CellPlayer):
        def probs(self, boards):
            self.cell = 4 if (boards != 0).any() and self.cell == 3 else 3
            return super().probs(boards)

    env = TicTacToeEnv(rows=4, cols=4, side="O", opponent="random")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the opponent's first move ended the game"):
        env.reset(options={"side": "X", "board": "..../X.../..../....", "opponent": Changing(4)})
    with pytest.raises(ResetNeeded):
        env.step(1)
    assert env.reset()[1]["side"] == "O"


def test_larger_boards_have_random_opponents_but_no_minimax():
    env = TicTacToeEnv(rows=5, cols=5, k=4, side="X")
    env.reset(seed=0)
    env.step(12)
    before = snapshot(env)
    for make in (
        lambda: env.set_opponent("minimax"),
        lambda: env.reset(options={"opponent": "minimax-slip=0.5"}),
    ):
        with pytest.raises(
            ValueError, match="a board of 5x5 are too many to enumerate: at most 16 cells"
        ):
            make()
        assert snapshot(env) == before


def test_a_policy_of_any_kind_plays_on_a_board_of_any_size():
    for opponent in (RandomPolicy(), FixedPlayer(0), Stubborn()):
        for board in BOARDS:
            env = TicTacToeEnv(side="X", opponent=opponent, **board)
            env.reset(seed=0)
            assert play_out(env, np.random.default_rng(0))[-1][2]


def test_a_policy_that_answers_wrongly_on_a_large_board_is_an_error_that_leaves_the_game_as_it_was():
    class Broken:
        def probs(self, boards):
            return np.full(boards.shape, 2.0)

    env = TicTacToeEnv(side="X", rows=5, cols=5, k=4, opponent=Broken())
    env.reset()
    with pytest.raises(ValueError, match="probabilities must sum to 1"):
        env.step(0)
    assert env.board.tolist() == [0] * 25


@pytest.mark.parametrize("board", [{}, {"rows": 7, "cols": 8, "k": 5}], ids=str)
def test_a_step_after_an_error_and_an_error_after_a_step_do_not_disturb_the_chances(board):
    first, second = (TicTacToeEnv(side="X", illegal="raise", **board) for _ in range(2))
    first.reset(seed=5)
    second.reset(seed=5)
    rng = np.random.default_rng(0)
    terminated = False
    while not terminated:
        for bad in (-1, None, *np.flatnonzero(~second.action_masks())[:2]):
            with pytest.raises(ValueError, match=r".+"):
                second.step(bad)
        cell = int(rng.choice(np.flatnonzero(first.action_masks())))
        results = first.step(cell), second.step(cell)
        assert texts(results[:1]) == texts(results[1:])
        terminated = results[0][2]
