"""RLlib on its new API stack: PPO without masks by the id alone, and with masks in the example."""

import re

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig

from tictactoe_env import FunctionPolicy, Rules, evaluate

ID = "tictactoe_env:tictactoe_env/TicTacToe-v0"  # a worker imports the package by this name


def test_default_ppo_trains_by_the_id_alone_in_a_worker():
    ray.init(num_cpus=2, include_dashboard=False)
    config = (
        PPOConfig()
        .environment(ID)
        .env_runners(num_env_runners=1, num_envs_per_env_runner=8)
        .training(train_batch_size=1_000, minibatch_size=250, num_epochs=2)
    )
    algorithm = config.build_algo()
    results = algorithm.train()["env_runners"]
    assert results["num_env_steps_sampled_lifetime"] >= 1_000
    assert -1 <= results["episode_return_mean"] <= 1
    module = algorithm.get_module()

    @torch.no_grad()
    def best_moves(observations, masks):
        actions = module.forward_inference({"obs": torch.tensor(observations)})
        return actions["action_dist_inputs"].argmax(dim=1).numpy()

    found = evaluate(FunctionPolicy(best_moves, Rules()))
    assert found.x.illegal > 0, "it knows nothing of legal moves"
    algorithm.stop()
    ray.shutdown()


def test_the_example_trains_and_evaluates_exactly(run_example):
    printed, rates = run_example("rllib_action_masks.py", 8_000)
    assert len(re.findall(r"\d+ steps, mean reward +-?\d\.\d\d", printed)) == 2
    assert rates.keys() == {"X", "O"}
    assert "illegal" not in printed
