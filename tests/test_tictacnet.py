"""agents/tictacnet.py: its arithmetic, that it is told no rules, and that it learns the game."""

import numpy as np
import pytest
import torch
from learners import BOARDS, POSITIONS, RULES
from sample_players import CellPlayer

from agents.tictacnet import FOCUS, LEAST_WEIGHT, Config, begin
from tictactoe_env.exact.match import exact_result
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.pool import make_pool
from training.selfplay import Opponents

TAKEN = BOARDS != 0
SMALL = Config(steps=1_500, judge_every=500, games=32, updates=5, opponents="random")
PLAIN = SMALL.replace(symmetry=False)
EXPLORING = PLAIN.replace(epsilon=1.0, epsilon_end=1.0, exploring_starts=0.0, updates=1)


def updates_of_a_round(learner):
    """The weights before each update of a round, its batch, and its gradient."""
    updates = []
    gradient = learner.network.gradient

    def recorded(weights, batch):
        found = gradient(weights, batch)
        updates.append((weights.copy(), batch, found))
        return found

    learner.network.gradient = recorded
    learner.round()
    return updates


@pytest.mark.parametrize(("in_turn", "again"), [(True, (0.7, 0.04)), (False, (0.25, 0.01))])
def test_exploration_and_learning_rate_fall_and_begin_again_with_the_second_side(in_turn, again):
    rates = {"epsilon_end": 0.25, "learning_rate": 0.04, "learning_rate_end": 0.01}
    learner = begin(SMALL.replace(anneal_steps=1_000, sides_in_turn=in_turn, **rates))
    expected = {0: (0.7, 0.04), 100: (0.6, 0.0348), 999: (0.25, 0.01), 1_000: again}
    for learner.steps, schedules in expected.items():
        assert (learner.epsilon, learner.learning_rate) == pytest.approx(schedules, abs=5e-5)


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_values_gradients_and_steps_are_those_of_torch(name):
    learner = begin(PLAIN.replace(optimizer=name.lower(), lift=0.0, updates=3))
    network = learner.network
    twin = [torch.tensor(part, requires_grad=True) for part in learner.model().values()]
    updates = updates_of_a_round(learner)
    optimizer = getattr(torch.optim, name)(twin, lr=learner.learning_rate)
    for weights, batch, found in updates:
        values = torch.tensor(batch.boards)
        for number, activation in ((0, torch.relu), (2, torch.relu), (4, torch.sigmoid)):
            values = activation(values @ twin[number] + twin[number + 1])
        rows = POSITIONS.rows(batch.boards.astype(np.int8))
        assert network.values(weights, rows) == pytest.approx(values.detach().numpy(), abs=1e-5)
        loss = (torch.tensor(batch.shares) * (values - torch.tensor(batch.targets)) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        assert found.loss == pytest.approx(loss.item(), rel=1e-4)
        optimizer.step()
    expected = np.concatenate([part.detach().ravel() for part in twin])
    assert learner.weights == pytest.approx(expected, abs=1e-4)


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
@pytest.mark.parametrize("double", [True, False])
def test_the_target_of_a_move_is_the_mean_of_all_that_it_led_to(double, replay):
    """Without replay, taken cells of the boards that were met are losses, tried or not."""
    options = {"double": double, "replay": replay, "rewards": (0.9, 0.5, 0.1)}
    learner = begin(PLAIN.replace(**options, updates=1, batch=4_520))
    learner.target = learner.network.draw(np.random.default_rng(9))
    values = learner.network.values(learner.target, POSITIONS.unfinished)
    chooser = learner.weights if double else learner.target  # double Q-learning
    best = learner.network.values(chooser, POSITIONS.unfinished).argmax(axis=1)
    worth = [*values[np.arange(4_520), best], 0.9, 0.5, 0.1]  # of a board, a win, a draw, a loss
    ((_, batch, _),) = updates_of_a_round(learner)
    targets = np.zeros((4_520, 9))
    counts = np.zeros((4_520, 9))
    for key, count in zip(learner.keys.tolist(), learner.counts.tolist(), strict=True):
        move, following = divmod(key, len(worth))
        targets.flat[move] += count * worth[following]
        counts.flat[move] += count
    tried = counts > 0
    targets[tried] /= counts[tried]
    visits = counts.sum(axis=1, keepdims=True)
    if replay:
        distances = targets.max(axis=1, keepdims=True, where=tried, initial=0) - targets
        weights = tried * np.sqrt(visits) * (LEAST_WEIGHT + np.exp(-distances / FOCUS))
    else:
        weights = np.where(TAKEN, visits, counts)
        targets[TAKEN] = 0.1
    at = np.searchsorted(POSITIONS.unfinished, POSITIONS.rows(batch.boards.astype(np.int8)))
    assert set(at) == set(np.flatnonzero(visits))
    assert batch.shares == pytest.approx(weights[at] / weights.sum(), abs=1e-6)
    taught = batch.shares > 0
    assert batch.targets[taught] == pytest.approx(targets[at][taught], abs=1e-6)
