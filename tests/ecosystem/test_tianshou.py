"""Tianshou 2 trains on the environment untouched, and with masks; its policies are players."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, SubprocVectorEnv
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

from tictactoe_env.wrappers import MaskInObservation

ID = "tictactoe_env:TicTacToe-v0"
CELLS = gym.spaces.Discrete(9)


@pytest.fixture(autouse=True)
def seeded():
    np.random.seed(0)  # noqa: NPY002 - Tianshou explores with these numbers
    torch.manual_seed(0)
    torch.set_num_threads(1)


def plain(**arguments):
    return gym.make(ID, **arguments)


def masked(**arguments):
    """An environment in which an illegal move is an error, with the mask where Tianshou looks."""
    env = gym.make(ID, illegal="raise", **arguments)
    return MaskInObservation(env, observation="obs", mask="mask", dtype="bool")


def dqn(eps=0.2):
    policy = DiscreteQLearningPolicy(
        model=Net(state_shape=18, action_shape=9, hidden_sizes=[32]),
        action_space=CELLS,
        eps_training=eps,
    )
    return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=50)


def ppo():
    net = Net(state_shape=18, hidden_sizes=[32])
    policy = DiscreteActorPolicy(
        actor=DiscreteActor(preprocess_net=net, action_shape=9, softmax_output=False),
        action_space=CELLS,
    )
    return PPO(
        policy=policy,
        critic=DiscreteCritic(preprocess_net=net),
        optim=AdamOptimizerFactory(lr=1e-3),
    )


def collector_of(algorithm, vector_env, size=4_000):
    buffer = VectorReplayBuffer(total_size=size, buffer_num=vector_env.env_num)
    return Collector(algorithm, vector_env, buffer, exploration_noise=True)


def train(algorithm, collector, steps):
    shared = {
        "training_collector": collector,
        "max_epochs": 1,
        "epoch_num_steps": steps,
        "collection_step_num_env_steps": 256,
        "batch_size": 64,
        "verbose": False,
        "show_progress": False,
    }
    if isinstance(algorithm, PPO):
        return algorithm.run_training(OnPolicyTrainerParams(**shared))
    shared["update_step_num_gradient_steps_per_sample"] = 0.1
    return algorithm.run_training(OffPolicyTrainerParams(**shared))


@pytest.mark.parametrize("vector", [DummyVectorEnv, SubprocVectorEnv])
@pytest.mark.parametrize("algorithm_of", [dqn, ppo])
def test_an_untouched_algorithm_trains(algorithm_of, vector):
    algorithm = algorithm_of()
    before = [weight.clone() for weight in algorithm.policy.parameters()]
    vector_env = vector([plain] * 4)
    collector = collector_of(algorithm, vector_env)
    result = train(algorithm, collector, 512)
    vector_env.close()
    assert result.train_step >= 512
    after = list(algorithm.policy.parameters())
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


@pytest.mark.parametrize("vector", [DummyVectorEnv, SubprocVectorEnv])
def test_a_masked_dqn_never_moves_onto_a_taken_cell(vector):
    """An illegal move would raise; with this exploration an unmasked agent makes many."""
    algorithm = dqn(eps=0.5)
    vector_env = vector([masked] * 4)
    collector = collector_of(algorithm, vector_env)
    train(algorithm, collector, 2_000)
    vector_env.close()
    batch, _ = collector.buffer.sample(0)
    assert len(batch) >= 2_000
    assert batch.obs.mask[np.arange(len(batch)), batch.act].all()
    assert batch.terminated.any()


def test_the_example_is_evaluated_exactly(run_example, rates_of):
    printed = run_example("tianshou_dqn.py", 10_000)
    assert rates_of(printed).keys() == {"X", "O"}
    assert "illegal" not in printed
