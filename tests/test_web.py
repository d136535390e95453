"""The JSON interface and the server of the page, without a browser."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import get_args
from unittest.mock import Mock

import anyio
import numpy as np
import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

import web.answers
import web.api
import web.players
import web.refusals
import web.requests
import web.server
from players.gallery import BUILT_IN, Gallery
from tictactoe_env.certificate import certify, write
from tictactoe_env.games import ENDINGS, ORIGINS, RESULTS, Game, Player
from tictactoe_env.policy import RandomPolicy, TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.store import GameStore
from web.server import application
from web.players import BusyError, Players, Seat, Threads

ROOT = Path(__file__).parent.parent
SQUARE = {"rows": 3, "cols": 3, "k": 3}
SMALL = {"rows": 2, "cols": 3, "k": 2}
LARGE = {"rows": 5, "cols": 5, "k": 4}
X_WINS, DRAWN = [0, 3, 1, 4, 2], [4, 0, 8, 2, 1, 7, 3, 5, 6]
MOVE = {"board": SQUARE, "moves": [0], "agent": "minimax"}
GAME = {"board": SQUARE, "moves": X_WINS, "x": "human", "o": "minimax"}
STUBBORN = "models/stubborn.json"


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """STUBBORN, which always marks a1, taken or not; runs/dqn-0; a broken certificate."""
    folder, rules = tmp_path_factory.mktemp("gallery"), Rules(**SMALL)
    always_a1 = one_hot(np.zeros(len(positions_of(rules).unfinished), dtype=int), rules.cells)
    for place in ("models", "runs/dqn-0"):
        (folder / place).mkdir(parents=True)
    write(certify(TabularPolicy(rules, always_a1), "dqn", rules), folder / STUBBORN)
    random = certify(RandomPolicy(), "dqn", rules, seed=7)
    write(random, folder / "runs" / "dqn-0" / "certificate.json")
    (folder / "models" / "broken.json").write_text("{")
    return Gallery([folder / "models", folder / "runs"])


def client_of(folder, gallery):
    """A client with its own store. It holds every answer against its model and the policy."""
    store = GameStore(folder / "games.db")
    app = application(store, gallery)
    routes = [one for one in app.app.routes if isinstance(one, APIRoute) and one.include_in_schema]

    def check(answer):
        policy = set(answer.headers["content-security-policy"].split("; "))
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        method, path = answer.request.method, answer.request.url.path
        for route in routes:
            if method in route.methods and route.path_regex.match(path):
                known = route.responses.get(answer.status_code, route.responses["default"])
                known["model"].model_validate_json(answer.read())

    client = TestClient(app, "http://127.0.0.1:8000", raise_server_exceptions=False)
    client.event_hooks["response"].append(check)
    client.store = store
    return client


@pytest.fixture(scope="module")
def client(tmp_path_factory, gallery):
    """A client for tests that keep no game: making a store takes a while on a busy disk."""
    with client_of(tmp_path_factory.mktemp("client"), gallery) as client, client.store:
        yield client


@pytest.fixture
def keeper(tmp_path, gallery):
    with client_of(tmp_path, gallery) as client, client.store:
        yield client


def ask(client, path, status=200, **content):
    answer = client.post(f"/api/{path}", json=content)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_the_list_of_agents_names_everybody_with_the_boards(client):
    answer = client.get("/api/agents").json()
    runs = ["models/broken.json", STUBBORN, "runs/dqn-0"]
    assert [agent["id"] for agent in answer["agents"]] == [*BUILT_IN, *runs]
    assert answer["boards"][0] == SQUARE
    assert all(board in answer["boards"] for board in (LARGE, SMALL))  # the page's, the runs'
    run = {"kind": "run", "name": "dqn-0", "about": "dqn, seed 7, can be beaten", "board": SMALL}
    assert answer["agents"][-1].items() >= {**run, "unbeatable": False}.items()


def test_an_agent_comes_with_its_certificate_without_the_moves_or_with_a_reason(client):
    content = client.get("/api/agents/minimax").json()["certificate"]
    assert (content["unbeatable"], content["as_x"]["vs_minimax"]["draw"]) == (True, 1)
    assert "moves" not in content
    content = client.get("/api/agents/runs/dqn-0").json()["certificate"]
    assert content["as_o"]["losing_line"] == ["a1", "b1", "a2"]
    answer = client.get("/api/agents/models/broken.json").json()
    assert (answer["broken"], answer["certificate"]) == (True, None)
    assert "not JSON" in answer["reason"]


@pytest.mark.parametrize("agent", BUILT_IN)
def test_every_agent_that_is_built_in_moves(client, agent):
    boards = {"search-depth=2": LARGE, "mcts-playouts=50": {"rows": 7, "cols": 7, "k": 5}}
    for board in (SQUARE, boards.get(agent, {"rows": 3, "cols": 4, "k": 3})):
        answer = ask(client, "move", board=board, moves=[0, 4, 8], agent=agent)
        assert answer["cell"] not in (0, 4, 8)
        assert answer["standing"]["turn"] == "X"


@pytest.mark.parametrize(
    ("board", "moves", "agent", "cell", "after"),
    [
        (SQUARE, [0], "minimax", [4, "b2"], ["X../.O./...", "X", "", None, []]),
        (SQUARE, X_WINS[:4], "minimax", [2, "c1"], ["XXX/OO./...", None, "line", "X", [0, 1, 2]]),
        (SQUARE, DRAWN[:8], "random", [6, "a3"], ["OXO/XXO/XOX", None, "full", "draw", []]),
        (SMALL, [0], STUBBORN, [0, "a1"], ["X../...", None, "illegal", "X", []]),
    ],
)
def test_a_move_comes_with_the_standing_after_it(client, board, moves, agent, cell, after):
    answer = ask(client, "move", board=board, moves=moves, agent=agent)
    assert list(answer.values())[:2] == cell
    assert list(answer["standing"].values()) == after
    assert answer["illegal"] == (after[2] == "illegal")


def test_a_seed_makes_the_same_move_and_draws_anew_for_each_move_of_a_game(client):
    def cell(seed=None, moves=(4,)):
        return ask(client, "move", board=SQUARE, moves=moves, agent="random", seed=seed)["cell"]

    assert [cell(3) for _ in range(3)] == [cell(3)] * 3
    assert len({cell(seed) for seed in range(40)}) == 8
    assert len({cell() for _ in range(60)}) > 4
    assert len({(cell(seed, []), cell(seed, [0, 1])) for seed in range(30)}) > 12


@pytest.mark.parametrize("shown", [("search-depth=1", True), (None, True), ("minimax", False)])
def test_one_request_a_ply_answers_the_move_and_what_the_page_shows_after_it(client, shown):
    (thinker, truth), moves, answer = shown, [], {"standing": {"turn": "X"}}
    while turn := answer["standing"]["turn"]:
        agent = {"X": "minimax-first", "O": "search-depth=4"}[turn]
        wanted = {"truth": truth, "thinker": thinker}
        answer = ask(client, "move", board=SQUARE, moves=moves, agent=agent, **wanted)
        moves = [*moves, answer["cell"]]
        same = ask(client, "analysis", board=SQUARE, moves=moves, agent=thinker, truth=truth)
        assert {name: answer.get(name) for name in same} == same
        assert ("thoughts" in answer, "truth" in answer) == (thinker is not None, truth)
    assert (answer["standing"]["result"], len(moves)) == ("draw", 9)


def test_the_truth_after_a_corner_is_that_only_the_centre_draws(client):
    found = ask(client, "analysis", board=SQUARE, moves=[0], truth=True)["truth"]
    assert found["position"] == {"value": 0, "plies": 8, "text": "draws"}
    texts = [worth and worth["text"] for worth in found["moves"]]
    assert (texts[0], texts[4]) == (None, "draws")
    assert all(texts[cell].startswith("loses in ") for cell in range(1, 9) if cell != 4)
    answer = ask(client, "analysis", board=SQUARE, moves=X_WINS, agent="minimax", truth=True)
    assert (answer["standing"]["result"], answer["thoughts"]) == ("X", None)  # a finished game
    assert answer["truth"]["position"]["text"] == "lost"
    wide = {"rows": 3, "cols": 4, "k": 3}
    found = ask(client, "analysis", board=wide, moves=[], truth=True)["truth"]
    assert found["position"]["value"] == 1  # X wins on 3x4


def test_an_agent_thinks_in_values_and_probabilities(client):
    found = ask(client, "analysis", board=SQUARE, moves=[0], agent="minimax")["thoughts"]
    assert (found["probs"][4], found["values"][0]) == (1, None)
    assert max(range(1, 9), key=lambda cell: found["values"][cell]) == 4
    assert "against random moves" in found["meaning"]
    found = ask(client, "analysis", board=SQUARE, moves=[0, 4], agent="search-depth=1")["thoughts"]
    assert found["kind"] == "expected"
    found = ask(client, "analysis", board=LARGE, moves=[0], agent="search-depth=1")["thoughts"]
    assert found["values"] is None  # too large to compute what it is worth
    assert sum(share for share in found["probs"] if share) == pytest.approx(1)


def test_a_board_too_large_to_be_solved_says_so(client):
    unsolved = {"reason": "5x5, 4 in a row is too large to be solved"}
    found = ask(client, "analysis", board=LARGE, moves=[], truth=True)["truth"]
    assert found == {"position": None, "moves": None, **unsolved}
    found = ask(client, "verdicts", board=LARGE, moves=[], ended="resigned", result="O")
    assert found == {"verdicts": None, "turning_point": None, **unsolved}


def test_every_move_of_a_game_is_judged(client):
    answer = ask(client, "verdicts", board=SQUARE, moves=X_WINS)
    assert answer["verdicts"][1]["text"] == "gives away the draw and loses in 6"
    assert [verdict["threw_away"] for verdict in answer["verdicts"]] == [0, 1, 0, 0, 0]
    assert answer["turning_point"].startswith("O threw it away with move 2, a2: it gives away")
    answer = ask(client, "verdicts", board=SQUARE, moves=[4], ended="resigned", result="X")
    assert answer["turning_point"] == "O resigned a position that was a draw"


def test_a_finished_game_is_kept_with_who_played(keeper, gallery):
    answer = ask(keeper, "games", 201, **GAME, side="X", seed=5)
    assert answer == {"id": 1, "address": "/games/1"}
    game = keeper.store.get(1)
    assert (str(game.x), str(game.o), game.origin) == ("human:human", "agent:minimax", "web")
    assert (game.side, game.seed, list(game.moves)) == ("X", 5, X_WINS)
    taken = {"board": SMALL, "moves": [0, 0], "ended": "illegal"}
    ask(keeper, "games", 201, **taken, x="human", o=STUBBORN)
    game = keeper.store.get(2)
    assert (game.o.kind, game.o.name, game.result) == ("run", STUBBORN, "X")
    assert game.o.source == gallery.entry(STUBBORN).sha256
    resigned = {"board": SQUARE, "moves": [4, 0], "ended": "resigned", "result": "O"}
    ask(keeper, "games", 201, **resigned, x="human", o="human")
    found = {"cells": [4, 0], "moves": "b2 a1", "ended": "resigned", "result": "O", "line": []}
    assert keeper.get("/api/games/3").json().items() >= {**found, "board": SQUARE}.items()
    wide = Game(moves=(0,), rules=Rules(5, 6, 5), origin="human", ended="resigned", result="X")
    keeper.store.add(wide)  # a board that the page does not offer
    assert keeper.get("/api/games/4").json()["board"] == {"rows": 5, "cols": 6, "k": 5}


def test_games_are_listed_newest_first_without_those_of_training(keeper):
    for number in range(5):
        moves, o = (X_WINS if number % 2 else DRAWN), ("minimax" if number < 2 else "random")
        ask(keeper, "games", 201, board=SQUARE, moves=moves, x="human", o=o)
    keeper.store.add(Game(moves=tuple(X_WINS), origin="training"))
    keeper.store.add(Game(x=Player("human", "Ann"), moves=tuple(X_WINS), origin="human"))

    def listed(query):
        answer = keeper.get(f"/api/games?{query}").json()
        return [game["id"] for game in answer["games"]], answer["count"], answer["next"]

    assert listed("limit=3") == ([7, 5, 4], 6, 4)
    assert listed("limit=3&before=4") == ([3, 2, 1], 6, 1)
    assert listed("player=minimax") == ([2, 1], 2, None)
    assert listed("result=O") == listed("player=' OR 1=1 --") == ([], 0, None)
    assert listed("origin=training") == ([6], 1, None)


BAD_MOVES = [  # changes to MOVE
    ({"moves": [*range(9), 0]}, "10 moves are too many: a game on 3x3, 3 in a row has at most 9"),
    ({"moves": [4.0]}, "move 1 must be a whole number from 0 to 8, got 4.0"),
    ({"moves": ["b2"]}, "move 1 must be a whole number from 0 to 8, got 'b2'"),
    ({"moves": [True]}, "got the bool True"),
    ({"moves": [0, -1]}, "move 2 must be a whole number from 0 to 8, got -1"),
    ({"moves": [10**300]}, "from 0 to 8, got 1000000000"),
    ({"moves": [0, 0]}, 'cell 0 is taken in "X../.../..."'),
    ({"moves": [*X_WINS, 5]}, "the game is over"),
    ({"moves": X_WINS}, "there is no move to make"),
    ({"moves": "b2 a1"}, "moves is a list of cells, such as [4, 0, 8], got 'b2 a1'"),
    ({"agent": 3}, "an agent is named by its id, such as minimax, got 3"),
    ({"agent": "runs/dqn-0"}, "runs/dqn-0 plays on 2x3, 2 in a row, not on 3x3"),
    ({"board": LARGE}, "minimax plays on boards of up to 16 cells"),
    ({"board": SMALL, "agent": "models/broken.json"}, "models/broken.json is broken"),
    ({"mover": "X"}, "unknown field 'mover'; did you mean 'moves'?"),
    ({"board": {**SQUARE, "rows": 99}}, "rows must be a whole number from 1 to 64, got 99"),
    ({"board": {**SQUARE, "rows": 9, "cols": 9}}, "needs 90 bits"),
    ({"board": {**SQUARE, "rows": 2, "cols": 8}}, "the boards of this page"),
    ({"board": {**SQUARE, "rows": True}}, "rows must be a whole number from 1 to 64, got the bool"),
    ({"board": {**SQUARE, "k": 4}}, "k must be at most"),
    ({"board": {"rows": 3, "cols": 3}}, "a board is written as"),
    ({"board": {**SQUARE, "depth": 3}}, "a board is written as"),
    ({"board": [3, 3, 3], "moves": "b2"}, "a board is written as"),
    ({"seed": True}, "seed must be a whole number from 0 to 9007199254740992, got the bool True"),
    ({"seed": -1}, "seed must be a whole number from 0 to 9007199254740992, got -1"),
    ({"truth": "yes"}, "truth must be true or false, got 'yes'"),
]
BAD_GAMES = [  # changes to GAME
    ({"moves": [0]}, "a finished game is expected"),
    ({"result": "O"}, "result is 'X', got 'O'"),
    ({"result": ["X"]}, "result must be one of X, O, draw, got ['X']"),
    ({"ended": "resign"}, "unknown ended 'resign'; did you mean 'resigned'?"),
    ({"moves": [0] * 11}, "11 moves are too many: a game on 3x3, 3 in a row has at most 10"),
    ({"origin": "training"}, "unknown field 'origin'"),
]
NOBODY = ("minimaxx", "/etc/passwd", "runs/./dqn-0", "\ud800", "runs/dqn-0/certificate.json")
REFUSED = [
    *[("move", {**MOVE, **change}, 400, reason) for change, reason in BAD_MOVES],
    *[("games", {**GAME, **change}, 400, reason) for change, reason in BAD_GAMES],
    *[("move", {**MOVE, "agent": agent}, 404, "unknown agent") for agent in NOBODY],
    ("move", {**MOVE, "thinker": "nobody"}, 404, "unknown agent 'nobody'"),
    ("games", {**GAME, "o": "nobody"}, 404, "unknown agent 'nobody'"),
    ("move", {"board": SQUARE}, 400, "moves, agent are missing: send board, moves, agent"),
    ("analysis", {"board": SQUARE}, 400, "moves is missing: send board, moves"),
    ("move", [1, 2], 400, "send an object with board, moves, agent, got [1, 2]"),
]
BODIES = [
    (b"{", 400, "this is not JSON"),
    (b"", 400, "this is not JSON"),
    (b"[" * 4_000 + b"]" * 4_000, 400, "this is not JSON: RecursionError"),
    (b'{"board": "\xff"}', 400, "this is not JSON: UnicodeDecodeError"),
    (b'{"board": NaN}', 400, "NaN is no number of JSON"),
    (json.dumps(MOVE).replace("[0]", "[1e999]").encode(), 400, "move 1 must be a whole number"),
    (b"[" + b"9" * 5_000 + b"]", 400, "this is not JSON"),
    (b'{"board": 1, "board": 2}', 400, "a name stands twice"),
    (b" " * 10_000, 413, "a request may have 8,192 bytes"),
    (b"[" * 3_000_000, 413, "a request may have 8,192 bytes"),
]
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        *[(path, json.dumps(content).encode(), *rest) for path, content, *rest in REFUSED],
        *[("move", *rest) for rest in BODIES],
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else "",
)
def test_a_bad_request_is_refused_with_a_reason(client, path, body, status, reason):
    answer = client.post(f"/api/{path}", content=body, headers=JSON)
    assert (answer.status_code, answer.headers["content-type"]) == (status, JSON["content-type"])
    assert reason in answer.json()["error"]
    assert client.store.count() == 0


def test_a_body_without_a_length_is_cut_off_and_one_without_an_end_is_refused(client):
    body = (b" " * 1_000 for _ in range(100))
    assert client.post("/api/move", content=body, headers=JSON).status_code == 413
    parts = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/move", "headers": headers}
    sent = []

    async def receive():
        return parts.pop(0)

    async def send(message):
        sent.append(message)

    anyio.run(client.app, {**scope, "query_string": b""}, receive, send)
    assert sent[0]["status"] == 400
    assert json.loads(sent[1]["body"]) == {"error": "the request ended too early"}


def test_no_depth_of_a_value_makes_the_server_fail(client):
    for depth in range(900, 1000, 5):
        for name in MOVE:
            body = json.dumps({**MOVE, name: "?"}).replace('"?"', "[" * depth + "]" * depth)
            assert client.post("/api/move", content=body, headers=JSON).status_code == 400


def test_another_content_type_is_refused(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"):
        answer = client.post("/api/games", content="{}", headers={"content-type": kind})
        assert answer.status_code == 415
        assert f"send application/json, got '{kind}'" in answer.json()["error"]
    answer = client.post("/api/games", content="{}")
    assert "send application/json, got 'no content type'" in answer.json()["error"]


@pytest.mark.parametrize(
    ("asked", "status", "reason"),
    [
        ("GET games/1", 404, "unknown game 1"),
        ("GET games/0", 404, "unknown game '0'"),
        ("GET games/99999999999999999999999", 404, "the id of a game is a number"),
        ("GET games/1%20OR%201=1", 404, "unknown game '1 OR 1=1'"),
        ("GET games/%D9%A1", 404, "the id of a game is a number"),
        ("GET games?limit=0", 400, "limit must be a whole number from 1 to 100, got 0"),
        ("GET games?limit=101", 400, "limit must be a whole number from 1 to 100, got 101"),
        ("GET games?limit=1e1", 400, "limit must be a whole number from 1 to 100, got '1e1'"),
        ("GET games?before=99999999999999999999999", 400, "before must be a whole number"),
        ("GET games?result=won", 400, "unknown result 'won'"),
        ("GET games?origin=everything", 400, "unknown origin"),
        ("GET games?orgin=web", 400, "unknown parameter 'orgin'; did you mean 'origin'?"),
        ("GET agents/nobody", 404, "unknown agent 'nobody'"),
        ("GET agents/..%2f..%2fetc%2fpasswd", 404, "unknown agent"),
        ("GET agents/runs/dqn-0%00", 404, "unknown agent"),
        ("GET nothing", 404, "there is nothing at /api/nothing"),
        ("GET move", 405, "GET is not for /api/move"),
        ("DELETE games/1", 405, "DELETE is not for /api/games/1"),
        ("POST ../games/1", 405, "POST is not for /games/1"),
        *[
            (f"GET ../static/{path}", 404, "there is nothing at /static/")
            for path in ("..%2fserver.py", "..%5cserver.py", "/etc/passwd", "%2fetc%2fpasswd", "")
        ],
    ],
)
def test_a_bad_address_or_method_is_refused_with_a_reason(client, asked, status, reason):
    method, path = asked.split()
    answer = client.request(method, f"/api/{path}")
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert reason in answer.json()["error"]


@pytest.mark.parametrize("end", ["", ".evil.example", "@evil.example", "evil"])
def test_this_machine_may_be_called_by_its_own_names_only(client, end):
    for host in ("127.0.0.1", "localhost", "[::1]", "127.0.0.1:8000", "localhost:9", ""):
        for path in ("/", "/api/agents", "/static/app.js", "/openapi.json"):
            answer = client.get(path, headers={"host": host + end})
            if host and not end:
                assert answer.status_code == 200
            else:
                assert answer.status_code == 421
                assert "this server is for 127.0.0.1" in answer.json()["error"]


def test_every_address_of_the_page_sends_the_page_which_says_if_it_is_none(client):
    pages = dict.fromkeys(("/", "/games", "/games/17", "/agents", "/agents/runs/dqn-0"), 200)
    for path, status in {**pages, **dict.fromkeys(("/nowhere", "/docs", "/redoc"), 404)}.items():
        answer = client.get(path)
        assert answer.status_code == client.head(path).status_code == status
        assert answer.headers["content-type"].startswith("text/html")
        assert '<main id="main"' in answer.text
        assert not re.search(r"<script(?![^>]*src=)|<style|\s(style|on[a-z]+)=|//", answer.text)


def test_the_description_names_every_address_with_bounds_and_examples(client):
    found = client.get("/openapi.json").json()
    listed = {f"{method} {path}" for path, methods in found["paths"].items() for method in methods}
    paths = ("move", "analysis", "verdicts", "games")
    assert listed == {f"post /api/{path}" for path in paths} | {
        f"get /api/{path}" for path in ("games", "games/{id}", "agents", "agents/{id}")
    }
    for name, schema in found["components"]["schemas"].items():
        model = getattr(web.requests, name, None) or getattr(web.answers, name)
        assert model.model_validate(schema["examples"][0])
        assert schema["description"]
    moves = found["components"]["schemas"]["MoveAsked"]["properties"]["moves"]
    cell = {"type": "integer", "minimum": 0, "maximum": 48}
    assert (moves["items"], moves["maxItems"]) == (cell, 49)
    limit = found["paths"]["/api/games"]["get"]["parameters"][0]["schema"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 100, 20)
    assert get_args(web.requests.Ending) == ("", *ENDINGS)
    assert (get_args(web.requests.Result), get_args(web.requests.Origin)) == (RESULTS, ORIGINS)


def test_a_slow_agent_does_not_hold_up_a_quick_one(client, monkeypatch):
    begun, release, order, move = threading.Event(), threading.Event(), [], Seat.move

    def slow_move(seat, *asked):
        if not seat.is_quick:
            begun.set()
            assert release.wait(20)
        return move(seat, *asked)

    def play(agent):
        ask(client, "move", **{**MOVE, "agent": agent})
        order.append(agent)

    monkeypatch.setattr(Seat, "move", slow_move)
    slow = threading.Thread(target=play, args=("search",))
    slow.start()
    assert begun.wait(20)
    play("minimax")
    release.set()
    slow.join()
    assert order == ["minimax", "search"]


def test_when_too_many_slow_requests_wait_the_next_is_told_so(client, monkeypatch):
    threads, release = Threads(1, 2), threading.Event()

    async def crowd():
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(threads.run, release.wait)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(BusyError, match="2 requests are waiting already"):
                await threads.run(print)
            release.set()

    anyio.run(crowd)
    monkeypatch.setattr(Players, "make", Mock(side_effect=BusyError("try again")))
    answer = ask(client, "move", 503, **{**MOVE, "agent": "mcts-playouts=1000", "board": LARGE})
    assert answer == {"error": "try again"}


def test_the_last_players_are_kept_and_the_oldest_made_anew(gallery, monkeypatch):
    monkeypatch.setattr(web.players, "KEPT", 2)
    players, rules = Players(gallery), Rules()
    ids = ("random", "minimax", "random", "search-depth=1")
    seats = [players.make(gallery.entry(id), rules) for id in ids]
    assert seats[0] is seats[2]
    assert players.ready(gallery.entry("minimax"), rules) is None
    assert players.ready(gallery.entry("random"), rules) is seats[0]


def test_a_store_that_cannot_be_used_is_told_and_play_goes_on(keeper):
    keeper.store.close()
    for method, path in (("GET", "games"), ("GET", "games/1"), ("POST", "games")):
        answer = keeper.request(method, f"/api/{path}", json=GAME)
        assert answer.status_code == 503
        assert "is closed" in answer.json()["error"]
    assert ask(keeper, "move", **MOVE)["cell"] == 4


def test_a_failure_of_the_server_shows_no_traceback(client, monkeypatch):
    monkeypatch.setattr(web.api, "truth", Mock(side_effect=ZeroDivisionError))
    answer = client.post("/api/analysis", json={"board": SQUARE, "moves": [], "truth": True})
    assert answer.status_code == 500
    assert answer.json() == {"error": "the server failed; its log says more"}


def test_the_program_serves_on_this_machine_only_and_ends_cleanly(tmp_path, capsys):
    program = [sys.executable, "-m", "web.server", "--port", "0", "--store", "games.db"]
    process = subprocess.Popen(
        program,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        address = re.search(r"http://127.0.0.1:(\d+)/", process.stdout.readline())
        urllib.request.urlopen(address[0]).close()
        content = json.dumps(MOVE).encode()
        request = urllib.request.Request(f"{address[0]}api/move", content, JSON)
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["cell"] == 4
        assert web.server.main(["--port", address[1], "--store", str(tmp_path / "other.db")]) == 1
        assert f"port {address[1]} cannot be used" in capsys.readouterr().err
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10)[1] == ""
        assert process.returncode == 0
    finally:
        process.kill()


def test_a_store_that_is_none_and_a_port_that_is_none_are_told_in_a_line(tmp_path, capsys):
    (tmp_path / "text.db").write_text("no store")
    assert web.server.main(["--store", str(tmp_path / "text.db")]) == 1
    assert "is no store of games" in capsys.readouterr().err
    wrong = {"--port": "a whole number from 0 to 65535, got '99999'", "--prot": "'--port'?"}
    for option, reason in wrong.items():
        with pytest.raises(SystemExit, match="2"):
            web.server.main([option, "99999"])
        error = capsys.readouterr().err
        assert reason in error
        assert error.count("\n") == 1


def test_the_server_starts_without_torch():
    heavy = "{'torch', 'stable_baselines3', 'matplotlib', 'rich'}"
    program = "import sys, web.server; print(sorted({n.split('.')[0] for n in sys.modules} & %s))"
    done = subprocess.run(
        [sys.executable, "-c", program % heavy], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
