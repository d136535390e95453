import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_game import Player, plain_game
from sample_players import random_probs
from text_cases import refuses

from tictactoe_env.notation import parse_board
from tictactoe_env.observation import observe
from tictactoe_env.policy import (
    GreedyPolicy,
    MaskedPolicy,
    MinimaxPolicy,
    MixturePolicy,
    Policy,
    PredictPolicy,
    RandomPolicy,
    TabularPolicy,
    Uniforms,
    as_policy,
    checked_probs,
    checked_weights,
    one_hot,
    sample,
    tabulate,
)
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules, to_move

RECTANGLE = Rules(2, 3, 2)
BOARDS = [Rules(3, 3, 3), RECTANGLE, Rules(4, 3, 3)]


class Space:
    def __init__(self, *shape):
        self.shape = shape


class Model:
    """A stand-in for a model of Stable-Baselines3, which scores cells by what it sees."""

    def __init__(self, *shape):
        self.observation_space = Space(*shape)

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked = observation, deterministic
        seen = observation[:, 0] + 2 * observation[:, 1] if observation.ndim == 4 else observation
        weights = np.arange(seen[0].size).reshape(seen[0].shape) * 7 % 5 - 2
        return (seen * weights).sum(axis=(1, 2)) % seen[0].size, None


class MaskedModel(Model):
    """The same with masks: the lowest free cell from the one that the plain model chooses on."""

    def predict(self, observation, action_masks=None, **options):
        wanted, state = super().predict(observation, **options)
        self.masks = action_masks
        later = action_masks & (np.arange(action_masks.shape[1]) >= wanted[:, None])
        return np.where(later.any(axis=1, keepdims=True), later, action_masks).argmax(axis=1), state


def random_table(rules, seed):
    """A table with arbitrary probabilities, on taken cells too."""
    return TabularPolicy(rules, random_probs(rules, np.random.default_rng(seed), 0.5))


def unfinished(rules):
    positions = positions_of(rules)
    return positions.boards[positions.unfinished]


def predicting(make, *planes):
    return lambda rules: PredictPolicy(make(*planes, rules.rows, rules.cols), rules)


def mixed(rules):
    return MixturePolicy(
        [(random_table(rules, 3), 1), (RandomPolicy(), 2), (MinimaxPolicy(rules), 0)]
    )


POLICIES = {
    "random": lambda rules: RandomPolicy(),
    "minimax": MinimaxPolicy,
    "minimax-first": lambda rules: MinimaxPolicy(rules, ties="first"),
    "minimax-slip": lambda rules: MinimaxPolicy(rules, slip=0.3),
    "minimax-first-slip": lambda rules: MinimaxPolicy(rules, "first", 0.3),
    "table": lambda rules: random_table(rules, 1),
    "masked": lambda rules: MaskedPolicy(random_table(rules, 2)),
    "mixture": mixed,
    "greedy": lambda rules: GreedyPolicy(random_table(rules, 4)),
    "predict planes": predicting(Model, 2),
    "predict grid": predicting(Model),
    "predict planes with masks": predicting(MaskedModel, 2),
    "predict grid with masks": predicting(MaskedModel),
}
MAY_BE_ILLEGAL = {"table", "mixture", "greedy", "predict planes", "predict grid"}


# --- what every policy promises -------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_gives_rows_that_sum_to_1_and_do_not_depend_on_their_neighbours(name, rules):
    policy = POLICIES[name](rules)
    assert isinstance(policy, Policy)
    boards = unfinished(rules)[:: 1 if rules.cells < 12 else 17]
    untouched = boards.copy()
    probs = policy.probs(boards)
    assert probs.shape == boards.shape
    assert probs.dtype == np.float64
    assert (probs >= 0).all()
    assert np.abs(probs.sum(axis=1) - 1).max() < 1e-12
    assert np.array_equal(policy.probs(boards), probs)
    order = np.random.default_rng(0).permutation(len(boards))
    assert np.array_equal(policy.probs(boards[order]), probs[order])
    alone = [policy.probs(boards[row : row + 1]) for row in range(0, len(boards), 29)]
    assert np.array_equal(np.concatenate(alone), probs[::29])
    assert (boards == untouched).all()
    assert bool((probs[boards != 0] > 0).any()) == (name in MAY_BE_ILLEGAL)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("name", POLICIES)
def test_the_table_of_every_policy_says_what_the_policy_says(name, rules):
    policy = POLICIES[name](rules)
    table = tabulate(policy, rules)
    positions = positions_of(rules)
    boards = unfinished(rules)
    assert table.table.shape == boards.shape
    assert np.abs(table.table - policy.probs(boards)).max() < 1e-15
    assert np.array_equal(table.probs(boards), table.table)
    assert np.array_equal(table.by_row()[positions.unfinished], table.table)
    assert not table.by_row()[positions.is_over].any()
    assert np.array_equal(TabularPolicy(rules, table.table).table, table.table)  # to the bit
    assert tabulate(table, rules) is table


# --- one by one -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_random_play_is_uniform_over_the_free_cells_and_needs_no_table(rules):
    game = plain_game(rules.rows, rules.cols, rules.k)
    boards = unfinished(rules)[::7]
    assert np.array_equal(RandomPolicy().probs(boards), Player(game.uniform).probs(boards))
    board = np.array([[1, -1] * 3 + [0] * 50], dtype=np.int8)
    assert RandomPolicy().probs(board)[0].tolist() == [0] * 6 + [1 / 50] * 50


def fixed(shares):
    return Player(lambda board: shares)


@pytest.mark.parametrize(
    ("policy", "probs"),
    [
        # A mask keeps the shares of the free cells, or makes the row uniform where nothing is left.
        (MaskedPolicy(fixed({0: 0.5, 1: 0.375, 5: 0.125})), [0, 0.75, 0, 0, 0, 0.25]),
        (MaskedPolicy(fixed({0: 1})), [0, 0.25, 0, 0.25, 0.25, 0.25]),
        # A mixture is the weighted mean.
        (
            MixturePolicy([(fixed({0: 1}), 3), (fixed({0: 0.5, 1: 0.5}), 1)]),
            [0.875, 0.125] + [0] * 4,
        ),
        # A greedy policy takes the lowest cell among equals.
        (GreedyPolicy(fixed({1: 0.25, 2: 0.375, 4: 0.375})), [0, 0, 1, 0, 0, 0]),
    ],
    ids=["masked", "nothing left", "mixture", "greedy"],
)
def test_a_policy_made_of_others_has_these_probabilities(policy, probs):
    assert policy.probs(parse_board("X.O/...", Rules(2, 3, 3))[None]).tolist() == [probs]


@pytest.mark.parametrize(
    "weights", [[], [0, 0], [1, -1], [np.nan, 1], [float("inf"), 1], ["much", 1], [None, 1]]
)
def test_weights_are_scaled_to_sum_to_1_and_others_refused(weights):
    assert checked_weights([1, 3]) == [0.25, 0.75]
    assert checked_weights([0, 2]) == [0, 1]
    message = f"weights must be finite, not negative and not all zero, got {weights}"
    with refuses(message):
        checked_weights(weights)
    with refuses(message):
        MixturePolicy([(RandomPolicy(), weight) for weight in weights])


# --- models with predict --------------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["planes", "grid"])
@pytest.mark.parametrize("make", [Model, MaskedModel])
def test_a_model_is_asked_once_and_deterministically_with_the_movers_observation(make, kind, rules):
    model = make(2, rules.rows, rules.cols) if kind == "planes" else make(rules.rows, rules.cols)
    boards = unfinished(rules)[::5]
    probs = PredictPolicy(model, rules).probs(boards)
    seen, deterministic = model.asked
    assert np.array_equal(seen, observe(boards, rules, kind, to_move(boards)))
    assert deterministic is True
    assert set(np.unique(probs)) == {0, 1}
    if make is MaskedModel:
        assert model.masks.dtype == bool
        assert np.array_equal(model.masks, boards == 0)
        assert not probs[boards != 0].any()


def test_a_model_without_a_space_sees_planes():
    class Bare:
        def predict(self, observation, deterministic=False):
            return observation[:, 1].reshape(len(observation), -1).argmax(axis=1), None

    boards = np.array([parse_board(text, RECTANGLE) for text in ("..X/...", ".X./O..")])
    assert PredictPolicy(Bare(), RECTANGLE).probs(boards).argmax(axis=1).tolist() == [2, 3]


def test_masks_reach_a_predict_that_is_a_function_or_stands_behind_a_decorator():
    def last_free(observation, *, deterministic=False, action_masks=None):
        return [int(np.flatnonzero(mask)[-1]) for mask in action_masks], None

    class Wrapped(MaskedModel):
        @functools.wraps(MaskedModel.predict)
        def predict(self, *args, **kwargs):
            return MaskedModel.predict(self, *args, **kwargs)

    model = Model(2, 2, 3)
    model.predict = last_free
    boards = np.array([parse_board(text, RECTANGLE) for text in ("X../.OX", ".../...")])
    assert PredictPolicy(model, RECTANGLE).probs(boards).argmax(axis=1).tolist() == [3, 5]
    boards = unfinished(RECTANGLE)
    assert not PredictPolicy(Wrapped(2, 2, 3), RECTANGLE).probs(boards)[boards != 0].any()


@pytest.mark.parametrize("action", [-1, 6, 2.5])
def test_a_model_for_another_board_or_that_moves_off_the_board_is_refused(action):
    with refuses(
        "the model's observations have the shape (2, 3, 3), but a board of 2x3 gives "
        "{'planes': (2, 2, 3), 'grid': (2, 3)}; use a model for this board"
    ):
        PredictPolicy(Model(2, 3, 3), RECTANGLE)
    model = Model(2, 2, 3)
    model.predict = lambda observation, deterministic: (np.full(len(observation), action), None)
    with refuses(f"the model must predict cells, whole numbers from 0 to 5, got {action}"):
        PredictPolicy(model, RECTANGLE).probs(np.zeros((2, 6), dtype=np.int8))


def test_a_player_is_known_by_its_methods_and_its_board():
    policy, model = RandomPolicy(), Model(2, 2, 3)
    assert as_policy(policy, RECTANGLE) is policy
    assert as_policy(model, RECTANGLE).model is model
    for wrong, what in ((3, "3 of type int"), (RandomPolicy, "of type type")):
        with refuses("a player must have the method probs(boards) or Stable-Baselines3's") as error:
            as_policy(wrong, Rules())
        assert what in str(error.value)
    with refuses("this player plays on 2x3, 2 in a row, not on 3x3, 3 in a row"):
        as_policy(MinimaxPolicy(RECTANGLE), Rules())


# --- tables ---------------------------------------------------------------------------------------


def test_a_table_keeps_a_scaled_copy_that_cannot_be_written():
    given = np.full((57, 6), 1 / 6, dtype=np.float32)
    table = TabularPolicy(RECTANGLE, given)
    given[:] = 7
    assert np.abs(table.table.sum(axis=1) - 1).max() < 1e-15
    assert (table.table == table.table[0, 0]).all()
    with pytest.raises(ValueError, match="read-only"):
        table.table[0, 0] = 1


def changed(row, values):
    table = np.full((57, 6), 1 / 6)
    table[row] = values
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.full((56, 6), 1 / 6), "probabilities must have the shape (57, 6), got (56, 6)"),
        (np.full((57, 9), 1 / 9), "probabilities must have the shape (57, 6), got (57, 9)"),
        (np.full(57, 1.0), "probabilities must have the shape (57, 6), got (57,)"),
        (changed(3, [np.nan, 1, 0, 0, 0, 0]), "probabilities must be finite and not negative"),
        (changed(3, [np.inf, 1, 0, 0, 0, 0]), "probabilities must be finite and not negative"),
        (changed(3, [-0.5, 1.5, 0, 0, 0, 0]), "probabilities must be finite and not negative"),
        (changed(3, [0] * 6), "probabilities must sum to 1 in each row, row 3 sums to 0.0"),
        (changed(56, [1, 0.5, 0, 0, 0, 0]), "must sum to 1 in each row, row 56 sums to 1.5"),
        (changed(3, [0.9999, 0, 0, 0, 0, 0]), "must sum to 1 in each row, row 3 sums to 0.9999"),
    ],
    ids="short wide flat NaN infinite negative zero much little".split(),  # noqa: SIM905
)
def test_a_table_that_holds_no_probabilities_is_refused(table, message):
    class Fixed:
        def probs(self, boards):
            return table

    for ask in (
        lambda: TabularPolicy(RECTANGLE, table),
        lambda: tabulate(Fixed(), RECTANGLE),
        lambda: checked_probs(table, (57, 6)),
    ):
        with refuses(message):
            ask()


def test_a_softmax_in_float32_is_accepted_and_scaled():
    scores = np.random.default_rng(0).normal(size=(57, 6)).astype(np.float32) * 8
    shares = np.exp(scores)
    shares /= shares.sum(axis=1, keepdims=True)
    assert np.abs(checked_probs(shares, (57, 6)).sum(axis=1) - 1).max() < 1e-15


def test_a_table_is_not_asked_for_finished_or_unreachable_boards_nor_made_for_large_ones():
    table = tabulate(RandomPolicy(), RECTANGLE)
    with refuses("a finished board has no move: ask for unfinished boards only"):
        table.probs(parse_board("XX./O..", RECTANGLE)[None])
    with refuses("cannot reach"):
        table.probs(np.array([[-1, 0, 0, 0, 0, 0]], dtype=np.int8))
    with refuses("boards must have the shape (B, 6), got (1, 9)"):
        table.probs(np.zeros((1, 9), dtype=np.int8))
    with refuses("too many to enumerate"):
        tabulate(RandomPolicy(), Rules(6, 7, 4))


# --- drawing moves --------------------------------------------------------------------------------


def test_a_draw_follows_the_probabilities_and_the_seed():
    probs = np.tile([0.125, 0, 0.5, 0.375], (100_000, 1))
    drawn = sample(probs, np.random.default_rng(0))
    assert np.array_equal(drawn, sample(probs, np.random.default_rng(0)))
    counts = np.bincount(drawn, minlength=4)
    assert counts[1] == 0
    expected = 100_000 * probs[0]
    assert (np.abs(counts - expected) <= 4 * np.sqrt(expected)).all()  # four standard deviations


class Drawn:
    """A generator that always draws the same number."""

    def __init__(self, number):
        self.number = number

    def random(self, count):
        return np.full(count, self.number)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=16).filter(any),
    st.sampled_from([0.0, 0.25, 0.5, 1 - 2**-53]),
)
def test_a_cell_without_probability_is_never_drawn_not_even_at_the_ends(shares, number):
    probs = np.array([shares], dtype=np.float64) / sum(shares)
    assert shares[sample(probs, Drawn(number))[0]] > 0


def test_the_lowest_and_the_highest_draw_give_the_first_and_the_last_possible_cell():
    probs = np.array([[0, 0.3, 0.3, 0.4, 0]])
    assert [sample(probs, Drawn(number)).tolist() for number in (0.0, 1 - 2**-53)] == [[1], [3]]


def test_uniforms_are_the_numbers_of_the_generator():
    uniforms, rng = Uniforms(np.random.default_rng(0)), np.random.default_rng(0)
    drawn = [uniforms.draw() for _ in range(600)]
    assert sorted(drawn[:512]) == sorted(rng.random(512))
    assert all(0 <= number < 1 for number in drawn)


def test_one_hot_rows_have_a_single_one():
    assert one_hot(np.array([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
