"""Trains Tianshou's DQN with action masks in self-play, and names games that the agent can lose.

`pip install tictactoe-env "tianshou>=2"`. The argument is the number of moves to learn from.
"""

import sys

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from tictactoe_env import FunctionPolicy, Rules, evaluate, snapshot
from tictactoe_env.wrappers import MaskInObservation

ID = "tictactoe_env:TicTacToe-v0"  # moves between two snapshots of the agent
ROUND = 5_000
rounds = (int(sys.argv[1]) if len(sys.argv) > 1 else 30_000) // ROUND
np.random.seed(0)  # noqa: NPY002 - Tianshou explores with these numbers
torch.manual_seed(0)

# Tianshou looks for masks in the observation. It obeys them, so an illegal move may raise an error.
pool = [["self", 0.5], ["minimax-slip=0.5", 0.5]]
arguments = {"opponent": pool, "illegal": "raise"}
envs = [MaskInObservation(gym.make(ID, **arguments), "obs", "mask") for _ in range(16)]
vector_env = DummyVectorEnv([lambda env=env: env for env in envs])
vector_env.seed(0)
net = Net(state_shape=18, action_shape=9, hidden_sizes=[128, 128])
policy = DiscreteQLearningPolicy(model=net, action_space=envs[0].action_space, eps_training=0.2)
optimizer = AdamOptimizerFactory(lr=1e-3)
algorithm = DQN(policy=policy, optim=optimizer, gamma=1.0, target_update_freq=200)
buffer = VectorReplayBuffer(total_size=50_000, buffer_num=len(envs))
training = OffPolicyTrainerParams(
    training_collector=Collector(algorithm, vector_env, buffer, exploration_noise=True),
    max_epochs=1, epoch_num_steps=ROUND, collection_step_num_env_steps=160, batch_size=256,
    update_step_num_gradient_steps_per_sample=0.1, show_progress=False,
)  # fmt: skip


def moves(observations, masks):
    """The policy as a function of arrays: observations (B, 18) and masks (B, 9) to cells (B,)."""
    return policy(Batch(obs=Batch(obs=observations, mask=masks), info={})).act


player = FunctionPolicy(moves, Rules())
for _ in range(rounds):
    algorithm.run_training(training)
    frozen = snapshot(player, Rules())  # a table: it does not learn on
    for env in envs:
        env.unwrapped.add_snapshot(frozen)
print(evaluate(player))
