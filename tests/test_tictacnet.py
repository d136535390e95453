"""agents/tictacnet.py: its arithmetic, that it is told no rules, and that it learns the game."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_runs import python

from agents.tictacnet import LEAST_WEIGHT, Config, begin
from tictactoe_env.evaluation import evaluate
from tictactoe_env.match import result_vs_random
from tictactoe_env.notation import parse_board
from tictactoe_env.opponents import make_pool
from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import positions_of, symmetries_of
from tictactoe_env.rules import Rules
from training.learner import drive
from training.selfplay import Opponents

RULES = Rules()
POSITIONS = positions_of(RULES)
TAKEN = POSITIONS.boards[POSITIONS.unfinished] != 0
SMALL = Config(steps=1_500, judge_every=500, games=32, updates=5, opponents="random")
PLAIN = replace(SMALL, symmetry=False)
EXPLORING = replace(PLAIN, epsilon=1.0, epsilon_drop=0.0, exploring_starts=0.0, updates=1)


def after_a_round(config):
    learner = begin(config)
    learner.round()
    return learner


def with_memory(config, transitions, counts):
    """A learner that met (board, cell, next) so often; -3, -2, -1: a win, a draw, a loss."""
    learner = begin(config)
    nexts = learner.nexts
    keys = [
        (board * 9 + cell) * nexts + following % nexts for board, cell, following in transitions
    ]
    learner.keys, learner.counts = np.array(keys), np.array(counts, dtype=float)
    return learner


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rewards": (1.0, 0.0, -1.0)}, "rewards must be 3 values .* from 0 to 1"),
        ({"side": "X", "sides_in_turn": True}, "sides_in_turn learns both sides"),
        ({"side": "O", "rows": 2, "cols": 2, "k": 1}, "O never moves"),
        ({"opponents": "minmax"}, "did you mean 'minimax'"),
    ],
)
def test_options_that_make_no_sense_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        begin(Config(**wrong))


def test_exploration_and_learning_rate_fall_and_begin_again_with_the_second_side():
    epsilons = {"epsilon": 0.7, "epsilon_drop": 0.1, "epsilon_end": 0.25}
    rates = {"learning_rate": 0.04, "learning_rate_end": 0.01}
    learner = begin(replace(SMALL, anneal_steps=1_000, sides_in_turn=True, **epsilons, **rates))
    seen = []
    for learner.steps in (0, 99, 100, 500, 999, 1_000, 1_500, 5_000):
        seen.append((learner.side, round(learner.epsilon, 9), round(learner.learning_rate, 4)))
    as_x = [("X", 0.7, 0.04), ("X", 0.7, 0.0349), ("X", 0.6, 0.0348), ("X", 0.25, 0.02)]
    assert seen[:4] == as_x
    assert seen[4:] == [("X", 0.25, 0.01), ("O", 0.7, 0.04), ("O", 0.25, 0.02), ("O", 0.25, 0.01)]


def torch_twin(network):
    layers = []
    for weights, biases in network.layers:
        layer = torch.nn.Linear(*weights.shape)
        state = {"weight": torch.tensor(weights.T.copy()), "bias": torch.tensor(biases)}
        layer.load_state_dict(state)
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1], torch.nn.Sigmoid())


def flat(tensors):
    return np.concatenate([tensor.detach().numpy().T.ravel() for tensor in tensors])


@pytest.mark.parametrize(("name", "kind"), [("adam", torch.optim.Adam), ("sgd", torch.optim.SGD)])
def test_values_gradients_and_steps_of_2025_weights_are_those_of_torch(name, kind):
    learner, rng = begin(replace(PLAIN, optimizer=name)), np.random.default_rng(1)
    network, boards = learner.network, learner.view.boards[rng.choice(4_520, size=300)]
    twin = torch_twin(network)
    optimizer = kind(twin.parameters(), lr=PLAIN.learning_rate)
    for _ in range(3):
        targets, weights = rng.random((2, 300, 9), dtype=np.float32) * np.float32([[[1]], [[0.1]]])
        values = twin(torch.tensor(boards))
        assert network.values(boards) == pytest.approx(values.detach().numpy(), abs=1e-5)
        loss = (torch.tensor(weights) * (values - torch.tensor(targets)) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found = network.gradient(boards, targets, weights, learner.slope)
        assert found == pytest.approx(loss.item(), rel=1e-4)
        gradient = flat(parameter.grad for parameter in twin.parameters())
        assert learner.slope.flat == pytest.approx(gradient, abs=2e-4)
        learner._step()
        assert network.flat.shape == (2_025,)
        assert network.flat == pytest.approx(flat(twin.parameters()), abs=1e-4)


@pytest.mark.parametrize("shape", [(3, 3, 3), (2, 3, 2), (2, 4, 3)])
@pytest.mark.parametrize("symmetry", [True, False])
def test_images_of_a_board_have_images_of_its_values_only_with_symmetry(shape, symmetry):
    rules, (rows, cols, k) = Rules(*shape), shape
    positions = positions_of(rules)
    unfinished, boards = positions.unfinished, positions.boards[positions.unfinished]
    learner = begin(replace(SMALL, rows=rows, cols=cols, k=k, symmetry=symmetry))
    values = learner.view.values_at(learner.network, unfinished)
    same = []
    for turn in symmetries_of(rules):
        images = np.searchsorted(unfinished, positions.rows(boards[:, turn]))
        same.append(bool((values[images] == values[:, turn]).all()))
    assert all(same) == symmetry
    canonical = np.unique(positions.canonical[unfinished]) if symmetry else unfinished
    assert (learner.view.boards == positions.boards[canonical]).all()
    if not symmetry:
        assert (values == learner.network.values(boards.astype(np.float32))).all()


def test_an_untrained_network_moves_to_taken_cells_and_is_evaluated_as_it_is():
    learner = begin(Config())
    policy, illegal = learner.policy(), learner.notes()["illegal_everywhere"]
    assert illegal > 100 / 4_520
    assert illegal == pytest.approx((policy.table * TAKEN).sum() / 4_520)
    assert np.isfinite(policy.values).all()
    assert (policy.table.argmax(axis=1) == policy.values.argmax(axis=1)).all()
    assert result_vs_random("O", policy).illegal > 0


def test_it_explores_all_cells_alike_and_a_taken_one_loses_the_game():
    learner = after_a_round(replace(EXPLORING, games=20_000))
    moves, following = np.divmod(learner.keys, learner.nexts)
    (places, cells), boards = np.divmod(moves, 9), learner.view.boards
    onto_taken = boards[places, cells] != 0
    assert (following[onto_taken] == learner.nexts - 1).all()
    first_as_o = (boards != 0).sum(axis=1)[places] == 1
    share = learner.counts[first_as_o & onto_taken].sum() / learner.counts[first_as_o].sum()
    assert share == pytest.approx(1 / 9, abs=0.02)
    as_x = np.bincount(cells[places == 0], learner.counts[places == 0])
    assert as_x.sum() == 10_000
    assert abs(as_x / 10_000 - 1 / 9).max() < 0.02


def test_an_opponent_that_moves_to_a_taken_cell_loses():
    learner = begin(replace(EXPLORING, games=2_000, side="X"))
    always_the_first_cell = TabularPolicy(RULES, one_hot(np.zeros(4_520, dtype=np.intp), 9))
    learner.opponents = Opponents(make_pool(always_the_first_cell, RULES), POSITIONS)
    learner.round()
    opening = learner.keys[learner.keys // learner.nexts == 0]  # X opens with the first cell
    assert (opening % learner.nexts).tolist() == [learner.nexts - 3]


@pytest.mark.parametrize("replay", [True, False])
@pytest.mark.parametrize("shown", [True, False])
def test_only_with_shown_illegal_are_cells_taught_that_were_never_tried(shown, replay):
    config = replace(PLAIN, shown_illegal=shown, replay=replay, focus=0.0, epsilon=0.0)
    learner = after_a_round(config)
    targets, weights = learner._targets()
    met, tried = weights.any(axis=1), np.zeros((4_520, 9), dtype=bool)
    tried.flat[learner.keys // learner.nexts] = True
    assert ((weights > 0) == tried | (shown & met[:, None] & TAKEN)).all()
    assert not targets[TAKEN & (weights > 0)].any()


@pytest.mark.parametrize("replay", [True, False])
def test_every_distinct_transition_is_stored_once_for_good_or_for_one_round(replay):
    learner, before = begin(replace(SMALL, replay=replay)), 0
    for _ in range(5):
        learner.round()
        assert (np.diff(learner.keys) > 0).all()
        assert learner.counts.sum() == learner.steps - before
        before = 0 if replay else learner.steps


def test_the_target_of_a_move_is_the_mean_of_all_that_it_led_to():
    """The corner led to a win, to a draw and twice to the same next position, of one O."""
    board = int(POSITIONS.rows(parse_board("XO./.../...", RULES)[None])[0])
    corner, others = [(0, 0, board), (0, 0, -3), (0, 0, -2)], [(0, 4, -2), (board, 8, -3)]
    config = replace(PLAIN, double=False, focus=0.0)
    learner = with_memory(config, [*corner, *others], [2, 1, 1, 3, 1])
    targets, weights = learner._targets()
    best = learner.target.values(learner.view.boards[board][None]).max()
    assert targets[0, [0, 4]] == pytest.approx([(2 * best + 1.0 + 0.5) / 4, 0.5])
    assert targets[board, 8] == 1.0
    root = np.sqrt(7)  # the empty board was met seven times, the other once
    found = weights[[0, 0, board], [0, 4, 8]] * (2 * root + 1)
    assert found == pytest.approx([root, root, 1])
    assert (weights > 0).sum() == 3


def test_with_double_q_learning_the_network_chooses_and_the_target_network_values():
    learner = with_memory(PLAIN, [(0, 4, 1)], [1])  # to the first board with one mark
    learner.target.draw(np.random.default_rng(9))
    board = learner.view.boards[1][None]
    chosen = learner.network.values(board)[0].argmax()
    expected = learner.target.values(board)[0, chosen]
    assert learner._targets()[0][0, 4] == pytest.approx(expected)


def test_moves_far_from_the_best_count_less():
    learner = with_memory(replace(PLAIN, focus=0.5), [(0, 0, -3), (0, 1, -2), (0, 2, -1)], [1] * 3)
    counts = np.array([LEAST_WEIGHT + np.exp(-gap / 0.5) for gap in (0, 0.5, 1)])
    assert learner._targets()[1][0, :3] == pytest.approx(counts / counts.sum())


@pytest.mark.parametrize(("side", "parity"), [("X", 0), ("O", 1)])
def test_a_single_side_is_learned_where_it_is_asked_for(side, parity):
    learner = after_a_round(replace(SMALL, side=side))
    boards = learner.view.boards[learner.keys // learner.nexts // 9]
    assert set(abs(boards).sum(axis=1) % 2) == {parity}


def test_snapshots_are_taken_at_the_start_and_at_fixed_steps():
    learner = begin(replace(SMALL, opponents="self", snapshot_every=300))
    learner.advance(1_000)
    assert len(learner.pool.snapshots) == 1 + learner.steps // 300 == len(learner.opponents.sums)


def test_the_share_of_illegal_moves_is_charted_in_per_cent():
    columns = ("steps", "x_illegal", "o_illegal", "illegal_everywhere")
    numbers = ((500, 1, 0.8, 0.5), (1_000, 0, 0, 0.2))
    rows = [dict(zip(columns, row, strict=True)) for row in numbers]
    chart = begin(SMALL).charts(rows)["illegal.png"]
    assert (chart.percent, list(chart.xs)) == (True, [0.5, 1.0])
    assert [ys for _, _, ys in chart.curves] == [[100, 0], [80, 0], [50, 20]]


def test_learners_and_players_of_numpy_need_no_torch():
    program = """import sys
from agents import neuroevolution, tictacnet
for page in (neuroevolution, tictacnet):
    config = page.Config(steps=1)
    learner = page.begin(config)
    learner.advance(1)
    assert (page.player(config, learner.model()).table == learner.policy().table).all()
print("torch" in sys.modules)"""
    assert python("-c", program).stdout == "False\n"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_every_seed_learns_the_rules_and_becomes_unbeatable_on_both_sides(seed):
    """An untrained network moves to taken cells."""
    config = Config(seed=seed, steps=2_000_000)
    learner = begin(config)
    drive(learner, config, lambda learner: evaluate(learner.policy()).unbeatable)
    assert evaluate(learner.policy()).unbeatable
