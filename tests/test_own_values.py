"""A player's own values, in the file beside its certificate and on the board."""

import shutil

import numpy as np
import pytest
from programs import without
from sample_players import Stubborn, fixed_table
from small_runs import trained
from text_cases import refuses

from apps.players.seat import KINDS, Seat, seat_of
from tictactoe_env.certificates.certificate import load_policy, read
from tictactoe_env.exact.match import action_values
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.games.game import UNKNOWN
from tictactoe_env.notation import parse_board
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.search.mcts import MCTSPolicy
from training.values import OwnValues, Scale, checked, read_values, reward_scale, write_values

RULES = Rules(2, 3, 2)
POSITIONS = positions_of(RULES)
BOARDS = POSITIONS.boards[POSITIONS.unfinished]
TABLE = fixed_table(RULES)
SCALE = Scale("expected reward: win 2, draw 0, loss -1", low=-1.0, high=2.0)


def some_values(known=None):
    return OwnValues(np.random.default_rng(0).normal(size=BOARDS.shape), SCALE, known)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "values.npz"


@pytest.mark.parametrize("known", [None, np.random.default_rng(1).random(len(BOARDS)) < 0.5])
def test_values_come_back_with_their_meaning(path, known):
    write_values(checked(some_values(known), RULES), "of these moves", path)
    policy = read_values(path, TABLE, "of these moves")
    assert np.array_equal(policy.table, TABLE.table)
    expected = np.where(BOARDS == 0, some_values().values, np.nan).astype(np.float32)
    assert np.array_equal(policy.q_values(BOARDS), expected, equal_nan=True)
    assert (policy.meaning, policy.scale) == (SCALE.meaning, (-1.0, 2.0))
    assert (policy.is_new(BOARDS[::-1]) == (False if known is None else ~known[::-1])).all()
    assert reward_scale((1.0, 1.0, 1.0))[1:] == (1.0, 2.0)
    with refuses("finished board"):
        policy.q_values(POSITIONS.boards[POSITIONS.is_over][:1])


@pytest.mark.parametrize(
    "arrays",
    [
        {"values": np.array([{"a": 1}], dtype=object)},  # a pickle
        {"values": np.zeros((1, 6), dtype=np.float32)},  # of another board
        {"about": np.frombuffer(b"[1]", dtype=np.uint8)},
        {"known": np.zeros(3, dtype=np.uint8)},
        {},
    ],
)
def test_a_file_of_other_arrays_or_other_moves_is_refused_by_name(path, arrays):
    write_values(checked(some_values(), RULES), "these" if arrays else "those", path)
    with np.load(path) as content:
        np.savez_compressed(path, **{**content, **arrays})
    with refuses(path):
        read_values(path, TABLE, "these")


@pytest.fixture(scope="module")
def run(tmp_path_factory, no_charts):
    """The folder of a finished small run of DQN, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "dqn-0"
    assert trained("dqn", folder) == 0
    return folder


def test_the_own_values_of_a_run_are_shown_without_torch_and_without_its_model(run, tmp_path):
    own = read_values(run / "values.npz", load_policy(run), read(run).sha256_of_moves).own
    for name in ("certificate.json", "values.npz"):
        shutil.copy(run / name, tmp_path)
    found = seat_of(str(tmp_path), Rules()).thoughts(np.zeros(9, dtype=np.int8))
    assert (found.kind, found.kinds, found.values) == ("own", KINDS, own.values[0].tolist())
    assert (found.scale, found.meaning[-22:]) == ((-2.0, 1.0), "win 1, draw 0, loss -2")
    program = f"""import numpy as np
from apps.players.seat import seat_of
seat = seat_of({str(run)!r}, __import__("tictactoe_env").Rules())
print(seat.thoughts(np.zeros(9, dtype=np.int8)).values[4])"""
    assert without("torch stable_baselines3", program) == f"{float(own.values[0, 4])}\n"


def test_a_run_without_the_file_has_its_results_against_random_and_a_wrong_file_is_refused(
    run, tmp_path
):
    folder = shutil.copytree(run, tmp_path / "dqn-0")
    file = tmp_path / "dqn-0" / "values.npz"
    file.write_bytes(b"?")
    with refuses(file):
        seat_of(str(folder), Rules())
    file.unlink()
    seats = [seat_of(str(path), Rules()) for path in (folder, run)]
    found, expected = (seat.thoughts(np.eye(9, dtype=np.int8)[4], "expected") for seat in seats)
    assert (found.kinds, found.values) == (("expected",), expected.values)


def test_a_tree_search_gives_each_move_the_mean_success_of_its_playouts():
    player = MCTSPolicy(Rules(), playouts=200, draws=0.25, seed=3)
    values = player.q_values(parse_board("XX./OO./...", Rules())[None])[0]
    assert (np.nanargmax(values), np.nanmax(values)) == (2, 1), "a win at once"
    assert np.isnan(values).tolist() == [True, True, False, True, True, *[False] * 4]
    assert (player.scale, "draw 0.25" in player.meaning) == ((0.0, 1.0), True)
    few = MCTSPolicy(Rules(), playouts=2).q_values(parse_board("XO./.../...", Rules())[None])
    assert np.isfinite(few).sum() == 2, "a move without a playout has no value"


def thoughts(policy, board, rules, kind="own"):
    return Seat(UNKNOWN, rules, policy).thoughts(board, kind)


def test_the_thoughts_of_a_player_without_values_are_its_probabilities_and_its_illegal_ones():
    large = thoughts(RandomPolicy(), np.zeros(25, dtype=np.int8), Rules(5, 5, 4))
    assert (large.probs, large.values, large.kind) == ([0.04] * 25, None, "")
    board = parse_board("X../.O./...", Rules())
    found = thoughts(Stubborn(), board, Rules())
    assert found.illegal == 0.5
    assert found.probs == [None, *[0.5 / 7] * 3, None, *[0.5 / 7] * 4]


class Both(TabularPolicy):
    meaning = "a guess"
    scale = (0.0, 2.0)

    def q_values(self, boards):
        return np.where(np.arange(9) == 3, np.nan, 1.5) * np.ones((len(boards), 1))


@pytest.mark.parametrize("text", ["X../.O./...", "X../.O./..X"])
def test_a_player_with_own_values_and_a_table_can_be_asked_for_either_kind(text):
    """The expected ones are exact results against random moves; a plain table has no others."""
    rules = Rules()
    board = parse_board(text, Rules())
    plain = fixed_table(rules)
    player = Both(rules, plain.table)
    own, expected = (thoughts(player, board, rules, kind) for kind in KINDS)
    known = np.where((board == 0) & (np.arange(9) != 3), 1.5, None)
    assert own.values == known.tolist(), "NaN is not known"
    assert (own.kind, own.meaning, own.scale, own.kinds) == ("own", "a guess", (0, 2), KINDS)
    side = "X" if board.sum() == 0 else "O"
    exact = action_values(side, plain, RandomPolicy(), rules, board)
    assert expected.values == np.where(board == 0, exact, None).tolist()
    assert (expected.kind, expected.scale, expected.kinds) == ("expected", (-1, 1), KINDS)
    assert thoughts(plain, board, rules, "own").kinds == ("expected",)
