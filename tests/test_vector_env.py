"""Many games at a time, held against as many single games and against the exact law of random play."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode
from sample_players import CellPlayer, FixedPlayer, Stubborn, fixed_table

from tictactoe_env import IllegalMoveError, Rules, TicTacToeEnv, TicTacToeVectorEnv

MODES = ("SAME_STEP", "NEXT_STEP", "DISABLED")
SETTINGS = {
    "table": {"opponent": fixed_table(Rules(), 1), "side": "alternate"},
    "minimax": {
        "opponent": "minimax-first",
        "side": "O",
        "observation": "grid",
        "rewards": {"draw": 0.5, "illegal": -2},
    },
    "illegal": {"opponent": [[CellPlayer(4), 1], ["random", 0]], "side": "alternate"},
    "opening": {"opponent": FixedPlayer(2), "side": "X", "opening": "b2 a1", "early_draw": True},
    "2x5": {
        "opponent": FixedPlayer(3),
        "side": "alternate",
        "rows": 2,
        "cols": 5,
        "k": 3,
        "early_draw": True,
    },
    "3x4": {
        "opponent": FixedPlayer(4),
        "side": "alternate",
        "rows": 3,
        "cols": 4,
        "k": 3,
        "observation": "grid",
    },
    "7x8": {"opponent": FixedPlayer(5), "side": "alternate", "rows": 7, "cols": 8, "k": 3},
}
STARTS = {  # boards to go on from, in DISABLED
    "illegal": (".../.../...", "X../O../...", "XO./X../..."),
    "3x3": (".../.../...", "X../.O./...", "XO./.X./..."),
    "2x5": ("...../.....", "X..O./.....", "X..O./..X.."),
    "3x4": ("..../..../....", "X.O./..../....", "X.O./.X../...."),
    "7x8": (
        "/".join(["." * 8] * 7),
        "X......O/" + "/".join(["." * 8] * 6),
        "X......O/X......./" + "/".join(["." * 8] * 5),
    ),
}
LAW = {
    "win": Fraction(737, 1260),
    "draw": Fraction(8, 63),
    "loss": Fraction(121, 420),
}  # X, both sides uniformly random


def legal_actions(env, rng):
    return (env.action_masks() * rng.random((env.num_envs, env.single_action_space.n))).argmax(
        axis=1
    )


def some_actions(env, rng, illegal_share):
    """Mostly legal moves; in some rows any cell."""
    anything = rng.integers(env.single_action_space.n, size=env.num_envs)
    return np.where(rng.random(env.num_envs) < illegal_share, anything, legal_actions(env, rng))


class Singles:
    """Single environments that do by hand what the vector environment promises for each autoreset mode."""

    def __init__(self, num_envs, arguments):
        first = TicTacToeEnv(**arguments)
        self.envs = [
            copy.copy(first) for _ in range(num_envs)
        ]  # they share the opponent's table, which takes 5 MB on 2x5
        if arguments["side"] == "alternate":
            for env in self.envs[1::2]:
                env.reset()  # the odd games begin as O
        self.over = np.zeros(num_envs, dtype=bool)

    def reset(self, games, **options):
        """Reset these games: their observations and infos."""
        self.over[games] = False
        return [self.envs[game].reset(options=options) for game in games]

    def step(self, actions, mode):
        """One row for each game: (observation, reward, terminated, info, final observation, final info)."""
        rows = []
        for game, (env, action) in enumerate(zip(self.envs, actions.tolist(), strict=True)):
            if self.over[game]:
                seen, info = self.reset([game])[0]
                rows.append((seen, 0.0, False, info, None, None))
                continue
            seen, reward, terminated, truncated, info = env.step(action)
            assert truncated is False
            if terminated and mode == "SAME_STEP":
                new_seen, new_info = env.reset()
                rows.append((new_seen, reward, True, new_info, seen, info))
            else:
                rows.append((seen, reward, terminated, info, None, None))
                self.over[game] = terminated
        return rows


def assert_infos(infos, expected, rows=None):
    """The arrays of `infos` hold, in the given rows and in no other, what the single infos say."""
    count = len(expected)
    rows = np.arange(count) if rows is None else rows
    for key in ("action_mask", "side", "outcome", "illegal_move"):
        present = np.zeros(count, dtype=bool)
        present[rows] = [key in expected[row] for row in rows]
        if not present.any():
            assert key not in infos
            continue
        assert infos["_" + key].dtype == np.bool_
        assert np.array_equal(infos["_" + key], present), key
        assert np.array_equal(
            infos[key][present], np.array([expected[row][key] for row in np.flatnonzero(present)])
        ), key


def assert_step(env, results, rows):
    observations, rewards, terminated, truncated, infos = results
    assert observations.dtype == np.int8
    assert rewards.dtype == np.float64
    assert terminated.dtype == truncated.dtype == np.bool_
    assert np.array_equal(observations, np.stack([row[0] for row in rows]))
    assert np.array_equal(rewards, [row[1] for row in rows])
    assert np.array_equal(terminated, [row[2] for row in rows])
    assert not truncated.any()
    assert_infos(infos, [row[3] for row in rows])
    assert np.array_equal(
        env.action_masks(), np.stack([row[3]["action_mask"] for row in rows]).astype(bool)
    )
    finals = np.array([row[4] is not None for row in rows])
    assert ("final_obs" in infos) == ("final_info" in infos) == finals.any()
    if finals.any():
        assert np.array_equal(infos["_final_obs"], finals)
        assert np.array_equal(infos["_final_info"], finals)
        assert infos["final_obs"].shape == observations.shape
        assert np.array_equal(
            infos["final_obs"][finals], np.stack([row[4] for row in rows if row[4] is not None])
        )
        assert not infos["final_obs"][~finals].any()
        assert_infos(infos["final_info"], [row[5] for row in rows], np.flatnonzero(finals))


def reset_the_finished(env, singles, starts, rng):
    """DISABLED: start the games that are over, in two groups with boards and sides of their own."""
    group = rng.integers(2, size=env.num_envs)
    for number in range(2):
        mask = singles.over & (group == number)
        if mask.any():
            options = {"board": starts[rng.integers(len(starts))], "side": "XO"[rng.integers(2)]}
            expected = dict(
                zip(
                    np.flatnonzero(mask).tolist(),
                    singles.reset(np.flatnonzero(mask), **options),
                    strict=True,
                )
            )
            observations, infos = env.reset(options={**options, "reset_mask": mask})
            for game, (seen, info) in expected.items():
                assert np.array_equal(observations[game], seen)
                assert np.array_equal(infos["action_mask"][game], info["action_mask"])
                assert infos["side"][game] == info["side"]
            assert np.array_equal(env.boards, np.stack([single.board for single in singles.envs]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("setting", "num_envs"),
    [
        (setting, num_envs)
        for setting in SETTINGS
        for num_envs in (1, 2, 7, 64, 1024)
        if num_envs < 1024 or setting in ("table", "2x5")
    ],
)
def test_many_games_go_exactly_as_single_games_do(setting, num_envs, mode):
    arguments, rng = SETTINGS[setting], np.random.default_rng(num_envs)
    env, singles = (
        TicTacToeVectorEnv(num_envs, autoreset_mode=mode, **arguments),
        Singles(num_envs, arguments),
    )
    starts = STARTS.get(setting, STARTS["3x3"])
    observations, infos = env.reset(seed=0)
    expected = singles.reset(range(num_envs))
    assert np.array_equal(observations, np.stack([seen for seen, _ in expected]))
    assert_infos(infos, [info for _, info in expected])
    ended = 0
    for _ in range(40 if num_envs < 64 else 14):
        if mode == "DISABLED":
            reset_the_finished(env, singles, starts, rng)
        actions = some_actions(env, rng, 0.1)
        results, rows = env.step(actions), singles.step(actions, mode)
        assert_step(env, results, rows)
        assert np.array_equal(env.boards, np.stack([single.board for single in singles.envs]))
        ended += results[2].sum()
    assert ended >= num_envs


# --- the exact law ----------------------------------------------------------------------------------------------


def test_a_million_random_games_agree_with_the_exact_law():
    games, rng = 62_500, np.random.default_rng(1)
    counts = {side: dict.fromkeys(LAW, 0) for side in "XO"}
    env = TicTacToeVectorEnv(games)
    env.reset(seed=1)
    for _ in range(16):
        env.reset()
        # The first game of each row, whatever its length: counting all games that end would favour short ones.
        first = np.ones(games, dtype=bool)
        for _ in range(5):
            *_, ended, _, infos = env.step(legal_actions(env, rng))
            if ended.any():
                final = infos["final_info"]
                for side in "XO":
                    for outcome in LAW:
                        counts[side][outcome] += int(
                            (
                                first
                                & ended
                                & (final["side"] == side)
                                & (final["outcome"] == outcome)
                            ).sum()
                        )
            first &= ~ended
        assert not first.any()
    assert sum(sum(count.values()) for count in counts.values()) == 1_000_000
    flipped = {"win": LAW["loss"], "draw": LAW["draw"], "loss": LAW["win"]}
    for side, law in (("X", LAW), ("O", flipped)):
        total = sum(counts[side].values())
        assert abs(total - 500_000) < 5 * 500
        for outcome, share in law.items():
            deviation = math.sqrt(total * share * (1 - share))
            assert abs(counts[side][outcome] - total * share) < 5 * deviation, (
                side,
                outcome,
                counts,
            )


@pytest.mark.parametrize("num_envs", [1, 7, 64])
def test_random_games_agree_with_the_exact_law_at_every_batch_size(num_envs):
    counts, rng = dict.fromkeys(LAW, 0), np.random.default_rng(2)
    env = TicTacToeVectorEnv(num_envs, side="X", autoreset_mode="DISABLED")
    env.reset(seed=2)
    rounds = math.ceil(3_000 / num_envs)
    for _ in range(rounds):
        env.reset()
        counted = np.zeros(num_envs, dtype=bool)
        while not counted.all():
            *_, ended, _, infos = env.step(legal_actions(env, rng))
            for outcome in LAW if ended.any() else ():
                counts[outcome] += int((ended & ~counted & (infos["outcome"] == outcome)).sum())
            counted |= ended
            if ended.any() and not counted.all():
                env.reset(options={"reset_mask": ended})
    total = rounds * num_envs
    assert sum(counts.values()) == total
    for outcome, share in LAW.items():
        assert abs(counts[outcome] - total * share) < 5 * math.sqrt(total * share * (1 - share)), (
            counts
        )


# --- autoreset --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_mode_is_declared_and_can_be_given_by_name_or_value(mode):
    for spelling in (mode, mode.name, mode.value):
        env = TicTacToeVectorEnv(2, autoreset_mode=spelling)
        assert env.metadata["autoreset_mode"] is mode
    assert TicTacToeVectorEnv(2).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert TicTacToeVectorEnv.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def test_same_step_gives_the_mask_of_the_new_game_and_keeps_the_last_one():
    env = TicTacToeVectorEnv(2, side="X", opponent=FixedPlayer(0))
    env.reset(options={"board": "XX./OO./..."})
    observations, rewards, terminated, _, infos = env.step([2, 8])
    assert rewards[0] == 1.0
    assert terminated[0]
    assert not observations[0].any()
    assert infos["action_mask"][0].tolist() == [1] * 9
    assert env.boards[0].tolist() == [0] * 9
    assert infos["final_obs"][0].reshape(2, 9).tolist() == [
        [1, 1, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 0, 0, 0, 0],
    ]
    assert infos["final_info"]["action_mask"][0].tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert infos["final_info"]["outcome"][0] == "win"


@pytest.mark.parametrize(
    "board", [{}, {"rows": 2, "cols": 5, "k": 3}, {"rows": 4, "cols": 4, "k": 4}], ids=str
)
def test_next_step_ignores_the_action_of_a_finished_game_however_it_ended(board):
    env = TicTacToeVectorEnv(
        2, side="O", opponent="random", autoreset_mode="NEXT_STEP", illegal="lose", **board
    )
    env.reset(seed=0)
    taken = np.array([np.flatnonzero(row)[0] for row in env.boards])
    *_, terminated, _, infos = env.step(taken)
    assert terminated.all()
    assert infos["illegal_move"].all()
    for action in range(env.single_action_space.n):  # any action will do
        _, rewards, terminated, _, infos = env.step(np.full(2, action))
        assert not terminated.any()
        assert not rewards.any()
        assert (env.boards != 0).sum() == 2
        taken = np.array([np.flatnonzero(row)[0] for row in env.boards])
        assert env.step(taken)[2].all()


def test_next_step_does_not_raise_for_a_finished_game():
    env = TicTacToeVectorEnv(
        2, side="X", opponent=FixedPlayer(0), autoreset_mode="NEXT_STEP", illegal="raise"
    )
    env.reset(options={"board": "XX./OO./..."})
    assert env.step([2, 8])[2].tolist()[0]
    env.step([2, int(np.flatnonzero(env.action_masks()[1])[0])])
    assert env.boards[0].tolist() == [0] * 9


def test_disabled_refuses_to_step_until_the_finished_games_are_reset():
    env = TicTacToeVectorEnv(3, side="X", opponent=CellPlayer(8), autoreset_mode="DISABLED")
    env.reset(options={"board": "XX./OO./..."})
    assert env.step([2, 7, 2])[2].tolist() == [True, False, True]
    before = env.boards
    with pytest.raises(ResetNeeded, match=r"the games \[0, 2\] are over"):
        env.step([5, 5, 5])
    assert np.array_equal(env.boards, before)
    env.reset(options={"reset_mask": np.array([True, False, False])})
    with pytest.raises(ResetNeeded, match=r"the games \[2\] are over"):
        env.step([5, 5, 5])
    env.reset(options={"reset_mask": np.array([False, False, True]), "board": "X../.O./..."})
    assert np.array_equal(env.boards[1], before[1]), "the game under way is left alone"
    assert env.boards[0].tolist() == [0] * 9
    assert env.boards[2].tolist() == [1, 0, 0, 0, -1, 0, 0, 0, 0]
    env.step([0, 5, 1])


@pytest.mark.parametrize("mode", MODES)
def test_games_under_way_can_be_reset_in_every_mode(mode):
    env = TicTacToeVectorEnv(3, side="X", opponent=CellPlayer(8), autoreset_mode=mode)
    env.reset()
    env.step([0, 1, 2])
    observations, infos = env.reset(options={"reset_mask": np.array([False, True, False])})
    assert (env.boards != 0).sum(axis=1).tolist() == [2, 0, 2]
    assert (infos["action_mask"] == 0).sum(axis=1).tolist() == [2, 0, 2]
    assert observations.reshape(3, -1).sum(axis=1).tolist() == [2, 0, 2]


# --- chance, copies, memory -------------------------------------------------------------------------------------

CHANCE = [
    {},
    {"side": "alternate", "opponent": [["random", 1], ["minimax", 2], [FixedPlayer(3), 1]]},
    {"start": "random", "opponent": "minimax-slip=0.3"},
    {"rows": 2, "cols": 5, "k": 3, "early_draw": True, "opponent": Stubborn()},
    {"rows": 4, "cols": 5, "k": 4, "opponent": [["random", 1], [Stubborn(), 1]]},
]
CHANCE_NAMES = ["default", "pool", "random starts", "rows", "bits"]


def play_on(env, steps=25, seed=0):
    """All that an environment returns in some steps, as text."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        results = env.step(some_actions(env, rng, 0.03))
        seen.append(repr(results))
        if env.autoreset_mode is AutoresetMode.DISABLED and results[2].any():
            seen.append(repr(env.reset(options={"reset_mask": results[2]})))
    return seen


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arguments", CHANCE, ids=CHANCE_NAMES)
def test_the_same_seed_gives_the_same_games(arguments, mode):
    env = TicTacToeVectorEnv(5, autoreset_mode=mode, **arguments)
    first = [repr(env.reset(seed=7)), *play_on(env)]
    assert [repr(env.reset(seed=7)), *play_on(env)] == first
    env = TicTacToeVectorEnv(5, autoreset_mode=mode, **arguments)
    assert [repr(env.reset(seed=7)), *play_on(env)] == first
    assert [repr(env.reset(seed=8)), *play_on(env)] != first


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
@pytest.mark.parametrize("arguments", CHANCE, ids=CHANCE_NAMES)
def test_a_copy_plays_on_alike_and_leaves_the_original_alone(arguments, copied):
    for mode in MODES:
        env = TicTacToeVectorEnv(5, autoreset_mode=mode, **arguments)
        env.reset(seed=1)
        play_on(env, 3)
        before, twin = env.boards, copied(env)
        expected = play_on(twin)
        assert np.array_equal(env.boards, before)
        assert play_on(env) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arguments", CHANCE, ids=CHANCE_NAMES)
def test_saved_games_continue_bit_for_bit_in_another_environment(arguments, mode):
    def make():
        return TicTacToeVectorEnv(6, autoreset_mode=mode, **arguments)

    env, rng, seen = make(), np.random.default_rng(5), set()
    env.reset(seed=1)
    for _ in range(12):
        if mode == "DISABLED" and (over := env.state_dict()["results"] > 0).any():
            env.reset(options={"reset_mask": over})
        env.step(some_actions(env, rng, 0.2))
        state = env.state_dict()
        seen |= set(state["results"].tolist())
        assert json.loads(json.dumps(state["generator"])) == state["generator"]
        other = make()
        observations, infos = other.load_state_dict(copy.deepcopy(state))
        assert env.observation_space.contains(observations)
        assert np.array_equal(infos["action_mask"], env.action_masks())
        assert repr(other.state_dict()) == repr(state)
        if mode != "DISABLED" or not state["results"].any():
            assert play_on(other, 6) == play_on(copy.deepcopy(env), 6)
    assert seen >= ({0} if mode == "SAME_STEP" else {0, 4})


def arrays_in(value):
    if isinstance(value, np.ndarray):
        return [value]
    values = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, (tuple, list))
        else ()
    )
    return [array for part in values for array in arrays_in(part)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("board", [{}, {"rows": 4, "cols": 5, "k": 3}], ids=str)
def test_returned_arrays_share_no_memory_with_each_other_nor_with_the_games(board, mode):
    env, twin = (
        TicTacToeVectorEnv(3, side="X", opponent=FixedPlayer(0), autoreset_mode=mode, **board)
        for _ in range(2)
    )
    rng, arrays = np.random.default_rng(0), arrays_in(env.reset(seed=0))
    twin.reset(seed=0)
    ended = 0
    for _ in range(12):
        actions = legal_actions(env, rng)
        sent = actions.copy()
        results, expected = env.step(actions), twin.step(sent)
        assert repr(results) == repr(expected), (
            "what was written into returned arrays has come back"
        )
        assert np.array_equal(actions, sent)
        ended += results[2].sum()
        new = [*arrays_in(results), env.action_masks(), env.boards, actions]
        for i, first in enumerate(new):
            assert not any(np.shares_memory(first, second) for second in (*arrays, *new[i + 1 :]))
        if mode == "DISABLED" and results[2].any():
            mask = results[2].copy()
            new += arrays_in(env.reset(options={"reset_mask": mask}))
            twin.reset(options={"reset_mask": mask})
        for array in new:
            array[...] = np.zeros((), dtype=array.dtype) if array.dtype.kind == "U" else 1
        arrays += new
    assert ended >= 3


# --- opponents --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("board", [{}, {"rows": 4, "cols": 5, "k": 4}], ids=str)
def test_each_game_keeps_the_opponent_that_the_pool_drew_for_it(board):
    players, weights, games = (
        (FixedPlayer(1), FixedPlayer(2), FixedPlayer(3)),
        (0.5, 0.3, 0.2),
        3_000,
    )
    env = TicTacToeVectorEnv(
        games,
        side="X",
        opponent=[[player, weight] for player, weight in zip(players, weights, strict=True)],
        **board,
    )
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(2):
        possible = np.ones((3, games), dtype=bool)
        env.reset()
        first = np.ones(games, dtype=bool)
        while first.any():
            before, actions = env.boards, legal_actions(env, rng)
            *_, ended, _, infos = env.step(actions)
            before[np.arange(games), actions] = 1
            observed = env.boards
            if ended.any():
                planes = infos["final_obs"].reshape(games, 2, -1).astype(np.int8)
                observed[ended] = (planes[:, 0] - planes[:, 1])[ended]
            replied = first & ((observed != before).sum(axis=1) == 1)
            for number, player in enumerate(players):
                chosen = player.probs(before[replied]).argmax(axis=1)
                possible[number, replied] &= observed[replied, chosen] == -1
            first &= ~ended
        assert possible.any(axis=0).all()
        certain = possible.sum(axis=0) == 1
        assert certain.mean() > 0.5
        # Those not told apart can only raise a count, so each share is bounded from both sides.
        for number, weight in enumerate(weights):
            slack = 5 * math.sqrt(games * weight * (1 - weight))
            assert possible[number].sum() > games * weight - slack
            assert (possible[number] & certain).sum() < games * weight + slack


def test_the_pool_draws_by_weight_and_anew_for_each_game():
    games = 4_000
    env = TicTacToeVectorEnv(
        games, side="O", opponent=[[CellPlayer(0), 3], [CellPlayer(8), 1], [CellPlayer(5), 0]]
    )
    env.reset(seed=0)
    slack = 5 * math.sqrt(games * 0.75 * 0.25)
    for _ in range(
        3
    ):  # each game ends at once by the opponent's illegal second move, and the next one begins
        boards = env.boards
        assert abs(boards[:, 0].sum() - 0.75 * games) < slack
        assert boards[:, [0, 8]].sum() == games
        *_, ended, _, infos = env.step(np.full(games, 4))
        assert ended.all()
        assert (infos["final_info"]["outcome"] == "win").all()
        both = ((boards[:, 0] == 1) & (env.boards[:, 0] == 1)).sum()
        assert abs(both - 0.5625 * games) < 5 * math.sqrt(games * 0.5625 * 0.4375), (
            "the draws of two games are independent"
        )


@pytest.mark.parametrize("board", [{}, {"rows": 4, "cols": 5, "k": 4}], ids=str)
def test_the_opponent_option_counts_for_the_games_that_the_call_starts(board):
    env = TicTacToeVectorEnv(
        4, side="X", opponent=CellPlayer(1), autoreset_mode="DISABLED", **board
    )
    env.reset()
    env.reset(
        options={"reset_mask": np.array([True, False, False, False]), "opponent": CellPlayer(2)}
    )
    env.reset(
        options={
            "reset_mask": np.array([False, True, False, False]),
            "opponent": [[CellPlayer(3), 1], [CellPlayer(1), 0]],
        }
    )
    env.step([0, 0, 0, 0])
    assert [np.flatnonzero(row == -1).tolist() for row in env.boards] == [[2], [3], [1], [1]]
    env.reset(options={"reset_mask": np.array([True, True, True, False])})
    env.step([0, 0, 0, 5])
    assert [row.tolist().index(-1) for row in env.boards[:3]] == [1, 1, 1]


@pytest.mark.parametrize("mode", ["SAME_STEP", "NEXT_STEP"])
def test_the_next_game_is_against_the_pool_again(mode):
    env = TicTacToeVectorEnv(2, side="X", opponent=CellPlayer(1), autoreset_mode=mode)
    env.reset(options={"opponent": CellPlayer(6), "board": "XX./OO./..."})
    assert env.step([2, 8])[2].tolist() == [True, False]
    assert env.boards[1, 6] == -1
    if mode == "NEXT_STEP":
        env.step([0, 7])
    env.step([0, 5])
    assert env.boards[0].tolist() == [1, -1, 0, 0, 0, 0, 0, 0, 0]


def test_set_opponent_counts_at_once_in_all_games():
    env = TicTacToeVectorEnv(3, side="X", opponent=CellPlayer(1))
    env.reset(options={"opponent": CellPlayer(2)})
    env.step([0, 3, 6])
    assert (env.boards[:, 2] == -1).all()
    env.set_opponent(CellPlayer(8))
    env.step([4, 4, 4])
    assert (env.boards[:, 8] == -1).all()
    env.reset()
    env.step([0, 0, 0])
    assert (env.boards[:, 8] == -1).all()


@pytest.mark.parametrize(
    "opponent",
    ["minmax", None, [], [["random", 0]], "no/such/run", fixed_table(Rules(2, 3, 2))],
    ids=range(6),
)
def test_a_set_opponent_that_fails_changes_nothing(opponent):
    env = TicTacToeVectorEnv(4, opponent=[["random", 1], ["minimax", 1]])
    env.reset(seed=3)
    twin = copy.deepcopy(env)
    with pytest.raises((ValueError, FileNotFoundError)):
        env.set_opponent(opponent)
    assert play_on(env) == play_on(twin)


@pytest.mark.parametrize(
    "arguments",
    [
        {"seed": -1},
        {"seed": [1, 2, 3, 4]},
        {"seed": 1, "options": {"sid": "X"}},
        {"seed": 1, "options": {"side": "Y"}},
        {"seed": 1, "options": {"board": "XXX/.../..."}},
        {"seed": 1, "options": {"opponent": "minmax"}},
        {"seed": 1, "options": {"opponent": fixed_table(Rules(2, 3, 2))}},
        {"seed": 1, "options": {"reset_mask": [True, False, False, False]}},
    ],
    ids=range(8),
)
def test_a_reset_that_fails_changes_nothing(arguments):
    env = TicTacToeVectorEnv(4, side="alternate", opponent=[["random", 1], ["minimax", 1]])
    env.reset(seed=3)
    play_on(env, 2)
    twin = copy.deepcopy(env)
    with pytest.raises(ValueError, match=r".+"):
        env.reset(**arguments)
    assert np.array_equal(env.boards, twin.boards)
    assert play_on(env) == play_on(twin)
    assert repr(env.reset()) == repr(twin.reset())


# --- bad actions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "actions",
    [
        [True, False],
        np.array([True, True]),
        [0.0, 1.0],
        [math.nan, 0],
        [math.inf, 0],
        [None, 0],
        None,
        ["0", "1"],
        "01",
        [[0], [1]],
        [0],
        [0, 1, 2],
        [],
        3,
        [-1, 0],
        [0, 9],
        [0, 2**63],
        [0, -(2**63)],
        [2**64, 0],
        np.array([0, 2**63], dtype=np.uint64),
        np.array([0, 1], dtype=object),
        {},
    ],
    ids=repr,
)
def test_actions_that_are_no_cells_are_refused_and_the_games_go_on(actions, mode):
    env = TicTacToeVectorEnv(2, side="X", autoreset_mode=mode)
    env.reset(seed=0)
    twin = copy.deepcopy(env)
    with pytest.raises(ValueError, match="actions must be whole numbers from 0 to 8"):
        env.step(actions)
    assert play_on(env, 5) == play_on(twin, 5)


@pytest.mark.parametrize(
    "actions",
    [[4, 5], (4, 5), np.array([4, 5], dtype=np.int8), np.array([4, 5], dtype=np.uint64)],
    ids=repr,
)
def test_any_kind_of_whole_numbers_are_actions(actions):
    env = TicTacToeVectorEnv(2, side="X")
    env.reset()
    env.step(actions)
    assert (env.boards[0, 4], env.boards[1, 5]) == (1, 1)


@pytest.mark.parametrize("board", [{}, {"rows": 4, "cols": 5, "k": 4}], ids=str)
def test_a_taken_cell_raises_if_told_to_and_no_game_moves(board):
    env = TicTacToeVectorEnv(3, side="O", illegal="raise", **board)
    env.reset(seed=0)
    twin, actions = copy.deepcopy(env), legal_actions(env, np.random.default_rng(0))
    actions[1] = np.flatnonzero(env.boards[1])[0]
    with pytest.raises(IllegalMoveError, match=rf"cell {actions[1]} is taken"):
        env.step(actions)
    assert np.array_equal(env.boards, twin.boards)
    legal = legal_actions(env, np.random.default_rng(1))
    assert repr(env.step(legal)) == repr(twin.step(legal))


def test_a_step_before_reset_and_after_close_is_refused():
    env = TicTacToeVectorEnv(2)
    for call in (lambda: env.step([0, 0]), env.action_masks, lambda: env.boards):
        with pytest.raises(ResetNeeded, match="before reset"):
            call()
    env.reset()
    env.close()
    env.close()
    for call in (lambda: env.step([0, 0]), env.reset):
        with pytest.raises(ClosedEnvironmentError, match="closed"):
            call()


def test_a_refused_first_move_of_the_opponent_leaves_the_games_as_they_were():
    env = TicTacToeVectorEnv(2, side="X", opponent=CellPlayer(1))
    env.reset()
    before = env.boards
    with pytest.raises(
        ValueError, match="the opponent may end the game before the learner's first move"
    ):
        env.reset(options={"side": "O", "board": "X.X/OO./..."})
    assert np.array_equal(env.boards, before)
    env.step([0, 0])


def test_opponents_of_reset_options_are_kept_only_while_a_game_plays_them():
    env = TicTacToeVectorEnv(3, side="X", opponent="random", autoreset_mode="DISABLED")
    env.reset(seed=0)
    first, second = (np.array([game == chosen for game in range(3)]) for chosen in (0, 1))
    for cell in (1, 2, 3):
        env.reset(options={"reset_mask": first, "opponent": CellPlayer(cell)})
    env.reset(options={"reset_mask": second, "opponent": CellPlayer(5)})
    assert len(env._extra) == 2
    env.step([0, 0, 0])
    boards = env.boards
    assert boards[0, 3] == -1
    assert boards[1, 5] == -1
    env.reset(options={"reset_mask": first})
    assert len(env._extra) == 1
    env.step([0, 1, int((boards[2] == 0).argmax())])
    assert env.boards[1, 5] == -1
    env.reset()
    assert len(env._extra) == 0


def test_sides_alternate_in_each_row_and_begin_anew_with_a_seed():
    env = TicTacToeVectorEnv(4, side="alternate", opponent="random")
    for _ in range(2):
        assert env.reset(seed=0)[1]["side"].tolist() == list("XOXO")
        assert env.reset()[1]["side"].tolist() == list("OXOX")
        env.reset(options={"reset_mask": np.array([True, True, False, False])})
        assert env.reset()[1]["side"].tolist() == list("OXXO")


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_rendering_before_the_first_reset_says_so(mode):
    with pytest.raises(ResetNeeded, match="before reset"):
        TicTacToeVectorEnv(2, render_mode=mode).render()
