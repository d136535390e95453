import ast
import os
import re
import types
from functools import lru_cache, partial
from importlib import import_module

import numpy as np
import pytest
from programs import ROOT
from text_cases import cases, refuses

from apps.players.gallery import Gallery
from apps.players.seat import policy_of, seat_of
from tictactoe_env import Rules, TicTacToeEnv, TicTacToeVectorEnv, make_opponent
from tictactoe_env import evaluate as evaluate_policy
from tictactoe_env.called import CALLED
from tictactoe_env.certificates import certificate
from tictactoe_env.certificates.runs import MAX_DEPTH, agents_with_runs, run_named
from tictactoe_env.certificates.trained import trained_names
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.opponents import (
    BUILT_IN,
    BuiltIn,
    built_in,
    easy_opponent,
    known_names,
    parse_pool,
    resolve,
)
from tictactoe_env.opponents.__main__ import listed
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.pool import Pool, make_pool
from tictactoe_env.predict_policy import PredictPolicy
from tictactoe_env.rules import game_state
from tictactoe_env.search.alphabeta import SearchPolicy
from tictactoe_env.search.mcts import MCTSPolicy

RECTANGLE = Rules(2, 3, 2)
content = lru_cache(lambda agent, rules: certificate.certify(RandomPolicy(), agent, rules))


def certified(path, agent="sarsa", rules=RECTANGLE, age=0):
    """A certificate of random play, written `age` seconds ago."""
    path = path if path.suffix else path / certificate.FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    certificate.write(content(agent, rules), path)
    os.utime(path, (1e9 - age, 1e9 - age))


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


MEANT = [
    ("random", RandomPolicy, {}),
    ("minimax", MinimaxPolicy, {"ties": "random", "slip": 0}),
    ("minimax-ties=fastest-slip=0.1", MinimaxPolicy, {"ties": "fastest", "slip": 0.1}),
    ("minimax-first-slip=1e-2", MinimaxPolicy, {"ties": "first", "slip": 0.01}),
    ("search-depth=3-ties=first-seconds=0.5", SearchPolicy, {"depth": 3, "seconds": 0.5}),
    ("mcts-playouts=50-seed=3", MCTSPolicy, {"playouts": 50, "seed": 3}),
]


@pytest.mark.parametrize(("name", "kind", "attributes"), MEANT)
def test_a_name_stands_for_a_policy_with_its_options(name, kind, attributes):
    opponent = make_opponent(name, RECTANGLE)
    assert isinstance(opponent, kind)
    assert {key: getattr(opponent, key) for key in attributes} == attributes


REFUSED = """
    rnadom             | 'rnadom' mean 'random'
    RANDOM             | 'RANDOM' mean 'random'
    minimax-slip=1.5   | slip 1.5
    search-depht=3     | search 'depht' 'depth'
    search-depth=2-depth=3 | depth search
    runs/none          | 'runs/none'
    best-response:rnadom | 'rnadom' mean 'random'
    best-response:search-seconds=1 | clock
"""
ODD = ("", "''"), ("x" * 5000, "'xxx"), ("best-response:" * 500 + "trie", "best-response: 4")


@pytest.mark.parametrize(("name", "mentions"), [*cases(REFUSED), *ODD])
def test_what_is_no_opponent_is_refused_with_a_guess(name, mentions):
    with refuses(*mentions.split()):
        make_opponent(name, Rules())


def test_a_saved_run_is_an_opponent_or_is_refused_with_the_reason(tmp_path):
    certified(tmp_path / "run")
    boards = positions_of(RECTANGLE).boards[positions_of(RECTANGLE).unfinished]
    for form in (tmp_path / "run", str(tmp_path / "run"), tmp_path / "run" / certificate.FILE):
        opponent = make_opponent(form, RECTANGLE)
        assert isinstance(opponent, TabularPolicy)
        assert np.array_equal(opponent.probs(boards), RandomPolicy().probs(boards))
    (tmp_path / "model.zip").write_bytes(b"PK")
    for path, rules, reason in (
        ("run", Rules(), "2x3, 2 in a row"),
        ("", RECTANGLE, str(tmp_path / certificate.FILE)),
        ("model.zip", RECTANGLE, "execute code"),
    ):
        with refuses(reason):
            make_opponent(tmp_path / path, rules)


def test_latest_is_the_newest_run_of_an_agent_on_this_board_if_there_is_one(runs):
    assert str(resolve("latest:sarsa").place) == "runs/many/sarsa-1"
    assert str(resolve("latest:sarsa", Rules()).place) == "runs/sarsa-3x3"
    assert str(resolve("latest:trie").place) == "models/old.json"
    assert resolve("mcts").place is resolve("trie").place is run_named("latest:dqn") is None
    assert make_opponent("latest:sarsa", RECTANGLE).rules == RECTANGLE
    for name, reason in (
        ("latest:trie", "models/old.json 3x3, 2x3,"),
        ("latest:dqn", "'dqn' models/ runs/ sarsa, trie"),
        ("sarsa", "'sarsa' latest:sarsa"),
        ("self", "'self' add_snapshot"),
        ("best-response", "add_snapshot best-response:NAME"),
    ):
        with refuses(*reason.split()):
            make_opponent(name, RECTANGLE)
    certified(runs / "runs/sarsa-4", age=-100)
    assert str(resolve("latest:sarsa").place) == "runs/sarsa-4"


def test_the_best_run_has_most_unbeatable_sides_then_wins_most_and_is_the_newest_of_equals(runs):
    assert str(resolve("best:sarsa").place) == "runs/many/sarsa-1"
    slips = ("minimax-slip=0.5", "minimax-slip=0.1", "minimax")
    for age, slip in enumerate(slips, 400):  # the best ones are the oldest
        place = runs / f"runs/{slip}" / certificate.FILE
        place.parent.mkdir()
        player = make_opponent(slip, RECTANGLE)
        certificate.write(certificate.certify(player, "sarsa", RECTANGLE), place)
        os.utime(place, (1e9 - age, 1e9 - age))
        assert str(resolve("best:sarsa", RECTANGLE).place) == f"runs/{slip}"
    assert str(resolve("best:sarsa", Rules()).place) == "runs/sarsa-3x3"
    with refuses("'dqn'", "models/", "sarsa, trie"):
        resolve("best:dqn")


def test_runs_are_found_in_folders_up_to_a_depth_and_none_within_a_run(runs):
    deep = runs.joinpath("runs", *"abcdef"[:MAX_DEPTH])
    certified(deep, "deep")
    certified(deep / "deeper", "deeper")
    certified(runs / "runs/sarsa-0/checkpoint", "inner")
    certified(runs / "runs/.hidden/certificate.json", "hidden")
    certified(runs / "runs/odd", "not a name")
    assert agents_with_runs() == ["deep", "sarsa", "trie"]


DOORS = {
    "gym.make": lambda spec: TicTacToeEnv(opponent=spec),
    "make_vec": lambda spec: TicTacToeVectorEnv(2, opponent=spec),
    "seat": lambda spec: seat_of(spec, Rules()),
    "policy": lambda spec: policy_of(spec, Rules()),
    "page": lambda spec: Gallery().entry(spec, Rules()).seat(Rules()),
}


@pytest.mark.parametrize("door", DOORS)
def test_what_one_door_accepts_all_accept(runs, door):
    for spec in ("random", "minimax-slip=0.1", "search-depth=1", "mcts-playouts=1", "trie"):
        DOORS[door](spec)
        DOORS[door](f"best-response:{spec}")
    for prefix in (
        "latest:",
        "best:",
        "best-response:latest:",
        "best-response:best-response:best:",
    ):
        player = DOORS[door](f"{prefix}sarsa")
        if door in ("seat", "policy", "page"):
            run = re.sub("(latest|best):$", "runs/sarsa-3x3", prefix)
            expected = make_opponent(run, Rules()).table
            assert np.array_equal(getattr(player, "policy", player).table, expected)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_guesses_from_the_same_names(runs, door):
    newest = ["latest:sarsa", "latest:trie", "the path of a saved run"]
    trained = [name for name in trained_names(None) if name != "mcts"]
    assert known_names() == [*built_in(), *trained, *CALLED, *newest]
    with refuses("'minmax'", "'minimax'"):
        DOORS[door]("minmax")


def test_a_further_entry_of_the_table_is_an_opponent_in_every_list(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    outer = BuiltIn(
        "tictactoe_env.search.alphabeta:SearchPolicy",
        "prefers the edges",
        {"depth": 1},
        {"outer-ties=first": "marks the first edge"},
    )
    monkeypatch.setitem(BUILT_IN, "outer", outer)
    assert make_opponent("outer-ties=first", Rules()).depth == 1
    with refuses("'otuer'", "'outer'"):
        make_opponent("otuer", Rules())
    pools = [make_pool("outer", Rules()) for _ in range(2)]
    assert pools[0].policies[0] is pools[1].policies[0]
    entries = {entry.id: (entry.description, entry.group) for entry in Gallery().entries()}
    table, text = import_module("reference").untrained_opponents(), listed()
    for name, about in (("outer", outer.description), *outer.variants.items()):
        assert name in known_names()
        assert f"| `{name}` | {about} |" in table
        assert entries[name] == (about, "other")
        assert re.search(rf"^{name} .*beaten", text, re.MULTILINE)
        assert re.search(rf"^{name} +{about}$", text, re.MULTILINE)


def test_objects_and_pools_of_them_are_opponents_if_they_can_play():
    policy, predict = RandomPolicy(), lambda observation, deterministic: ([0], None)
    assert make_opponent(policy, Rules()) == RandomPolicy(Rules())
    model = types.SimpleNamespace(predict=predict)
    assert isinstance(make_opponent(model, Rules()), PredictPolicy)
    for spec in (None, [["random", 1]]):
        with refuses("probs", spec):
            make_opponent(spec, Rules())
    with refuses("make_opponent", "'trie'"):
        evaluate_policy("trie")
    pool = make_pool([[policy, 3], ("minimax-first", 1)], RECTANGLE)
    assert make_pool(pool, RECTANGLE) is pool
    assert [type(policy) for policy in pool.policies] == [RandomPolicy, TabularPolicy]
    assert [weight for _, weight in pool.pairs] == [0.75, 0.25]


def test_the_last_opponent_of_a_pool_is_drawn_up_to_1_and_a_pool_of_one_draws_nothing():
    tenths = Pool(((RandomPolicy(), 0.1),) * 10)  # as floats they add up to less than 1
    rng = types.SimpleNamespace(random=partial(np.full, fill_value=1 - 2**-53))
    assert tenths.draw(rng, 1).tolist() == [9]
    assert make_pool("random", Rules()).draw(None, 3).tolist() == [0, 0, 0]


POOLS = """
    random                              | [('random', 1)]
    random:0.5,minimax:0.25,self:0.25   | [('random', 0.5), ('minimax', 0.25), ('self', 0.25)]
    random:1, minimax-slip=0.1:3        | [('random', 0.25), ('minimax-slip=0.1', 0.75)]
    latest:dqn,latest:trie:1            | [('latest:dqn', 0.5), ('latest:trie', 0.5)]
    C:\\runs\\foe,runs/a:b:3            | [('C:\\\\runs\\\\foe', 0.25), ('runs/a:b', 0.75)]
"""
NO_POOLS = """
    random,             | name:weight 'random,'
    :0.5                | name:weight ':0.5'
    random:-1,minimax:2 | weights [-1.0, 2.0]
    self-keep=0         | keep 0
    self-replace=first  | 'first' mixed oldest random
"""
NO_LISTS = [
    *((spec, "[opponent, weight]") for spec in ([], ["random", 0.5], [["random"]], {"random": 1})),
    ([["random", "much"], ["random", 1]], "['much', 1]"),
    ([["random", 1], ["minmax", 1]], "'minmax'"),
    ([["self", 1], ["self-keep=2", 1]], '"self"'),
]


@pytest.mark.parametrize(("text", "pairs"), cases(POOLS))
def test_a_pool_reads_as_names_with_weights(text, pairs):
    assert parse_pool(f" {text} ") == ast.literal_eval(pairs)


@pytest.mark.parametrize(("spec", "mentions"), [*cases(NO_POOLS), *NO_LISTS, ("", "''")])
def test_what_is_no_pool_is_refused(spec, mentions):
    with refuses(*mentions.split()):
        make_pool(spec, Rules())


@pytest.mark.parametrize("size", [(6, 7), (5, 6), (4, 7)], ids=str)
def test_where_marks_fall_the_easy_opponent_stops_a_row_that_is_open_at_both_ends(size):
    rules = Rules(*size, 4, gravity=True)
    middle = rules.cells - rules.cols // 2 - 1  # of the lowest row
    row = [middle, middle - rules.cols, middle + 1]  # X has two, and O is above the first one
    board = game_state(row, rules).board
    found = make_opponent(easy_opponent(rules), rules).probs(board[None])[0]
    assert {*np.flatnonzero(found)} <= {middle - 1, middle + 2}
