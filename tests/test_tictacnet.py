"""agents/tictacnet.py: its arithmetic, that it is told no rules, and that it learns them and the game."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_runs import python, small_config

from agents import tictacnet
from tictactoe_env.match import result_vs_random
from tictactoe_env.notation import parse_board
from tictactoe_env.opponents import make_pool
from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import positions_of, symmetries_of
from tictactoe_env.rules import Rules
from training.evaluation import judge, silent
from training.files import read_arrays
from training.selfplay import Opponents

RULES = Rules()
POSITIONS = positions_of(RULES)
SMALL = small_config("tictacnet")
PLAIN = replace(SMALL, symmetry=False)
CLASSES = 627  # unfinished positions up to the symmetries of the square


def row(text):
    return int(POSITIONS.rows(parse_board(text, RULES)[None])[0])


def taken(rules=RULES):
    return positions_of(rules).boards[positions_of(rules).unfinished] != 0


def opponents(name="random"):
    return Opponents(make_pool(name, RULES), POSITIONS)


# --- configuration -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"games": 1}, "games must be a whole number of at least 2, got 1"),
        ({"batch": 0}, "batch must be"),
        ({"hidden": (36, 0)}, "each of hidden must be"),
        ({"epsilon": 1.5}, "epsilon must be a probability"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0"),
        ({"average": 1.1}, "average must be a number above 0 and at most 1, got 1.1"),
        ({"focus": float("inf")}, "focus must be a finite number"),
        ({"rewards": (1.0, 0.0)}, "rewards must be three numbers"),
        ({"rewards": (1.0, 0.0, -1.0)}, "each of rewards must be a probability"),
        ({"side": "x"}, "did you mean 'X'"),
        ({"optimizer": "Adam"}, "did you mean 'adam'"),
        ({"side": "X", "sides_in_turn": True}, "sides_in_turn learns both sides"),
        ({"side": "O", "rows": 2, "cols": 2, "k": 1}, "O never moves"),
        ({"rows": 4, "cols": 4, "k": 4}, "boards of at most"),
        ({"opponents": "minmax"}, "did you mean 'minimax'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(wrong, words):
    with pytest.raises(ValueError, match=words):
        tictacnet.Config(**wrong)


def test_exploration_falls_by_tenths_and_begins_anew_with_the_second_side():
    learner = tictacnet.Learner(
        replace(
            SMALL,
            anneal_steps=1_000,
            epsilon=0.7,
            epsilon_drop=0.1,
            epsilon_end=0.25,
            sides_in_turn=True,
        )
    )
    seen = []
    for learner.steps in (0, 99, 100, 400, 999, 1_000, 1_100, 5_000):
        seen.append((learner.side, round(learner.epsilon, 9)))
    assert seen == [
        ("X", 0.7),
        ("X", 0.7),
        ("X", 0.6),
        ("X", 0.3),
        ("X", 0.25),
        ("O", 0.7),
        ("O", 0.6),
        ("O", 0.25),
    ]


def test_the_learning_rate_falls_by_the_same_factor_in_equal_times():
    learner = tictacnet.Learner(
        replace(SMALL, anneal_steps=1_000, learning_rate=0.04, learning_rate_end=0.01)
    )
    rates = []
    for learner.steps in (0, 500, 1_000, 2_000):
        rates.append(learner.learning_rate)
    assert rates == pytest.approx([0.04, 0.02, 0.01, 0.01])


# --- the network ---------------------------------------------------------------------------------------------------------


def torch_twin(network):
    layers = []
    for weights, biases in network.layers:
        layer = torch.nn.Linear(*weights.shape)
        layer.load_state_dict(
            {"weight": torch.tensor(weights.T.copy()), "bias": torch.tensor(biases)}
        )
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1], torch.nn.Sigmoid())


def flat_of(twin, what=lambda parameter: parameter):
    return np.concatenate(
        [what(parameter).detach().numpy().T.ravel() for parameter in twin.parameters()]
    )


def test_the_default_network_has_2025_weights():
    assert tictacnet.Learner(tictacnet.Config()).policy.flat.shape == (2_025,)


def test_values_gradients_and_steps_are_those_of_torch():
    learner, rng = tictacnet.Learner(PLAIN), np.random.default_rng(1)
    boards = learner.view.boards[rng.choice(4_520, size=300)]
    twin = torch_twin(learner.policy)
    optimizer = torch.optim.Adam(twin.parameters(), lr=PLAIN.learning_rate)
    for _ in range(3):
        targets, weights = rng.random((2, 300, 9), dtype=np.float32)
        values = twin(torch.tensor(boards))
        assert learner.policy.values(boards) == pytest.approx(values.detach().numpy(), abs=1e-5)
        loss = (torch.tensor(weights) * (values - torch.tensor(targets)) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert learner.policy.gradient(boards, targets, weights, learner.slope) == pytest.approx(
            loss.item(), rel=1e-4
        )
        assert learner.slope.flat == pytest.approx(
            flat_of(twin, lambda parameter: parameter.grad), abs=2e-3
        )
        learner._step()
        assert learner.policy.flat == pytest.approx(flat_of(twin), abs=1e-4)


def test_a_plain_gradient_step_is_the_learning_rate_times_the_gradient():
    learner = tictacnet.Learner(
        replace(SMALL, optimizer="sgd", learning_rate=0.5, learning_rate_end=0.5)
    )
    before = learner.policy.flat.copy()
    learner.slope.flat[:] = np.arange(2_025)
    learner._step()
    assert learner.policy.flat == pytest.approx(before - 0.5 * np.arange(2_025), rel=1e-6)


@pytest.mark.parametrize("shape", [(3, 3, 3), (2, 3, 2), (2, 4, 3)])
def test_images_of_a_board_have_images_of_its_values(shape):
    rules = Rules(*shape)
    positions, (rows, cols, k) = positions_of(rules), shape
    for symmetry in (True, False):
        learner = tictacnet.Learner(replace(SMALL, rows=rows, cols=cols, k=k, symmetry=symmetry))
        values = learner.by_row(learner.policy, positions.unfinished)
        same = []
        for turn in symmetries_of(rules):
            images = np.searchsorted(
                positions.unfinished,
                positions.rows(positions.boards[positions.unfinished][:, turn]),
            )
            same.append((values[images] == values[:, turn]).all())
        assert all(same) == symmetry
        assert same[0]


def test_without_symmetry_the_network_sees_the_board_as_it_is():
    learner = tictacnet.Learner(PLAIN)
    boards = POSITIONS.boards[POSITIONS.unfinished]
    assert (learner.view.boards == boards).all()
    assert (
        learner.by_row(learner.policy, POSITIONS.unfinished)
        == learner.policy.values(boards.astype(np.float32))
    ).all()
    assert len(tictacnet.Learner(SMALL).view.boards) == CLASSES


# --- it is told no rules -------------------------------------------------------------------------------------------------


def test_an_untrained_network_moves_to_taken_cells_and_is_judged_as_it_is():
    table = tictacnet.Learner(tictacnet.Config()).table()
    assert (table.table * taken()).sum() > 100
    assert np.isfinite(table.values).all()
    assert (table.table.argmax(axis=1) == table.values.argmax(axis=1)).all()
    assert result_vs_random("O", table).illegal > 0


def test_it_explores_all_cells_alike_and_a_taken_one_loses_the_game():
    learner = tictacnet.Learner(
        replace(PLAIN, games=20_000, epsilon=1.0, epsilon_drop=0.0, exploring_starts=0.0, updates=1)
    )
    learner.round(opponents())
    moves, following = np.divmod(learner.keys, learner.nexts)
    places, cells = np.divmod(moves, 9)
    onto_taken = learner.view.boards[places, cells] != 0
    assert (following[onto_taken] == learner.nexts - 1).all()
    first_as_o = (learner.view.boards != 0).sum(axis=1)[places] == 1
    share = learner.counts[first_as_o & onto_taken].sum() / learner.counts[first_as_o].sum()
    assert share == pytest.approx(1 / 9, abs=0.02)
    as_x = np.bincount(cells[places == 0], learner.counts[places == 0])
    assert as_x.sum() == 10_000
    assert abs(as_x / 10_000 - 1 / 9).max() < 0.02


def test_a_frozen_copy_that_moves_to_a_taken_cell_loses():
    stubborn = TabularPolicy(
        RULES, one_hot(np.zeros(4_520, dtype=np.intp), 9)
    )  # always the first cell
    learner = tictacnet.Learner(
        replace(
            PLAIN,
            games=2_000,
            side="X",
            epsilon=1.0,
            epsilon_drop=0.0,
            exploring_starts=0.0,
            updates=1,
        )
    )
    learner.round(opponents(stubborn))
    taken_at_once = learner.keys // learner.nexts == 0  # X opens with the first cell
    assert (learner.keys[taken_at_once] % learner.nexts == learner.nexts - 3).all()
    assert taken_at_once.sum() == 1


def test_only_with_shown_illegal_are_cells_taught_that_were_never_tried():
    for shown in (False, True):
        learner = tictacnet.Learner(replace(PLAIN, shown_illegal=shown, focus=0.0, epsilon=0.0))
        learner.round(opponents())
        _, weights = learner._targets()
        met, tried = weights.any(axis=1), np.zeros((4_520, 9), dtype=bool)
        tried.flat[learner.keys // learner.nexts] = True
        assert ((weights > 0) == tried | (shown & met[:, None] & taken())).all()


# --- what is kept and learned --------------------------------------------------------------------------------------------


def test_every_distinct_move_with_what_it_led_to_is_kept_once():
    learner = tictacnet.Learner(SMALL)
    for _ in range(5):
        learner.round(opponents())
        assert (np.diff(learner.keys) > 0).all()
        assert learner.counts.sum() == learner.steps
    forgetful = tictacnet.Learner(replace(SMALL, replay=False))
    for _ in range(5):
        before = forgetful.steps
        forgetful.round(opponents())
        assert forgetful.counts.sum() == forgetful.steps - before


def test_the_target_of_a_move_is_the_mean_of_all_that_it_led_to():
    """The corner led to a win, to a draw and twice to the same next position; what follows is worth what the target network says."""
    learner = tictacnet.Learner(replace(PLAIN, rewards=(1.0, 0.5, 0.0), double=False, focus=0.0))
    places = learner.view.place
    start, follows = places[row(".../.../...")], places[row("XO./.../...")]
    win, draw = learner.nexts - 3, learner.nexts - 2
    learner.keys = np.array(
        [
            [start, 0, follows],
            [start, 0, win],
            [start, 0, draw],
            [start, 4, draw],
            [follows, 8, win],
        ]
    ) @ [
        9 * learner.nexts,
        learner.nexts,
        1,
    ]
    learner.counts = np.array([2.0, 1.0, 1.0, 3.0, 1.0])
    targets, weights = learner._targets()
    best = learner.target.values(learner.view.boards[follows][None]).max()
    assert targets[start, 0] == pytest.approx((2 * best + 1.0 + 0.5) / 4)
    assert targets[start, 4] == 0.5
    assert targets[follows, 8] == 1.0
    root = np.sqrt(7)  # the empty board was met seven times, the other once
    assert weights[start, [0, 4]] == pytest.approx([root / (2 * root + 1)] * 2)
    assert weights[follows, 8] == pytest.approx(1 / (2 * root + 1))
    assert (weights > 0).sum() == 3


def test_with_double_q_learning_the_network_chooses_and_the_target_network_values():
    learner = tictacnet.Learner(PLAIN)
    learner.target.draw(np.random.default_rng(9))
    learner.keys, learner.counts = (
        np.array([(0 * 9 + 4) * learner.nexts + 1]),
        np.ones(1),
    )  # to the first board with one mark
    board = learner.view.boards[1][None]
    targets, _ = learner._targets()
    chosen = learner.policy.values(board)[0].argmax()
    assert targets[0, 4] == pytest.approx(learner.target.values(board)[0, chosen])


def test_moves_far_from_the_best_count_less():
    learner = tictacnet.Learner(replace(PLAIN, focus=0.5, rewards=(1.0, 0.5, 0.0)))
    learner.keys, learner.counts = (
        np.array([(cell * learner.nexts) + learner.nexts - 3 + cell for cell in range(3)]),
        np.ones(3),
    )
    _, weights = learner._targets()
    counts = [tictacnet.LEAST_WEIGHT + np.exp(-gap / 0.5) for gap in (0, 0.5, 1)]
    assert weights[0, :3] == pytest.approx(np.array(counts) / sum(counts))


def test_a_single_side_is_learned_where_it_is_asked_for():
    for side, plies in (("X", {0}), ("O", {1})):
        learner = tictacnet.Learner(replace(SMALL, side=side))
        learner.round(opponents())
        assert {
            int(abs(learner.view.boards[place]).sum()) % 2
            for place in learner.keys // learner.nexts // 9
        } == plies


# --- what is told of illegal moves -------------------------------------------------------------------------------------------


def test_the_share_of_illegal_moves_is_noted_exactly_and_drawn(tmp_path):
    seen = []

    def report(steps, table, save, notes):
        seen.append((notes["illegal_everywhere"], (table.table * taken()).sum() / 4_520))
        save(tmp_path)
        return False

    tictacnet.train(SMALL, report, logs=tmp_path)
    assert [noted for noted, _ in seen] == pytest.approx([counted for _, counted in seen])
    assert seen[0][0] > 0
    history = read_arrays(tmp_path / "state.safetensors")[0]["history"]
    assert history[:, 3].tolist() == [noted for noted, _ in seen]
    assert (tmp_path / "illegal.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_needs_no_torch(tmp_path):
    tictacnet.train(replace(SMALL, steps=1), lambda steps, table, save, notes: save(tmp_path))
    program = "import sys\nfrom pathlib import Path\nfrom agents import tictacnet\ntictacnet.load(Path(sys.argv[1]))\nprint('torch' in sys.modules)"
    assert python("-c", program, tmp_path).stdout == "False\n"


# --- learning ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_every_seed_learns_the_rules_and_becomes_unbeatable_on_both_sides(seed):
    """An untrained network moves to taken cells."""
    assert judge(
        tictacnet.train(tictacnet.Config(seed=seed, steps=2_000_000), silent("unbeatable"))
    ).unbeatable
