import re

import numpy as np
import pytest
from plain_game import Player, plain_game

from tictactoe_env import certificate
from tictactoe_env.opponents import NAMES, MinimaxPolicy, Pool, make_opponent, make_pool, parse_pool
from tictactoe_env.policy import PredictPolicy, RandomPolicy, TabularPolicy
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

BOARDS = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(3, 4, 3)]
RECTANGLE = Rules(2, 3, 2)


@pytest.fixture
def run(tmp_path):
    """The folder of a run that was saved with a policy for 2x3."""
    certificate.write(
        certificate.certify(RandomPolicy(), "random", RECTANGLE), tmp_path / certificate.FILE
    )
    return tmp_path


# --- minimax -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_minimax_draws_among_the_optimal_moves_of_plain_recursion(rules):
    game = plain_game(rules.rows, rules.cols, rules.k)
    boards = np.array(game.unfinished[::3], dtype=np.int8)
    assert np.array_equal(MinimaxPolicy(rules).probs(boards), Player(game.perfect).probs(boards))


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_minimax_first_takes_the_lowest_optimal_cell(rules):
    game = plain_game(rules.rows, rules.cols, rules.k)
    boards = np.array(game.unfinished[::3], dtype=np.int8)
    expected = Player(lambda board: {min(game.best(board)): 1}).probs(boards)
    assert np.array_equal(MinimaxPolicy(rules, ties="first").probs(boards), expected)


@pytest.mark.parametrize("ties", ["random", "first"])
def test_a_slip_is_a_uniformly_random_legal_move(ties):
    boards = np.array(plain_game(2, 3, 2).unfinished, dtype=np.int8)
    perfect, uniform = MinimaxPolicy(RECTANGLE, ties).probs(boards), RandomPolicy().probs(boards)
    assert np.array_equal(
        MinimaxPolicy(RECTANGLE, ties, 0.25).probs(boards), 0.75 * perfect + 0.25 * uniform
    )
    assert np.array_equal(MinimaxPolicy(RECTANGLE, ties, 1).probs(boards), uniform)
    assert np.array_equal(MinimaxPolicy(RECTANGLE, ties, 0).probs(boards), perfect)


def test_minimax_refuses_what_it_cannot_do():
    with pytest.raises(
        ValueError,
        match=r"^unknown way to break ties 'frist'; did you mean 'first'\? \(known: first, random\)$",
    ):
        MinimaxPolicy(Rules(), ties="frist")
    with pytest.raises(ValueError, match=r"^slip must be a probability from 0 to 1, got 2$"):
        MinimaxPolicy(Rules(), slip=2)
    with pytest.raises(ValueError, match="too many to enumerate"):
        MinimaxPolicy(Rules(6, 7, 4))


# --- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_name_makes_an_opponent_on_every_board(name):
    for rules in BOARDS:
        assert make_opponent(name, rules).probs(
            np.zeros((1, rules.cells), dtype=np.int8)
        ).shape == (1, rules.cells)


@pytest.mark.parametrize(
    ("name", "ties", "slip"),
    [
        ("minimax", "random", 0),
        ("minimax-first", "first", 0),
        ("minimax-slip=0.1", "random", 0.1),
        ("minimax-first-slip=0.1", "first", 0.1),
        ("minimax-slip=1e-2", "random", 0.01),
    ],
)
def test_a_name_says_how_minimax_plays(name, ties, slip):
    opponent = make_opponent(name, RECTANGLE)
    assert (opponent.rules, opponent.ties, opponent.slip) == (RECTANGLE, ties, slip)


def test_the_name_random_makes_random_play():
    assert isinstance(make_opponent("random", Rules()), RandomPolicy)
    assert isinstance(make_opponent("random", Rules(6, 7, 4)), RandomPolicy)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "minmax",
            "unknown opponent 'minmax'; did you mean 'minimax'? (known: minimax, minimax-first, minimax-slip=0.1, random, the path of a saved run)",
        ),
        ("rnadom", "unknown opponent 'rnadom'; did you mean 'random'?"),
        ("", "unknown opponent ''"),
        ("minimax-slip=much", "unknown opponent 'minimax-slip=much'; did you mean"),
        (
            "minimax-slip=1.2.3",
            "the slip of an opponent must be a probability such as minimax-slip=0.1, got 'minimax-slip=1.2.3'",
        ),
        ("minimax-slip=1.5", "slip must be a probability from 0 to 1, got 1.5"),
        ("x" * 5000, "unknown opponent 'xxx"),
    ],
)
def test_an_unknown_name_is_refused_with_a_guess(name, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        make_opponent(name, Rules())


@pytest.mark.parametrize("form", [lambda run: run, str, lambda run: run / certificate.FILE])
def test_a_saved_run_is_an_opponent(run, form):
    opponent = make_opponent(form(run), RECTANGLE)
    assert isinstance(opponent, TabularPolicy)
    boards = positions_of(RECTANGLE).boards[positions_of(RECTANGLE).unfinished]
    assert np.array_equal(opponent.probs(boards), RandomPolicy().probs(boards))


def test_a_saved_run_for_another_board_is_refused(run):
    with pytest.raises(
        ValueError,
        match=f"^{re.escape(str(run))} plays on 2x3, 2 in a row, not on 3x3, 3 in a row$",
    ):
        make_opponent(str(run), Rules())


def test_a_run_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        ValueError,
        match=f"^there is no saved run or certificate at '{re.escape(str(tmp_path / 'nobody'))}', and it is no name",
    ):
        make_opponent(str(tmp_path / "nobody"), Rules())


def test_a_zip_of_stable_baselines3_is_not_read(tmp_path):
    (tmp_path / "model.zip").write_bytes(b"PK")
    with pytest.raises(
        ValueError, match="may execute code when it is read: load it with its own class"
    ):
        make_opponent(str(tmp_path / "model.zip"), Rules())


def test_a_player_for_another_board_is_refused():
    with pytest.raises(
        ValueError, match="this player plays on 3x4, 3 in a row, not on 4x3, 3 in a row"
    ):
        make_opponent(MinimaxPolicy(Rules(3, 4, 3)), Rules(4, 3, 3))


def test_a_class_is_no_player():
    with pytest.raises(ValueError, match="a player must have the method probs"):
        make_opponent(RandomPolicy, Rules())


def test_a_folder_without_a_certificate_is_named(tmp_path):
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / certificate.FILE))):
        make_opponent(tmp_path, Rules())


def test_objects_are_opponents_if_they_can_play():
    class Model:
        def predict(self, observation, deterministic=False):
            return np.zeros(len(observation)), None

    policy = RandomPolicy()
    assert make_opponent(policy, Rules()) is policy
    assert isinstance(make_opponent(Model(), Rules()), PredictPolicy)
    with pytest.raises(ValueError, match="a player must have the method probs"):
        make_opponent(None, Rules())


# --- pools -------------------------------------------------------------------------------------------------------


def test_a_single_opponent_is_a_pool_of_one():
    policy = RandomPolicy()
    pool = make_pool(policy, Rules())
    assert pool == Pool((policy,), (1.0,))
    assert make_pool(pool, Rules()) is pool
    assert isinstance(make_pool("minimax", RECTANGLE).policies[0], MinimaxPolicy)


def test_a_list_of_opponents_and_weights_is_a_pool_with_weights_that_sum_to_1():
    pool = make_pool([["random", 3], ("minimax-first", 1)], RECTANGLE)
    assert [type(policy) for policy in pool.policies] == [RandomPolicy, MinimaxPolicy]
    assert pool.weights == (0.75, 0.25)


def test_a_pool_of_one_draws_nothing_from_the_generator():
    rng = np.random.default_rng(0)
    assert make_pool("random", Rules()).draw(rng, 3).tolist() == [0, 0, 0]
    assert rng.random() == np.random.default_rng(0).random()


def test_opponents_are_drawn_by_their_weights_and_the_seed():
    pool = make_pool([["random", 0.25], ["minimax", 0], ["minimax-first", 0.75]], RECTANGLE)
    drawn = pool.draw(np.random.default_rng(0), 10_000)
    assert np.array_equal(drawn, pool.draw(np.random.default_rng(0), 10_000))
    counts = np.bincount(drawn, minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] - 2500) < 4 * np.sqrt(10_000 * 0.25 * 0.75)  # four standard deviations


class Drawn:
    """A generator that always draws the same number."""

    def __init__(self, number):
        self.number = number

    def random(self, count):
        return np.full(count, self.number)


def test_the_highest_draw_gives_the_last_opponent_though_the_weights_add_up_to_less_than_1():
    pool = Pool((RandomPolicy(),) * 10, (0.1,) * 10)
    assert np.cumsum(pool.weights)[-1] < 1
    assert pool.draw(Drawn(1 - 2**-53), 1).tolist() == [9]


@pytest.mark.parametrize("number", [0.0, 0.5, 1 - 2**-53])
def test_an_opponent_of_weight_zero_is_never_drawn(number):
    pool = make_pool([["minimax", 0], ["random", 1], ["minimax-first", 0]], RECTANGLE)
    assert pool.draw(Drawn(number), 2).tolist() == [1, 1]


@pytest.mark.parametrize(
    "spec",
    [[], ["random"], ["random", "minimax"], ["random", 0.5], [["random"]], [["random", 1, 2]]],
)
def test_a_list_that_is_no_pool_is_refused(spec):
    message = f'a pool of opponents must be a list of [opponent, weight], such as [["random", 0.5], ["minimax", 0.5]], got {spec!r}'
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make_pool(spec, Rules())


@pytest.mark.parametrize("weights", [[0, 0], [1, -1], [float("nan"), 1], ["much", 1], [None, 1]])
def test_a_pool_with_weights_that_are_no_shares_is_refused(weights):
    with pytest.raises(
        ValueError,
        match=f"^{re.escape(f'weights must be finite, not negative and not all zero, got {weights}')}$",
    ):
        make_pool([["random", weight] for weight in weights], Rules())


def test_a_pool_names_its_unknown_opponent():
    with pytest.raises(ValueError, match=r"^unknown opponent 'minmax'; did you mean 'minimax'"):
        make_pool([["random", 1], ["minmax", 1]], Rules())


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("random", [("random", 1)]),
        ("random,minimax", [("random", 0.5), ("minimax", 0.5)]),
        ("random:0.5,minimax:0.25,self:0.25", [("random", 0.5), ("minimax", 0.25), ("self", 0.25)]),
        (" random:1, minimax-slip=0.1:3 ", [("random", 0.25), ("minimax-slip=0.1", 0.75)]),
        ("runs/dqn-0:1e-1,random:0.1", [("runs/dqn-0", 0.5), ("random", 0.5)]),
    ],
)
def test_a_pool_reads_as_names_with_weights(text, pairs):
    assert parse_pool(text) == pairs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "random:much,minimax",
            "opponents must be written as name:weight,name:weight, got 'random:much' in 'random:much,minimax'",
        ),
        (
            "random:",
            "opponents must be written as name:weight,name:weight, got 'random:' in 'random:'",
        ),
        ("", "opponents must be written as name:weight,name:weight, got ''"),
        ("random,", "opponents must be written as name:weight,name:weight, got 'random,'"),
        (":0.5", "opponents must be written as name:weight,name:weight, got ':0.5'"),
        ("random:0", "weights must be finite, not negative and not all zero, got [0.0]"),
        (
            "random:-1,minimax:2",
            "weights must be finite, not negative and not all zero, got [-1.0, 2.0]",
        ),
        ("random:nan", "weights must be finite, not negative and not all zero, got [nan]"),
    ],
)
def test_a_text_that_is_no_pool_is_refused(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_pool(text)
