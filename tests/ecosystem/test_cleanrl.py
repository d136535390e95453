"""CleanRL's PPO runs by the id alone; programs in its structure learn with masks on many games."""

import itertools

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Categorical

from tictactoe_env import FunctionPolicy, Rules, evaluate

ID = "tictactoe_env:TicTacToe-v0"


def made(env_id, count):
    """Games as CleanRL's programs make them: by the id, with nothing that knows the environment."""

    def make():
        env = gym.wrappers.RecordEpisodeStatistics(gym.make(env_id))
        env.action_space.seed(1)
        return env

    return gym.vector.SyncVectorEnv([make for _ in range(count)])


def perceptron(envs, outputs, activation, *hidden):
    """A network for the observations as they come: nothing flattens or converts them."""
    torch.manual_seed(1)
    sizes = (np.array(envs.single_observation_space.shape).prod(), *hidden)
    pairs = ((nn.Linear(*pair), activation()) for pair in itertools.pairwise(sizes))
    return nn.Sequential(*itertools.chain(*pairs), nn.Linear(sizes[-1], outputs))


def ppo(env_id):
    """The network that PPO without masks trains, in the structure of CleanRL's `ppo.py`."""
    games, steps = 4, 128
    envs = made(env_id, games)
    actor = perceptron(envs, envs.single_action_space.n, nn.Tanh, 64, 64)
    critic = perceptron(envs, 1, nn.Tanh, 64, 64)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3, eps=1e-5)
    obs = torch.zeros((steps, games, *envs.single_observation_space.shape))
    actions = torch.zeros((steps, games, *envs.single_action_space.shape))
    logprobs, rewards, dones, values = torch.zeros((4, steps, games))
    next_obs, next_done = torch.Tensor(envs.reset(seed=1)[0]), torch.zeros(games)
    for _ in range(40):
        for step in range(steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                moves, values[step] = Categorical(logits=actor(next_obs)), critic(next_obs)[:, 0]
            action = moves.sample()
            actions[step], logprobs[step] = action, moves.log_prob(action)
            next_obs, reward, terminated, truncated, _ = envs.step(action.numpy())
            rewards[step] = torch.tensor(reward).view(-1)
            next_obs = torch.Tensor(next_obs)
            next_done = torch.Tensor(np.logical_or(terminated, truncated))
        advantages, advantage, going = torch.zeros_like(rewards), 0, 1 - next_done
        following = critic(next_obs)[:, 0].detach()
        for t in reversed(range(steps)):
            delta = rewards[t] + 0.99 * following * going - values[t]
            advantages[t] = advantage = delta + 0.99 * 0.95 * going * advantage
            following, going = values[t], 1 - dones[t]
        columns = obs, actions, logprobs, advantages, advantages + values
        batch = [column.flatten(0, 1) for column in columns]
        for rows in torch.randperm(4 * steps * games).chunk(16):
            o, a, old, gain, target = (column[rows % (steps * games)] for column in batch)
            moves, gain = Categorical(logits=actor(o)), (gain - gain.mean()) / (gain.std() + 1e-8)
            ratio = (moves.log_prob(a) - old).exp()
            clipped = torch.min(gain * ratio, gain * ratio.clamp(0.8, 1.2)).mean()
            error = (critic(o)[:, 0] - target).square().mean()
            optimizer.zero_grad()
            (0.25 * error - clipped - 0.01 * moves.entropy().mean()).backward()
            optimizer.step()
    return actor


def test_cleanrls_own_structure_learns_with_nothing_changed_but_the_id():
    """Untrained networks win no game as X: they have to learn by losing which moves are legal."""
    network = ppo(ID)
    found = evaluate(FunctionPolicy(lambda o, m: network(torch.as_tensor(o)).argmax(1), Rules()))
    assert found.x.win > 0.4


@pytest.mark.parametrize(
    ("program", "steps"), [("cleanrl_ppo.py", 60_000), ("cleanrl_dqn.py", 20_000)]
)
def test_the_program_learns_and_prints_its_exact_results(run_example, rates_of, program, steps):
    """An untrained network wins 70 to 80 % of its games as X against random play, half as O."""
    rates = rates_of(run_example(program, steps))
    assert rates["X"][0] > 90
    assert rates["O"][0] > 60
