import os
import types
from contextlib import suppress
from functools import lru_cache

import numpy as np
import pytest
from plain_game import Player, plain
from text_cases import cases, refuses

import evaluate
import play
import train
from players.gallery import Gallery
from players.seat import policy_of, seat_of
from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv, certificate
from tictactoe_env.mcts import TreeSearchPolicy
from tictactoe_env.opponents import (
    NAMES,
    Pool,
    known_names,
    make_opponent,
    make_pool,
    parse_pool,
    saved_path,
)
from tictactoe_env.policy import MinimaxPolicy, PredictPolicy, RandomPolicy, TabularPolicy
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.runs import MAX_DEPTH, agents_with_runs, newest_run
from tictactoe_env.search import SearchPolicy

BOARDS = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(3, 4, 3)]
RECTANGLE = Rules(2, 3, 2)
content = lru_cache(lambda agent, rules: certificate.certify(RandomPolicy(), agent, rules))


def certified(path, agent="sarsa", rules=RECTANGLE, age=0):
    """A certificate of random play, written `age` seconds ago."""
    path = path if path.suffix else path / certificate.FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    certificate.write(content(agent, rules), path)
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


@pytest.fixture
def run(tmp_path):
    """The folder of a run that was saved with a policy for 2x3."""
    return certified(tmp_path / "run").parent


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A working folder with runs of two agents, damaged ones among them; sarsa-1 is the newest."""
    monkeypatch.chdir(tmp_path)
    certified(tmp_path / "runs/sarsa-0", age=300)
    certified(tmp_path / "runs/many/sarsa-1", age=100)
    certified(tmp_path / "runs/sarsa-3x3", rules=Rules(), age=200)
    certified(tmp_path / "models/old.json", "trie", Rules(), age=900)
    (tmp_path / "runs/sarsa-2").mkdir()
    (tmp_path / "runs/sarsa-2/certificate.json").write_text("{")
    os.symlink(tmp_path / "nowhere", tmp_path / "models/gone.json")
    return tmp_path


# --- minimax ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_minimax_plays_the_optimal_moves_of_plain_recursion(rules):
    game = plain(rules)
    boards = np.array(game.unfinished[::3], dtype=np.int8)
    lowest = Player(lambda board: {min(game.best(board)): 1})
    assert np.array_equal(MinimaxPolicy(rules).probs(boards), Player(game.perfect).probs(boards))
    assert np.array_equal(MinimaxPolicy(rules, "first").probs(boards), lowest.probs(boards))


@pytest.mark.parametrize("ties", ["random", "first"])
def test_a_slip_is_a_uniformly_random_legal_move(ties):
    boards = np.array(plain(Rules(2, 3, 2)).unfinished, dtype=np.int8)
    perfect, uniform = MinimaxPolicy(RECTANGLE, ties).probs(boards), RandomPolicy().probs(boards)
    for slip in (0, 0.25, 1):
        mixed = (1 - slip) * perfect + slip * uniform
        assert np.array_equal(MinimaxPolicy(RECTANGLE, ties, slip).probs(boards), mixed)


def test_minimax_refuses_what_it_cannot_do():
    with refuses("unknown way to break ties 'frist'; did you mean 'first'? (known: first, random)"):
        MinimaxPolicy(Rules(), ties="frist")
    with refuses("slip must be a probability from 0 to 1, got 2"):
        MinimaxPolicy(Rules(), slip=2)
    with refuses("too many to enumerate"):
        MinimaxPolicy(Rules(6, 7, 4))


# --- names ------------------------------------------------------------------------------------

MEANT = [
    ("random", RandomPolicy, {}),
    ("minimax", MinimaxPolicy, {"ties": "random", "slip": 0}),
    ("minimax-random", MinimaxPolicy, {"ties": "random"}),
    ("minimax-first", MinimaxPolicy, {"ties": "first", "slip": 0}),
    ("minimax-slip=0.1", MinimaxPolicy, {"ties": "random", "slip": 0.1}),
    ("minimax-first-slip=1e-2", MinimaxPolicy, {"ties": "first", "slip": 0.01}),
    ("search-depth=3-ties=first-seconds=0.5", SearchPolicy, {"depth": 3, "seconds": 0.5}),
    ("mcts-playouts=50-seed=3", TreeSearchPolicy, {"playouts": 50, "seed": 3}),
]


@pytest.mark.parametrize(("name", "kind", "attributes"), MEANT)
def test_a_name_stands_for_a_policy_with_its_options(name, kind, attributes):
    opponent = make_opponent(name, RECTANGLE)
    assert isinstance(opponent, kind)
    assert {key: getattr(opponent, key) for key in attributes} == attributes


REFUSED = """
    rnadom             | unknown opponent 'rnadom'; did you mean 'random'?
    serch              | unknown opponent 'serch'; did you mean 'search'
    minimax-slip=much  | slip of minimax must be a number, such as minimax-slip=0.1, got
    minimax-slip=1.5   | slip must be a probability from 0 to 1, got 1.5
    search-depht=3     | unknown option of search 'depht'; did you mean 'depth'
    search-depth=x     | depth of search must be a whole number, such as search-depth=4, got
    search-depth=-1    | depth must be a whole number
    search-ties=lowest | unknown way to break ties
    runs/none          | there is no saved run or certificate at 'runs/none', and no player has thi
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [*cases(REFUSED), ("", "unknown opponent ''"), ("x" * 5000, "unknown opponent 'xxx")],
)
def test_what_is_no_opponent_is_refused_with_a_guess(name, message):
    with refuses(message):
        make_opponent(name, Rules())


# --- saved runs -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [lambda run: run, str, lambda run: run / certificate.FILE])
def test_a_saved_run_is_an_opponent(run, form):
    opponent = make_opponent(form(run), RECTANGLE)
    assert isinstance(opponent, TabularPolicy)
    boards = positions_of(RECTANGLE).boards[positions_of(RECTANGLE).unfinished]
    assert np.array_equal(opponent.probs(boards), RandomPolicy().probs(boards))


def test_a_run_that_cannot_be_used_is_refused_with_the_reason(run, tmp_path):
    (tmp_path / "model.zip").write_bytes(b"PK")
    for path, rules, reason in (
        (str(run), Rules(), f"{run} plays on 2x3, 2 in a row, not on 3x3, 3 in a row"),
        (tmp_path, RECTANGLE, str(tmp_path / certificate.FILE)),
        (str(tmp_path / "model.zip"), RECTANGLE, "may execute code when it is read"),
    ):
        with refuses(reason):
            make_opponent(path, rules)


def test_the_name_of_an_agent_is_its_newest_run_on_this_board_if_there_is_one(runs):
    assert str(saved_path("sarsa")) == "runs/many/sarsa-1"
    assert str(saved_path("sarsa", Rules())) == "runs/sarsa-3x3"
    assert str(saved_path("trie")) == "models/old.json"
    assert saved_path("mcts") is newest_run("dqn") is None
    assert make_opponent("sarsa", RECTANGLE).rules == RECTANGLE
    with refuses("models/old.json plays on 3x3, 3 in a row, not on 2x3, 2 in a row"):
        make_opponent("trie", RECTANGLE)
    certified(runs / "runs/sarsa-4", age=-100)
    assert str(saved_path("sarsa")) == "runs/sarsa-4"


def test_runs_are_found_in_folders_up_to_a_depth_and_none_within_a_run(runs, monkeypatch):
    deep = runs.joinpath("runs", *"abcdef"[:MAX_DEPTH])
    certified(deep, "deep")
    certified(deep / "deeper", "deeper")
    certified(runs / "runs/sarsa-0/checkpoint", "inner")
    certified(runs / "runs/.hidden/certificate.json", "hidden")
    certified(runs / "runs/odd", "not a name")
    assert agents_with_runs() == ["deep", "sarsa", "trie"]
    monkeypatch.setattr("tictactoe_env.runs.MAX_FOUND", 0)
    assert agents_with_runs() == []


# --- the same players everywhere --------------------------------------------------------------


def exit_text(command, *arguments):
    """Raises what a command line prints to stderr."""

    def call(spec, capsys):
        with suppress(SystemExit):
            assert command.main([*arguments, spec]) == 1
        raise ValueError(capsys.readouterr().err)

    return call


DOORS = {
    "gym.make": lambda spec, _: TicTacToeEnv(opponent=spec),
    "make_vec": lambda spec, _: TicTacToeVectorEnv(2, opponent=spec),
    "seat": lambda spec, _: seat_of(spec, Rules()),
    "policy": lambda spec, _: policy_of(spec, Rules()),
    "page": lambda spec, _: Gallery().seat(spec, Rules()),
}
COMMANDS = {
    "train.py": exit_text(train, "tabular_q", "--opponents"),
    "evaluate.py": exit_text(evaluate),
    "play.py": exit_text(play, "--x"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "spec", ["random", "minimax-slip=0.1", "search-depth=2", "mcts-playouts=2", "trie", "sarsa"]
)
def test_what_one_door_accepts_all_accept(runs, door, spec):
    DOORS[door](spec, None)


def test_an_agent_is_the_same_policy_at_every_door(runs):
    policies = policy_of("sarsa", Rules()), seat_of("sarsa", Rules()).policy
    expected = make_opponent("runs/sarsa-3x3", Rules()).table
    for policy in (*policies, make_opponent("sarsa", Rules())):
        assert np.array_equal(policy.table, expected)


@pytest.mark.parametrize("door", [*DOORS, *COMMANDS])
def test_every_door_lists_the_same_names_in_its_error(runs, door, capsys):
    assert known_names() == [*NAMES, "minimax-slip=0.1", "sarsa", "trie", "the path of a saved run"]
    with pytest.raises(ValueError, match="'minmax'; did you mean 'minimax'") as error:
        (DOORS | COMMANDS)[door]("minmax", capsys)
    listed = str(error.value).partition("(known: ")[2].rstrip("\n)").split(", ")
    assert set(known_names()) <= set(listed)
    extra = {"human", "self"} | {name for name in listed if "/" in name or name.startswith(NAMES)}
    assert set(listed) <= set(known_names()) | extra


# --- objects and pools ------------------------------------------------------------------------


def test_objects_are_opponents_if_they_can_play():
    class Model:
        def predict(self, observation, deterministic=False):
            return np.zeros(len(observation)), None

    policy = RandomPolicy()
    assert make_opponent(policy, Rules()) is policy
    assert isinstance(make_opponent(Model(), Rules()), PredictPolicy)
    with refuses("a player must have the method probs"):
        make_opponent(None, Rules())


def test_a_pool_is_one_opponent_or_a_list_with_weights_that_sum_to_1():
    policy = RandomPolicy()
    pool = make_pool(policy, Rules())
    assert pool == Pool((policy,), (1.0,))
    assert make_pool(pool, Rules()) is pool
    pool = make_pool([["random", 3], ("minimax-first", 1)], RECTANGLE)
    assert [type(policy) for policy in pool.policies] == [RandomPolicy, MinimaxPolicy]
    assert pool.weights == (0.75, 0.25)


def test_opponents_are_drawn_by_their_weights_and_the_seed():
    pool = make_pool([["random", 0.25], ["minimax", 0], ["minimax-first", 0.75]], RECTANGLE)
    drawn = pool.draw(np.random.default_rng(0), 10_000)
    assert np.array_equal(drawn, pool.draw(np.random.default_rng(0), 10_000))
    counts = np.bincount(drawn, minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] - 2500) < 4 * np.sqrt(10_000 * 0.25 * 0.75)  # four standard deviations
    rng = np.random.default_rng(0)
    assert make_pool("random", Rules()).draw(rng, 3).tolist() == [0, 0, 0]
    assert rng.random() == np.random.default_rng(0).random(), "a pool of one draws nothing"


def test_the_ends_of_the_draws_belong_to_opponents_with_a_weight():
    """Ten times 0.1 add up to less than 1 in floating-point numbers."""
    tenths = Pool((RandomPolicy(),) * 10, (0.1,) * 10)
    pool = make_pool([["minimax", 0], ["random", 1], ["minimax-first", 0]], RECTANGLE)
    for number in (0.0, 0.5, 1 - 2**-53):
        drawn = types.SimpleNamespace(random=lambda games, number=number: np.full(games, number))
        assert pool.draw(drawn, 2).tolist() == [1, 1]
    assert tenths.draw(drawn, 1).tolist() == [9]


NO_PAIRS = [], ["random"], ["random", "minimax"], ["random", 0.5], [["random"]], [["random", 1, 2]]


@pytest.mark.parametrize("spec", NO_PAIRS)
def test_a_list_that_is_no_pool_is_refused(spec):
    with refuses("a pool of opponents must be a list of [opponent, weight], such as [["):
        make_pool(spec, Rules())


def test_a_pool_with_bad_weights_or_names_is_refused():
    with refuses("weights must be finite, not negative and not all zero, got ['much', 1]"):
        make_pool([["random", "much"], ["random", 1]], Rules())
    with refuses("unknown opponent 'minmax'; did you mean 'minimax'"):
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


NO_POOL = """
    random:much,minimax | name:weight,name:weight, got 'random:much' in 'random:much,minimax'
    random:             | name:weight,name:weight, got 'random:' in 'random:'
    random,             | name:weight,name:weight, got 'random,'
    :0.5                | name:weight,name:weight, got ':0.5'
    random:0            | weights must be finite, not negative and not all zero, got [0.0]
    random:-1,minimax:2 | not negative and not all zero, got [-1.0, 2.0]
    random:nan          | weights must be finite, not negative and not all zero, got [nan]
"""


@pytest.mark.parametrize(("text", "message"), [*cases(NO_POOL), ("", "name:weight, got ''")])
def test_a_text_that_is_no_pool_is_refused(text, message):
    with refuses(message):
        parse_pool(text)
