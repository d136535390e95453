"""CleanRL's programs take the id alone; those in its structure learn with masks on many games."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Categorical

ID = "tictactoe_env:TicTacToe-v0"


def test_games_that_are_made_and_asked_as_by_cleanrl_need_nothing_but_the_id():
    """Nothing flattens or converts the observations; the rest of a program is the library's."""
    make = [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make(ID))] * 4
    envs = gym.vector.SyncVectorEnv(make)
    inputs = np.array(envs.single_observation_space.shape).prod()
    actor = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 9))
    obs = torch.Tensor(envs.reset(seed=1)[0])
    returns = []
    for _ in range(50):
        action = Categorical(logits=actor(obs)).sample()
        next_obs, _, _, _, infos = envs.step(action.numpy())
        obs = torch.Tensor(next_obs)
        returns += [*infos["episode"]["r"][infos["_episode"]]] if "episode" in infos else []
    assert len(returns) > 20
    assert set(returns) <= {-1, 0, 1}


@pytest.mark.parametrize(
    ("program", "steps"), [("cleanrl_ppo.py", 60_000), ("cleanrl_dqn.py", 20_000)]
)
def test_the_program_learns_and_prints_its_exact_results(run_example, program, steps):
    """An untrained network wins 70 to 80 % of its games as X against random play, half as O."""
    _, rates = run_example(program, steps)
    assert rates["X"][0] > 90
    assert rates["O"][0] > 60
