"""CleanRL's PPO and DQN run by the id alone; ours learn on many games, and play as opponents."""

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


def dqn(env_id):
    """The network that DQN without masks trains, in the structure of CleanRL's `dqn.py`."""
    envs, total = made(env_id, 1), 10_000
    network, target = (
        perceptron(envs, envs.single_action_space.n, nn.ReLU, 120, 84) for _ in range(2)
    )
    optimizer, rng = torch.optim.Adam(network.parameters(), lr=1e-3), np.random.default_rng(1)
    space = envs.single_observation_space  # whose numbers the buffer keeps as they are
    seen, following = np.zeros((2, total, *space.shape), space.dtype)
    actions, rewards, dones = np.zeros(total, int), *np.zeros((2, total), np.float32)
    buffer = seen, following, actions, rewards, dones
    obs, _ = envs.reset(seed=1)
    for step in range(total):
        if rng.random() < max(0.05, 1 - 2 * step / total):
            action = np.array([envs.single_action_space.sample()])
        else:
            action = network(torch.Tensor(obs)).argmax(dim=1).numpy()
        next_obs, reward, terminated, _, _ = envs.step(action)
        seen[step], following[step] = obs[0], next_obs[0]
        actions[step], rewards[step], dones[step] = action[0], reward[0], terminated[0]
        obs = next_obs
        if step > 1_000 and step % 5 == 0:
            rows = rng.integers(step + 1, size=128)
            o, o2, a, r, done = (torch.as_tensor(column[rows]) for column in buffer)
            goal = r + 0.99 * target(o2).max(dim=1).values.detach() * (1 - done)
            old = network(o).gather(1, a[:, None])[:, 0]
            optimizer.zero_grad()
            nn.functional.mse_loss(goal, old).backward()
            optimizer.step()
        if step % 500 == 0:
            target.load_state_dict(network.state_dict())
    return network


@pytest.mark.parametrize("program", [ppo, dqn])
def test_cleanrls_own_structure_learns_with_nothing_changed_but_the_id(program):
    """Untrained networks win no game as X: they have to learn by losing which moves are legal."""
    network = program(ID)
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


def network(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(18, 32), nn.Tanh(), nn.Linear(32, 9))


def masked_softmax(layers):
    def probabilities(observations, masks):
        logits = layers(torch.as_tensor(observations))
        return logits.masked_fill(~torch.as_tensor(masks), -1e9).softmax(1)

    return probabilities


def test_a_network_is_an_opponent_of_the_vector_environment_and_is_frozen_there():
    layers = network(1)
    policy = FunctionPolicy(masked_softmax(layers), Rules())
    envs = gym.make_vec(ID, 64, opponent=policy, side="O")
    first = envs.reset(seed=3)[0]
    with torch.no_grad():
        layers[2].bias[0] += 50
    assert (envs.reset(seed=3)[0] == first).all()
    envs.unwrapped.set_opponent(policy)
    assert (envs.reset(seed=3)[0][:, 9] == 1).all()  # X now takes the first cell
