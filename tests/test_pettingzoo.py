"""The environment of PettingZoo: the rules, its own checks, and its tictactoe_v3."""

import copy
import importlib
import os
import warnings
from types import SimpleNamespace

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows without a screen

import gymnasium as gym
import numpy as np
import pettingzoo
import pettingzoo.test as checks
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from test_contract import INFOS, Alone, Games
from test_law import Misere
from text_cases import refuses

from tictactoe_env import TicTacToeEnv
from tictactoe_env import config as config_module
from tictactoe_env import pettingzoo as tictactoe

state_checks = importlib.import_module("pettingzoo.test.state_test")  # the module, not its function
SETTINGS = (
    {},
    {"observation": "grid", "illegal": "raise"},
    {"observation": "flat", "rows": 4, "cols": 5, "k": 4, "max_cycles": 3},
    {"start": "random", "early_draw": True},
    gym.spec("tictactoe_env/ConnectFour-v0").kwargs,
)
X, O = tictactoe.AGENTS  # noqa: E741
OTHER = {X: O, O: X}


class Seats(Alone):
    """PettingZoo's environment as a vector environment of one game: what the mover is told."""

    def __init__(self, made, count, limit):
        arguments = {name: value for name, value in made.items() if name != "opponent"}
        self.env = tictactoe.env(max_cycles=limit and limit // 2, **arguments)
        self.rewards = made["rewards"]

    @property
    def boards(self):
        return self.env.board[None]

    @property
    def unwrapped(self):
        return SimpleNamespace(np_random=self.env.unwrapped.game.np_random)

    def action_masks(self):
        return self.env.observe(self.env.agent_selection)["action_mask"][None]

    def reset(self, seed=None, options=None):
        given = {name: value for name, value in (options or {}).items() if name != "reset_mask"}
        self.env.reset(seed=seed, options=given)
        return self.seen(self.env.infos[self.env.agent_selection])

    def seen(self, info):
        """What the agent to move sees, with `info`; the other one may do anything."""
        agent = self.env.agent_selection
        seen = self.env.observe(agent)
        assert self.env.observation_space(agent).contains(seen)
        assert self.env.observe(OTHER[agent])["action_mask"].all()
        info = {**info, "action_mask": seen["action_mask"], "side": self.env.infos[agent]["side"]}
        return seen["observation"][None], self.infos({name: info[name] for name in INFOS})

    def step(self, cells):
        (cell,) = cells
        env = self.env
        mover = self.env.agent_selection
        if env.agents and env.terminations[mover] | env.truncations[mover]:
            final = dict(env.rewards)
            with refuses("None"):
                env.step(0)
            for agent in (mover, OTHER[mover]):
                assert (env.agent_selection, env.last()[1]) == (agent, final[agent])
                env.step(None)
        env.step(cell)
        own = env.infos[mover]
        other = env.infos[OTHER[mover]]
        over = env.terminations[mover]
        assert set(map(type, [*own.values(), *other.values()])) == {np.int8}
        assert (other["outcome"], other["illegal_move"]) == (-own["outcome"], own["illegal_move"])
        names = {1: "win", 0: "draw", -1: "loss"}
        assert env.rewards[OTHER[mover]] == over * self.rewards[names[int(other["outcome"])]]
        assert env.terminations == dict.fromkeys(OTHER, over)
        assert len(set(env.truncations.values())) == 1
        seen, infos = self.seen(own)
        results = env.rewards[mover], over, env.truncations[mover]
        return seen, *(np.array([one]) for one in results), infos


@pytest.mark.parametrize("seed", range(14))
def test_every_game_goes_by_the_rules_and_the_arguments(seed):
    Games(seed, "both", Seats)


@pytest.mark.parametrize("seed", range(3))
def test_every_game_goes_by_the_law(seed, monkeypatch):
    monkeypatch.setattr(config_module, "Rules", Misere)
    Games(seed, "both", Seats, Misere(3, 2, 2))


def play(env, cells):
    """Step through cells of a new game."""
    env.reset()
    for cell in cells:
        env.step(cell)
    return env


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_pettingzoos_tests_pass_and_the_only_warning_of_ours_is_for_an_unknown_option(settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for make in (tictactoe.env, tictactoe.raw_env):
            checks.api_test(make(**settings), num_cycles=50)
        checks.seed_test(lambda: tictactoe.env(**settings))
        env = tictactoe.env(**{**settings, "illegal": "lose"})  # its moves obey no masks
        env.reset(seed=0)
        state_checks.test_state_space(env)
        state_checks.test_state(env, num_cycles=50)
    (ours,) = {str(one.message) for one in caught if "pettingzoo/test/" not in one.filename}
    assert "'options'" in ours


NAMES = {
    "tictactoe_env_v0": {"observation": "grid"},
    "tictactoe_env_4x5x4_v0": {"rows": 4, "cols": 5, "k": 4},
    "tictactoe_env_3x3x3-gravity=true_v0": {"gravity": True},
    "tictactoe_env_connect_four_v0": gym.spec("tictactoe_env/ConnectFour-v0").kwargs,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_an_environment_is_the_name_of_its_board(name):
    env = tictactoe.env(**NAMES[name])
    assert env.metadata["name"] == env.unwrapped.metadata["name"] == str(env) == name


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo before 1.27")
@pytest.mark.parametrize("env_id", tictactoe.ENV_IDS)
def test_pettingzoo_makes_the_environment_of_an_id_and_takes_other_arguments(env_id):
    made = pettingzoo.make("aec", env_id, max_cycles=2)
    assert made.unwrapped.game.config == gym.make(env_id, observation="planes").config
    assert made.unwrapped.max_cycles == 2
    assert pettingzoo.make("aec", env_id, rows=4, cols=5, k=4).unwrapped.rules.cells == 20


@pytest.mark.parametrize("make", [tictactoe.env, tictactoe.raw_env])
def test_calls_in_the_wrong_order_are_refused(make):
    env = make()
    for call in (lambda: env.step(0), env.state, env.render, lambda: env.observe(X)):
        with refuses("reset", error=ResetNeeded):
            call()
    env.reset()
    env.close()
    env.close()
    for call in (lambda: env.step(0), env.reset, env.render, lambda: env.observe(X)):
        with pytest.raises(ClosedEnvironmentError):
            call()


def test_wrong_arguments_are_refused_and_a_wrong_reset_leaves_the_game():
    for arguments, mentions in (
        ({"observation": "plane"}, "'plane' 'planes'"),
        ({"max_cycles": 0}, "max_cycles 0"),
        ({"opening": "a1 b1 a2 b2 a3"}, "opening"),
        ({"opponent": "random"}, "'opponent' max_cycles"),
    ):
        with refuses(*mentions.split(), error=(ValueError, TypeError)):
            tictactoe.env(**arguments)
    env = play(tictactoe.env(), [4, 0])
    for arguments, mentions in (({"seed": -1}, "seed -1"), ({"options": 3}, "options 3")):
        with refuses(*mentions.split()):
            env.reset(**arguments)
    env.step(8)
    assert env.board.tolist() == [-1, 0, 0, 0, 1, 0, 0, 0, 1]
    with pytest.warns(UserWarning, match="board"):
        env.reset(options={"bord": "X../.../..."})


def test_pictures_show_the_last_move_and_a_window_that_a_copy_closed_opens_again(monkeypatch):
    env = play(tictactoe.env(render_mode="ansi"), [4, 0])
    assert env.render().splitlines()[1] == "1  [O]  .   ."
    with pytest.warns(UserWarning, match="render mode"):
        assert play(tictactoe.env(), [4]).render() is None
    monkeypatch.setitem(TicTacToeEnv.metadata, "render_fps", 10_000)  # without pauses
    shown = play(tictactoe.env(render_mode="human"), [4])
    for env, cell in ((copy.deepcopy(shown), 8), (shown, 0)):
        env.step(cell)
        assert env.board[cell] == -1
        env.close()
