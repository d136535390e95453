"""agents/dqn.py: its network, schedules and duels.

Its update is that of `test_maskable_dqn`; `test_sb3_learner` has what it shares.
"""

import pytest
import torch
from learners import BOARDS, OBSERVATIONS, RULES
from torch.nn.utils import parameters_to_vector

from agents import dqn, presets
from tictactoe_env.observation import observe

SMALL = dqn.Config(num_envs=32, hidden=(16,), batch_size=64, buffer_size=512, learning_starts=64)


def duel(**options):
    """The preset duel-first as a configuration, with fewer games at a time."""
    fewer = {"num_envs": 32, "batch_size": 64, "learning_rate": 0.01, "learning_rate_end": 0.01}
    return dqn.Config(**{**presets("dqn")["duel-first"].options, **fewer, **options})


def test_a_grid_shows_own_and_other_marks_with_opposite_signs_and_tanh_bounds_the_values():
    network, planes = dqn.build(duel()).q_net, torch.as_tensor(OBSERVATIONS)
    grid = observe(BOARDS, RULES, "grid").reshape(-1, 9)
    assert (network.features_extractor(planes).numpy() == grid).all()
    with torch.no_grad():
        assert (network(planes)[torch.as_tensor(BOARDS == 0)].abs() < 1).all()


def test_epsilon_and_the_learning_rate_fall_whatever_the_length_of_the_run():
    """In the duels epsilon is multiplied by 0.999996 at each step after the first thousand."""
    rates = {"learning_rate": 0.01, "learning_rate_end": 0.002, "anneal_steps": 3_200}
    learner = dqn.begin(SMALL.replace(**rates, epsilon_end=0.2, epsilon_steps=1_600))
    copied = dqn.begin(duel())
    for steps, rate, epsilon in ((0, 0.00992, 1.0), (1_568, 0.006, 0.216), (9_999, 0.002, 0.2)):
        for one in (learner, copied):
            one.start_round(steps)
        assert learner.algorithm.lr_schedule(0.3) == pytest.approx(rate)
        assert learner.algorithm.exploration_rate == pytest.approx(epsilon)
        assert copied.algorithm.exploration_rate == 0.999996 ** max(0, steps - 1_000)
    copied.start_round(2_000_000)
    assert copied.algorithm.exploration_rate == 0.001


def test_the_network_is_copied_to_the_target_network_now_and_then():
    config = duel(target_every=1_600, epsilon_end=0.0, epsilon=0.0)
    learners = [dqn.begin(config) for _ in range(3)]
    for learner, steps in zip(learners, (1_568, 1_600, 3_168), strict=True):
        learner.advance(steps)
    assert [learner.notes()["target_updates"] for learner in learners] == [0, 1, 1]
    assert [learner.log_lines(0) for learner in learners[:2]] == [
        [],
        ["target network updated at step 1,600 (epsilon 0.0000)"],
    ]
    assert learners[2].log_lines(1_600) == []
    often = dqn.begin(duel(target_every=100))
    often.steps = 1_024  # in rounds of 32: those that reach a multiple of 100
    steps = (128, 224, 320, 416, 512, 608, 704, 800, 928, 1_024)
    for line, step in zip(often.log_lines(0), steps, strict=True):
        assert f" at step {step:,} " in line
    targets = [parameters_to_vector(one.algorithm.q_net_target.parameters()) for one in learners]
    untrained = parameters_to_vector(dqn.build(config).q_net.parameters())
    assert torch.equal(targets[0], untrained)
    assert not torch.equal(targets[1], untrained)
    assert torch.equal(targets[1], targets[2])
