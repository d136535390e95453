"""The JSON interface and the server of the page, without a browser.

tests/fuzz/fuzz_requests.py draws requests that are not as /openapi.json describes them.
"""

import asyncio
import json
import re
import signal
import socket
import subprocess
import urllib.request
from time import monotonic, sleep
from unittest.mock import Mock

import numpy as np
import pytest
import uvicorn
from sample_players import CellPlayer
from serving import serving
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient
from text_cases import refuses

from apps.players.gallery import Gallery
from apps.web import api, demo, server, work
from apps.web.live import LiveTraining, Question
from apps.web.work import BusyError, Processes
from tictactoe_env.certificates.certificate import certify, read, write
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.games.game import Game, Participant
from tictactoe_env.games.store import GameStore
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules
from training.metrics import COLUMNS, write_metrics
from training.values import OwnValues, Scale, checked, write_values

SQUARE = {"rows": 3, "cols": 3, "k": 3}
SMALL = {"rows": 2, "cols": 3, "k": 2}
WIDE = {"rows": 3, "cols": 4, "k": 3}
FALLS = {"rows": 4, "cols": 3, "k": 3, "gravity": True}
LARGE = {"rows": 5, "cols": 5, "k": 4}
X_WINS, DRAWN = [0, 3, 1, 4, 2], [4, 0, 8, 2, 1, 7, 3, 5, 6]
MOVE = {"board": SQUARE, "moves": [0], "agent": "minimax"}
GAME = {"board": SQUARE, "moves": X_WINS, "x": "human", "o": "minimax"}
STUBBORN = "models/stubborn.json"
JSON = {"content-type": "application/json"}


def run_in(folder, policy):
    """The folder of a new run on the small board."""
    run = folder / "runs" / "dqn-0"
    write(certify(policy, "dqn", Rules(**SMALL), seed=7), run / "certificate.json")
    return run


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """STUBBORN, which always marks a1, taken or not; runs/dqn-0; a broken certificate."""
    folder, rules = tmp_path_factory.mktemp("gallery"), Rules(**SMALL)
    write(certify(CellPlayer(0), "dqn", rules), folder / STUBBORN)
    run, shape = run_in(folder, RandomPolicy()), positions_of(rules)
    values = np.where(np.arange(6) == 3, np.nan, 0.25) * np.ones((len(shape.unfinished), 1))
    known = shape.ply[shape.unfinished] != 1
    own = checked(OwnValues(values, Scale("a guess", 0.0, 2.0), known), rules)
    write_values(own, read(run).sha256_of_moves, run / "values.npz")
    (folder / "models" / "broken.json").write_text("{")
    found = Gallery([folder / "models", folder / "runs"])
    found.entries()  # a request reads certificates for a moment only
    return found


class Here(Processes):
    """No process: heavy work is done at once."""

    async def run(self, function, *asked):
        return function(*asked)


def client_of(folder, gallery, processes=None):
    """A client with its own store. It checks the headers of every answer."""
    with GameStore(folder / "games.db") as store:
        app = server.application(store, gallery, processes or Here(), Rules(**FALLS))
        with TestClient(app, "http://127.0.0.1", raise_server_exceptions=False) as client:
            client.event_hooks["response"].append(check)
            client.store = store
            yield client


def check(answer):
    """Check the headers of an answer of the page or the interface."""
    if answer.headers["content-type"].startswith("text/plain"):
        return
    policy = set(answer.headers["content-security-policy"].split("; "))
    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


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


ENDLESS = {"board": LARGE, "moves": [0]}
TOO_LARGE = "5x5, 4 in a row is too large to solve, with more than 16 cells"
ON_SMALL = {"board": SMALL, "moves": [4], "agent": "runs/dqn-0"}
RESIGNED = {"moves": [4], "ended": "resigned", "result": "X"}
ONLY_CENTRE = {"ply": 1, "threw_away": True, "best": [4]}  # X a1, O a2
ALPHAZERO = {"board": {"rows": 4, "cols": 4, "k": 4}, "agent": "alphazero", "moves": []}
WINS_ON_FALLS = {"board": FALLS, "agent": "search-depth=1", "moves": [9, 6, 10, 3]}
ANSWERS = [  # what is asked; what is sent; values in the answer by the names that lead to them
    ("GET agents", {}, {"agents -1 id": "runs/dqn-0", "boards 0": SQUARE, "boards -1": SMALL}),
    ("GET agents", {}, {"boards -2": FALLS}),  # that of the command line
    ("GET agents/minimax", {}, {"certificate as_x vs_minimax draw": 1}),
    ("GET agents/runs/dqn-0", {}, {"certificate as_o losing_line": ["a1", "b1", "a2"]}),
    ("GET agents/models/broken.json", {}, {"broken": True, "certificate": None}),
    ("GET games", {}, {"games": [], "count": 0, "next": None}),
    ("POST analysis", {"moves": [0], "truth": True}, {"truth position": {"value": 0, "plies": 8}}),
    ("POST analysis", {**ENDLESS, "truth": True}, {"truth": None, "unknown": TOO_LARGE}),
    ("POST analysis", {"moves": [0, 4], "agent": "search"}, {"thoughts kinds 1": "expected"}),
    ("POST analysis", ON_SMALL, {"thoughts values": [0.25, 0.25, 0.25, None, None, 0.25]}),
    ("POST analysis", ON_SMALL, {"thoughts": {"kind": "own", "scale": [0, 2], "new": True}}),
    ("POST analysis", {**ENDLESS, "agent": "search-depth=1"}, {"thoughts kinds": ["own"]}),
    ("POST verdicts", {"moves": X_WINS}, {"verdicts 1": ONLY_CENTRE, "verdicts 2 best": [1, 2, 4]}),
    ("POST verdicts", {"moves": [0, 0], "ended": "illegal"}, {"verdicts 0 text": "keeps the draw"}),
    ("POST verdicts", {**RESIGNED, "board": LARGE}, {"verdicts": None, "unknown": TOO_LARGE}),
    ("POST move", MOVE, {"cell": 4}),
    ("POST move", {**MOVE, "board": SMALL, "agent": STUBBORN}, {"cell": 0}),
    ("POST move", ALPHAZERO, {"cell": 3}),
    ("POST move", WINS_ON_FALLS, {"cell": 11}),
]


@pytest.mark.parametrize(("asked", "content", "facts"), ANSWERS, ids=str)
def test_a_valid_request_is_answered_with_what_is_known(client, asked, content, facts):
    method, path = asked.split()
    sent = {"json": {"board": SQUARE, **content}} if content else {}
    answer = client.request(method, f"/api/{path}", **sent)
    assert answer.status_code == 200
    for names, value in facts.items():
        found = answer.json()
        for name in names.split():
            found = found[int(name) if isinstance(found, list) else name]
        if isinstance(value, dict):
            found = {name: found[name] for name in value}
        assert found == value


def test_a_seed_makes_the_same_move_and_draws_anew_for_each_move_of_a_game(client):
    def cell(seed=None, moves=(4,)):
        return ask(client, "move", board=SQUARE, moves=moves, agent="random", seed=seed)["cell"]

    assert cell(3) == cell(3)
    assert len({cell(seed) for seed in range(20)}) > 4
    assert len({(cell(seed, []), cell(seed, [0, 1])) for seed in range(10)}) > 4


def test_moves_are_judged_in_one_kind_of_games_after_the_other(client, monkeypatch):
    pytest.importorskip("bitbully")
    monkeypatch.setattr(work, "JUDGED", 2)
    answers = [client.get("/api/accuracy/search-depth=1").json() for _ in range(4)]
    found = [(len(answer["tables"]), answer["left"]) for answer in answers]
    assert found == [(1, 2), (2, 1), (3, 0), (3, 0)]
    assert "can be beaten as X" in answers[-1]["verdict"]


def test_a_certificate_is_a_file_to_keep_and_a_run_shows_how_it_grew(tmp_path):
    folder = run_in(tmp_path, RandomPolicy())
    rows = [{**dict.fromkeys(COLUMNS, 0), "steps": steps} for steps in (0, 10)]
    for client in client_of(tmp_path, Gallery([tmp_path / "runs"])):
        sent = client.get("/api/certificates/runs/dqn-0")
        assert sent.json() == read(folder).to_json()
        assert '"runs-dqn-0.json"' in sent.headers["content-disposition"]
        write_metrics(folder / "metrics.csv", rows)
        steps = client.get("/api/agents/runs/dqn-0").json()["steps"]
        assert [step["steps"] for step in steps] == [0, 10]


def test_a_finished_game_is_kept_with_who_played(keeper, gallery):
    def kept(**content):
        return keeper.store.get(ask(keeper, "games", **{**GAME, **content})["id"])

    game = kept(side="X", seed=5)
    assert (str(game.x), str(game.o), game.origin) == ("human:human", "agent:minimax", "web")
    assert (game.side, game.seed, list(game.moves)) == ("X", 5, X_WINS)
    game = kept(board=SMALL, moves=[0, 0], ended="illegal", o=STUBBORN)
    run = ("run", STUBBORN, gallery.entry(STUBBORN).sha256)
    assert (game.o.kind, game.o.name, game.o.source, game.result) == (*run, "X")
    resigned = {"moves": [4, 0], "ended": "resigned", "result": "O"}
    answer = ask(keeper, "games", **{**GAME, **resigned})
    assert answer == {"id": 3, "learned": {}}
    found = {**resigned, "cells": [4, 0], "moves": "b2 a1", "board": SQUARE}
    assert keeper.get("/api/games/3").json().items() >= found.items()


def test_games_are_listed_newest_first_without_those_of_training(keeper):
    for number, o in enumerate(["minimax"] * 2 + ["random"] * 3):
        ask(keeper, "games", **{**GAME, "moves": (DRAWN, X_WINS)[number % 2], "o": o})
    keeper.store.add(Game(moves=tuple(X_WINS), origin="training"))
    keeper.store.add(Game(x=Participant("human", "Ann"), moves=tuple(X_WINS), origin="human"))

    def listed(query):
        answer = keeper.get(f"/api/games?{query}").json()
        return [game["id"] for game in answer["games"]], answer["count"], answer["next"]

    assert listed("limit=3") == ([7, 5, 4], 6, 4)
    assert listed("limit=3&before=4") == ([3, 2, 1], 6, 1)
    assert listed("search=Perfect PLAY") == ([2, 1], 2, None)
    assert listed("search=ann") == listed("search=Ann&people=true") == ([7], 1, None)
    assert listed("people=false") == ([], 0, None)


BAD_MOVES = [  # changes to MOVE, and what the error names
    ({"moves": [0, 0]}, "a1 is taken"),
    ({"moves": X_WINS}, "XXX/OO./..."),
    ({"agent": "runs/dqn-0"}, "2x3"),
    ({"board": SMALL, "agent": "models/broken.json"}, "models/broken.json"),
    ({"values": "onw"}, "'onw'"),
    ({"board": FALLS, "moves": [8]}, "c3"),
]
REFUSED = [
    *[("POST move", {**MOVE, **change}, 400, mention) for change, mention in BAD_MOVES],
    ("POST games", {**GAME, "moves": [0]}, 400, "'a1'"),
    *[("POST move", {**MOVE, "agent": id}, 404, repr(id)) for id in ("/etc/passwd", "\ud800")],
    ("POST games", {**GAME, "o": "nobody"}, 404, "'nobody'"),
    ("POST move", b"{", 400, "JSON"),
    ("POST move", (b" " * 1_000 for _ in range(100)), 413, ""),
    ("POST training", {"id": 1, "seed": 0, "moves": [0, 0]}, 400, "a1"),
    ("GET games/1", b"", 404, "1"),
    ("GET agents/nobody", b"", 404, "'nobody'"),
    ("GET accuracy/trie", b"", 400, "6x7"),
    ("GET certificates/models/broken.json", b"", 400, "models/broken.json"),
    ("GET move", b"", 405, ""),
    ("GET ../static/..%2fserver.py", b"", 404, ""),
]


@pytest.mark.parametrize(("asked", "content", "status", "mention"), REFUSED, ids=lambda _: "")
def test_a_bad_request_is_refused_and_the_error_names_what_is_wrong(
    client, asked, content, status, mention
):
    method, path = asked.split()
    body = json.dumps(content).encode() if isinstance(content, dict) else content
    answer = client.request(method, f"/api/{path}", content=body, headers=JSON)
    assert (answer.status_code, answer.headers["content-type"]) == (status, JSON["content-type"])
    assert mention in answer.json()["error"]
    assert client.store.count() == 0
    assert status != 405 or method not in answer.headers["allow"].split(", ")


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/static/app.js"])
def test_this_machine_may_be_called_by_its_own_names_only(client, path):
    for host in ("127.0.0.1", "[::1]:8000", "localhost:9", "", "127.0.0.1.evil", "evil:8000"):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == (400 if "evil" in host or not host else 200)


OURS = [
    {},
    {"sec-fetch-site": "none"},
    {"host": "[::1]:8000", "origin": "http://[::1]:8000", "sec-fetch-site": "same-origin"},
]
OTHERS = [  # the headers of browsers for a page of another origin
    *[{"origin": origin} for origin in ("null", "http://127.0.0.1:8001")],
    {"sec-fetch-site": "same-site"},
    {"origin": "http://127.0.0.1", "sec-fetch-site": "cross-site"},
    {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
]


@pytest.mark.parametrize("headers", [*OURS, *OTHERS], ids=str)
def test_the_interface_is_for_the_page_itself_and_programs_only(client, headers):
    answers = [client.get(f"/api/{path}", headers=headers) for path in ("games", "nothing")]
    for method in ("POST", "OPTIONS"):
        answers.append(client.request(method, "/api/move", json=MOVE, headers=headers))
    if headers in OTHERS:
        answers.append(client.post("/api/games", json=GAME, headers=headers))
    found = {answer.status_code for answer in answers}
    assert found == ({403} if headers in OTHERS else {200, 404, 405})
    assert client.store.count() == 0
    assert client.get("/games/1", headers=headers).status_code == 200  # links may stand anywhere


def test_a_text_is_drawn_as_a_code(client):
    picture = client.get("/api/code", params={"text": "https://a.b"})
    assert picture.headers["content-type"] == "image/svg+xml"
    assert 'viewBox="0 0 29 29"' in picture.text  # 21 modules and a margin
    assert client.get("/api/code", params={"text": "x" * 1_001}).status_code == 400


def test_every_address_of_the_page_sends_the_page_which_says_if_it_is_none(client):
    pages = ("/", "/learn", "/games", "/games/17", "/agents", "/agents/runs/dqn-0")
    for path in (*pages, "/nowhere", "/docs"):
        answer, status = client.get(path), (200 if path in pages else 404)
        assert answer.status_code == client.head(path).status_code == status
        assert answer.headers["content-type"].startswith("text/html")
        assert '<main id="main"' in answer.text
        assert not re.search(r"<script(?![^>]*src=)|<style|\s(style|on[a-z]+)=|//", answer.text)


def test_the_page_without_a_server_is_one_small_file_that_loads_nothing(tmp_path):
    demo.write(tmp_path / "demo.html")
    text = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    assert re.findall('<(?:script|link)[^>]*(?:src|href)="(?!data:)', text) == []


def test_one_network_is_trained_at_a_time_for_those_who_ask_until_nobody_does():
    live = LiveTraining(idle_seconds=1)
    first = live.ask(1, None, seed=7, question=Question(False, [4]))
    assert (first["steps"], len(first["cells"]), first["probs"][4]) == (0, 4_520, None)
    trained = live.ask(1, None, seed=7, question=Question(True, [4]))
    assert trained["steps"] == 4_096
    assert trained["cells"] != first["cells"]
    with refuses("somebody else", error=BusyError):
        live.ask(2, None, seed=7, question=Question(False, [4]))
    assert live.ask(2, 1, seed=7, question=Question(False, [4])) == first
    deadline = monotonic() + 30
    while live.is_running and monotonic() < deadline:
        sleep(0.1)
    assert not live.is_running


@pytest.fixture(scope="module")
def crowded(tmp_path_factory, gallery):
    """A client of a server that has no place for another heavy request."""
    yield from client_of(tmp_path_factory.mktemp("crowded"), gallery, Processes(waiting=0))


SCHEDULE = [  # what is asked; whether it waits for a place among heavy requests
    ("POST move", MOVE, False),
    ("POST move", {**MOVE, "agent": "mcts-playouts=1000"}, True),
    ("POST move", {**MOVE, "board": WIDE, "agent": "minimax-slip=0.1"}, True),
    ("POST analysis", {"board": WIDE, "moves": [0], "truth": True}, True),
    ("POST verdicts", {"board": WIDE, "moves": [0, 4, 1, 5, 2]}, True),
    ("GET agents", {}, False),
    ("GET agents/minimax", {}, True),
]


@pytest.mark.parametrize(("asked", "content", "is_heavy"), SCHEDULE, ids=str)
def test_only_heavy_requests_wait_for_heavy_ones(crowded, asked, content, is_heavy):
    method, path = asked.split()
    answer = crowded.request(method, f"/api/{path}", json=content)
    assert answer.status_code == (503 if is_heavy else 200), answer.text
    assert is_heavy == ("retry-after" in answer.headers)


def test_a_store_that_cannot_be_used_is_told_and_play_goes_on(keeper):
    keeper.store.close()
    for method, path in (("GET", "games"), ("GET", "games/1"), ("POST", "games")):
        answer = keeper.request(method, f"/api/{path}", json=GAME)
        assert (answer.status_code, "closed" in answer.json()["error"]) == (503, True)
    assert ask(keeper, "move", **MOVE)["cell"] == 4


def test_a_failure_of_the_server_shows_no_traceback(client, monkeypatch):
    monkeypatch.setattr(api.work, "move", Mock(side_effect=ZeroDivisionError))
    answer = client.post("/api/move", json=MOVE)
    assert (answer.status_code, "ZeroDivision" in answer.text) == (500, False)


HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
HALVES = (b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\n{", HEAD + b"\r\n" + HEAD)


def test_connections_without_a_whole_request_are_closed_and_then_others_are_answered(monkeypatch):
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.1)

    async def slow(request):
        await request.body()
        await asyncio.sleep(0.3)  # an answer may take longer than a request
        return Response("answered")

    async def answer(address, sent):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(sent)
        found = await reader.read()  # until the server closes the connection
        writer.close()
        return found

    async def test():
        running = uvicorn.Server(server.settings(Starlette(routes=[Route("/", slow)])))
        with socket.create_server((server.HOST, 0)) as listening:
            serving = asyncio.create_task(running.serve([listening]))
            address = listening.getsockname()
            sent = (HALVES * server.MOST_CONNECTIONS)[: server.MOST_CONNECTIONS]
            halves = asyncio.gather(*(answer(address, half) for half in sent))
            await asyncio.wait_for(halves, 30)
            found = await answer(address, HEAD + b"Connection: close\r\n\r\n")
            running.should_exit = True
            await serving
        return found

    assert asyncio.run(test()).endswith(b"answered")


def test_the_program_serves_on_this_machine_only_and_ends_cleanly(tmp_path):
    def heed_interrupts():  # a process in the background ignores them
        signal.signal(signal.SIGINT, signal.default_int_handler)

    settings = {"stderr": subprocess.PIPE, "preexec_fn": heed_interrupts}
    with serving(tmp_path, **settings) as (process, address):
        content = json.dumps(MOVE).encode()
        request = urllib.request.Request(f"{address}/api/move", content, JSON)
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["cell"] == 4
        with urllib.request.urlopen(f"{address}/api/agents/minimax") as answer:
            assert json.load(answer)["certificate"]["unbeatable"]  # proven in another process
        port = address.rpartition(":")[2]
        with refuses(port):
            server.serve(tmp_path / "other.db", int(port))
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1] == ""
        assert process.returncode == 0
