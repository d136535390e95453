"""The one-file PPO and DQN learn on the native vector environment, and play as opponents."""

import re

import gymnasium as gym
import numpy as np
import pytest
import torch

from tictactoe_env import FunctionPolicy, Rules, best_responses, evaluate, tabulate


@pytest.mark.parametrize(
    ("program", "steps"), [("cleanrl_ppo.py", 60_000), ("cleanrl_dqn.py", 20_000)]
)
def test_the_program_learns_and_prints_its_exact_results(run_example, program, steps):
    """An untrained network wins 70 to 80 % of its games as X against random play, half as O."""
    printed = run_example(program, steps)
    win_x, win_o = re.search(r"X wins (0\.\d+), O (0\.\d+)", printed).groups()
    assert float(win_x) > 0.9
    assert float(win_o) > 0.6


def network(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(18, 32), torch.nn.Tanh(), torch.nn.Linear(32, 9))


def masked_softmax(layers):
    def probabilities(observations, masks):
        logits = layers(torch.as_tensor(observations))
        return logits.masked_fill(~torch.as_tensor(masks), -1e9).softmax(1)

    return probabilities


def test_a_network_is_an_opponent_of_the_vector_environment_and_is_frozen_there():
    layers = network(1)
    policy = FunctionPolicy(masked_softmax(layers), Rules(), "flat")
    envs = gym.make_vec(
        "tictactoe_env:TicTacToe-v0", 64, opponent=policy, side="O", observation="flat"
    )
    first = envs.reset(seed=3)[0]
    with torch.no_grad():
        layers[2].bias[0] += 50
    assert (envs.reset(seed=3)[0] == first).all()
    envs.unwrapped.set_opponent(policy)
    assert (envs.reset(seed=3)[0][:, 9] == 1).all()  # X now takes the first cell


def test_a_network_that_ignores_the_mask_is_judged_with_its_illegal_moves():
    layers = network(2)
    blind = FunctionPolicy(lambda o, m: layers(torch.as_tensor(o)).argmax(1), Rules(), "flat")
    masked = FunctionPolicy(lambda o, m: masked_softmax(layers)(o, m).argmax(1), Rules(), "flat")
    assert evaluate(blind).x.illegal > 0.1
    assert evaluate(masked).x.illegal == 0
    assert best_responses(blind)["X"].can_lose


def test_probabilities_and_moves_of_a_network_agree_with_the_games_that_are_played():
    policy = FunctionPolicy(masked_softmax(network(3)), Rules(), "flat")
    result = evaluate(policy).x
    games, rng, table = 4_000, np.random.default_rng(1), tabulate(policy, Rules())
    options = {"side": "X", "observation": "flat", "autoreset_mode": "NEXT_STEP"}
    envs = gym.make_vec("tictactoe_env:TicTacToe-v0", games, **options)
    obs, _ = envs.reset(seed=0)
    outcome, over = np.zeros(games, dtype=np.int8), np.zeros(games, dtype=bool)
    while not over.all():
        boards = (obs[:, :9] - obs[:, 9:]).astype(np.int8)
        below = table.probs(boards * ~over[:, None]).cumsum(axis=1) < rng.random((games, 1))
        obs, _, done, _, info = envs.step(below.sum(axis=1))
        new = done & ~over
        outcome[new] = info["outcome"][new]
        over |= done
    for value, probability in ((1, result.win), (0, result.draw), (-1, result.loss)):
        error = np.sqrt(probability * (1 - probability) / games)
        assert abs((outcome == value).mean() - probability) < 5 * error
