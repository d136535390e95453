"""The page's server: drawn requests, other pages, silent and slow sockets, load, and Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from attack.campaign import Case, Report, repeat
from attack.malformed import GETS, POSTS, for_files, malformed
from attack.served import (
    DESCRIPTORS,
    PATIENCE,
    Server,
    ended,
    sent,
    serving,
    wrong_in,
)
from benchmarks.web import cheap_among_heavy, p99_of, post
from web.requests import EXAMPLES

REQUESTS, AT_ONCE = 192, 32  # malformed requests of a case, and how many of them at once
FOREIGN_REQUESTS = 64
LOADED = 4.0  # seconds of load
TRIES = 3  # of a request whose connection is closed without an answer
SLOWEST = 5.0  # seconds at most for 99 of 100 cheap requests; on an idle laptop it is 0.05
MOST_MEMORY = (400, 1_500)  # megabytes of the server, and of each process that it starts
# The description says that a 503 has a header Retry-After, which is checked as all of it is.
SETTINGS = """[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]
"""
OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?")


def run(seconds: float, seed: int, folder: Path) -> Report:
    """Attack until the time is over."""
    return repeat("page", attack, seconds, seed, folder)


def attack(case: Case) -> Iterator[str]:
    """What is wrong with a server that is attacked in each way, one after another."""
    with serving(case.folder) as server:
        waves = [fuzz, send_malformed, ask_as_stranger, keep_silent, crowd, load]
        for wave in case.draw.sample(waves, len(waves)):
            yield from wave(case, server)
            yield from answers(case, server, wave.__name__)
        yield from memory(case, server)
        yield from end(case, server)


def fuzz(case: Case, server: Server) -> Iterator[str]:
    """Ask what schemathesis draws from the description of the interface, and check the answers."""
    seed, settings = case.draw.randrange(2**32), case.folder / "schemathesis.toml"
    settings.write_text(SETTINGS)
    command = (
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(settings)),
        *("run", f"{server.address}/openapi.json", "--seed", str(seed), "--no-color"),
        *("--max-examples", "20", "--generation-database", "none", "--warnings", "off"),
        *("--request-timeout", f"{PATIENCE:g}"),
        *("--exclude-checks", "positive_data_acceptance"),  # a game has rules beside its schema
    )
    done = subprocess.run(
        command, cwd=case.folder, capture_output=True, text=True, timeout=10 * PATIENCE
    )
    counted = re.search(r"(\d+) generated", done.stdout)
    case.counts["requests of schemathesis"] += int(counted[1]) if counted else 0
    if done.returncode != 0:
        text = done.stdout.rpartition("= FAILURES =")[2] + done.stderr
        yield f"schemathesis ended with {done.returncode}:\n{text.strip('= ')[-4000:]}"


def send_malformed(case: Case, server: Server) -> Iterator[str]:
    """Send what is not quite a request; each is answered in time, or its connection closed."""
    requests = for_files(case.draw) + [malformed(case.draw) for _ in range(REQUESTS)]
    case.counts["malformed requests"] += len(requests)
    yield from asyncio.run(_wrong_answers(server.port, requests))


async def _wrong_answers(port: int, requests: list[bytes]) -> list[str]:
    limit = asyncio.Semaphore(AT_ONCE)

    async def ask(data: bytes) -> list[str]:
        async with limit:
            return await _wrong_answer(port, data)

    return [one for found in await asyncio.gather(*map(ask, requests)) for one in found]


async def _wrong_answer(port: int, data: bytes) -> list[str]:
    """What is wrong with the answer to a request; a connection may also be closed without one."""
    try:
        answer = await sent(port, data)
    except TimeoutError:
        return [f"{data[:500]!r} is neither answered nor closed in {PATIENCE:g} s"]
    wrong = wrong_in(answer) if answer is not None else ""
    return [f"{data[:500]!r} was {wrong}"] if wrong else []


def ask_as_stranger(case: Case, server: Server) -> Iterator[str]:
    """Ask as pages of other origins do, and by other names of this machine."""
    asked = [_foreign(case, server.port) for _ in range(FOREIGN_REQUESTS)]
    case.counts["requests of strangers"] += len(asked)
    before = _stored(server.port)
    for data, statuses in asked:
        answer = asyncio.run(sent(server.port, data))
        what = f"{data[:300]!r} was answered with {answer and answer.status}"
        if answer is None or answer.status not in statuses:
            yield f"{what}, not with {' or '.join(map(str, statuses))}"
        elif "access-control-allow-origin" in answer.headers:
            yield f"{what} and lets other pages read it"
    if _stored(server.port) != before:
        yield f"strangers have changed the games from {before} to {_stored(server.port)}"


def _foreign(case: Case, port: int) -> tuple[bytes, tuple[int, ...]]:
    """A request of a stranger, and the statuses with which it may be refused."""
    draw = case.draw
    path = draw.choice((*POSTS, "/api/agents", "/api/agents/models/run.json", "/api/games"))
    example = EXAMPLES[POSTS[path]] if path in POSTS else None
    data = post(path, example) if example and draw.random() < 0.7 else _get(path)
    names = ("evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "127.0.0.2", "0.0.0.0", "[::]")
    name = draw.choice(names) + draw.choice(("", ":80", f":{port}"))
    if draw.random() < 0.3:
        hosts = (name, f"127.0.0.1@{name}", "", "127.0.0.1:x", "localhost.", "127.1", "[::1", "a b")
        host = draw.choice(hosts)
        assert not OWN_HOST.fullmatch(host)
        return data.replace(b"Host: 127.0.0.1", f"Host: {host}".encode(), 1), (421, 400)
    own = f"http://127.0.0.1:{port}"
    origins = (
        *(f"http://{name}", f"https://{name}", "null", f"{own}.evil.com", f"https{own[4:]}"),
        *(
            "http://localhost",
            f"http://127.0.0.1:{port + 1}",
            f"{own}/",
            f"{own} http://{name}",
            "",
        ),
    )
    line = draw.choice(
        (
            f"Origin: {draw.choice(origins)}",
            f"Sec-Fetch-Site: {draw.choice(('cross-site', 'same-site', 'x'))}",
        )
    )
    return data.replace(b"\r\n", f"\r\n{line}\r\n".encode(), 1), (403,)


def _get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


def _stored(port: int) -> int:
    """How many games the server has."""
    answer = asyncio.run(sent(port, _get("/api/games")))
    assert answer is not None
    count: int = json.loads(answer.body)["count"]
    return count


def keep_silent(case: Case, server: Server) -> Iterator[str]:
    """Hold many sockets that send nothing, or slowly, or take no answer; others are answered."""
    whole = _get("/static/play.js")
    body = post("/api/move", EXAMPLES["MoveAsked"])
    beginnings = (
        b"",
        b"G",
        whole[:-2],
        whole * 50,
        body[:-5],
        b"\x16\x03\x01",
        b"PRI * HTTP/2.0\r\n",
    )
    count = case.draw.randint(150, 400)
    case.counts["silent sockets"] += count
    with ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.setblocking(False)  # one that finds no place tries again by itself
            one.connect_ex(("127.0.0.1", server.port))
        for _ in range(4):
            for one in held:
                data = case.draw.choice(beginnings)
                try:
                    one.send(data)
                except OSError:  # it is closed, or not open yet
                    continue
            yield from answers(case, server, f"{count} sockets are open")
            open_ones = server.descriptors()
            case.counts["most descriptors"] = max(case.counts["most descriptors"], open_ones)
            if open_ones > DESCRIPTORS * 3 / 4:
                yield f"{open_ones} of {DESCRIPTORS} descriptors are used up by {count} sockets"


def crowd(case: Case, server: Server) -> Iterator[str]:
    """Ask for more at once than the server has connections for; each is answered or told when."""
    heavy = {"board": {"rows": 7, "cols": 7, "k": 5}, "moves": [], "agent": "search-seconds=0.05"}
    requests = [post("/api/move", heavy)] * case.draw.randint(120, 200)
    case.counts["requests of crowds"] += len(requests)
    yield from asyncio.run(_crowd(server.port, requests))


async def _crowd(port: int, requests: list[bytes]) -> list[str]:
    """The same, with a part of the requests every 0.2 s, while those before are computed."""
    tasks = []
    for start in range(0, len(requests), AT_ONCE):
        tasks += [
            asyncio.create_task(_wrong_answer(port, data))
            for data in requests[start : start + AT_ONCE]
        ]
        await asyncio.sleep(0.2)
    return [one for found in await asyncio.gather(*tasks) for one in found]


def load(case: Case, server: Server) -> Iterator[str]:
    """Ask for heavy moves from 40 connections, and measure how long cheap requests wait."""
    times, statuses = asyncio.run(cheap_among_heavy(server.port, LOADED))
    case.counts["heavy requests"] += sum(statuses.values())
    for name, found in times.items():
        p99 = round(1000 * p99_of(found))
        key = "cheap requests under load, ms at most for 99 of 100"
        case.counts[key] = max(case.counts[key], p99)
        if p99 > 1000 * SLOWEST:
            yield f"{name} takes {p99:,} ms under load (p99), more than {1000 * SLOWEST:,.0f}"


def answers(case: Case, server: Server, when: str) -> Iterator[str]:
    """Ask for something cheap as a browser does.

    In a burst of connections the server may close one before it has sent anything: a client cannot
    be told from a silent socket until then. So each is asked again, at most TRIES times.
    """
    for data in (_get("/api/agents/minimax"), _get(GETS[0])):
        for left in reversed(range(TRIES)):
            try:
                answer = asyncio.run(sent(server.port, data))
            except (TimeoutError, OSError) as error:
                yield f"{data[:40]!r} is not answered: {error!r} ({when})"
                break
            if answer is not None and answer.status == 200:
                break
            case.counts["honest requests that were asked again"] += 1
            if answer is not None or not left:
                yield f"{data[:40]!r} is answered with {answer and answer.status} ({when})"
                break


def memory(case: Case, server: Server) -> Iterator[str]:
    """The memory that the processes of the server have taken."""
    own, *others = server.megabytes()
    for what, found in (("server", own), ("process of the server", max(others, default=0))):
        key = f"megabytes of a {what}"
        case.counts[key] = max(case.counts[key], found)
        most = MOST_MEMORY[what != "server"]
        if found > most:
            yield f"a {what} has taken {found} megabytes, more than {most}"


def end(case: Case, server: Server) -> Iterator[str]:
    """Press Ctrl-C, in half of the cases while the server computes."""
    heavy = {"board": {"rows": 7, "cols": 7, "k": 5}, "moves": [], "agent": "search-seconds=30"}
    with ExitStack() as stack:
        for _ in range(case.draw.choice((0, 5))):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            one.sendall(post("/api/move", heavy))
        time.sleep(0.5)
        yield from ended(server)
