"""Hostile requests to the server of the page: drawn from its description, and malformed.

The server runs in a process of its own, in a folder with a file that is not of the page.
"""

import asyncio
import json
import re
import urllib.request
from collections import namedtuple

import pytest
import schemathesis
from fuzz.damage import damaged
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from serving import serving

SECRET = "a-file-that-is-not-of-the-page"
PATIENCE = 60.0  # seconds for one request; the server ends a computation after as many
CHECKS = {
    "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "503"]},
    "negative_data_rejection": {"expected-statuses": ["4xx", "5xx"]},  # 413 refuses, too
    "positive_data_acceptance": {"enabled": False},  # a game has rules beside its schema
}
POSTS = ("/api/move", "/api/analysis", "/api/verdicts", "/api/games", "/api/training")
GETS = ("/api/agents", "/api/agents/minimax", "/api/games/1", "/api/games?limit=20&result=draw")
PATHS = ("/static/{}secret.txt", "/{}secret.txt", "/api/agents/{}secret.txt", "//{}secret.txt")
WAYS = (  # up from the folder of the page, or to that of the server
    *("../", "..%2f", "%2e%2e/", "..\\", "....//", "%252e%252e/", "%c0%ae%c0%ae/", "..;/", "%00"),
    *("?", "#", "%zz", "%ff", "\xff", "~/", "/proc/self/cwd/", "file:///", "{}", "a" * 5000),
)
LINES = (  # of a header
    *("Content-Length: -1", "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked"),
    *("Expect: 100-continue", "Content-Encoding: gzip", "Content-Type: text/html", "Host:"),
    *("Range: bytes=0-0,5-1,-0", "If-None-Match: \xff", "Upgrade: h2c", "Connection: upgrade"),
    *("Cookie: " + "c" * 20_000, " folded", ": none", "X: \x00", "X", "Origin: null"),
)
BOARD = '{"board": {"rows": 3, "cols": 3, "k": 3}'
TEXTS = (
    f'{BOARD}, "moves": [0], "agent": "minimax"}}',
    f'{BOARD}, "moves": [0, 3, 1, 4, 2], "x": "human", "o": "minimax"}}',
    *("NaN", "-Infinity", "1e999", "{", "[" * 4_000, '{"a":' * 1_500, '"\\ud800"', "\ufeff{}"),
    *('{"moves": [], "moves": [0]}', "9" * 8_000, "x" * 9_000),
)
Page = namedtuple("Page", "port operations log")


def text_of(method, path, lines=(), body=b""):
    """The bytes of a request, with the end of which the server closes the connection."""
    head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *lines, "\r\n"]
    return "\r\n".join(head).encode("latin-1", "replace") + body


def sent(path, text):
    """A request that sends a text as JSON."""
    body = text.encode()
    lines = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    return text_of("POST", path, lines, body)


BODIES = st.builds(sent, st.sampled_from(POSTS), st.sampled_from(TEXTS))
FILES = st.builds(
    lambda path, way, times: text_of("GET", path.format(times * way)),
    st.sampled_from(PATHS),
    st.sampled_from(WAYS),
    st.integers(1, 6),
)
HEADS = st.builds(
    text_of,
    st.sampled_from(("GET", "HEAD", "PUT", "OPTIONS", "TRACE", "CONNECT", "get", "G\x00")),
    st.sampled_from(GETS),
    st.lists(st.sampled_from(LINES), max_size=4),
)
REST = b"\r\n\r\n" + b"x" * 9_000  # of a request that is damaged: the server waits for its end
MALFORMED = BODIES | FILES | HEADS | (BODIES | FILES | HEADS).flatmap(damaged)


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    """The port of a server, the operations that it describes, and its log."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "secret.txt").write_text(SECRET)
    config = schemathesis.Config.from_dict({"checks": CHECKS})
    with open(folder / "log", "w") as log, serving(folder, stderr=log) as (_, address):
        with urllib.request.urlopen(f"{address}/openapi.json") as described:
            schema = schemathesis.openapi.from_dict(json.load(described), config=config)
        schema.config.update(base_url=address)
        operations = [found.ok() for found in schema.get_all_operations()]
        yield Page(int(address.rpartition(":")[2]), operations, folder / "log")


async def answer(port, data):
    """What the server sends for the bytes of a request, until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data + REST)
        return await asyncio.wait_for(reader.read(), PATIENCE)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@given(st.data())
def test_answers_are_as_they_are_described(page, data):
    operation = data.draw(st.sampled_from(page.operations))
    mode = data.draw(st.sampled_from(GenerationMode))
    case = data.draw(operation.as_strategy(generation_mode=mode))
    case.call_and_validate(timeout=PATIENCE)
    # Tracebacks that are whole: uvicorn logs them for clients that send no HTTP.
    ends = re.findall(r"^Traceback.*\n(?:\s.*\n)*(\S.*)\n", page.log.read_text(), re.MULTILINE)
    kept = [end for end in ends if not re.match(r"h11\._util\.(Local|Remote)ProtocolError: ", end)]
    assert kept == []


@settings(max_examples=3)
@given(st.lists(MALFORMED, min_size=24, max_size=32))
def test_malformed_requests_are_answered_or_their_connections_closed(page, requests):
    async def answers():
        return await asyncio.gather(*(answer(page.port, data) for data in requests))

    for data in asyncio.run(answers()):
        for status, rest in re.findall(rb"HTTP/1\.1 (\d+) .*\r\n((?:.+\r\n)*)", data):
            assert int(status) < 500 or (status == b"503" and b"retry-after" in rest.lower())
        assert SECRET.encode() not in data
