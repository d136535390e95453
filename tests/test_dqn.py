"""agents/dqn.py: update, schedules, duels; tests/test_sb3_learner.py has what it shares."""

import numpy as np
import pytest
import torch
from learners import BOARDS, OBSERVATIONS, RULES
from text_cases import refuses
from torch.nn.utils import parameters_to_vector

from agents import dqn, presets
from tictactoe_env.observation import observe

SMALL = dqn.Config(num_envs=32, hidden=(16,), batch_size=64, buffer_size=512, learning_starts=64)


def duel(name, **options):
    """A preset as a configuration, with fewer games at a time."""
    fewer = {"num_envs": 32, "batch_size": 64, "learning_rate": 0.01, "learning_rate_end": 0.01}
    return dqn.Config(**{**presets("dqn")[name].options, **fewer, **options})


@pytest.mark.parametrize("name", ["", "duel-first"])
def test_the_target_takes_the_value_of_the_move_that_the_network_would_choose(monkeypatch, name):
    """r + discount * (1 - done) * target(next)[argmax network(next)], seen where the loss is."""
    config = duel(name, learning_starts=64) if name else SMALL
    algorithm = dqn.build(config)
    with torch.no_grad():
        for parameter in algorithm.q_net_target.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    seen, loss = [], torch.nn.functional.l1_loss
    monkeypatch.setattr(torch.nn.functional, "mse_loss", lambda q, r: seen.append(r) or loss(q, r))
    algorithm.learn(256)
    algorithm.replay_buffer.rng = np.random.default_rng(7)
    moves = algorithm.replay_buffer.sample(64)
    with torch.no_grad():
        choice = algorithm.q_net(moves.next_observations)
        best = choice.masked_fill(~moves.next_action_masks, -torch.inf).argmax(dim=1, keepdim=True)
        following = algorithm.q_net_target(moves.next_observations).gather(1, best)
    algorithm.replay_buffer.rng = np.random.default_rng(7)
    algorithm.train(1, 64)
    expected = torch.where(moves.dones > 0, moves.rewards, config.discount * following)
    torch.testing.assert_close(seen[-1], expected)
    assert np.isin(moves.rewards[moves.dones > 0], np.float32(config.rewards)).all()
    assert (moves.rewards[moves.dones == 0] == 0).all()


def test_a_buffer_is_saved_with_its_rewards_and_options_that_fit_no_task_are_refused():
    buffer, other = (dqn.build(SMALL).replay_buffer for _ in range(2))
    buffer.rewards[:], buffer.full = 0.5, True
    other.load_state_dict(buffer.state_dict())
    assert (other.rewards == 0.5).all()
    with refuses("opening", "O"):
        SMALL.replace(opening="b2", side="O")
    with refuses(0.6, 0.5):
        SMALL.replace(exploring_starts=0.6, counterexamples=0.5)


def test_a_grid_shows_own_and_other_marks_with_opposite_signs_and_tanh_bounds_the_values():
    network, planes = dqn.build(duel("duel-first")).q_net, torch.as_tensor(OBSERVATIONS)
    grid = observe(BOARDS, RULES, "grid").reshape(-1, 9)
    assert (network.features_extractor(planes).numpy() == grid).all()
    with torch.no_grad():
        assert (network(planes)[torch.as_tensor(BOARDS == 0)].abs() < 1).all()


def test_epsilon_and_the_learning_rate_fall_whatever_the_length_of_the_run():
    """In the duels epsilon is multiplied by 0.999996 at each step after the first thousand."""
    rates = {"learning_rate": 0.01, "learning_rate_end": 0.002, "anneal_steps": 3_200}
    learner = dqn.begin(SMALL.replace(**rates, epsilon_end=0.2, epsilon_steps=1_600))
    copied = dqn.begin(duel("duel-first"))
    for steps, rate, epsilon in ((0, 0.00992, 1.0), (1_568, 0.006, 0.216), (9_999, 0.002, 0.2)):
        for one in (learner, copied):
            one.start_round(steps)
        assert learner.algorithm.lr_schedule(0.3) == pytest.approx(rate)
        assert learner.algorithm.exploration_rate == pytest.approx(epsilon)
        assert copied.algorithm.exploration_rate == 0.999996 ** max(0, steps - 1_000)
    copied.start_round(2_000_000)
    assert copied.algorithm.exploration_rate == 0.001


def test_the_network_is_copied_to_the_target_network_now_and_then():
    config = duel("duel-first", target_every=1_600, epsilon_end=0.0, epsilon=0.0)
    learners = [dqn.begin(config) for _ in range(3)]
    for learner, steps in zip(learners, (1_568, 1_600, 3_168), strict=True):
        learner.advance(steps)
    assert [learner.notes()["target_updates"] for learner in learners] == [0, 1, 1]
    targets = [parameters_to_vector(one.algorithm.q_net_target.parameters()) for one in learners]
    untrained = parameters_to_vector(dqn.build(config).q_net.parameters())
    assert torch.equal(targets[0], untrained)
    assert not torch.equal(targets[1], untrained)
    assert torch.equal(targets[1], targets[2])
