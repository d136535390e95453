"""TorchRL takes the environments untouched: specs and info, and masks in the example."""

import os

import gymnasium as gym
import pytest
import torch
from torchrl.envs import GymEnv, GymWrapper, check_env_specs

ID = "tictactoe_env:TicTacToe-v0"
INFO = {"action_mask", "side", "outcome", "illegal_move"}
# TorchRL's own warnings about itself are not the subject.
os.environ["RL_WARNINGS"] = "False"


@pytest.mark.parametrize("observation", ["planes", "grid", "flat"])
def test_specs_hold_untouched_and_with_the_numbers_of_info(observation):
    check_env_specs(GymWrapper(gym.make(ID, observation=observation)))
    env = GymEnv(ID, observation=observation).auto_register_info_dict()
    check_env_specs(env)
    assert isinstance(env, GymEnv)  # no primer was needed: reset and step have the same keys
    assert set(env.observation_spec.keys()) == {"observation", *INFO}
    assert {env.observation_spec[key].dtype for key in INFO} == {torch.int8}


def test_the_example_draws_games_that_it_can_lose(run_example, tmp_path):
    """Its actor sees the masks: an illegal move would stand among the results."""
    printed, _ = run_example("torchrl_ppo.py", 12_288)
    assert "can be beaten as " in printed  # after three updates
    assert "illegal" not in printed
    assert 'class="line"' in (tmp_path / "lost.svg").read_text()  # the opponent's three in a row
