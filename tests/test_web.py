"""The JSON interface and the server of the page, without a browser."""

import asyncio
import json
import os
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
from sample_players import CellPlayer
from starlette.testclient import TestClient

from benchmarks.web import serving
from players.gallery import BUILT_IN, Gallery
from players.groups import GROUPS
from players.seat import Seat
from tictactoe_env.certificate import certify, write
from tictactoe_env.games import ENDINGS, ORIGINS, RESULTS, Game, Player
from tictactoe_env.own_values import OwnValues, checked, write_values
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.store import GameStore
from tictactoe_env.trained import trained_names
from training.metrics import write_metrics
from web import answers, api, requests, server, work
from web.lanes import BusyError, Processes, Threads
from web.refusals import Refusal, StrictRequest
from web.work import Work

ROOT = Path(__file__).parent.parent
LISTED = sorted(trained_names(), key=lambda name: "dimitars" in name)  # illegal moves last
SQUARE = {"rows": 3, "cols": 3, "k": 3}
SMALL = {"rows": 2, "cols": 3, "k": 2}
WIDE = {"rows": 3, "cols": 4, "k": 3}
LARGE, UNSOLVED = {"rows": 5, "cols": 5, "k": 4}, "5x5, 4 in a row is too large to be solved"
X_WINS, DRAWN = [0, 3, 1, 4, 2], [4, 0, 8, 2, 1, 7, 3, 5, 6]
RATES = ("win", "draw", "loss", "illegal")
MOVE = {"board": SQUARE, "moves": [0], "agent": "minimax"}
GAME = {"board": SQUARE, "moves": X_WINS, "x": "human", "o": "minimax"}
STUBBORN = "models/stubborn.json"


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """STUBBORN, which always marks a1, taken or not; runs/dqn-0; a broken certificate."""
    folder, rules = tmp_path_factory.mktemp("gallery"), Rules(**SMALL)
    for place in ("models", "runs/dqn-0"):
        (folder / place).mkdir(parents=True)
    write(certify(CellPlayer(0), "dqn", rules), folder / STUBBORN)
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
        app = server.application(store, gallery, readers=Threads(1, 64))
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


BROKEN = {"name": "broken.json", "unbeatable": None, "broken": True, "certificate": None}
RUN_ABOUT = "dqn, seed 7, can be beaten on 2x3, 2 in a row"
RUN = {"kind": "run", "name": "dqn-0", "about": RUN_ABOUT, "board": SMALL}
DRAWS = {"win": 0, "draw": 1, "loss": 0, "illegal": 0}
GIVEN = "gives away the draw and loses in 3"
THREW = "O's a2 (move 2) turned a draw into a loss: X could win in 3"
RESIGNED = {"moves": [4], "ended": "resigned", "result": "X"}
LARGE_ONE = {"board": LARGE, "moves": [0]}
UNKNOWN = {"moves": None, "reason": UNSOLVED}
UNJUDGED = {"verdicts": None, "turning_point": None, "decisive": None, "reason": UNSOLVED}
ONLY_CENTRE = {"ply": 1, "better": [4], "replies": [1, 2, 4]}  # X a1, O a2: each forks
TAKEN = {"ply": 1, "better": [4], "replies": []}
BOTH = {"kind": "own", "kinds": ["own", "expected"], "scale": [-1, 1]}
AGAINST = {**BOTH, "kind": "expected"}
STANDINGS = [  # what is sent to /api/move; cell, name; board, turn, ended, result, line
    ({"agent": "minimax"}, (4, "b2"), ("X../.O./...", "X", "", None, [])),
    ({"moves": X_WINS[:4]}, (2, "c1"), ("XXX/OO./...", None, "line", "X", [0, 1, 2])),
    ({"moves": DRAWN[:8], "agent": "random"}, (6, "a3"), ("OXO/XXO/XOX", None, "full", "draw", [])),
    ({"board": SMALL, "agent": STUBBORN}, (0, "a1"), ("X../...", None, "illegal", "X", [])),
]
KNOWN = [  # an address; what is sent; the names that lead to a value of the answer; the value
    ("agents", {}, "agents -1", {**RUN, "unbeatable": False}),
    ("agents/minimax", {}, "certificate as_x vs_minimax", DRAWS),
    ("agents/runs/dqn-0", {}, "certificate as_o losing_line", ["a1", "b1", "a2"]),
    ("agents/models/broken.json", {}, "", BROKEN),
    ("analysis", {"moves": [0], "truth": True}, "truth moves 0", None),
    ("analysis", {"moves": [0], "truth": True}, "truth moves 1 value", -1),
    ("analysis", {"moves": [0], "truth": True}, "truth moves 4 text", "draws"),  # the centre
    ("analysis", {"moves": [0], "truth": True}, "truth position", {"value": 0, "plies": 8}),
    ("analysis", {"moves": X_WINS, "truth": True}, "truth position text", "lost"),
    ("analysis", {"board": WIDE, "moves": [], "truth": True}, "truth position value", 1),  # X wins
    ("analysis", {**LARGE_ONE, "truth": True}, "truth", UNKNOWN),
    ("analysis", {"moves": X_WINS, "agent": "minimax"}, "thoughts", None),
    ("analysis", {"moves": [0], "agent": "minimax"}, "thoughts probs 4", 1),
    ("analysis", {"moves": [0, 4], "agent": "search-depth=1"}, "thoughts", BOTH),
    ("analysis", {"moves": [0, 4], "agent": "search", "values": "expected"}, "thoughts", AGAINST),
    ("analysis", {"moves": [0], "agent": "mcts-playouts=50"}, "thoughts scale", [0, 1]),
    ("analysis", {**LARGE_ONE, "agent": "search-depth=1"}, "thoughts kinds", ["own"]),
    ("analysis", {**LARGE_ONE, "agent": "random"}, "thoughts values", None),
    ("verdicts", {"moves": X_WINS}, "verdicts 1", {"threw_away": True, "text": GIVEN}),
    ("verdicts", {"moves": X_WINS}, "turning_point", THREW),
    ("verdicts", {"moves": X_WINS}, "decisive", ONLY_CENTRE),
    ("verdicts", {"moves": DRAWN}, "decisive", None),
    ("verdicts", {"moves": [0, 0], "ended": "illegal"}, "decisive", TAKEN),
    ("verdicts", RESIGNED, "turning_point", "O resigned a position that was a draw"),
    ("verdicts", {**RESIGNED, "board": LARGE}, "", UNJUDGED),
]


def test_every_agent_is_listed_with_the_boards(client):
    answer = client.get("/api/agents").json()
    runs = ["models/broken.json", STUBBORN, "runs/dqn-0"]
    ours = [*BUILT_IN, *LISTED, "runs/learner"]
    assert [agent["id"] for agent in answer["agents"]] == [*ours, *runs]
    assert answer["boards"][0] == SQUARE
    assert all(board in answer["boards"] for board in (LARGE, SMALL))  # the page's, the runs'
    assert "moves" not in client.get("/api/agents/minimax").json()["certificate"]
    assert "not JSON" in client.get("/api/agents/models/broken.json").json()["reason"]


@pytest.mark.parametrize(("path", "content", "names", "value"), KNOWN)
def test_what_is_known_of_players_and_positions(client, path, content, names, value):
    method = "POST" if content else "GET"
    found = client.request(method, f"/api/{path}", json={"board": SQUARE, **content}).json()
    for name in names.split():
        found = found[int(name) if isinstance(found, list) else name]
    if isinstance(value, dict):
        found = {name: found[name] for name in value}
    assert found == value


@pytest.mark.parametrize(("content", "cell", "standing"), STANDINGS)
def test_a_move_comes_with_the_standing_after_it(client, content, cell, standing):
    answer = ask(client, "move", **{**MOVE, **content})
    assert tuple(answer.pop("standing").values()) == standing
    assert tuple(answer.values()) == (*cell, standing[2] == "illegal")


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


def test_the_own_values_of_a_run_are_answered_or_its_results_against_random(tmp_path):
    rules, folder = Rules(**SMALL), tmp_path / "runs" / "valued-0"
    content, shape = certify(CellPlayer(0), "dqn", rules), positions_of(rules)
    values = np.where(np.arange(6) == 3, np.nan, 0.25) * np.ones((len(shape.unfinished), 1))
    known = shape.ply[shape.unfinished] != 1
    own = checked(OwnValues(values, "a guess", 0.0, 2.0, known), rules)
    write(content, folder / "certificate.json")
    write_values(own, content["sha256_of_moves"], folder / "values.npz")
    asked = {"board": SMALL, "moves": [4], "agent": "runs/valued-0"}
    for client in client_of(tmp_path, Gallery([tmp_path / "runs"])):
        found = ask(client, "analysis", **asked)["thoughts"]
        assert found["values"] == [0.25, 0.25, 0.25, None, None, 0.25], "d is taken, NaN unknown"
        assert (found["kind"], found["meaning"], found["scale"]) == ("own", "a guess", [0, 2])
        assert found["new"]
        assert not ask(client, "analysis", **{**asked, "moves": []})["thoughts"]["new"]
        found = ask(client, "analysis", values="expected", **asked)["thoughts"]
        assert (found["kind"], found["scale"]) == ("expected", [-1, 1])
        assert found["values"][3] is not None
        move = {"board": SMALL, "moves": [], "agent": "minimax-first", "thinker": "runs/valued-0"}
        for kind in ("own", "expected"):
            assert ask(client, "move", values=kind, **move)["thoughts"]["kind"] == kind
        said = ask(client, "analysis", 400, values="onw", **asked)["error"]
        assert "unknown values 'onw'; did you mean 'own'" in said
        (folder / "values.npz").write_bytes(b"")
    for client in client_of(tmp_path / "again", Gallery([tmp_path / "runs"])):
        said = ask(client, "analysis", 400, **asked)["error"]
        assert "values.npz is damaged" in said


def test_a_certificate_is_a_file_to_keep_and_a_run_shows_how_it_grew(tmp_path):
    rules, folder = Rules(**SMALL), tmp_path / "runs" / "dqn-0"
    content = certify(RandomPolicy(), "dqn", rules, seed=7)
    folder.mkdir(parents=True)
    write(content, folder / "certificate.json")
    rates = dict.fromkeys((f"{side}_{name}" for side in "xo" for name in RATES), 0.25)
    proven = dict.fromkeys(("unbeatable_x", "unbeatable_o", "optimal_x", "optimal_o"), 0)
    rows = [{"steps": 10 * n, "seconds": n / 2, **rates, **proven} for n in range(1_000)]
    last = {**rows[-1], "unbeatable_o": 1, "sampled_x": 1}
    for number in (703, 704, 901):  # none of them is among rows that lie evenly
        rows[number] |= {"unbeatable_x": 1, "unbeatable_o": int(number == 901)}
    write_metrics(folder / "metrics.csv", [*rows, last])
    for client in client_of(tmp_path, Gallery([tmp_path / "runs"])):
        sent = client.get("/api/certificates/runs/dqn-0")
        assert sent.json() == content
        name = 'attachment; filename="runs-dqn-0.json"'
        assert sent.headers["content-disposition"] == name
        assert "moves" in client.get("/api/certificates/minimax").json()
        steps = client.get("/api/growth/runs/dqn-0").json()["steps"]
        assert (steps[0]["steps"], steps[-1]["steps"]) == (0, 9_990)
        assert work.MOST_STEPS / 2 < len(steps) <= work.MOST_STEPS
        first = next(step["steps"] for step in steps if step["unbeatable_x"])
        both = [step["steps"] for step in steps if step["unbeatable_x"] and step["unbeatable_o"]]
        assert (first, both) == (7_030, [9_010])
        assert (steps[0]["x"], steps[-1]["unbeatable_o"]) == ([0.25] * 3, True)
        assert [step["sampled"] for step in steps[-2:]] == [False, True]
        assert client.get("/api/growth/minimax").json() == {"steps": []}
        about = client.get("/api/agents/runs/dqn-0").json()
        assert about["title"] == "Deep Q-network, seed 7"
        assert about["story"].startswith("A neural network estimates the result of every move.")
        (folder / "metrics.csv").write_text("steps,seconds\n1,x\n")
        broken = client.get("/api/growth/runs/dqn-0")
        assert (broken.status_code, "is damaged" in broken.json()["error"]) == (400, True)


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
    assert answer == {"id": 3, "address": "/games/3", "learned": {}}
    found = {**resigned, "cells": [4, 0], "moves": "b2 a1", "line": [], "board": SQUARE}
    assert keeper.get("/api/games/3").json().items() >= found.items()
    wide = Game(moves=(0,), rules=Rules(5, 6, 5), origin="human", ended="resigned", result="X")
    keeper.store.add(wide)  # a board that the page does not offer
    assert keeper.get("/api/games/4").json()["board"] == {"rows": 5, "cols": 6, "k": 5}


def test_games_are_listed_newest_first_without_those_of_training(keeper):
    for number, o in enumerate(["minimax"] * 2 + ["random"] * 3):
        ask(keeper, "games", 201, **{**GAME, "moves": (DRAWN, X_WINS)[number % 2], "o": o})
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
    assert listed("search=Perfect PLAY") == listed("search=inimax") == ([2, 1], 2, None)
    assert listed("search=ann") == listed("search=Ann&people=true") == ([7], 1, None)
    assert listed("search=a%20person")[0] == listed("people=true")[0][1:] == [5, 4, 3, 2, 1]
    assert listed("people=false") == listed("search=nobody") == ([], 0, None)
    game = keeper.get("/api/games/1").json()
    assert (game["x"]["title"], game["o"]["title"]) == ("a person", "Perfect play")


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
    ({"board": SMALL, "agent": "models/broken.json"}, "models/broken.json is broken"),
    ({"mover": "X"}, "unknown field 'mover'; did you mean 'moves'?"),
    *[({"board": {**SQUARE, "rows": rows}}, f"{SIZE} {rows}") for rows in (0, 99)],
    ({"board": {**SQUARE, "rows": True}}, f"{SIZE} the bool True"),
    ({"board": {**SQUARE, "rows": 9, "cols": 9}}, "needs 90 bits"),
    ({"board": {**SQUARE, "rows": 2, "cols": 8}}, "the boards of this page"),
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
    (b'{"board": 1, "board": 2}', 400, "a name is repeated"),
    (b"[" * 3_000_000, 413, "a request may have 8,192 bytes"),
    (b"[1, 2]", 400, "send an object with board, moves, agent, got [1, 2]"),
    (b"null", 400, "send an object with board, moves, agent, got None"),
]
JSON = {"content-type": "application/json"}
LIMIT = "limit must be a whole number from 1 to 100, got"
NO_AGENTS = ("nobody", "..%2f..%2fetc%2fpasswd", "runs/dqn-0%00")
NO_FILES = ("..%2fserver.py", "..%5cserver.py", "/etc/passwd", "%2fetc%2fpasswd", "")
REFUSED = [
    *[("POST move", {**MOVE, **change}, 400, reason) for change, reason in BAD_MOVES],
    *[("POST games", {**GAME, **change}, 400, reason) for change, reason in BAD_GAMES],
    *[("POST move", {**MOVE, "agent": agent}, 404, "unknown agent") for agent in NOBODY],
    ("POST move", {**MOVE, "thinker": "nobody"}, 404, "unknown agent 'nobody'"),
    ("POST games", {**GAME, "o": "nobody"}, 404, "unknown agent 'nobody'"),
    ("POST move", {"board": SQUARE}, 400, "moves, agent are missing: send board, moves, agent"),
    ("POST analysis", {"board": SQUARE}, 400, "moves is missing: send board, moves"),
    *[("POST move", *rest) for rest in BODIES],
    ("GET games/1", b"", 404, "unknown game 1"),
    ("GET games/0", b"", 404, "unknown game '0'"),
    ("GET games/1%20OR%201=1", b"", 404, "unknown game '1 OR 1=1'"),
    *[(f"GET games/{id}", b"", 404, "the id of a game is a number") for id in ("9" * 23, "%D9%A1")],
    *[(f"GET games?limit={limit}", b"", 400, f"{LIMIT} {limit}") for limit in (0, 101)],
    ("GET games?limit=1e1", b"", 400, f"{LIMIT} '1e1'"),
    ("GET games?before=99999999999999999999999", b"", 400, "before must be a whole number"),
    ("GET games?result=won", b"", 400, "unknown result 'won'"),
    ("GET games?people=yes", b"", 400, "people must be true or false, got 'yes'"),
    ("GET games?origin=everything", b"", 400, "unknown origin"),
    ("GET games?orgin=web", b"", 400, "unknown parameter 'orgin'; did you mean 'origin'?"),
    *[
        (f"GET {what}/{id}", b"", 404, "unknown agent")
        for id in NO_AGENTS
        for what in ("agents", "growth", "certificates")
    ],
    ("GET certificates/models/broken.json", b"", 400, "models/broken.json is broken"),
    ("GET nothing", b"", 404, "there is nothing at /api/nothing"),
    ("GET move", b"", 405, "GET is not for /api/move"),
    ("DELETE games/1", b"", 405, "DELETE is not for /api/games/1"),
    ("POST ../games/1", b"", 405, "POST is not for /games/1"),
    *[(f"GET ../static/{path}", b"", 404, "there is nothing at /static/") for path in NO_FILES],
]


@pytest.mark.parametrize(("asked", "content", "status", "reason"), REFUSED, ids=lambda _: "")
def test_a_bad_request_is_refused_with_a_reason(client, asked, content, status, reason):
    method, path = asked.split()
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = client.request(method, f"/api/{path}", content=body, headers=JSON)
    assert (answer.status_code, answer.headers["content-type"]) == (status, JSON["content-type"])
    assert reason in answer.json()["error"]
    assert client.store.count() == 0


METHODS = {
    "api/games": "GET, HEAD, POST",
    "api/agents": "GET, HEAD",
    "api/move": "POST",
    "games/1": "GET, HEAD",
    "static/play.js": "GET, HEAD",
}


@pytest.mark.parametrize(("path", "methods"), METHODS.items())
def test_a_method_that_is_none_is_refused_with_all_that_are(client, path, methods):
    answer = client.options(f"/{path}")
    assert (answer.status_code, answer.headers["allow"]) == (405, methods)


def test_a_body_without_a_length_is_cut_off_and_one_without_an_end_is_refused(client):
    body = (b" " * 1_000 for _ in range(100))
    assert client.post("/api/move", content=body, headers=JSON).status_code == 413

    async def receive():
        return {"type": "http.disconnect"}

    scope = {"type": "http", "headers": [(b"content-type", b"application/json")]}
    with pytest.raises(Refusal, match="400: the request ended too early"):
        anyio.run(StrictRequest(scope, receive).body)


@pytest.mark.parametrize("name", MOVE)
def test_no_depth_of_a_value_makes_the_server_fail(client, name):
    for depth in range(900, 1000, 5):
        body = json.dumps({**MOVE, name: "?"}).replace('"?"', "[" * depth + "]" * depth)
        assert client.post("/api/move", content=body, headers=JSON).status_code == 400


def test_another_content_type_is_refused(client):
    for kind in ("text/plain", "multipart/form-data", "", "application/jsonp", None):
        headers, sent = ({}, "no content type") if kind is None else ({"content-type": kind}, kind)
        answer = client.post("/api/games", content="{}", headers=headers)
        assert answer.json() == {"error": f"send application/json, got {sent!r}"}
        assert answer.status_code == 415


def test_this_machine_may_be_called_by_its_own_names_only(client):
    hosts = ("127.0.0.1", "localhost", "[::1]", "127.0.0.1:8000", "localhost:9")
    others = [f"{host}{end}" for host in hosts for end in (".evil.example", "@evil", "evil")]
    for path in ("/", "/api/agents", "/static/app.js", "/openapi.json"):
        for host in (*hosts, *others, "", "evil.example"):
            answer = client.get(path, headers={"host": host})
            refused = answer.status_code == 421 and "this server is for 127.0.0.1" in answer.text
            assert refused if host not in hosts else answer.status_code == 200


OTHERS = [  # the headers of browsers for a page of another origin
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:8001"},
    {"origin": "https://127.0.0.1"},
    {"origin": "http://localhost"},  # another name is another origin
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "new-in-some-browser"},
    {"origin": "http://127.0.0.1", "sec-fetch-site": "cross-site"},
    {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
]
OURS = [
    {},
    {"origin": "http://127.0.0.1"},
    {"sec-fetch-site": "none"},
    {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"},
    {"host": "localhost:8000", "origin": "http://localhost:8000"},
    {"host": "[::1]:8000", "origin": "http://[::1]:8000", "sec-fetch-site": "same-origin"},
]


def asked_as(client, headers):
    """The statuses of the interface for requests with these headers."""
    gets = [client.get(f"/api/{path}", headers=headers) for path in ("agents", "games", "nothing")]
    moves = [client.request(way, "/api/move", json=MOVE, headers=headers) for way in METHODS]
    return {answer.status_code for answer in (*gets, *moves)}


METHODS = ("POST", "PUT", "OPTIONS", "HEAD")


@pytest.mark.parametrize("headers", OTHERS, ids=str)
def test_pages_of_other_origins_are_refused(client, headers):
    assert asked_as(client, headers) == {403}
    said = client.post("/api/games", json=GAME, headers=headers).json()["error"]
    assert said.startswith("/api/ is for the page of this server, not for")
    for path in ("/", "/games/1", "/static/app.js"):  # a link to the page may stand anywhere
        assert client.get(path, headers=headers).status_code == 200


@pytest.mark.parametrize("headers", OURS, ids=str)
def test_the_page_itself_and_programs_are_served(client, headers):
    assert asked_as(client, headers) == {200, 404, 405}


def test_every_address_of_the_page_sends_the_page_which_says_if_it_is_none(client):
    pages = ("/", "/games", "/games/17", "/agents", "/agents/runs/dqn-0")
    for path in (*pages, "/nowhere", "/docs", "/redoc"):
        answer, status = client.get(path), (200 if path in pages else 404)
        assert answer.status_code == client.head(path).status_code == status
        assert answer.headers["content-type"].startswith("text/html")
        assert '<main id="main"' in answer.text
        assert not re.search(r"<script(?![^>]*src=)|<style|\s(style|on[a-z]+)=|//", answer.text)


def test_a_file_of_the_page_is_sent_whole_and_not_again_until_it_changes(client):
    answer, content = client.get("/static/app.js"), (server.STATIC / "app.js").read_bytes()
    assert (answer.status_code, answer.content) == (200, content)
    assert answer.headers["content-type"].startswith("text/javascript")
    assert client.head("/static/app.js").headers["content-length"] == str(len(content))
    again = client.get("/static/app.js", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_description_names_every_address_with_bounds_and_examples(client):
    found = client.get("/openapi.json").json()
    listed = [f"{way} {path[5:]}" for path, ways in found["paths"].items() for way in ways]
    posts = ["post move", "post analysis", "post verdicts", "post games"]
    gets = ["get games", "get games/{id}", "get agents"]
    of_one = ["get agents/{id}", "get growth/{id}", "get certificates/{id}"]
    assert listed == [*posts, *gets, *of_one]
    for ways in found["paths"].values():
        for way in ways.values():
            assert way["responses"]["503"]["headers"]["Retry-After"]["required"] is True
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
    threads, release = Threads(1, 2, pause=0), threading.Event()

    async def crowd():
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(threads.run, release.wait)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(BusyError, match="2 requests are waiting already"):
                await threads.run(print)
            release.set()

    anyio.run(crowd)
    monkeypatch.setattr(Processes, "run", Mock(side_effect=BusyError("try again")))
    heavy = {**MOVE, "agent": "mcts-playouts=1000", "board": LARGE}
    answer = client.post("/api/move", json=heavy)
    assert (answer.status_code, answer.json()) == (503, {"error": "try again"})
    assert answer.headers["retry-after"] == "1"
    assert ask(client, "move", **MOVE)["cell"] == 4
    assert ask(client, "verdicts", board=SQUARE, moves=X_WINS)["verdicts"]


SCHEDULE = [  # what is asked; whether it waits for a place among heavy requests
    ("POST move", MOVE, False),
    ("POST move", {**MOVE, "agent": "mcts-playouts=50"}, False),
    ("POST move", {**MOVE, "agent": "mcts-playouts=1000"}, True),
    ("POST move", {**MOVE, "board": SMALL, "moves": [], "agent": "runs/dqn-0"}, False),
    ("POST move", {**MOVE, "board": LARGE, "agent": "random"}, False),
    ("POST move", {**MOVE, "board": LARGE, "agent": "search-depth=1"}, True),
    ("POST move", {**MOVE, "thinker": "search"}, True),
    ("POST analysis", {"board": SQUARE, "moves": [0], "agent": "minimax", "truth": True}, False),
    ("POST analysis", {"board": WIDE, "moves": [0], "truth": True}, True),
    ("POST verdicts", {"board": SQUARE, "moves": X_WINS}, False),
    ("POST verdicts", {"board": WIDE, "moves": [0, 4, 1, 5, 2]}, True),
    ("POST verdicts", {**RESIGNED, "board": LARGE}, False),
    ("GET agents", {}, False),
    ("GET games", {}, False),
    ("GET agents/minimax", {}, True),
    ("GET ../static/app.js", {}, False),
]


@pytest.mark.parametrize(("asked", "content", "is_heavy"), SCHEDULE, ids=str)
def test_only_heavy_requests_wait_for_heavy_ones(gallery, tmp_path, asked, content, is_heavy):
    method, path = asked.split()
    with GameStore(tmp_path / "games.db") as store:
        full = Threads(1, 0, pause=0)  # no place
        app = server.application(store, gallery, heavy=full)
        with TestClient(app, "http://127.0.0.1") as client:
            answer = client.request(method, f"/api/{path}", json=content)
    assert answer.status_code == (503 if is_heavy else 200), answer.text
    if is_heavy:
        assert "requests are waiting already" in answer.json()["error"]


def test_what_another_process_finds_broken_is_listed_as_broken(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    forged = certify(RandomPolicy(), "dqn", Rules(**SMALL))
    forged["as_x"]["worst_case_loss"] = 0.5
    # The list does not compute every result.
    (folder / "forged.json").write_text(json.dumps(forged))
    for client in client_of(tmp_path, Gallery([folder])):
        listed = client.get("/api/agents").json()["agents"][-1]
        assert (listed["name"], listed["broken"]) == ("forged.json", False)
        for _ in range(2):
            shown = client.get("/api/agents/models/forged.json").json()
            assert (shown["broken"], shown["certificate"]) == (True, None)
            assert shown["reason"].startswith("models/forged.json is broken: as_x.worst_case")
        assert client.get("/api/agents").json()["agents"][-1]["broken"]
        write(certify(RandomPolicy(), "dqn", Rules(**SMALL)), folder / "forged.json")
        shown = client.get("/api/agents/models/forged.json").json()
        assert (shown["broken"], shown["certificate"]["unbeatable"]) == (False, False)


def test_the_list_of_many_runs_comes_in_parts_and_one_run_without_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "SCAN_SECONDS", 0)
    content = certify(RandomPolicy(), "dqn", Rules(**SMALL))
    for number in range(4):
        folder = tmp_path / "runs" / f"dqn-{number}"
        folder.mkdir(parents=True)
        write(content, folder / "certificate.json")
    for client in client_of(tmp_path, Gallery([tmp_path / "runs"])):
        move = {"board": SMALL, "moves": [], "agent": "runs/dqn-3"}
        assert ask(client, "move", **move)["cell"] in range(6)
        answers = [client.get("/api/agents").json() for _ in range(4)]
        assert [answer["unread"] for answer in answers] == [2, 1, 0, 0]
        names = [agent["name"] for agent in answers[0]["agents"][-2:]]
        assert names == ["dqn-0", "dqn-3"]
        assert ask(client, "move", 404, **{**move, "agent": "runs/dqn-4"})


def test_the_server_reads_all_certificates_from_its_start_on(tmp_path, gallery, monkeypatch):
    monkeypatch.setattr(api, "SCAN_SECONDS", 0)
    fresh = Gallery(gallery.folders)
    with GameStore(tmp_path / "games.db") as store:
        anyio.run(api.Api(store, fresh).begin)
    assert fresh.unread() == []
    assert fresh.known("runs/dqn-0") == gallery.entry("runs/dqn-0")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
def test_a_pipe_among_the_runs_keeps_nobody_waiting(tmp_path):
    (tmp_path / "runs" / "pipe").mkdir(parents=True)
    os.mkfifo(tmp_path / "runs" / "pipe" / "certificate.json")
    for client in client_of(tmp_path, Gallery([tmp_path / "runs"])):
        assert client.get("/api/agents").json()["agents"][-1]["broken"]
        assert "pipe" in client.get("/api/agents/runs/pipe").json()["reason"]
        move = {**MOVE, "agent": "runs/pipe"}
        assert "runs/pipe is broken" in ask(client, "move", 400, **move)["error"]
        assert ask(client, "move", **MOVE)["cell"] == 4


def test_the_last_players_are_kept_and_the_oldest_made_anew(gallery, monkeypatch):
    monkeypatch.setattr(work, "KEPT", 2)
    kept, ids = Work(gallery), ("random", "minimax", "random", "search-depth=1")
    seats = [kept.seat(gallery.entry(id), Rules()) for id in ids]
    ready = [kept.ready(gallery.entry(id), Rules()) for id in ids]
    assert ready == [seats[0], None, seats[0], seats[3]]


def test_a_request_that_is_computed_when_the_server_ends_is_told_so(tmp_path, gallery):
    sent, scope = [], {"type": "http", "method": "GET", "path": "/api/agents/minimax"}
    scope |= {"headers": [(b"host", b"127.0.0.1")], "query_string": b"", "root_path": ""}

    async def send(message):
        sent.append(message)

    async def test():
        begun, lane = asyncio.Event(), Threads(1, 1)

        async def endless(*asked):
            begun.set()
            await anyio.sleep_forever()

        lane.run = endless
        app = server.application(store, gallery, lane, readers=Threads(1, 1))
        task = asyncio.ensure_future(app(scope, None, send))
        await begun.wait()
        task.cancel()
        await task

    with GameStore(tmp_path / "games.db") as store:
        asyncio.run(test())
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["error"].startswith("the server has been ended")


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
    with pytest.raises(SystemExit, match="2"):
        server.main(["--port", "99999"])
    error = capsys.readouterr().err
    assert "a whole number from 0 to 65535, got '99999'" in error
    assert error.count("\n") == 1


def test_the_server_starts_without_torch():
    heavy = "{'torch', 'stable_baselines3', 'matplotlib', 'rich'}"
    program = (
        f"import sys, web.server; assert not {heavy} & {{n.split('.')[0] for n in sys.modules}}"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=ROOT, check=True)


def test_the_page_shows_players_in_the_same_groups_as_the_terminal():
    words = (Path(api.__file__).parent / "static" / "words.js").read_text()
    listed = words.split("export const GROUPS = [")[1].split("];")[0]
    assert re.findall(r'\[\s*"(\w+)",\s*"([^"]+)",\s*"[^"]+",?\s*\]', listed) == [*GROUPS.items()]
