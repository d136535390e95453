"""RLlib on its new API stack: PPO without and with masks, in this process and in workers."""

import re

import gymnasium as gym
import numpy as np
import pytest
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from tictactoe_env import FunctionPolicy, Rules, evaluate
from tictactoe_env.wrappers import MaskInObservation

ID = "tictactoe_env:tictactoe_env/TicTacToe-v0"  # a worker imports the package by this name
NETWORKS = {"fcnet_hiddens": [64], "head_fcnet_hiddens": [], "vf_share_layers": False}


@pytest.fixture(scope="module", autouse=True)
def local_ray():
    ray.init(num_cpus=2, include_dashboard=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module", autouse=True)
def masked():
    def make_env(arguments):  # inside a function, so that Ray sends it to the workers
        # illegal="raise": an illegal move would be an error
        env = gym.make(ID, illegal="raise", **arguments)
        return MaskInObservation(env, observation="observations", dtype="float32")

    register_env("masked", make_env)


def configured(config, runners):
    """Of another size and seed; the networks and the observations remain as they are."""
    return (
        config.env_runners(num_env_runners=runners, num_envs_per_env_runner=8)
        .training(train_batch_size=1_000, minibatch_size=250, num_epochs=2, lr=1e-3, gamma=1.0)
        .debugging(seed=0)
    )


def with_masks(arguments, runners):
    module = RLModuleSpec(ActionMaskingTorchRLModule, model_config=NETWORKS)
    config = PPOConfig().environment("masked", env_config=arguments)
    return configured(config.rl_module(rl_module_spec=module), runners)


def trained(config, iterations=2):
    """The module after some training, and the results of the last iteration."""
    algorithm = config.build_algo()
    before = {name: value.copy() for name, value in algorithm.get_module().get_state().items()}
    for _ in range(iterations):
        results = algorithm.train()["env_runners"]
    module = algorithm.get_module()
    after = module.get_state()
    assert any(not np.array_equal(before[name], after[name]) for name in before)
    algorithm.stop()
    return module, results


def policy_of(module, is_masked):
    @torch.no_grad()
    def probabilities(observations, masks):
        seen, legal = torch.tensor(observations), torch.tensor(masks)
        parts = {"observations": seen, "action_mask": legal.float()}
        logits = module.forward_inference({"obs": parts if is_masked else seen})
        return torch.softmax(logits["action_dist_inputs"].double(), dim=1).numpy()

    return FunctionPolicy(probabilities, Rules())


@pytest.mark.parametrize("runners", [0, 1])
def test_default_ppo_trains_by_the_id_alone(runners):
    module, results = trained(configured(PPOConfig().environment(ID), runners))
    assert results["num_env_steps_sampled_lifetime"] >= 2_000
    assert -1 <= results["episode_return_mean"] <= 1
    found = evaluate(policy_of(module, is_masked=False))
    assert found.x.illegal > 0, "it knows nothing of legal moves"


@pytest.mark.parametrize("runners", [0, 1])
def test_ppo_with_masks_makes_legal_moves_only(runners):
    module, results = trained(with_masks({}, runners))
    assert results["num_env_steps_sampled_lifetime"] >= 2_000
    found = evaluate(policy_of(module, is_masked=True))
    assert (found.x.illegal, found.o.illegal) == (0, 0)
    assert found.x.win > 0


def test_the_example_trains_and_evaluates_exactly(run_example, rates_of):
    printed = run_example("rllib_action_masks.py", 8_000)
    assert len(re.findall(r"\d+ steps, mean reward +-?\d\.\d\d", printed)) == 2
    assert rates_of(printed).keys() == {"X", "O"}
