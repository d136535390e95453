"""agents/maskable_ppo.py: masks, moves, schedules; tests/test_sb3_learner.py has what it shares."""

import learners
import numpy as np
import pytest
import torch

from agents import maskable_ppo

OBSERVATIONS = torch.as_tensor(learners.OBSERVATIONS)
SMALL = maskable_ppo.Config(
    num_envs=32, rollout_steps=4, hidden=(16,), batch_size=64, epochs=2, opponents="random"
)


@pytest.fixture(scope="module")
def policy():
    """After a few updates: before, all moves of the empty board are equally likely."""
    return maskable_ppo.build(SMALL).learn(512).policy


def test_a_mask_can_forbid_free_cells_too(policy):
    mask = np.isin(np.arange(9), [2, 7])[None]
    empty = np.zeros((1, 2, 3, 3), dtype=np.int8)
    chosen = {int(policy.predict(empty, action_masks=mask)[0][0]) for _ in range(50)}
    assert chosen == {2, 7}
    with torch.no_grad():
        _, log_prob, _ = policy.evaluate_actions(torch.tensor(empty), torch.tensor([4]), mask)
    assert float(log_prob) < -1e7


def test_moves_are_drawn_with_the_probabilities_that_are_reported(policy):
    planes = torch.zeros(40_000, 2, 3, 3, dtype=torch.int8)
    planes[:, 0, 1, 1] = planes[:, 1, 0, 0] = 1
    policy.noise.manual_seed(0)
    with torch.no_grad():
        actions, values, log_probs = policy.forward(planes)
        expected = policy.get_distribution(planes[:1]).distribution.probs[0]
    counted = torch.bincount(actions, minlength=9) / len(actions)
    torch.testing.assert_close(counted, expected, rtol=0, atol=4 * 0.5 / 200)
    torch.testing.assert_close(log_probs, expected.log()[actions])
    torch.testing.assert_close(values, policy.predict_values(planes))


def test_moves_are_evaluated_as_they_were_drawn_and_fuller_boards_have_a_lighter_entropy(policy):
    with torch.no_grad():
        actions, values, log_probs = policy.forward(OBSERVATIONS)
        again, evaluated, entropy = policy.evaluate_actions(OBSERVATIONS, actions)
        plain = policy.get_distribution(OBSERVATIONS).entropy()
    torch.testing.assert_close(again, values)
    torch.testing.assert_close(evaluated, log_probs)
    free = 1 - OBSERVATIONS.flatten(1).sum(dim=1) / 9
    torch.testing.assert_close(entropy, plain * free**SMALL.entropy_power, rtol=1e-4, atol=1e-5)


def test_learning_rate_and_entropy_are_halved_after_their_steps_whatever_the_length_of_the_run():
    options = {"learning_rate": 0.01, "learning_rate_half": 512}
    learner = maskable_ppo.begin(SMALL.replace(**options, entropy=0.1, entropy_half=256))
    for steps, rate, entropy in ((0, 0.01, 0.1), (256, 0.01 / 1.5, 0.05), (512, 0.005, 0.1 / 3)):
        learner.start_round(steps)
        assert learner.algorithm.lr_schedule(0.3) == pytest.approx(rate)
        assert learner.algorithm.ent_coef == pytest.approx(entropy)
