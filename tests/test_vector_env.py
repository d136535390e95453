"""Many games at a time: modes, pools, saved states; `test_contract` has their moves."""

import numpy as np
import pytest
from fuzz.fuzz_chance import (  # noqa: F401
    test_random_play_has_the_stated_results,
    test_random_starts_are_all_unfinished_positions_alike,
    test_replies_have_the_stated_probabilities,
)
from gymnasium.vector import AutoresetMode
from sample_players import CellPlayer
from text_cases import refuses

from tictactoe_env import ExploringStarts, RandomPolicy, Rules, TicTacToeVectorEnv


def assert_shares(counts, shares):
    """Each count is within five standard deviations of its share of all."""
    total, shares = sum(counts), np.array(shares)
    assert (np.abs(counts - total * shares) <= 5 * np.sqrt(total * shares * (1 - shares))).all()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_mode_is_declared_and_given_by_name_or_value(mode):
    for spelling in (mode, mode.name, mode.value):
        env = TicTacToeVectorEnv(2, autoreset_mode=spelling)
        assert env.metadata["autoreset_mode"] is mode
    for known in (TicTacToeVectorEnv(2), TicTacToeVectorEnv):
        assert known.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    for wrong in ("same_stop", None, 3, ["x"]):
        with refuses("autoreset mode", "NEXT_STEP"):
            TicTacToeVectorEnv(2, autoreset_mode=wrong)


LARGE = pytest.mark.parametrize("board", [{}, {"rows": 4, "cols": 5, "k": 4}], ids=str)


@LARGE
def test_the_pool_draws_by_weight_for_each_game_and_the_opponent_stays_in_it(board):
    games, pool = 4_000, [[CellPlayer(0), 3], [CellPlayer(8), 1], [CellPlayer(5), 0]]
    env = TicTacToeVectorEnv(games, side="alternate", opponent=pool, **board)
    env.reset(seed=0)
    which, first = env.state_dict()["which"], env.boards.argmax(axis=1)
    assert np.array_equal(first[1::2], np.array([0, 8, 5])[which[1::2]])  # those that begin
    env = TicTacToeVectorEnv(games, side="O", opponent=pool, **board)
    env.reset(seed=0)
    for _ in range(3):  # each game ends at once by the opponent's illegal second move
        boards = env.boards
        assert_shares(boards[:, [0, 8]].sum(axis=0), (0.75, 0.25))
        *_, ended, _, infos = env.step(np.full(games, 4))
        assert ended.all()
        assert (infos["final_info"]["outcome"] == 1).all()
        both = int(((boards[:, 0] == 1) & (env.boards[:, 0] == 1)).sum())
        assert_shares(np.array([both, games - both]), (0.75**2, 1 - 0.75**2))  # independent


@LARGE
def test_an_opponent_option_counts_for_the_games_of_the_call_and_is_kept_no_longer(board):
    env = TicTacToeVectorEnv(3, CellPlayer(1), "X", autoreset_mode="DISABLED", **board)
    env.reset(seed=0)
    first, second, _ = np.eye(3, dtype=bool)
    for cell in (5, 6, 2):
        env.reset(options={"reset_mask": first, "opponent": CellPlayer(cell)})
        assert env.state_dict()["which"].tolist() == [1, 0, 0]
    env.reset(options={"reset_mask": second, "opponent": [[CellPlayer(3), 1], ["random", 0]]})
    assert env.state_dict()["which"].tolist() == [1, 2, 0]
    env.step([0, 0, 0])
    assert [np.flatnonzero(row == -1).tolist() for row in env.boards] == [[2], [3], [1]]
    env.reset(options={"reset_mask": first})
    env.step([0, 4, 4])
    assert env.boards[0, 1] == -1


def test_a_saved_state_holds_the_counterexamples_from_which_games_start():
    rules = Rules(3, 3, 3)
    many = {"opponent": "random", "start": ExploringStarts(0.0, rules, counterexamples=1.0)}
    env, other = (TicTacToeVectorEnv(64, **many) for _ in range(2))
    env.reset(seed=0)
    env.add_counterexamples(np.array([[1, -1, 0, 0, 0, 0, 0, 0, 0]], dtype=np.int8))
    state = env.state_dict()
    other.load_state_dict(state)
    state["counterexamples"][0][:] = 0
    kept = repr(state)
    for games in (env, other):
        games.reset()
        assert (games.boards[:, :2] == [1, -1]).all()
    assert repr(env.state_dict()) == repr(other.state_dict())
    assert repr(state) == kept, "it belongs to the caller"


def test_a_policy_is_asked_once_a_step_once_for_a_start_board_and_never_about_no_board():
    asked = []

    class Counting(RandomPolicy):
        def probs(self, boards):
            asked.append(len(boards))
            return super().probs(boards)

        def __deepcopy__(self, memo):
            return self

    board = {"rows": 4, "cols": 4, "k": 4}
    env = TicTacToeVectorEnv(200, opponent=Counting(), side="O", **board)
    for _ in range(3):
        env.reset(seed=0)
    env.step(env.action_masks().argmax(axis=1))
    assert asked == [1, 200]
    assert env.boards.any(axis=0).all(), "each cell was drawn"
    board["autoreset_mode"] = "NEXT_STEP"
    env = TicTacToeVectorEnv(3, opponent=Counting(), side="X", **board | {"k": 1})
    env.reset(seed=0)
    for _ in range(2):  # the first move wins all games, and the second step begins the next ones
        env.step([0, 1, 2])
    assert asked == [1, 200]
    env = TicTacToeVectorEnv(3, opponent=Counting(), side="X", **board)
    env.reset(seed=0)
    for _ in range(2):  # the second move is onto a cell that is taken
        env.step([0, 1, 2])
    env.step(env.action_masks().argmax(axis=1))  # begins the next games, whatever the action
    assert asked == [1, 200, 3]
