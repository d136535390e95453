"""Tianshou 2 trains on the environment untouched, and with masks in the example."""

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import SubprocVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

ID = "tictactoe_env:TicTacToe-v0"


def test_an_untouched_algorithm_trains_in_processes():
    np.random.seed(0)  # noqa: NPY002 - Tianshou explores with these numbers
    torch.manual_seed(0)
    net = Net(state_shape=18, hidden_sizes=[32])
    actor = DiscreteActor(preprocess_net=net, action_shape=9, softmax_output=False)
    algorithm = PPO(
        policy=DiscreteActorPolicy(actor=actor, action_space=gym.spaces.Discrete(9)),
        critic=DiscreteCritic(preprocess_net=net),
        optim=AdamOptimizerFactory(lr=1e-3),
    )
    before = [weight.clone() for weight in algorithm.policy.parameters()]
    vector_env = SubprocVectorEnv([lambda: gym.make(ID)] * 4)
    params = OnPolicyTrainerParams(
        training_collector=Collector(algorithm, vector_env, VectorReplayBuffer(4_000, 4)),
        max_epochs=1,
        epoch_num_steps=512,
        collection_step_num_env_steps=256,
        batch_size=64,
        verbose=False,
        show_progress=False,
    )
    assert algorithm.run_training(params).train_step >= 512
    vector_env.close()
    after = list(algorithm.policy.parameters())
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_the_example_is_evaluated_exactly(run_example):
    """An illegal move raises an error there: its exploration obeys the masks."""
    printed, rates = run_example("tianshou_dqn.py", 10_000)
    assert rates.keys() == {"X", "O"}
    assert "illegal" not in printed
