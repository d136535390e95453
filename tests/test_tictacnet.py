"""agents/tictacnet.py: its arithmetic, that it is told no rules, and that it learns the game."""

import numpy as np
import pytest
import torch
from learners import BOARDS, POSITIONS, RULES, row
from sample_players import CellPlayer

from agents.tictacnet import FOCUS, LEAST_WEIGHT, Batch, Config, begin
from tictactoe_env.exact.match import exact_result
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.pool import make_pool
from training.selfplay import Opponents

TAKEN = BOARDS != 0
SMALL = Config(steps=1_500, judge_every=500, games=32, updates=5, opponents="random")
PLAIN = SMALL.replace(symmetry=False)
EXPLORING = PLAIN.replace(epsilon=1.0, epsilon_end=1.0, exploring_starts=0.0, updates=1)


def with_memory(config, transitions, counts):
    """A learner that met (board, cell, next) so often; -3, -2, -1: a win, a draw, a loss."""
    learner = begin(config)
    boards, cells, nexts = np.array(transitions).T
    learner.keys = (boards * 9 + cells) * learner.nexts + nexts % learner.nexts
    learner.counts = np.array(counts, dtype=float)
    return learner


@pytest.mark.parametrize(("in_turn", "again"), [(True, (0.7, 0.04)), (False, (0.25, 0.01))])
def test_exploration_and_learning_rate_fall_and_begin_again_with_the_second_side(in_turn, again):
    rates = {"epsilon_end": 0.25, "learning_rate": 0.04, "learning_rate_end": 0.01}
    learner = begin(SMALL.replace(anneal_steps=1_000, sides_in_turn=in_turn, **rates))
    expected = {0: (0.7, 0.04), 100: (0.6, 0.0348), 999: (0.25, 0.01), 1_000: again}
    for learner.steps, schedules in expected.items():
        assert (learner.epsilon, learner.learning_rate) == pytest.approx(schedules, abs=5e-5)


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_values_gradients_and_steps_are_those_of_torch(name):
    learner = begin(PLAIN.replace(optimizer=name.lower(), lift=0.0))
    rng = np.random.default_rng(1)
    network = learner.network
    at = rng.choice(4_520, size=300)
    boards = network.boards[at]
    weights = learner.weights
    twin = [torch.tensor(array, requires_grad=True) for array in network.model(weights).values()]
    optimizer = getattr(torch.optim, name)(twin, lr=PLAIN.learning_rate)
    for _ in range(3):
        targets, shares = rng.random((2, 300, 9), dtype=np.float32) * np.float32([[[1]], [[0.1]]])
        values = torch.tensor(boards)
        for number, activation in ((0, torch.relu), (2, torch.relu), (4, torch.sigmoid)):
            values = activation(values @ twin[number] + twin[number + 1])
        found = network.values(weights, network.rows[at])
        assert found == pytest.approx(values.detach().numpy(), abs=1e-5)
        loss = (torch.tensor(shares) * (values - torch.tensor(targets)) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        error, gradient = network.gradient(weights, Batch(boards, targets, shares))
        assert error == pytest.approx(loss.item(), rel=1e-4)
        learner._step(gradient)
        expected = np.concatenate([parameter.detach().ravel() for parameter in twin])
        assert weights == pytest.approx(expected, abs=1e-4)


def test_an_untrained_network_moves_to_taken_cells_and_is_evaluated_as_it_is():
    learner = begin(Config())
    policy = learner.policy()
    illegal = learner.notes()["illegal_everywhere"]
    assert 100 / 4_520 < illegal == pytest.approx((policy.table * TAKEN).sum() / 4_520)
    assert exact_result(policy, RandomPolicy(), side="O").illegal > 0


def test_an_opponent_that_moves_to_a_taken_cell_loses(monkeypatch):
    learner = begin(EXPLORING.replace(games=2_000, sides_in_turn=True))
    opponents = Opponents(make_pool(CellPlayer(0), RULES), POSITIONS)
    monkeypatch.setattr(learner.pool, "opponents", lambda: opponents)
    learner.round()
    opening = learner.keys[learner.keys // learner.nexts == 0]  # X opens with the first cell
    assert (opening % learner.nexts).tolist() == [learner.nexts - 3]


@pytest.mark.parametrize("replay", [True, False])
def test_only_without_replay_are_cells_taught_that_were_never_tried(replay):
    learner = begin(PLAIN.replace(replay=replay, epsilon=0.0))
    learner.round()
    targets, weights = learner._targets()
    met = weights.any(axis=1)
    tried = np.zeros((4_520, 9), dtype=bool)
    tried.flat[learner.keys // learner.nexts] = True
    assert ((weights > 0) == tried | (met[:, None] & TAKEN & (not replay))).all()
    assert not targets[TAKEN & (weights > 0)].any()


@pytest.mark.parametrize("double", [True, False])
def test_the_target_of_a_move_is_the_mean_of_all_that_it_led_to(double):
    """The corner led to a win, to a draw and twice to the same next position, of one O."""
    board = row("XO./.../...")
    met = [(0, 0, board), (0, 0, -3), (0, 0, -2), (0, 4, -2), (board, 8, -3)]
    learner = with_memory(PLAIN.replace(double=double), met, [2, 1, 1, 3, 1])
    learner.target = learner.network.draw(np.random.default_rng(9))
    chooser = learner.weights if double else learner.target  # double Q-learning
    (valued,), (chosen,) = (
        learner.network.values(one, [board]) for one in (learner.target, chooser)
    )
    corner = (2 * valued[chosen.argmax()] + 1.0 + 0.5) / 4
    targets, weights = learner._targets()
    where = ([0, 0, board], [0, 4, 8])
    assert targets[where] == pytest.approx([corner, 0.5, 1.0])
    distances = np.array([max(0, 0.5 - corner), max(0, corner - 0.5), 0])  # from the best move
    expected = np.sqrt([7, 7, 1]) * (LEAST_WEIGHT + np.exp(-distances / FOCUS))
    assert weights[where] == pytest.approx(expected / expected.sum())
    assert (weights > 0).sum() == 3
