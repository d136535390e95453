"""tictactoe_env/model_env.py: a model is judged as it plays in its environment, or refused."""

from multiprocessing import get_all_start_methods

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import wrappers
from sb3_contrib import MaskablePPO
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3.common import vec_env
from stable_baselines3.common.monitor import Monitor
from text_cases import cases, refuses

from tictactoe_env import RandomPolicy, Rules, TicTacToeEnv, evaluate, exact_result
from tictactoe_env import snapshot as frozen
from tictactoe_env.certificates import certify
from tictactoe_env.policy import as_policy
from tictactoe_env.sb3 import ExactEvaluation, SelfPlay, TicTacToeVecEnv
from tictactoe_env.wrappers import MaskInObservation

SQUARE = {"rows": 3, "cols": 3, "k": 3}
FALLING = {"rows": 3, "cols": 4, "k": 3, "gravity": True, "actions": "columns"}


class Rewarded(gym.RewardWrapper):
    def reward(self, reward):
        return 2 * reward


class Turned(gym.ActionWrapper):
    def action(self, action):
        return 8 - action


class Renamed(Monitor):
    """Adds nothing to the way of actions and observations."""

    def nothing(self):
        return None


class Flattened(wrappers.FlattenObservation):
    """It may have given another function to its base."""


class Own(TicTacToeEnv):
    def step(self, action):
        return super().step(8 - action)


class TurnedGames(vec_env.VecEnvWrapper):
    def reset(self):
        return self.venv.reset()

    def step_wait(self):
        return self.venv.step_wait()

    def step_async(self, actions):
        self.venv.step_async(8 - actions)


def patched(env):
    step = env.step
    env.step = lambda action: step(8 - action)
    return env


WRAPPERS = {
    "statistics": lambda env: wrappers.TimeLimit(wrappers.RecordEpisodeStatistics(env), 9),
    "flat": wrappers.FlattenObservation,
    "reshaped": lambda env: wrappers.ReshapeObservation(env, (18,)),
    "dtype": lambda env: wrappers.DtypeObservation(env, np.float32),
    "clipped": lambda env: wrappers.ClipReward(env, -1, 1),
    "masker": lambda env: ActionMasker(env, lambda inner: inner.unwrapped.action_masks()),
    "corners": lambda env: ActionMasker(env, lambda inner: np.arange(9) % 2 == 0),
    "action": lambda env: wrappers.TransformAction(env, lambda cell: 8 - cell, env.action_space),
    "observation": lambda env: wrappers.TransformObservation(env, np.flip, env.observation_space),
    "rescaled": lambda env: wrappers.RescaleObservation(env, np.float32(0), np.float32(2)),
    "stacked": lambda env: wrappers.FrameStackObservation(env, 2),
    "masks": MaskInObservation,
    "patched": patched,
    **{kind.__name__: kind for kind in (Rewarded, Turned, Renamed, Flattened)},
}
OUTER = {
    "monitor": vec_env.VecMonitor,
    "normalized": vec_env.VecNormalize,
    "turned": TurnedGames,
    "frames": lambda env: vec_env.VecFrameStack(env, 2),
}


def started(chain="", board=SQUARE, **arguments):
    """A model of random weights, whose environment consists of these parts."""
    names = chain.split()
    arguments = {**board, "opponent": "random", **arguments}

    def game():
        env = Own(**arguments) if "own" in names else gym.make("TicTacToe-v0", **arguments)
        for name in names:
            env = WRAPPERS.get(name, lambda same: same)(env)
        return env

    if "native" in names:
        env = TicTacToeVecEnv(4, **arguments)
    elif "processes" in names:
        env = vec_env.SubprocVecEnv([game], get_all_start_methods()[0])  # forks are fast
    else:
        env = vec_env.DummyVecEnv([game] * 4)
    for name in names:
        env = OUTER.get(name, lambda same: same)(env)
    policy = "MultiInputPolicy" if "masks" in names else "MlpPolicy"
    options = {"policy_kwargs": {"net_arch": [16]}, "n_steps": 8, "batch_size": 8, "seed": 0}
    return MaskablePPO(policy, env, **options)


PLAYED = """
    native                          | square
    native images                   | square
    flat planes images              | square
    reshaped planes normalized      | square
    flat grid                       | falling
    statistics masker dtype flat planes Renamed | square
    clipped Rewarded monitor        | falling
    processes flat planes           | falling
"""


@pytest.mark.parametrize(("chain", "board"), cases(PLAYED))
def test_a_model_is_judged_by_the_moves_that_it_makes_in_its_environment(chain, board):
    """Without a word on the board; a game that has ended shows no move."""
    kind = next((name for name in ("planes", "grid") if name in chain), "flat")
    shape = SQUARE if board == "square" else FALLING
    model = started(chain, shape, observation=kind, symmetric="images" in chain)
    model.learn(32)
    found = evaluate(model)
    rules = found.rules
    assert rules == Rules.among(shape)
    policy = as_policy(model, rules)
    env = model.get_env()
    seen = env.reset()
    compared = 0
    for _ in range(20):
        before = np.stack(env.get_attr("board"))
        expected = policy.probs(before)
        masks = np.stack(env.env_method("action_masks"))
        actions, _ = model.predict(seen, deterministic=True, action_masks=masks)
        seen, _, ended, _ = env.step(actions)
        new = np.where(before == 0, np.stack(env.get_attr("board")), 0)
        mark = np.where(before.sum(axis=1) == 0, 1, -1)
        played = (new == mark[:, None]).astype(float)
        assert np.array_equal(played[~ended], expected[~ended])
        compared += int((~ended).sum())
    assert compared > 5
    env.close()


DOORS = [
    evaluate,
    lambda model: certify(model, "model"),
    lambda model: exact_result(RandomPolicy(), model),
    lambda model: frozen(model, Rules()),
    lambda model: TicTacToeVecEnv(2, opponent=model),
    lambda model: model.learn(8, callback=ExactEvaluation()),
    lambda model: model.learn(8, callback=SelfPlay()),
]
REFUSED = """
    native turned                | TurnedGames
    native frames                | VecFrameStack
    Turned                       | Turned
    Flattened                    | Flattened
    own                          | Own
    patched                      | TicTacToeEnv
    action                       | TransformAction
    observation                  | TransformObservation
    rescaled normalized          | RescaleObservation
    masks                        | MaskInObservation
    corners                      | masks
    processes Turned             | Turned
"""


@pytest.mark.parametrize(("chain", "name"), cases(REFUSED))
def test_what_is_not_known_around_an_environment_is_refused_by_name_at_every_door(chain, name):
    model = started(chain)
    if name == "masks":
        model.learn(8)
    for door in DOORS:
        with refuses(name, "FunctionPolicy") as found:
            door(model)
        assert "\n" not in str(found.value)
        assert model.num_timesteps <= 32
    model.get_env().close()


PLACES = [
    lambda model, rules, board: evaluate(model, rules),
    lambda model, rules, board: exact_result(model, RandomPolicy(), rules),
    lambda model, rules, board: gym.make_vec("TicTacToe-v0", 2, opponent=[[model, 1]], **board),
    lambda model, rules, board: TicTacToeVecEnv(2, opponent="self", **board).add_snapshot(model),
]


@pytest.mark.parametrize("change", [{"gravity": False}, {"k": 4}, {"rows": 4, "cols": 3}], ids=str)
def test_a_board_that_is_not_that_of_the_environment_is_refused(change):
    board = {"rows": 3, "cols": 4, "k": 3, "gravity": True}
    model = started("native", board)
    other = board | change
    for place in PLACES:
        with refuses("3x4", Rules(**other)):
            place(model, Rules(**other), other)


@pytest.mark.parametrize(
    ("board", "observation", "named"),
    [
        ({"rows": 4, "cols": 4, "k": 4}, "flat", "Rules(4, 4, 4)"),
        ({"rows": 4, "cols": 5, "k": 4}, "grid", "Rules(4, 5, 4)"),
        ({"rows": 3, "cols": 4, "k": 3}, "flat", "Rules(3, 4, 3)"),
        ({**FALLING, "rows": 6, "cols": 7, "k": 4}, "flat", "Rules(6, 7, 4, gravity=True)"),
        ({**FALLING, "rows": 6, "cols": 7, "k": 4}, "planes", "Rules(6, 7, 4, gravity=True)"),
    ],
)
def test_a_model_without_environment_is_told_how_to_name_its_board(
    board, observation, named, tmp_path
):
    started("native", board, observation=observation).save(tmp_path / "model")
    loaded = MaskablePPO.load(tmp_path / "model")
    with refuses(f"evaluate(model, {named})") as found:
        evaluate(loaded)
    assert "\n" not in str(found.value)
    rules = Rules.among(board)
    assert as_policy(loaded, rules).probs(np.zeros((1, rules.cells))).sum() == 1
    if board.get("gravity"):
        with refuses("gravity=True"):
            as_policy(loaded, Rules(6, 7, 4))


def test_a_closed_environment_in_other_processes_cannot_be_asked():
    model = started("processes")
    model.get_env().close()
    with refuses("closed", "model.policy"):
        evaluate(model)
    native = started("native").learn(8)
    native.get_env().close()
    assert evaluate(native) == evaluate(native.policy)
