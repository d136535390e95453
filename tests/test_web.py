"""The JSON interface and the server of the page, without a browser."""

import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args
from unittest.mock import Mock

import anyio
import numpy as np
import pytest
from starlette.testclient import TestClient

from benchmarks.web import serving
from players.gallery import BUILT_IN, Gallery
from tictactoe_env.certificate import certify, write
from tictactoe_env.games import ENDINGS, ORIGINS, RESULTS, Game, Player
from tictactoe_env.policy import RandomPolicy, TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.store import GameStore
from web import answers, api, players, requests, server
from web.players import BusyError, Players, Seat, Threads
from web.refusals import Refusal, StrictRequest

ROOT = Path(__file__).parent.parent
SQUARE = {"rows": 3, "cols": 3, "k": 3}
SMALL = {"rows": 2, "cols": 3, "k": 2}
WIDE = {"rows": 3, "cols": 4, "k": 3}
LARGE, HUGE = {"rows": 5, "cols": 5, "k": 4}, {"rows": 7, "cols": 7, "k": 5}
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
    """A client with its own store. It checks the headers of every answer."""

    def check(answer):
        policy = set(answer.headers["content-security-policy"].split("; "))
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"

    with GameStore(folder / "games.db") as store:
        app = server.application(store, gallery)
        with TestClient(app, "http://127.0.0.1", raise_server_exceptions=False) as client:
            client.event_hooks["response"].append(check)
            client.store = store
            yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory, gallery):
    """A client for tests that keep no game: making a store takes a while on a busy disk."""
    yield from client_of(tmp_path_factory.mktemp("client"), gallery)


@pytest.fixture
def keeper(tmp_path, gallery):
    yield from client_of(tmp_path, gallery)


def ask(client, path, status=200, **content):
    answer = client.post(f"/api/{path}", json=content)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_every_agent_is_listed_with_the_boards_and_comes_with_its_certificate(client):
    answer = client.get("/api/agents").json()
    runs = ["models/broken.json", STUBBORN, "runs/dqn-0"]
    assert [agent["id"] for agent in answer["agents"]] == [*BUILT_IN, *runs]
    assert answer["boards"][0] == SQUARE
    assert all(board in answer["boards"] for board in (LARGE, SMALL))  # the page's, the runs'
    run = {"kind": "run", "name": "dqn-0", "about": "dqn, seed 7, can be beaten", "board": SMALL}
    assert answer["agents"][-1].items() >= {**run, "unbeatable": False}.items()
    for id, side, name, value in (
        ("minimax", "as_x", "vs_minimax", {"win": 0, "draw": 1, "loss": 0, "illegal": 0}),
        ("runs/dqn-0", "as_o", "losing_line", ["a1", "b1", "a2"]),
    ):
        content = client.get(f"/api/agents/{id}").json()["certificate"]
        assert (content[side][name], content["unbeatable"]) == (value, id == "minimax")
        assert "moves" not in content
    broken = client.get("/api/agents/models/broken.json").json()
    assert (broken["broken"], broken["certificate"]) == (True, None)
    assert "not JSON" in broken["reason"]


@pytest.mark.parametrize("agent", BUILT_IN)
def test_every_agent_that_is_built_in_moves(client, agent):
    for board in (SQUARE, {"search-depth=2": LARGE, "mcts-playouts=50": HUGE}.get(agent, WIDE)):
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
    assert list(answer.pop("standing").values()) == after
    assert list(answer.values()) == [*cell, after[2] == "illegal"]


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


def test_the_truth_is_exact_where_the_board_can_be_solved_and_else_says_why_not(client):
    def truth(board, moves, **more):
        return ask(client, "analysis", board=board, moves=moves, truth=True, **more)["truth"]

    found = truth(SQUARE, [0])  # after a corner only the centre draws
    assert found["position"] == {"value": 0, "plies": 8, "text": "draws"}
    texts = [worth and worth["text"][:5] for worth in found["moves"]]
    assert texts == [None, *["loses"] * 3, "draws", *["loses"] * 4]
    assert truth(SQUARE, X_WINS)["position"]["text"] == "lost"
    assert truth(WIDE, [])["position"]["value"] == 1  # X wins on 3x4
    unsolved = {"reason": "5x5, 4 in a row is too large to be solved"}
    assert truth(LARGE, []) == {"position": None, "moves": None, **unsolved}
    found = ask(client, "verdicts", board=LARGE, moves=[], ended="resigned", result="O")
    assert found == {"verdicts": None, "turning_point": None, **unsolved}


def test_an_agent_thinks_in_values_and_probabilities(client):
    def thoughts(board, moves, agent):
        return ask(client, "analysis", board=board, moves=moves, agent=agent)["thoughts"]

    found = thoughts(SQUARE, [0], "minimax")
    assert (found["probs"][4], found["values"][0]) == (1, None)
    assert max(range(1, 9), key=lambda cell: found["values"][cell]) == 4
    assert "against random moves" in found["meaning"]
    assert thoughts(SQUARE, [0, 4], "search-depth=1")["kind"] == "expected"
    assert thoughts(SQUARE, X_WINS, "minimax") is None
    found = thoughts(LARGE, [0], "search-depth=1")
    assert found["values"] is None  # too large to compute what it is worth
    assert sum(share for share in found["probs"] if share) == pytest.approx(1)


def test_every_move_of_a_game_is_judged(client):
    answer = ask(client, "verdicts", board=SQUARE, moves=X_WINS)
    assert answer["verdicts"][1]["text"] == "gives away the draw and loses in 6"
    assert [verdict["threw_away"] for verdict in answer["verdicts"]] == [0, 1, 0, 0, 0]
    assert answer["turning_point"].startswith("O threw it away with move 2, a2: it gives away")
    answer = ask(client, "verdicts", board=SQUARE, moves=[4], ended="resigned", result="X")
    assert answer["turning_point"] == "O resigned a position that was a draw"


def test_a_finished_game_is_kept_with_who_played(keeper, gallery):
    def kept(**content):
        return keeper.store.get(ask(keeper, "games", 201, **{**GAME, **content})["id"])

    game = kept(side="X", seed=5)
    assert (str(game.x), str(game.o), game.origin) == ("human:human", "agent:minimax", "web")
    assert (game.side, game.seed, list(game.moves)) == ("X", 5, X_WINS)
    game = kept(board=SMALL, moves=[0, 0], ended="illegal", o=STUBBORN)
    run = ("run", STUBBORN, gallery.entry(STUBBORN).sha256)
    assert (game.o.kind, game.o.name, game.o.source, game.result) == (*run, "X")
    resigned = {"moves": [4, 0], "ended": "resigned", "result": "O"}
    answer = ask(keeper, "games", 201, **{**GAME, **resigned})
    assert answer == {"id": 3, "address": "/games/3"}
    found = {**resigned, "cells": [4, 0], "moves": "b2 a1", "line": [], "board": SQUARE}
    assert keeper.get("/api/games/3").json().items() >= found.items()
    wide = Game(moves=(0,), rules=Rules(5, 6, 5), origin="human", ended="resigned", result="X")
    keeper.store.add(wide)  # a board that the page does not offer
    assert keeper.get("/api/games/4").json()["board"] == {"rows": 5, "cols": 6, "k": 5}


def test_games_are_listed_newest_first_without_those_of_training(keeper):
    for number in range(5):
        moves, o = (X_WINS if number % 2 else DRAWN), ("minimax" if number < 2 else "random")
        ask(keeper, "games", 201, **{**GAME, "moves": moves, "o": o})
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


CELL = "move 1 must be a whole number from 0 to 8, got"
SIZE = "rows must be a whole number from 1 to 64, got"
BAD_MOVES = [  # changes to MOVE
    ({"moves": [*range(9), 0]}, "10 moves are too many: a game on 3x3, 3 in a row has at most 9"),
    *[({"moves": [cell]}, f"{CELL} {cell!r}") for cell in (4.0, "b2", -1, 9)],
    *[({"moves": [cell]}, f"{CELL} {got}") for cell, got in ((True, "the bool"), (10**300, "10"))],
    ({"moves": [0, 0]}, 'cell 0 is taken in "X../.../..."'),
    ({"moves": [*X_WINS, 5]}, "the game is over"),
    ({"moves": X_WINS}, "there is no move to make"),
    ({"moves": "b2 a1"}, "moves is a list of cells, such as [4, 0, 8], got 'b2 a1'"),
    ({"agent": 3}, "an agent is named by its id, such as minimax, got 3"),
    ({"agent": "runs/dqn-0"}, "runs/dqn-0 plays on 2x3, 2 in a row, not on 3x3"),
    ({"board": LARGE}, "minimax plays on boards of up to 16 cells"),
    ({"board": SMALL, "agent": "models/broken.json"}, "models/broken.json is broken"),
    ({"mover": "X"}, "unknown field 'mover'; did you mean 'moves'?"),
    *[({"board": {**SQUARE, "rows": rows}}, f"{SIZE} {rows}") for rows in (0, 99)],
    ({"board": {**SQUARE, "rows": True}}, f"{SIZE} the bool True"),
    ({"board": {**SQUARE, "rows": 9, "cols": 9}}, "needs 90 bits"),
    ({"board": {**SQUARE, "rows": 2, "cols": 8}}, "the boards of this page"),
    ({"board": {**SQUARE, "k": 4}}, "k must be at most"),
    *[
        ({"board": board, "moves": "b2"}, "a board is written as")
        for board in ({"rows": 3, "cols": 3}, {**SQUARE, "depth": 3}, [3, 3, 3])
    ],
    *[({"seed": seed}, f"from 0 to {2**53}, got {seed}") for seed in (-1, 0.5, 2**53 + 1)],
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
REFUSED = [
    *[("move", {**MOVE, **change}, 400, reason) for change, reason in BAD_MOVES],
    *[("games", {**GAME, **change}, 400, reason) for change, reason in BAD_GAMES],
    *[("move", {**MOVE, "agent": agent}, 404, "unknown agent") for agent in NOBODY],
    ("move", {**MOVE, "thinker": "nobody"}, 404, "unknown agent 'nobody'"),
    ("games", {**GAME, "o": "nobody"}, 404, "unknown agent 'nobody'"),
    ("move", {"board": SQUARE}, 400, "moves, agent are missing: send board, moves, agent"),
    ("analysis", {"board": SQUARE}, 400, "moves is missing: send board, moves"),
    ("move", [1, 2], 400, "send an object with board, moves, agent, got [1, 2]"),
    ("move", None, 400, "send an object with board, moves, agent, got None"),
    *[("move", *rest) for rest in BODIES],
]


@pytest.mark.parametrize(("path", "content", "status", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_a_bad_request_is_refused_with_a_reason(client, path, content, status, reason):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = client.post(f"/api/{path}", content=body, headers=JSON)
    assert (answer.status_code, answer.headers["content-type"]) == (status, JSON["content-type"])
    assert reason in answer.json()["error"]
    assert client.store.count() == 0


def test_a_body_without_a_length_is_cut_off_and_one_without_an_end_is_refused(client):
    body = (b" " * 1_000 for _ in range(100))
    assert client.post("/api/move", content=body, headers=JSON).status_code == 413

    async def receive():
        return {"type": "http.disconnect"}

    scope = {"type": "http", "headers": [(b"content-type", b"application/json")]}
    with pytest.raises(Refusal, match="400: the request ended too early"):
        anyio.run(StrictRequest(scope, receive).body)


def test_no_depth_of_a_value_makes_the_server_fail(client):
    for depth in range(900, 1000, 5):
        for name in MOVE:
            body = json.dumps({**MOVE, name: "?"}).replace('"?"', "[" * depth + "]" * depth)
            assert client.post("/api/move", content=body, headers=JSON).status_code == 400


def test_another_content_type_is_refused(client):
    for kind in ("text/plain", "multipart/form-data", "", "application/jsonp", None):
        headers, sent = ({}, "no content type") if kind is None else ({"content-type": kind}, kind)
        answer = client.post("/api/games", content="{}", headers=headers)
        assert answer.json() == {"error": f"send application/json, got {sent!r}"}
        assert answer.status_code == 415


LIMIT = "limit must be a whole number from 1 to 100, got"


@pytest.mark.parametrize(
    ("asked", "status", "reason"),
    [
        ("GET games/1", 404, "unknown game 1"),
        ("GET games/0", 404, "unknown game '0'"),
        ("GET games/1%20OR%201=1", 404, "unknown game '1 OR 1=1'"),
        *[(f"GET games/{id}", 404, "the id of a game is a number") for id in ("9" * 23, "%D9%A1")],
        *[(f"GET games?limit={limit}", 400, f"{LIMIT} {limit}") for limit in (0, 101)],
        ("GET games?limit=1e1", 400, f"{LIMIT} '1e1'"),
        ("GET games?before=99999999999999999999999", 400, "before must be a whole number"),
        ("GET games?result=won", 400, "unknown result 'won'"),
        ("GET games?origin=everything", 400, "unknown origin"),
        ("GET games?orgin=web", 400, "unknown parameter 'orgin'; did you mean 'origin'?"),
        *[
            (f"GET agents/{id}", 404, "unknown agent")
            for id in ("nobody", "..%2f..%2fetc%2fpasswd", "runs/dqn-0%00")
        ],
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


def test_this_machine_may_be_called_by_its_own_names_only(client):
    hosts = ("127.0.0.1", "localhost", "[::1]", "127.0.0.1:8000", "localhost:9")
    others = [f"{host}{end}" for host in hosts for end in (".evil.example", "@evil", "evil")]
    for path in ("/", "/api/agents", "/static/app.js", "/openapi.json"):
        for host in (*hosts, *others, "", "evil.example"):
            answer = client.get(path, headers={"host": host})
            assert answer.status_code == (200 if host in hosts else 421)
            if host not in hosts:
                assert "this server is for 127.0.0.1" in answer.json()["error"]


def test_every_address_of_the_page_sends_the_page_which_says_if_it_is_none(client):
    pages = ("/", "/games", "/games/17", "/agents", "/agents/runs/dqn-0")
    for path in (*pages, "/nowhere", "/docs", "/redoc"):
        answer = client.get(path)
        status = 200 if path in pages else 404
        assert answer.status_code == client.head(path).status_code == status
        assert answer.headers["content-type"].startswith("text/html")
        assert '<main id="main"' in answer.text
        assert not re.search(r"<script(?![^>]*src=)|<style|\s(style|on[a-z]+)=|//", answer.text)


def test_the_description_names_every_address_with_bounds_and_examples(client):
    found = client.get("/openapi.json").json()
    listed = [f"{way} {path[5:]}" for path, ways in found["paths"].items() for way in ways]
    posts = ["post move", "post analysis", "post verdicts", "post games"]
    assert listed == [*posts, "get games", "get games/{id}", "get agents", "get agents/{id}"]
    for name, schema in found["components"]["schemas"].items():
        model = getattr(requests, name, None) or getattr(answers, name)
        assert model.model_validate(schema["examples"][0])
        assert schema["description"]
    moves = found["components"]["schemas"]["MoveAsked"]["properties"]["moves"]
    cell = {"type": "integer", "minimum": 0, "maximum": 48}
    assert (moves["items"], moves["maxItems"]) == (cell, 49)
    limit = found["paths"]["/api/games"]["get"]["parameters"][0]["schema"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 100, 20)
    assert get_args(requests.Ending) == ("", *ENDINGS)
    assert (get_args(requests.Result), get_args(requests.Origin)) == (RESULTS, ORIGINS)


def test_a_slow_agent_does_not_hold_up_a_quick_one(client, monkeypatch):
    begun, release, move = threading.Event(), threading.Event(), Seat.move

    def slow_move(seat, *asked):
        if not seat.is_quick:
            begun.set()
            assert release.wait(60)
        return move(seat, *asked)

    monkeypatch.setattr(Seat, "move", slow_move)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(ask, client, "move", **{**MOVE, "agent": "search"})
        assert begun.wait(60)
        assert ask(client, "move", **MOVE)["cell"] == 4
        assert not slow.done()
        release.set()
    assert slow.result()["cell"] == 4


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
    monkeypatch.setattr(players, "KEPT", 2)
    kept, ids = Players(gallery), ("random", "minimax", "random", "search-depth=1")
    seats = [kept.make(gallery.entry(id), Rules()) for id in ids]
    ready = [kept.ready(gallery.entry(id), Rules()) for id in ids]
    assert ready == [seats[0], None, seats[0], seats[3]]


def test_a_store_that_cannot_be_used_is_told_and_play_goes_on(keeper):
    keeper.store.close()
    for method, path in (("GET", "games"), ("GET", "games/1"), ("POST", "games")):
        answer = keeper.request(method, f"/api/{path}", json=GAME)
        assert answer.status_code == 503
        assert "is closed" in answer.json()["error"]
    assert ask(keeper, "move", **MOVE)["cell"] == 4


@pytest.mark.parametrize("failure", [{"side_effect": ZeroDivisionError}, {"return_value": None}])
def test_a_failure_of_the_server_shows_no_traceback(client, monkeypatch, failure):
    monkeypatch.setattr(api, "standing_json", Mock(**failure))  # None is no standing
    answer = ask(client, "analysis", 500, board=SQUARE, moves=[])
    assert answer == {"error": "the server failed; its log says more"}


def test_the_program_serves_on_this_machine_only_and_ends_cleanly(tmp_path, capsys):
    def heed_interrupts():  # a process in the background ignores them
        signal.signal(signal.SIGINT, signal.default_int_handler)

    settings = {"stderr": subprocess.PIPE, "preexec_fn": heed_interrupts}
    with serving(tmp_path, **settings) as (process, address):
        content = json.dumps(MOVE).encode()
        request = urllib.request.Request(f"{address}/api/move", content, JSON)
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["cell"] == 4
        port = address.rpartition(":")[2]
        assert server.main(["--port", port, "--store", str(tmp_path / "other.db")]) == 1
        assert f"port {port} cannot be used" in capsys.readouterr().err
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1] == ""
        assert process.returncode == 0


def test_a_store_that_is_none_and_a_port_that_is_none_are_told_in_a_line(tmp_path, capsys):
    (tmp_path / "text.db").write_text("no store")
    assert server.main(["--store", str(tmp_path / "text.db")]) == 1
    assert "is no store of games" in capsys.readouterr().err
    wrong = {"--port": "a whole number from 0 to 65535, got '99999'", "--prot": "'--port'?"}
    for option, reason in wrong.items():
        with pytest.raises(SystemExit, match="2"):
            server.main([option, "99999"])
        error = capsys.readouterr().err
        assert (reason in error, error.count("\n")) == (True, 1)


def test_the_server_starts_without_torch():
    heavy = "{'torch', 'stable_baselines3', 'matplotlib', 'rich'}"
    program = (
        f"import sys, web.server; assert not {heavy} & {{n.split('.')[0] for n in sys.modules}}"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=ROOT, check=True)
