"""The JSON interface and the server of the page, without a browser.

tests/fuzz/fuzz_requests.py draws requests that are not as /openapi.json describes them.
"""

import asyncio
import io
import json
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep
from unittest.mock import Mock

import numpy as np
import pytest
import segno
import uvicorn
from consoles import printed
from rich.console import Console
from sample_players import CellPlayer
from serving import serving
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient
from text_cases import refuses

from apps.players.gallery import Gallery
from apps.web import api, demo, network, server, work
from apps.web.live import LiveTraining, Question
from apps.web.work import BusyError, Processes
from benchmarks import phones
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

    async def run(self, function, *asked, is_known=None):
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
    """Check the headers of an answer, unless the server has failed."""
    if answer.status_code == 500:
        return
    policy = set(answer.headers["content-security-policy"].split("; "))
    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


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


OWN_NAMES = ("127.0.0.1", "[::1]:8000", "localhost:9", "LOCALHOST", "localhost.")
CALLED = [  # where it listens, to which address a request is sent, by which names it may be called
    ("127.0.0.1", "127.0.0.1", OWN_NAMES),
    ("127.0.0.2", "127.0.0.2", ("127.0.0.2:8000", *OWN_NAMES)),
    ("192.168.1.5", "192.168.1.5", ("192.168.1.5:8000", "192.168.1.5")),
    ("fd00::5", "[fd00::5]", ("[fd00::5]:8000", "[FD00:0::5]", "[fd00::5%eth0]")),
    ("laptop.local", "192.168.1.5", ("laptop.local:8000", "Laptop.local.", "192.168.1.5")),
    ("0.0.0.0", "192.168.1.5", ("192.168.1.5:8000", "laptop.local:80", "laptop", *OWN_NAMES)),
    ("::", "[::ffff:192.168.1.5]", ("192.168.1.5:8000", "laptop.local", *OWN_NAMES)),
]
NOBODY = ("", "127.0.0.1.evil", "evil:8000", "evil@127.0.0.1", "127.0.0.1:80:80", "1.2.3.4", "[")


@pytest.mark.parametrize(("host", "address", "names"), CALLED, ids=lambda one: str(one)[:12])
def test_the_server_may_be_called_by_its_own_names_only(client, monkeypatch, host, address, names):
    monkeypatch.setattr(socket, "gethostname", lambda: "Laptop")
    bound = host if host in network.EVERY else address.strip("[]")
    app = server.application(client.store, names=network.names_of(host, bound))
    called = TestClient(app, f"http://{address}")
    for path in ("/", "/openapi.json", "/static/app.js"):
        for name in (*names, *NOBODY):
            answer = called.get(path, headers={"host": name})
            assert answer.status_code == (400 if name in NOBODY else 200), name


LOCAL, REMOTE = "http://127.0.0.1", "http://192.168.1.5:8000"
OURS = [  # where a request is sent, its headers
    (LOCAL, {}),
    (LOCAL, {"sec-fetch-site": "none"}),
    (LOCAL, {"host": "[::1]:8", "origin": "http://[::1]:8", "sec-fetch-site": "same-origin"}),
    (REMOTE, {"origin": REMOTE}),
    (REMOTE, {"referer": f"{REMOTE}/games"}),
]
MAPPED = "http://[::ffff:127.0.0.1]"
OTHERS = [  # those of browsers for a page of another origin, and of programs without a name
    *[(LOCAL, {"origin": origin}) for origin in ("null", "http://127.0.0.1:8001")],
    (LOCAL, {"sec-fetch-site": "same-site"}),
    (LOCAL, {"origin": "http://127.0.0.1", "sec-fetch-site": "cross-site"}),
    (LOCAL, {"origin": "http://evil.example", "sec-fetch-site": "same-origin"}),
    *[(REMOTE, {"origin": origin}) for origin in ("null", LOCAL, "https://192.168.1.5:8000")],
    *[(to, {}) for to in (REMOTE, MAPPED, "http://127.0.0.2", "http://localhost.")],
    *[(REMOTE, {"referer": page}) for page in ("http://evil.example/", f"{REMOTE}1/", REMOTE)],
]


@pytest.mark.parametrize("asked", [*OURS, *OTHERS], ids=str)
def test_the_interface_is_for_the_page_itself_and_programs_only(client, asked):
    to, headers = asked

    def codes(method, *paths):
        sent = {"json": MOVE} if method == "POST" else {}
        found = [client.request(method, f"{to}{path}", headers=headers, **sent) for path in paths]
        return {answer.status_code for answer in found}

    is_ours = asked in OURS
    assert codes("GET", "/api/games", "/api/nothing") == ({200, 404} if is_ours else {403})
    assert codes("POST", "/api/move") == ({200} if is_ours else {403})
    assert codes("OPTIONS", "/api/move") == ({405} if is_ours else {403})
    if not is_ours:
        assert client.post(f"{to}/api/games", json=GAME, headers=headers).status_code == 403
    assert client.store.count() == 0
    assert codes("GET", "/games/1") == {200}  # links may stand anywhere


def test_nobody_can_change_delete_or_train_what_the_owner_has(client):
    described = client.get("/openapi.json").json()["paths"]
    found = {(method, path) for path, methods in described.items() for method in methods}
    changing = {path for method, path in found if method not in ("get", "post")}
    posts = {path for method, path in found if method == "post"}
    keep_nothing = {"/api/move", "/api/analysis", "/api/verdicts", "/api/training"}
    assert (changing, posts - keep_nothing) == (set(), {"/api/games"})  # which adds a game


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
LAST = HEAD + b"Connection: close\r\n\r\n"
LARGE_ANSWER = bytes(12_000_000)  # more than the buffers of the system hold


def with_server(answer, ask):
    """What `ask(address, running)` returns while a server gives this answer."""

    async def slow(request):
        await request.body()
        await asyncio.sleep(0.3)  # an answer may take longer than a request
        return Response(answer)

    async def test():
        running = uvicorn.Server(server.settings(Starlette(routes=[Route("/", slow)])))
        with network.listen(server.HOST, 0) as listening:
            serving = asyncio.create_task(running.serve([listening]))
            found = await asyncio.wait_for(ask(listening.getsockname(), running), 30)
            running.should_exit = True
            await serving
        return found

    return asyncio.run(test())


async def answered(address, sent, pause=0.0):
    """The answer to a request, of which a part is read after each pause."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(sent)
    found = bytearray()
    while part := await reader.read(200_000):
        found += part
        await asyncio.sleep(pause)
    writer.close()
    return found


@pytest.mark.parametrize("patience", [0.5, 60])
def test_connections_without_a_whole_request_take_no_place_from_others(monkeypatch, patience):
    """Their deadline ends them, and others that come before it."""
    monkeypatch.setattr(server, "PATIENCE", patience)

    async def ask(address, running):
        halves = HALVES * (server.MOST_CONNECTIONS // 3)
        asking = asyncio.gather(*(answered(address, half) for half in halves))
        if patience < 1:
            await asking
        else:
            await asyncio.sleep(1)
        assert len(running.server_state.connections) <= server.MOST_CONNECTIONS
        found = await answered(address, LAST)
        asking.cancel()
        return found

    assert with_server(b"answered", ask).endswith(b"answered")


def test_clients_that_ask_and_read_nothing_are_closed_and_slow_ones_are_not(monkeypatch):
    monkeypatch.setattr(server, "PATIENCE", 1)

    async def ask(address, running):
        found = await answered(address, LAST, pause=0.03)  # takes longer than the patience
        deaf = [socket.create_connection(address) for _ in range(9)]
        for number, one in enumerate(deaf):
            one.sendall((LAST, HEAD + b"\r\n", 40 * (HEAD + b"\r\n"))[number % 3])
        while len(running.server_state.connections) < len(deaf):
            await asyncio.sleep(0.1)
        while running.server_state.connections:
            await asyncio.sleep(0.1)
        for one in deaf:
            one.close()
        return found

    assert with_server(LARGE_ANSWER, ask).endswith(LARGE_ANSWER)


def test_the_address_with_most_connections_makes_place_with_the_one_that_is_silent_for_longest():
    def connection(address, time=None, is_closing=False):
        deadline = None if time is None else Mock(when=lambda: time)
        transport = Mock(is_closing=lambda: is_closing)
        return Mock(address=address, deadline=deadline, transport=transport)

    phone = [connection("192.168.1.6", 1)]
    greedy = [connection("192.168.1.7", *rest) for rest in ((), (3,), (2,), (0, True))]
    assert server.one_too_many({*phone, *greedy}) is greedy[2]


@pytest.mark.parametrize(
    ("host", "pages"),
    [
        ("127.0.0.1", []),
        ("localhost", []),
        ("0.0.0.0", ["http://192.168.1.5:"]),
        ("::", ["http://192.168.1.5:", "http://[fd00::5]:"]),
    ],
)
def test_the_addresses_for_others_are_told_and_the_first_is_that_of_the_page(
    tmp_path, monkeypatch, capsys, host, pages
):
    """Where the page is for others, so is what they can do."""
    apps = []
    monkeypatch.setattr(network, "reachable", lambda: ["192.168.1.5", "fd00::5"])
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: apps.append(self.config.app))
    server.serve(tmp_path / "games.db", 0, Rules(**WIDE), host)
    told = capsys.readouterr().out
    assert re.findall("http://(?:192|.fd)[^ ]+:", told) == pages
    assert ("Nothing is encrypted" in told) == bool(pages)
    shared = TestClient(apps[0], "http://127.0.0.1").get("/api/agents").json()["shared"]
    assert shared.startswith(pages[0]) if pages else shared == ""


def test_a_code_is_black_on_white_and_nothing_without_colours():
    text = printed(network.show_code, "http://192.168.1.5:8000/", force_terminal=True)
    assert text == ""
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=80)
    network.show_code("http://192.168.1.5:8000/", console)
    lines = re.findall("\x1b\\[38;2;0;0;0;48;2;255;255;255m([ ▀▄█]+)\x1b", console.file.getvalue())
    dark = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
    halves = [[[dark[one][half] for one in line] for line in lines] for half in (0, 1)]
    rows = [row for pair in zip(*halves, strict=True) for row in pair]
    code = segno.make_qr("http://192.168.1.5:8000/")
    assert rows[:-1] == [list(row) for row in code.matrix_iter(border=4)]


def test_the_program_serves_and_ends_cleanly(tmp_path):
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
        assert phones.check(address, phones=2, think=0) == 0
        port = address.rpartition(":")[2]
        for other, host in ((port, server.HOST), ("203.0.113.7", "203.0.113.7"), ("''", "")):
            with refuses(other):
                server.serve(tmp_path / "other.db", int(port), host=host)
        with socket.create_connection(("127.0.0.1", port)) as phone:
            phone.sendall(b"\x16\x03\x01\x02\x00\r\n\r\n")  # it tries https
            assert b"400" in phone.recv(1_000)
        slow = json.dumps({**MOVE, "board": LARGE, "agent": "search-seconds=30"})
        request = urllib.request.Request(f"{address}/api/move", slow.encode(), JSON)
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(urllib.request.urlopen, request)
            sleep(1)  # it is asked by then
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60)[1] == ""
            assert process.returncode == 0
            with pytest.raises(urllib.error.HTTPError, match="503"):
                waiting.result()
    assert phones.check(address, phones=2, think=0) == 1  # nobody answers now
