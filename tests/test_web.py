import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import anyio
import httpx2
import numpy as np
import pytest
from starlette.testclient import TestClient

import web.api
import web.players
import web.refusals
import web.server
from players.gallery import BUILT_IN, Gallery
from tictactoe_env.certificate import certify, write
from tictactoe_env.games import Game, Player, Store
from tictactoe_env.policy import RandomPolicy, TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from web.app import application
from web.players import BusyError, Players, Threads

ROOT = Path(__file__).parent.parent
SQUARE = {"rows": 3, "cols": 3, "k": 3}
SMALL = {"rows": 2, "cols": 3, "k": 2}
X_WINS, DRAWN = [0, 3, 1, 4, 2], [4, 0, 8, 2, 1, 7, 3, 5, 6]


def always_a1(rules):
    """A player that marks a1, taken or not."""
    return TabularPolicy(
        rules, one_hot(np.zeros(len(positions_of(rules).unfinished), dtype=int), rules.cells)
    )


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    rules = Rules(**SMALL)
    for place, policy in (
        ("models/stubborn.json", always_a1(rules)),
        ("runs/dqn-0/certificate.json", RandomPolicy()),
    ):
        (folder / place).parent.mkdir(parents=True)
        write(certify(policy, "dqn", rules, seed=7), folder / place)
    (folder / "models" / "broken.json").write_text("{")
    return Gallery([folder / "models", folder / "runs"])


def client_of(store, gallery):
    return TestClient(
        application(store, gallery), base_url="http://127.0.0.1:8000", raise_server_exceptions=False
    )


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A store to which no test adds a game: making one takes a while on a busy disk."""
    with Store(tmp_path_factory.mktemp("empty") / "games.db") as store:
        yield store


@pytest.fixture(scope="module")
def client(empty, gallery):
    with client_of(empty, gallery) as client:
        yield client


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "games.db") as store:
        yield store


@pytest.fixture
def keeper(store, gallery):
    """A client whose games are kept in `store`."""
    with client_of(store, gallery) as client:
        yield client


def ask(client, path, status=200, **content):
    answer = client.post(f"/api/{path}", json=content)
    assert answer.status_code == status, answer.text
    return answer.json()


# --- agents --------------------------------------------------------------------------------------------------------


def test_the_list_of_agents_names_everybody_with_the_boards(client):
    answer = client.get("/api/agents").json()
    assert [agent["id"] for agent in answer["agents"]] == [
        *BUILT_IN,
        "models/broken.json",
        "models/stubborn.json",
        "runs/dqn-0",
    ]
    assert answer["boards"][0] == SQUARE
    assert {"rows": 4, "cols": 4, "k": 4} in answer["boards"]
    assert {"rows": 5, "cols": 5, "k": 4} in answer["boards"]
    assert SMALL in answer["boards"]  # that of the runs
    run = answer["agents"][-1]
    assert (run["kind"], run["name"], run["about"], run["board"], run["unbeatable"]) == (
        "run",
        "dqn-0",
        "dqn, seed 7, can be beaten",
        SMALL,
        False,
    )


def test_an_agent_comes_with_its_certificate_without_the_moves(client):
    answer = client.get("/api/agents/minimax").json()
    assert answer["certificate"]["unbeatable"] is True
    assert answer["certificate"]["as_x"]["vs_minimax"]["draw"] == 1
    assert "moves" not in answer["certificate"]
    assert client.get("/api/agents/runs/dqn-0").json()["certificate"]["as_o"]["losing_line"] == [
        "a1",
        "b1",
        "a2",
    ]


def test_an_agent_with_a_broken_certificate_comes_with_the_reason(client):
    answer = client.get("/api/agents/models/broken.json").json()
    assert answer["broken"] is True
    assert answer["certificate"] is None
    assert "not JSON" in answer["reason"]


# --- moves ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", BUILT_IN)
def test_every_agent_that_is_built_in_moves(client, agent):
    answer = ask(client, "move", board=SQUARE, moves=[0, 4, 8], agent=agent)
    assert answer["cell"] in {1, 2, 3, 5, 6, 7}
    assert answer["standing"]["turn"] == "X"


def test_perfect_play_answers_a_corner_with_the_centre(client):
    answer = ask(client, "move", board=SQUARE, moves=[0], agent="minimax")
    assert answer == {
        "cell": 4,
        "name": "b2",
        "illegal": False,
        "standing": {"board": "X../.O./...", "turn": "X", "ended": "", "result": None, "line": []},
    }


def test_a_move_that_ends_the_game_says_so(client):
    standing = ask(client, "move", board=SQUARE, moves=[0, 3, 1, 4], agent="minimax")["standing"]
    assert standing == {
        "board": "XXX/OO./...",
        "turn": None,
        "ended": "line",
        "result": "X",
        "line": [0, 1, 2],
    }
    standing = ask(client, "move", board=SQUARE, moves=[4, 0, 8, 2, 1, 7, 3, 5], agent="random")[
        "standing"
    ]
    assert (standing["ended"], standing["result"], standing["turn"]) == ("full", "draw", None)


def test_the_same_seed_makes_the_same_move_and_others_make_others(client):
    def cell(seed):
        return ask(client, "move", board=SQUARE, moves=[4], agent="random", seed=seed)["cell"]

    assert [cell(3) for _ in range(3)] == [cell(3)] * 3
    assert len({cell(seed) for seed in range(40)}) == 8
    assert (
        len(
            {
                ask(client, "move", board=SQUARE, moves=[4], agent="random")["cell"]
                for _ in range(60)
            }
        )
        > 4
    )


def test_a_seed_draws_anew_for_each_move_of_a_game(client):
    first = [
        ask(client, "move", board=SQUARE, moves=[], agent="random", seed=seed)["cell"]
        for seed in range(30)
    ]
    third = [
        ask(client, "move", board=SQUARE, moves=[0, 1], agent="random", seed=seed)["cell"]
        for seed in range(30)
    ]
    assert len({(a, b) for a, b in zip(first, third, strict=True)}) > 12


def test_an_agent_that_marks_a_taken_cell_loses(client):
    answer = ask(client, "move", board=SMALL, moves=[0], agent="models/stubborn.json")
    assert answer["illegal"] is True
    assert answer["standing"] == {
        "board": "X../...",
        "turn": None,
        "ended": "illegal",
        "result": "X",
        "line": [],
    }


@pytest.mark.parametrize(
    ("board", "agent"),
    [((5, 5, 4), "search-depth=2"), ((7, 7, 5), "mcts-playouts=50"), ((3, 4, 3), "minimax")],
)
def test_agents_move_on_larger_boards(client, board, agent):
    board = dict(zip(("rows", "cols", "k"), board, strict=True))
    answer = ask(client, "move", board=board, moves=[0, 1], agent=agent)
    assert answer["cell"] not in (0, 1)


def test_a_game_of_two_agents_goes_to_its_end(client):
    moves, standing = [], {"turn": "X"}
    while standing["turn"]:
        answer = ask(
            client,
            "move",
            board=SQUARE,
            moves=moves,
            agent={"X": "minimax", "O": "search-depth=4"}[standing["turn"]],
        )
        moves, standing = [*moves, answer["cell"]], answer["standing"]
    assert (standing["result"], len(moves)) == ("draw", 9)


# --- analysis ------------------------------------------------------------------------------------------------------


def test_the_truth_after_a_corner_is_that_only_the_centre_draws(client):
    found = ask(client, "analysis", board=SQUARE, moves=[0], truth=True)["truth"]
    assert found["position"] == {"value": 0, "plies": 8, "text": "draws"}
    assert found["moves"][0] is None
    assert [cell for cell in range(1, 9) if found["moves"][cell]["value"] == 0] == [4]
    assert all(
        found["moves"][cell]["text"].startswith("loses in ") for cell in range(1, 9) if cell != 4
    )


def test_an_agent_thinks_in_values_and_probabilities(client):
    found = ask(client, "analysis", board=SQUARE, moves=[0], agent="minimax")["thoughts"]
    assert found["probs"][4] == 1
    assert found["values"][0] is None
    assert max(range(1, 9), key=lambda cell: found["values"][cell]) == 4
    assert "against random moves" in found["meaning"]


def test_a_search_says_what_it_is_worth_too_where_that_can_be_computed(client):
    found = ask(client, "analysis", board=SQUARE, moves=[0, 4], agent="search-depth=1")["thoughts"]
    assert found["kind"] == "expected"
    found = ask(
        client, "analysis", board={"rows": 5, "cols": 5, "k": 4}, moves=[0], agent="search-depth=1"
    )["thoughts"]
    assert found["values"] is None
    assert sum(share for share in found["probs"] if share) == pytest.approx(1)


def test_a_board_too_large_to_be_solved_says_so(client):
    found = ask(client, "analysis", board={"rows": 5, "cols": 5, "k": 4}, moves=[], truth=True)[
        "truth"
    ]
    assert found == {
        "position": None,
        "moves": None,
        "reason": "5x5, 4 in a row is too large to be solved",
    }


def test_a_finished_game_can_be_looked_at(client):
    answer = ask(client, "analysis", board=SQUARE, moves=X_WINS, agent="minimax", truth=True)
    assert answer["standing"]["result"] == "X"
    assert answer["thoughts"] is None
    assert answer["truth"]["position"]["text"] == "lost"


def test_every_move_of_a_game_is_judged(client):
    answer = ask(client, "verdicts", board=SQUARE, moves=X_WINS)
    assert [verdict["text"] for verdict in answer["verdicts"]][
        1
    ] == "gives away the draw and loses in 6"
    assert [verdict["threw_away"] for verdict in answer["verdicts"]] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert (
        answer["turning_point"]
        == "O threw it away with move 2, a2: it gives away the draw and loses in 6"
    )


def test_a_resigned_game_is_judged_too(client):
    answer = ask(client, "verdicts", board=SQUARE, moves=[4], ended="resigned", result="X")
    assert answer["turning_point"] == "O resigned a position that was a draw"


# --- games ---------------------------------------------------------------------------------------------------------


def test_a_finished_game_is_kept_with_who_played(keeper, store):
    answer = ask(
        keeper, "games", 201, board=SQUARE, moves=X_WINS, x="human", o="minimax", side="X", seed=5
    )
    assert answer == {"id": 1, "address": "/games/1"}
    game = store.get(1)
    assert (str(game.x), str(game.o), game.origin, game.side, game.seed, game.moves) == (
        "human:human",
        "agent:minimax",
        "web",
        "X",
        5,
        (0, 3, 1, 4, 2),
    )


def test_a_run_is_kept_with_the_hash_of_its_certificate(keeper, store, gallery):
    ask(
        keeper,
        "games",
        201,
        board=SMALL,
        moves=[0, 0],
        x="human",
        o="models/stubborn.json",
        ended="illegal",
    )
    game = store.get(1)
    assert (game.o.kind, game.o.name, game.result) == ("run", "models/stubborn.json", "X")
    assert game.o.source == gallery.entry("models/stubborn.json").sha256


def test_a_game_is_fetched_as_it_was_kept(keeper):
    ask(
        keeper,
        "games",
        201,
        board=SQUARE,
        moves=[4, 0],
        x="human",
        o="human",
        ended="resigned",
        result="O",
    )
    game = keeper.get("/api/games/1").json()
    assert (game["cells"], game["moves"], game["ended"], game["result"], game["line"]) == (
        [4, 0],
        "b2 a1",
        "resigned",
        "O",
        [],
    )
    assert game["board"] == SQUARE


def test_games_are_listed_newest_first_without_those_of_training(keeper, store):
    for number in range(5):
        ask(
            keeper,
            "games",
            201,
            board=SQUARE,
            moves=X_WINS if number % 2 else DRAWN,
            x="human",
            o="minimax" if number < 2 else "random",
        )
    store.add(Game(moves=tuple(X_WINS), origin="training"))
    store.add(Game(x=Player("human", "Ann"), moves=tuple(X_WINS), origin="human"))
    answer = keeper.get("/api/games?limit=3").json()
    assert ([game["id"] for game in answer["games"]], answer["count"], answer["next"]) == (
        [7, 5, 4],
        6,
        4,
    )
    answer = keeper.get("/api/games?limit=3&before=4").json()
    assert [game["id"] for game in answer["games"]] == [3, 2, 1]
    assert [game["id"] for game in keeper.get("/api/games?player=minimax").json()["games"]] == [
        2,
        1,
    ]
    assert [game["id"] for game in keeper.get("/api/games?result=O").json()["games"]] == []
    assert [game["id"] for game in keeper.get("/api/games?origin=training").json()["games"]] == [6]
    assert keeper.get("/api/games?player=' OR 1=1 --").json() == {
        "games": [],
        "count": 0,
        "next": None,
    }


def test_a_game_of_a_board_that_the_page_does_not_offer_is_shown_too(keeper, store):
    store.add(
        Game(
            moves=(0, 1, 6, 7, 12, 13, 18),
            rules=Rules(5, 6, 5),
            origin="human",
            ended="resigned",
            result="X",
        )
    )
    assert keeper.get("/api/games/1").json()["board"] == {"rows": 5, "cols": 6, "k": 5}


# --- refusals ------------------------------------------------------------------------------------------------------

MOVE = {"board": SQUARE, "moves": [0], "agent": "minimax"}
GAME = {"board": SQUARE, "moves": X_WINS, "x": "human", "o": "minimax"}


def nested(depth):
    return "[" * depth + "]" * depth


REFUSED = {
    "too many moves": (
        "move",
        {**MOVE, "moves": [*range(9), 0]},
        400,
        "10 moves are too many: a game on 3x3, 3 in a row has at most 9",
    ),
    "a float": (
        "move",
        {**MOVE, "moves": [4.0]},
        400,
        "move 1 must be a whole number from 0 to 8, got 4.0",
    ),
    "text for a cell": (
        "move",
        {**MOVE, "moves": ["b2"]},
        400,
        "move 1 must be a whole number from 0 to 8, got 'b2'",
    ),
    "null for a cell": ("move", {**MOVE, "moves": [None]}, 400, "move 1 must be a whole number"),
    "a list for a cell": ("move", {**MOVE, "moves": [[0]]}, 400, "move 1 must be a whole number"),
    "a boolean": ("move", {**MOVE, "moves": [True]}, 400, "got the bool True"),
    "a negative cell": ("move", {**MOVE, "moves": [-1]}, 400, "from 0 to 8, got -1"),
    "a cell beyond the board": ("move", {**MOVE, "moves": [9]}, 400, "from 0 to 8, got 9"),
    "a huge number": ("move", {**MOVE, "moves": [10**300]}, 400, "from 0 to 8"),
    "an occupied cell": (
        "move",
        {**MOVE, "moves": [0, 0]},
        400,
        'cell 0 is taken in "X../.../..."',
    ),
    "a move after the end": ("move", {**MOVE, "moves": [*X_WINS, 5]}, 400, "the game is over"),
    "a move asked for after the end": (
        "move",
        {**MOVE, "moves": X_WINS},
        400,
        "there is no move to make",
    ),
    "moves as text": ("move", {**MOVE, "moves": "b2 a1"}, 400, "moves is a list of cells"),
    "an unknown agent": ("move", {**MOVE, "agent": "minimaxx"}, 404, "unknown agent 'minimaxx'"),
    "a path for an agent": ("move", {**MOVE, "agent": "../../etc/passwd"}, 404, "unknown agent"),
    "a file for an agent": (
        "move",
        {**MOVE, "agent": "runs/dqn-0/certificate.json"},
        404,
        "unknown agent",
    ),
    "another spelling of a path": ("move", {**MOVE, "agent": "runs/./dqn-0"}, 404, "unknown agent"),
    "half a letter for an agent": ("move", {**MOVE, "agent": "\ud800"}, 404, "unknown agent"),
    "a number for an agent": ("move", {**MOVE, "agent": 3}, 400, "an agent is named by its id"),
    "an agent of another board": (
        "move",
        {**MOVE, "agent": "runs/dqn-0"},
        400,
        "runs/dqn-0 plays on 2x3, 2 in a row, not on 3x3",
    ),
    "perfect play on 5x5": (
        "move",
        {**MOVE, "board": {"rows": 5, "cols": 5, "k": 4}},
        400,
        "minimax plays on boards of up to 16 cells",
    ),
    "a broken agent": (
        "move",
        {**MOVE, "board": SMALL, "agent": "models/broken.json"},
        400,
        "models/broken.json is broken",
    ),
    "an unknown field": (
        "move",
        {**MOVE, "mover": "X"},
        400,
        "unknown field 'mover'; did you mean 'moves'?",
    ),
    "a missing field": ("move", {"board": SQUARE}, 400, "moves, agent are missing"),
    "a board too large": (
        "move",
        {**MOVE, "board": {"rows": 99, "cols": 99, "k": 3}},
        400,
        "rows must be a whole number from 1 to 64",
    ),
    "a board too large for bits": (
        "move",
        {**MOVE, "board": {"rows": 9, "cols": 9, "k": 3}},
        400,
        "needs 90 bits",
    ),
    "a board that is not offered": (
        "move",
        {**MOVE, "board": {"rows": 2, "cols": 8, "k": 3}},
        400,
        "the boards of this page",
    ),
    "a board with a boolean": (
        "move",
        {**MOVE, "board": {"rows": True, "cols": 3, "k": 3}},
        400,
        "rows must be a whole number",
    ),
    "a board without k": (
        "move",
        {**MOVE, "board": {"rows": 3, "cols": 3}},
        400,
        "a board is written as",
    ),
    "a line longer than the board": (
        "move",
        {**MOVE, "board": {"rows": 3, "cols": 3, "k": 4}},
        400,
        "k must be at most",
    ),
    "a boolean seed": ("move", {**MOVE, "seed": True}, 400, "seed must be"),
    "a negative seed": ("move", {**MOVE, "seed": -1}, 400, "seed must be"),
    "text for the truth": (
        "analysis",
        {"board": SQUARE, "moves": [], "truth": "yes"},
        400,
        "truth must be true or false",
    ),
    "a list": ("move", [1, 2], 400, "send an object with board, moves, agent"),
    "an unfinished game": ("games", {**GAME, "moves": [0]}, 400, "a finished game is expected"),
    "a wrong result": ("games", {**GAME, "result": "O"}, 400, "result is 'X', got 'O'"),
    "an unknown result": ("games", {**GAME, "result": ["X"]}, 400, "unknown result"),
    "an unknown ending": ("games", {**GAME, "ended": "mate"}, 400, "unknown ended"),
    "an unknown player": ("games", {**GAME, "o": "nobody"}, 404, "unknown agent"),
    "a game with too many moves": ("games", {**GAME, "moves": [0] * 11}, 400, "has at most 10"),
    "a game with an id": ("games", {**GAME, "id": 1}, 400, "unknown field 'id'"),
    "a game with an origin": (
        "games",
        {**GAME, "origin": "training"},
        400,
        "unknown field 'origin'",
    ),
    "verdicts on an unfinished game": (
        "verdicts",
        {"board": SQUARE, "moves": [0]},
        400,
        "a finished game is expected",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_bad_request_is_refused_with_a_reason(client, empty, kind):
    path, content, status, reason = REFUSED[kind]
    answer = client.post(
        f"/api/{path}", content=json.dumps(content), headers={"content-type": "application/json"}
    )
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert reason in answer.json()["error"]
    assert "Traceback" not in answer.text
    assert empty.count() == 0


BODIES = {
    "not JSON": (b"{", 400, "this is not JSON"),
    "nothing": (b"", 400, "this is not JSON"),
    "deep": (nested(4_000).encode(), 400, "this is not JSON: RecursionError"),
    "deep objects": (b'{"a":' * 1_300 + b"1" + b"}" * 1_300, 400, ""),
    "not UTF-8": (b'{"board": "\xff"}', 400, "this is not JSON: UnicodeDecodeError"),
    "NaN": (b'{"board": NaN}', 400, "NaN is no number of JSON"),
    "infinite": (
        json.dumps({**MOVE, "moves": [0]}).replace("[0]", "[1e999]").encode(),
        400,
        "move 1 must be a whole number",
    ),
    "a number of 5,000 digits": (b"[" + b"9" * 5_000 + b"]", 400, "this is not JSON"),
    "twice the same name": (b'{"board": 1, "board": 2}', 400, "a name stands twice"),
    "too large": (b" " * 10_000, 413, "a request may have 8,192 bytes"),
    "far too large": (b"[" * 3_000_000, 413, "a request may have 8,192 bytes"),
}


@pytest.mark.parametrize("kind", BODIES)
def test_what_is_no_request_is_refused_with_a_reason(client, kind):
    body, status, reason = BODIES[kind]
    answer = client.post("/api/move", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert reason in answer.json()["error"]


def test_a_body_without_a_length_is_cut_off_too(client):
    answer = client.post(
        "/api/move",
        content=(b" " * 1_000 for _ in range(100)),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
        "application/jsonp",
    ],
)
def test_another_content_type_is_refused(client, kind):
    answer = client.post("/api/games", content=json.dumps(GAME), headers={"content-type": kind})
    assert answer.status_code == 415
    assert "send application/json" in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("games/1", 404, "unknown game 1"),
        ("games/0", 404, "unknown game '0'"),
        ("games/-1", 404, "unknown game '-1'"),
        ("games/9999999999999999999", 404, "unknown game"),
        ("games/99999999999999999999999", 404, "the id of a game is a number"),
        ("games/1%20OR%201=1", 404, "unknown game '1 OR 1=1'"),
        ("games/1;DROP%20TABLE%20games", 404, "unknown game"),
        ("games/%D9%A1", 404, "the id of a game is a number"),
        ("games?limit=0", 400, "limit must be a whole number from 1 to 100"),
        ("games?limit=101", 400, "limit must be a whole number from 1 to 100"),
        ("games?limit=1e1", 400, "limit must be a whole number"),
        ("games?before=x", 400, "before must be a whole number"),
        ("games?before=99999999999999999999999", 400, "before must be a whole number"),
        ("games?result=won", 400, "unknown result 'won'"),
        ("games?origin=everything", 400, "unknown origin"),
        ("games?order=id", 400, "unknown parameter 'order'"),
        ("agents/nobody", 404, "unknown agent 'nobody'"),
        ("agents/..%2f..%2fetc%2fpasswd", 404, "unknown agent"),
        ("agents/%2e%2e/%2e%2e/etc/passwd", 404, "unknown agent"),
        ("agents/runs/dqn-0%00", 404, "unknown agent"),
        ("agents/runs//dqn-0", 404, "unknown agent"),
        ("nothing", 404, "there is nothing at /api/nothing"),
    ],
)
def test_a_bad_address_is_refused_with_a_reason(client, path, status, reason):
    answer = client.get(f"/api/{path}")
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert reason in answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/move"),
        ("PUT", "/api/games"),
        ("DELETE", "/api/games/1"),
        ("POST", "/"),
        ("POST", "/games/1"),
        ("PATCH", "/api/agents"),
    ],
)
def test_another_method_is_refused(client, method, path):
    answer = client.request(method, path)
    assert answer.status_code == 405
    assert "is not for" in answer.json()["error"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8000",
        "127.0.0.1@evil.example",
        "",
    ],
)
def test_a_page_of_another_name_gets_nothing(client, host):
    for path in ("/", "/api/agents", "/static/app.js"):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 421
        assert "this server is for 127.0.0.1" in answer.json()["error"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:9", "[::1]:8000"])
def test_this_machine_may_be_called_by_all_its_names(client, host):
    assert client.get("/api/agents", headers={"host": host}).status_code == 200


# --- the page ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/games", "/games/17", "/agents", "/agents/minimax", "/agents/runs/dqn-0"]
)
def test_every_address_of_the_page_sends_the_page(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert '<main id="main"' in answer.text


def test_an_address_that_is_none_sends_the_page_which_says_so(client):
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "path", ["/", "/static/app.js", "/api/agents", "/api/nothing", "/nowhere", "/static/nothing"]
)
def test_every_answer_says_what_the_page_may_do(client, path):
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "..%2fserver.py",
        "%2e%2e/server.py",
        "..%5cserver.py",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "",
        "app.js%00.css",
    ],
)
def test_nothing_but_the_files_of_the_page_is_sent(client, path):
    answer = client.get(f"/static/{path}")
    assert answer.status_code == 404
    assert "error" in answer.json()


def test_the_page_holds_no_script_and_no_style_of_its_own():
    text = (web.refusals.STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=", text)


# --- slow and broken things ----------------------------------------------------------------------------------------


class Sleepy:
    """A player that takes half a second for a move."""

    def probs(self, boards):
        time.sleep(0.5)
        return RandomPolicy().probs(boards)


def test_a_slow_agent_does_not_hold_up_a_quick_one(empty, gallery, monkeypatch):
    policy = Players._policy
    monkeypatch.setattr(
        Players,
        "_policy",
        lambda self, entry, rules: Sleepy() if entry.id == "search" else policy(self, entry, rules),
    )
    transport = httpx2.ASGITransport(application(empty, gallery))
    took = {}

    async def timed(client, agent):
        began = time.perf_counter()
        answer = await client.post("/api/move", json={**MOVE, "agent": agent})
        assert answer.status_code == 200
        took.setdefault(agent, []).append(time.perf_counter() - began)

    async def both():
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            await timed(client, "minimax")  # makes its table
            took.clear()
            async with anyio.create_task_group() as group:
                group.start_soon(timed, client, "search")
                await anyio.sleep(0.1)
                for _ in range(10):
                    await timed(client, "minimax")

    anyio.run(both)
    assert min(took["search"]) > 0.5
    assert sum(took["minimax"]) < 0.35


def test_when_too_many_slow_requests_wait_the_next_is_told_so():
    threads, release = Threads(1, 2), threading.Event()

    async def crowd():
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(threads.run, release.wait)
            await anyio.sleep(0.05)
            with pytest.raises(BusyError, match="2 requests are waiting already"):
                await threads.run(print)
            release.set()

    anyio.run(crowd)


def test_a_server_that_is_too_busy_says_so(client, monkeypatch):
    async def busy(self, *_):
        raise BusyError("try again")

    monkeypatch.setattr(Threads, "run", busy)
    answer = client.post("/api/move", json={**MOVE, "agent": "mcts-playouts=50"})
    assert (answer.status_code, answer.json()) == (503, {"error": "try again"})


def test_the_last_players_are_kept_and_the_oldest_made_anew(gallery, monkeypatch):
    monkeypatch.setattr(web.players, "KEPT", 2)
    players, rules = Players(gallery), Rules()
    seats = [
        players.make(gallery.entry(id), rules)
        for id in ("random", "minimax", "random", "search-depth=1")
    ]
    assert seats[0] is seats[2]
    assert players.ready(gallery.entry("minimax"), rules) is None
    assert players.ready(gallery.entry("random"), rules) is seats[0]


def test_a_store_that_cannot_be_used_is_told_and_play_goes_on(keeper, store):
    store.close()
    for answer in (
        keeper.get("/api/games"),
        keeper.get("/api/games/1"),
        keeper.post("/api/games", json=GAME),
    ):
        assert answer.status_code == 503
        assert "is closed" in answer.json()["error"]
    assert ask(keeper, "move", **MOVE)["cell"] == 4


def test_a_failure_of_the_server_shows_no_traceback(client, monkeypatch):
    monkeypatch.setattr(web.api, "truth", lambda *_: 1 // 0)
    answer = client.post("/api/analysis", json={"board": SQUARE, "moves": [], "truth": True})
    assert (answer.status_code, answer.json()) == (
        500,
        {"error": "the server failed; its log says more"},
    )


def test_several_pages_keep_their_games_at_once(keeper, store):
    def play():
        for _ in range(10):
            ask(keeper, "games", 201, **GAME)

    pages = [threading.Thread(target=play) for _ in range(4)]
    for page in pages:
        page.start()
    for page in pages:
        page.join()
    assert store.count() == 40


# --- the program ---------------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path):
    """The running program: its process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "web.server", "--port", "0", "--store", str(tmp_path / "games.db")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    yield process, re.search(r"http://[^ ]*", process.stdout.readline())[0]
    process.kill()
    process.communicate()


def test_the_program_serves_on_this_machine_only_and_ends_cleanly(server):
    process, address = server
    assert address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(address) as answer:
        assert answer.status == 200
    request = urllib.request.Request(
        f"{address}api/move", json.dumps(MOVE).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["cell"] == 4
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=10)[1] == ""
    assert process.returncode == 0


def test_a_port_that_is_taken_and_a_store_that_is_none_are_told_in_a_line(server, tmp_path, capsys):
    port = server[1].split(":")[2].strip("/")
    assert web.server.main(["--port", port, "--store", str(tmp_path / "other.db")]) == 1
    assert f"port {port} cannot be used" in capsys.readouterr().err
    (tmp_path / "text.db").write_text("no store")
    assert web.server.main(["--store", str(tmp_path / "text.db")]) == 1
    assert "is no store of games" in capsys.readouterr().err
    assert web.server.main(["--port", "99999"]) == 1
    assert "port must be a whole number from 0 to 65535" in capsys.readouterr().err


def test_the_server_starts_without_torch():
    program = "import sys, web.server; print(sorted({'torch', 'stable_baselines3', 'matplotlib', 'rich'} & {name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
