from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.plain_game import Player
from sample_players import random_table
from text_cases import refuses

from tictactoe_env import TicTacToeEnv, evaluate
from tictactoe_env import policy as module
from tictactoe_env.actions import checked_probs
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.notation import parse_board
from tictactoe_env.observation import OBSERVATIONS, observe
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.predict_policy import PredictPolicy
from tictactoe_env.rules import Rules, to_move

RECTANGLE = Rules(2, 3, 2)
BOARDS = [Rules(3, 3, 3), RECTANGLE, Rules(4, 3, 2)]


class Model:
    """A model of observations of this shape and dtype, which plays cell 0."""

    def __init__(self, *shape, dtype=np.int8):
        self.observation_space = SimpleNamespace(shape=shape, dtype=np.dtype(dtype))

    def predict(self, observation, deterministic):
        self.asked = observation, deterministic
        return np.zeros(len(observation), dtype=int), None


class MaskedModel(Model):
    """The same with masks; it plays the first free cell."""

    def predict(self, observation, deterministic, action_masks):
        self.masks = action_masks
        super().predict(observation, deterministic)
        return action_masks.argmax(axis=1), None


def unfinished(rules):
    return positions_of(rules).boards[positions_of(rules).unfinished]


def boards_of(*texts):
    return np.array([parse_board(text, RECTANGLE) for text in texts])


MAY_BE_ILLEGAL = {
    "table": random_table,
    "greedy": lambda rules: module.GreedyPolicy(random_table(rules)),
    "predict": lambda rules: PredictPolicy(Model(rules.rows, rules.cols), rules),
}
POLICIES = MAY_BE_ILLEGAL | {
    "random": lambda rules: RandomPolicy(),
    "minimax": MinimaxPolicy,
    "minimax-first-slip": lambda rules: MinimaxPolicy(rules, "first", 0.3),
    "predict with masks": lambda rules: PredictPolicy(MaskedModel(rules.rows, rules.cols), rules),
}


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_gives_rows_that_sum_to_1_whatever_their_neighbours_and_as_a_table_too(
    name, rules
):
    policy, boards = POLICIES[name](rules), unfinished(rules)
    untouched = boards.copy()
    probs = policy.probs(boards)
    assert isinstance(policy, module.Policy)
    assert (probs.shape, probs.dtype) == (boards.shape, np.float64)
    assert (probs >= 0).all()
    assert np.abs(probs.sum(axis=1) - 1).max() < 1e-12
    assert np.array_equal(policy.probs(boards), probs)
    order = np.random.default_rng(0).permutation(len(boards))
    assert np.array_equal(policy.probs(boards[order]), probs[order])
    alone = [policy.probs(boards[row : row + 1]) for row in range(0, len(boards), 29)]
    assert np.array_equal(np.concatenate(alone), probs[::29])
    assert (boards == untouched).all()
    assert bool((probs[boards != 0] > 0).any()) == (name in MAY_BE_ILLEGAL)
    table, positions = tabulate(policy, rules), positions_of(rules)
    assert np.abs(table.table - probs).max() < 1e-15
    assert np.array_equal(table.probs(boards), table.table)
    assert np.array_equal(table.by_row()[positions.unfinished], table.table)
    assert not table.by_row()[positions.is_over].any()
    assert np.array_equal(TabularPolicy(rules, table.table).table, table.table)  # to the bit
    assert tabulate(table, rules) is table


def test_the_greedy_policy_takes_the_lowest_of_equal_cells():
    player = Player(lambda board: {1: 0.25, 2: 0.375, 4: 0.375})
    probs = module.GreedyPolicy(player).probs(boards_of("X.O/..."))
    assert probs.tolist() == [[0, 0, 1, 0, 0, 0]]


@pytest.mark.parametrize("make", [Model, MaskedModel])
@pytest.mark.parametrize(
    ("kind", "shape", "dtype"),
    [("planes", (2, 2, 3), np.int8), ("flat", (12,), np.float32), ("grid", (6,), int)],
)
def test_a_model_is_asked_deterministically_with_the_movers_observation(make, kind, shape, dtype):
    model, boards = make(*shape, dtype=dtype), unfinished(RECTANGLE)
    probs = PredictPolicy(model, RECTANGLE).probs(boards)
    seen, deterministic = model.asked
    expected = observe(boards, RECTANGLE, kind, to_move(boards))
    assert np.array_equal(seen, expected.reshape(len(boards), *shape))
    assert (seen.dtype, deterministic) == (dtype, True)
    assert set(np.unique(probs)) == {0, 1}
    if make is MaskedModel:
        assert model.masks.dtype == bool
        assert np.array_equal(model.masks, boards == 0)


def test_a_model_without_a_space_sees_one_row_and_masks_if_its_predict_takes_them():
    def predict(observation, *, deterministic=False, action_masks=None):
        assert observation.shape[1:] == (12,)
        return [int(np.flatnonzero(mask)[-1]) for mask in action_masks], None

    boards = boards_of("..X/...", "X../.OX")
    policy = PredictPolicy(SimpleNamespace(predict=predict), RECTANGLE)
    assert policy.probs(boards).argmax(axis=1).tolist() == [5, 3]


PERFECT = MinimaxPolicy(RECTANGLE)


def test_a_player_is_known_by_its_methods_and_its_board():
    policy, model = RandomPolicy(), Model(2, 2, 3)
    assert module.as_policy(policy, RECTANGLE) == RandomPolicy(RECTANGLE) != policy
    assert module.as_policy(PERFECT, RECTANGLE) is PERFECT
    assert module.as_policy(model, RECTANGLE).model is model
    for wrong, mentions in (
        (3, "probs predict int"),
        (RandomPolicy, "probs RandomPolicy"),
        (PERFECT, "2x3, 3x3,"),
        (Model(2, 2, 3), "(2, 2, 3) 3x3 'flat'"),
    ):
        with refuses(*mentions.split()):
            module.as_policy(wrong, Rules())


def test_a_model_that_carries_a_state_is_refused():
    model = SimpleNamespace(predict=lambda seen, deterministic: ([0] * len(seen), (seen, seen)))
    for use in (evaluate, lambda model: TicTacToeEnv(opponent=model)):
        with refuses("state"):
            use(model)


@pytest.mark.parametrize("kind", OBSERVATIONS)
def test_a_function_of_observations_and_masks_is_a_policy(kind):
    boards, asked = boards_of("X.O/.X.", "X../..."), []

    def first_free(observations, masks):
        asked.append((observations, masks))
        return masks.argmax(axis=1)

    cells = module.FunctionPolicy(first_free, RECTANGLE, kind)
    assert cells.probs(boards).tolist() == np.eye(6)[[1, 1]].tolist()
    assert np.array_equal(asked[0][0], observe(boards, RECTANGLE, kind))
    assert np.array_equal(asked[0][1], boards == 0)
    shares = module.FunctionPolicy(
        lambda seen, free: (free / free.sum(axis=1)[:, None]).astype(np.float32), RECTANGLE
    )
    assert shares.probs(boards) == pytest.approx(RandomPolicy().probs(boards))


def test_a_function_of_columns_plays_the_cells_on_which_pieces_land_or_the_full_columns_top():
    falling = Rules(2, 3, 3, gravity=True)
    boards = np.array([parse_board(text, falling) for text in ("O../X..", ".../X.O")])
    asked = []
    last = module.FunctionPolicy(
        lambda seen, legal: asked.append(legal) or np.array([0, 2]), falling, actions="columns"
    )
    assert np.flatnonzero(last.probs(boards)).tolist() == [0, 6 + 2]
    assert asked[0].tolist() == [[False, True, True], [True, True, True]]
    with refuses("gravity"):
        module.FunctionPolicy(len, RECTANGLE, actions="columns")


def test_a_function_that_learned_from_images_is_asked_about_each_once_and_turned_back():
    boards, asked = boards_of("X.O/.X.", "O.X/.X.", ".X./O.X"), []

    def last_free(observations, masks):
        asked.extend(masks.tolist())
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)

    policy = module.FunctionPolicy(last_free, RECTANGLE, symmetric=True)
    cells = policy.probs(boards).argmax(axis=1)
    assert len(asked) == 1
    assert (boards[np.arange(3), cells] == 0).all()
    turned = np.array([2, 1, 0, 5, 4, 3])  # mirrored left and right
    assert cells[1] == turned[cells[0]]
    assert cells[2] == 5 - cells[0]
    plain = module.FunctionPolicy(last_free, RECTANGLE)
    assert evaluate(policy) == evaluate(plain, symmetric=True) != evaluate(plain)
    with refuses("symmetric=True"):
        evaluate(policy, symmetric=False)


@pytest.mark.parametrize(
    ("result", "mention"),
    [
        (np.zeros((2, 6)), "row 0"),
        (np.zeros((2, 5)), "(2, 6)"),
        *((np.array([0, cell]), f"5, got {cell}") for cell in (-1, 6, 0.5)),
    ],
)
def test_what_a_function_or_a_model_returns_is_checked(result, mention):
    model = SimpleNamespace(predict=lambda seen, deterministic: (result, None))
    players = [module.FunctionPolicy(lambda seen, masks: result, RECTANGLE)]
    players += [PredictPolicy(model, RECTANGLE)] * (result.ndim == 1)
    for player in players:
        with refuses(mention):
            player.probs(np.zeros((2, 6), dtype=np.int8))


def test_a_function_policy_needs_a_function_and_a_known_observation():
    with refuses("function"):
        module.FunctionPolicy("probs", RECTANGLE)
    with refuses("observation", "'plane'"):
        module.FunctionPolicy(len, RECTANGLE, "plane")


def changed(row, *values):
    table = np.full((57, 6), 1 / 6)
    table[row] = values
    return table


@pytest.mark.parametrize(
    ("table", "mention"),
    [
        (np.full((56, 6), 1 / 6), "(56, 6)"),
        ((row for row in np.full((57, 6), 1 / 6)), "generator"),
        ([{}] * 57, "(57, 6)"),
        (changed(3, np.nan, 1, 0, 0, 0, 0), "probabilities"),
        (changed(3, -1e-9, 1, 0, 0, 0, 0), "probabilities"),
        (changed(3, 0.9999, 0, 0, 0, 0, 0), "0.9999"),
    ],
    ids=["short", "generator", "dicts", "NaN", "negative", "little"],
)
def test_a_table_that_holds_no_probabilities_is_refused(table, mention):
    with refuses(mention):
        TabularPolicy(RECTANGLE, table)
    with refuses(mention):
        tabulate(SimpleNamespace(probs=lambda boards: table), RECTANGLE)


def test_of_rows_that_may_be_none_only_those_of_zeros_are():
    assert not checked_probs(np.zeros((2, 3)), (2, 3), may_be_none=True).any()
    with refuses("row 1", "0.3"):
        checked_probs([[0, 0, 0], [0.1, 0.1, 0.1]], (2, 3), may_be_none=True)


def test_a_table_keeps_a_scaled_copy_that_cannot_be_written():
    scores = np.random.default_rng(0).normal(size=(57, 6)).astype(np.float32) * 8
    softmax = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    table, given = TabularPolicy(RECTANGLE, softmax), softmax.copy()
    softmax[:] = 7
    assert np.abs(table.table.sum(axis=1) - 1).max() < 1e-15
    assert np.abs(table.table - given).max() < 1e-5
    with refuses():
        table.table[0, 0] = 1


def test_a_draw_follows_the_probabilities_and_leaves_them_as_they_were():
    probs = np.asfortranarray(np.tile([0.125, 0, 0.5, 0.375], (100_000, 1)))
    drawn = module.sample(probs, np.random.default_rng(0))
    assert (probs == [0.125, 0, 0.5, 0.375]).all()
    expected = 100_000 * probs[0]
    counts = np.bincount(drawn, minlength=4)
    assert (np.abs(counts - expected) <= 4 * np.sqrt(expected)).all()  # four standard deviations


def test_float32_probabilities_are_summed_alike_for_one_board_and_for_many():
    probs = np.random.default_rng(0).dirichlet(np.ones(16), 9).astype(np.float32)
    alone = [module.checked_ends(row[None], (1, 16))[:, 0] for row in probs]
    assert np.array_equal(module.checked_ends(probs, (9, 16)), np.transpose(alone))


LOWEST, HIGHEST = 0.0, 1 - 2**-53
SHARES = st.lists(st.integers(0, 5), min_size=1, max_size=16).filter(any)


@settings(max_examples=30)
@given(SHARES, st.sampled_from([LOWEST, 0.25, 0.5, HIGHEST]))
def test_a_cell_without_probability_is_never_drawn_not_even_at_the_ends(shares, number):
    probs = np.array([shares], dtype=np.float64) / sum(shares)
    drawn = SimpleNamespace(random=lambda count: np.full(count, number))
    cell, possible = module.sample(probs, drawn)[0], np.flatnonzero(shares)
    assert cell in possible
    assert {LOWEST: cell == possible[0], HIGHEST: cell == possible[-1]}.get(number, True)
