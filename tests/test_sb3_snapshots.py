"""Snapshots of Stable-Baselines3 models as they are, with masks and without."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize
from text_cases import refuses

from tictactoe_env import Rules, TabularPolicy, snapshot
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.observation import observe
from tictactoe_env.policy import CanonicalPolicy, plays_symmetrically
from tictactoe_env.predict_policy import PredictPolicy
from tictactoe_env.sb3 import MaskableDQN, TicTacToeVecEnv
from tictactoe_env.sb3.models import frozen

ID = "tictactoe_env/TicTacToe-v0"
SMALL, LARGE = Rules(2, 3, 3), Rules(4, 4, 4)
KINDS = {SMALL: "flat", LARGE: "grid"}
ALGORITHMS = {"PPO": PPO, "MaskablePPO": MaskablePPO, "DQN": DQN, "MaskableDQN": MaskableDQN}


def model_of(kind, rules, seed=0):
    """An untrained model of normalized observations whose actions are far from equally likely."""
    board = {"rows": rules.rows, "cols": rules.cols, "k": rules.k, "observation": KINDS[rules]}
    settings = {"buffer_size": 100} if "DQN" in kind else {"n_steps": 8, "batch_size": 8}
    env = VecNormalize(make_vec_env(ID, env_kwargs=board))
    model = ALGORITHMS[kind]("MlpPolicy", env, seed=seed, **settings)
    change(model)
    return model


def change(model):
    """Other weights and statistics of the observations, as training makes them."""
    statistics = model.get_vec_normalize_env().obs_rms
    statistics.mean = np.random.default_rng(0).random(statistics.mean.shape) + statistics.mean
    with torch.no_grad():
        for weights in model.policy.parameters():
            weights.copy_(torch.randn(weights.shape))


def boards_of(rules):
    if rules == LARGE:
        board = np.zeros((2, 16), np.int8)
        board[1, :3] = 1, -1, 1
        return board
    positions = positions_of(rules)
    return positions.boards[positions.unfinished]


@pytest.mark.parametrize("rules", [SMALL, LARGE], ids=str)
@pytest.mark.parametrize("kind", ALGORITHMS)
def test_a_snapshot_of_a_model_has_its_probabilities_or_its_best_moves(kind, rules):
    """Also one that was sent to another process; games that are copied share it."""
    model, boards = model_of(kind, rules), boards_of(rules)
    copies = [snapshot(model, rules, deterministic=best) for best in (False, True)]
    shared = frozen(PredictPolicy(model, rules, deterministic=False), rules, False)
    copies.append(pickle.loads(pickle.dumps(shared)))
    assert deepcopy(shared) is shared or rules == SMALL
    before = [copy.probs(boards) for copy in copies]
    observations = model.get_vec_normalize_env().normalize_obs(observe(boards, rules, KINDS[rules]))
    masks = {"action_masks": boards == 0} if "Maskable" in kind else {}
    best = model.predict(observations, deterministic=True, **masks)[0]
    assert np.array_equal(before[1].argmax(axis=1), best)
    assert (before[1].max(axis=1) == 1).all()
    if "DQN" in kind:
        assert np.array_equal(before[0], before[1])
    else:
        tensor = model.policy.obs_to_tensor(observations)[0]
        expected = model.policy.get_distribution(tensor, **masks).distribution.probs
        assert before[0] == pytest.approx(expected.detach().numpy(), abs=1e-6)
        assert (before[0].max(axis=1) < 1).any()
    assert np.array_equal(before[2], before[0])
    change(model)
    assert all(
        np.array_equal(copy.probs(boards), was) for copy, was in zip(copies, before, strict=True)
    )
    assert isinstance(copies[0], TabularPolicy) == (rules == SMALL)


def test_self_play_with_stock_stable_baselines3_plays_against_what_was_learned_before():
    env = make_vec_env(ID, n_envs=2, env_kwargs={"opponent": "self", "side": "O"})
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=16, seed=0)
    model.learn(32)
    env.env_method("add_snapshot", model, deterministic=True)
    frozen = snapshot(model, Rules(), deterministic=True)
    model.learn(32, reset_num_timesteps=False)
    first = int(frozen.probs(np.zeros((1, 9), np.int8)).argmax())
    observations = env.reset()
    assert observations[:, 9:].argmax(axis=1).tolist() == [first, first]
    TicTacToeVecEnv(2, opponent="self").add_snapshot(model)
    with refuses(SMALL):
        env.env_method("add_snapshot", model_of("PPO", SMALL))


@pytest.mark.parametrize("best", [False, True])
def test_a_snapshot_of_a_canonical_player_of_a_model_is_canonical_and_leaves_the_rest(best):
    """Also a snapshot of what is frozen already."""
    model, board = model_of("MaskablePPO", LARGE), boards_of(LARGE)
    player = CanonicalPolicy(PredictPolicy(model, LARGE, deterministic=False), LARGE)
    asked = player.probs(board)
    expected = np.eye(16)[asked.argmax(axis=1)] if best else asked
    for made in (player, frozen(player, LARGE, deterministic=best)):
        copy = snapshot(made, LARGE, deterministic=best)
        assert plays_symmetrically(copy)
        assert np.array_equal(copy.probs(board), expected)
        network = copy
        while not hasattr(network, "model"):
            network = network.policy
        assert not hasattr(network.model, "get_env")  # the policy without environment and buffers
    change(model)
    assert np.array_equal(copy.probs(board), expected)
