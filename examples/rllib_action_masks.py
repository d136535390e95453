"""PPO of RLlib that chooses among legal moves only, and the exact results of its policy.

    pip install tictactoe-env "ray[rllib]" torch
    python rllib_action_masks.py 40000

RLlib reads the mask from the observation, under the names that MaskInObservation is given here.
"""

import sys

import gymnasium as gym
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from tictactoe_env import FunctionPolicy, Rules, evaluate
from tictactoe_env.wrappers import MaskInObservation

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000


def make_env(arguments):
    """The environment; a worker of Ray imports the package by the name before the colon."""
    env = gym.make("tictactoe_env:tictactoe_env/TicTacToe-v0", **arguments)
    return MaskInObservation(env, observation="observations", dtype="float32")


ray.init(include_dashboard=False)
register_env("TicTacToe", make_env)
networks = {"fcnet_hiddens": [128, 128], "head_fcnet_hiddens": [], "vf_share_layers": False}
config = (
    PPOConfig()
    # illegal="raise": an illegal move would be an error
    .environment("TicTacToe", env_config={"opponent": "minimax-slip=0.5", "illegal": "raise"})
    .env_runners(num_env_runners=0, num_envs_per_env_runner=32)
    .training(train_batch_size=4_000, minibatch_size=500, num_epochs=4, lr=1e-3, gamma=1.0)
    .rl_module(rl_module_spec=RLModuleSpec(ActionMaskingTorchRLModule, model_config=networks))
    .debugging(seed=0)
)
algorithm = config.build_algo()
for _ in range(max(1, STEPS // 4_000)):
    runners = algorithm.train()["env_runners"]
    steps = runners["num_env_steps_sampled_lifetime"]
    reward = runners["episode_return_mean"]
    print(f"{steps:7.0f} steps, mean reward {reward:5.2f}")
module = algorithm.get_module()


@torch.no_grad()
def best_moves(observations, masks):
    """The most probable moves (B,) for observations (B, 18) and masks (B, 9)."""
    parts = {"observations": torch.tensor(observations), "action_mask": torch.tensor(masks).float()}
    return module.forward_inference({"obs": parts})["action_dist_inputs"].argmax(dim=1).numpy()


print(evaluate(FunctionPolicy(best_moves, Rules())))
algorithm.stop()
