"""Many games at a time, compared with single games."""

import copy

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from sample_players import CellPlayer, FixedPlayer, fixed_table
from text_cases import refuses

from tictactoe_env import ExploringStarts, RandomPolicy, Rules, TicTacToeEnv, TicTacToeVectorEnv

MODES = ("SAME_STEP", "NEXT_STEP", "DISABLED")
SETTINGS = {  # the number of games, and what the environments are made with
    "table": (200, {"opponent": fixed_table(Rules(), 1)}),
    "illegal": (7, {"opponent": [[CellPlayer(4), 1], ["random", 0]], "observation": "grid"}),
    "7x8": (7, {"opponent": FixedPlayer(5), "rows": 7, "cols": 8}),
    "drawn": (7, {"opponent": FixedPlayer(5), "rows": 3, "cols": 4, "k": 4}),
}
SETTINGS["early"] = (7, SETTINGS["drawn"][1] | {"early_draw": True})
SETTINGS |= {f"{name}, images": (7, SETTINGS[name][1] | {"symmetric": True}) for name in SETTINGS}
STARTS = {  # boards to start from in DISABLED, with cells that a CellPlayer(4) leaves free
    "table": (".../.../...", "X../.O./...", "XO./.X./..."),
    "illegal": (".../.../...", "X../O../...", "XO./X../..."),
    "7x8": tuple(top + "/........" * 5 for top in ("X......O/........", "X......O/X.......")),
    "drawn": ("..../..../....", "X.O./..../....", "XOX./..../O..."),
}
STARTS["early"] = STARTS["drawn"]
STARTS |= {f"{name}, images": STARTS[name] for name in STARTS}


def legal_actions(env, rng):
    masks = env.action_masks()
    return (masks * rng.random(masks.shape)).argmax(axis=1)


def assert_same_infos(infos, expected, rows):
    """The infos of these rows (B,) bool are alike, and each is marked as valid in the same rows."""
    assert set(infos) >= set(expected)
    for key in infos if rows.all() else expected:
        if key == "final_info":
            assert_same_infos(infos[key], expected[key], infos["_final_info"])
            assert np.array_equal(infos[key]["_side"], infos["_final_info"])
            continue
        valid = rows if key.startswith("_") else infos["_" + key] & rows
        assert np.array_equal(infos[key][valid], np.array(list(expected[key][valid]))), key
        assert infos[key].dtype == np.bool_ or not key.startswith("_")
        assert key != "final_obs" or not infos[key][~valid].any()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_many_games_go_exactly_as_single_games_do(setting, mode):
    num_envs, arguments = SETTINGS[setting]
    arguments = {"side": "alternate", "k": 3, **arguments}
    env = TicTacToeVectorEnv(num_envs, autoreset_mode=mode, **arguments)
    first = TicTacToeEnv(**arguments)
    made = [copy.copy(first) for _ in range(num_envs)]  # they share the opponent's table
    makers = [lambda single=single: single for single in made]
    singles = SyncVectorEnv(makers, autoreset_mode=env.autoreset_mode)
    for single in made[1::2]:  # these begin as O
        single.reset()
    rng, ended = np.random.default_rng(num_envs), 0
    every, starts = np.ones(num_envs, dtype=bool), STARTS[setting]
    (seen, infos), (expected, expected_infos) = env.reset(seed=0), singles.reset()
    assert np.array_equal(seen, expected)
    assert_same_infos(infos, expected_infos, every)
    for _ in range(30 if num_envs < 64 else 14):
        anything = rng.integers(env.single_action_space.n, size=num_envs)
        actions = np.where(rng.random(num_envs) < 0.1, anything, legal_actions(env, rng))
        results, expected = env.step(actions), singles.step(actions)
        for ours, theirs in zip(results[:4], expected[:4], strict=True):
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs)
        assert_same_infos(results[4], expected[4], every)
        over, group = results[2], rng.integers(2, size=num_envs)
        for mask in (over & (group == 0), over & (group == 1)):  # two resets, with boards and sides
            if mode == "DISABLED" and mask.any():
                options = {"board": rng.choice(starts), "side": rng.choice(["X", "O"])}
                options["reset_mask"] = mask.copy()
                seen, expected = (games.reset(options=options) for games in (env, singles))
                assert np.array_equal(seen[0], expected[0])
                assert_same_infos(seen[1], expected[1], mask)
        assert np.array_equal(env.boards, np.stack([single.board for single in made]))
        ended += over.sum()
    assert ended >= num_envs


def assert_shares(counts, shares):
    """Each count is within five standard deviations of its share of all."""
    total, shares = sum(counts), np.array(shares)
    assert (np.abs(counts - total * shares) <= 5 * np.sqrt(total * shares * (1 - shares))).all()


def test_the_learner_plays_each_side_in_half_of_the_games():
    sides, env = TicTacToeVectorEnv(10_000).reset(seed=0)[1]["side"], TicTacToeEnv()
    env.reset(seed=0)
    for found in (sides, np.array([env.reset()[1]["side"] for _ in range(4_000)])):
        assert_shares(np.bincount(found + 1), (0.5, 0, 0.5))


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


@pytest.mark.parametrize("mode", ["SAME_STEP", "NEXT_STEP"])
def test_the_next_game_is_against_the_pool_again_and_begins_whatever_the_action_was(mode):
    arguments = {"opponent": CellPlayer(1), "autoreset_mode": mode, "illegal": "raise"}
    env = TicTacToeVectorEnv(2, side="X", **arguments)
    env.reset(options={"opponent": CellPlayer(6), "board": "XX./OO./..."})
    assert env.step([2, 8])[2].tolist() == [True, False]
    assert env.boards[1, 6] == -1
    for actions in ([0, 7], [0, 5])[mode == "SAME_STEP" :]:  # cell 0 is taken before the reset
        env.step(actions)
    assert env.boards[0].tolist() == [1, -1, 0, 0, 0, 0, 0, 0, 0]


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


@pytest.mark.parametrize("side", ["X", "O"])
@pytest.mark.parametrize(
    "board",
    [
        {"opening": "c2"},
        {"rows": 5, "cols": 5, "k": 3, "opening": "a5"},
        {"rows": 6, "cols": 7, "k": 4, "gravity": True, "opening": "g6"},
    ],
)
def test_games_begin_alike_whether_an_image_of_the_board_is_seen_or_not(board, side):
    """The opening is not its own image, and the opponent replies to it on the board."""
    every = []
    for symmetric in (True, False):
        envs = TicTacToeVectorEnv(64, opponent="random", side=side, symmetric=symmetric, **board)
        envs.reset(seed=3)
        every.append(envs.boards)
    assert np.array_equal(*every)
