"""agents/tictacnet.py: its arithmetic, that it is told no rules, and that it learns the game."""

import numpy as np
import pytest
import torch
from learners import BOARDS, POSITIONS, RULES, row
from sample_players import CellPlayer

from agents.tictacnet import Config, begin
from tictactoe_env.exact.match import exact_result
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.pool import make_pool
from training.selfplay import Opponents

TAKEN = BOARDS != 0
SMALL = Config(steps=1_500, judge_every=500, games=32, updates=5, opponents="random")
PLAIN = SMALL.but(symmetry=False)
EXPLORING = PLAIN.but(epsilon=1.0, epsilon_drop=0.0, exploring_starts=0.0, updates=1)


def with_memory(config, transitions, counts):
    """A learner that met (board, cell, next) so often; -3, -2, -1: a win, a draw, a loss."""
    learner = begin(config)
    boards, cells, nexts = np.array(transitions).T
    learner.keys = (boards * 9 + cells) * learner.nexts + nexts % learner.nexts
    learner.counts = np.array(counts, dtype=float)
    return learner


def test_exploration_and_learning_rate_fall_and_begin_again_with_the_second_side():
    epsilons = {"epsilon": 0.7, "epsilon_drop": 0.1, "epsilon_end": 0.25}
    rates = {"learning_rate": 0.04, "learning_rate_end": 0.01}
    learner = begin(SMALL.but(anneal_steps=1_000, sides_in_turn=True, **epsilons, **rates))
    seen = []
    for learner.steps in (0, 100, 999, 1_000, 5_000):
        seen.append(
            ("XO"[learner.is_second], round(learner.epsilon, 9), round(learner.learning_rate, 4))
        )
    as_x = [("X", 0.7, 0.04), ("X", 0.6, 0.0348), ("X", 0.25, 0.01)]
    assert seen == [*as_x, ("O", 0.7, 0.04), ("O", 0.25, 0.01)]


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_values_gradients_and_steps_are_those_of_torch(name):
    learner = begin(PLAIN.but(optimizer=name.lower(), lift=0.0))
    rng = np.random.default_rng(1)
    network, boards = learner.network, learner.view.boards[rng.choice(4_520, size=300)]
    twin = [torch.tensor(array, requires_grad=True) for array in network.named().values()]
    optimizer = getattr(torch.optim, name)(twin, lr=PLAIN.learning_rate)
    for _ in range(3):
        targets, weights = rng.random((2, 300, 9), dtype=np.float32) * np.float32([[[1]], [[0.1]]])
        values = torch.tensor(boards)
        for number, activation in ((0, torch.relu), (2, torch.relu), (4, torch.sigmoid)):
            values = activation(values @ twin[number] + twin[number + 1])
        assert network.values(boards) == pytest.approx(values.detach().numpy(), abs=1e-5)
        loss = (torch.tensor(weights) * (values - torch.tensor(targets)) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found = network.gradient(boards, targets, weights, learner.gradient)
        assert found == pytest.approx(loss.item(), rel=1e-4)
        learner._step()
        expected = np.concatenate([parameter.detach().ravel() for parameter in twin])
        assert network.flat == pytest.approx(expected, abs=1e-4)


def test_an_untrained_network_moves_to_taken_cells_and_is_evaluated_as_it_is():
    learner = begin(Config())
    policy, illegal = learner.policy(), learner.notes()["illegal_everywhere"]
    assert 100 / 4_520 < illegal == pytest.approx((policy.table * TAKEN).sum() / 4_520)
    assert exact_result(policy, RandomPolicy(), side="O").illegal > 0


def test_an_opponent_that_moves_to_a_taken_cell_loses(monkeypatch):
    learner = begin(EXPLORING.but(games=2_000, side="X"))
    opponents = Opponents(make_pool(CellPlayer(0), RULES), POSITIONS)
    monkeypatch.setattr(learner.pool, "opponents", lambda: opponents)
    learner.round()
    opening = learner.keys[learner.keys // learner.nexts == 0]  # X opens with the first cell
    assert (opening % learner.nexts).tolist() == [learner.nexts - 3]


@pytest.mark.parametrize(("shown", "replay"), [(True, True), (False, True), (True, False)])
def test_only_with_shown_illegal_are_cells_taught_that_were_never_tried(shown, replay):
    learner = begin(PLAIN.but(shown_illegal=shown, replay=replay, focus=0.0, epsilon=0.0))
    learner.round()
    targets, weights = learner._targets()
    met, tried = weights.any(axis=1), np.zeros((4_520, 9), dtype=bool)
    tried.flat[learner.keys // learner.nexts] = True
    assert ((weights > 0) == tried | (shown & met[:, None] & TAKEN)).all()
    assert not targets[TAKEN & (weights > 0)].any()


@pytest.mark.parametrize("double", [True, False])
def test_the_target_of_a_move_is_the_mean_of_all_that_it_led_to(double):
    """The corner led to a win, to a draw and twice to the same next position, of one O."""
    board = row("XO./.../...")
    met = [(0, 0, board), (0, 0, -3), (0, 0, -2), (0, 4, -2), (board, 8, -3)]
    learner = with_memory(PLAIN.but(double=double, focus=0.0), met, [2, 1, 1, 3, 1])
    learner.target.draw(np.random.default_rng(9))
    chooser = learner.network if double else learner.target  # double Q-learning
    shown = learner.view.boards[board][None]
    best = learner.target.values(shown)[0, chooser.values(shown).argmax()]
    targets, weights = learner._targets()
    where = ([0, 0, board], [0, 4, 8])
    assert targets[where] == pytest.approx([(2 * best + 1.0 + 0.5) / 4, 0.5, 1.0])
    root = np.sqrt(7)  # the empty board was met seven times, the other once
    assert weights[where] * (2 * root + 1) == pytest.approx([root, root, 1])
    assert (weights > 0).sum() == 3
