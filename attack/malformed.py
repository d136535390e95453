"""Requests that are not quite HTTP, not quite JSON, or not quite a game, drawn from a seed."""

from __future__ import annotations

import json
import random
from typing import Any

from web.requests import EXAMPLES

POSTS = {
    "/api/move": "MoveAsked",
    "/api/analysis": "AnalysisAsked",
    "/api/verdicts": "FinishedAsked",
    "/api/games": "GameAsked",
}
GETS = (
    *("/", "/games", "/games/1", "/agents", "/agents/minimax", "/openapi.json", "/nothing"),
    *("/api/agents", "/api/agents/minimax", "/api/agents/models/run.json", "/api/games/1"),
    *("/api/agents/models/weak.json", "/api/agents/runs/pipe", "/api/agents/runs/torn"),
    *("/api/games?limit=20&before=100&player=minimax&result=draw", "/static/play.js"),
)
PATHS = (  # {} is a way to the folder of the server, or up from the folder of the page
    *("/static/{}secret.txt", "/{}secret.txt", "/api/agents/{}secret.txt", "//{}secret.txt"),
    *("/agents/{}secret.txt", "/api/games?player={}", "/static/play.js{}", "/api/games/{}"),
)
WAYS = (
    *("../", "..%2f", "%2e%2e/", "..\\", "....//", "%252e%252e/", "%c0%ae%c0%ae/", "..;/", "%00"),
    *("?", "#", "%", "%zz", "%ff", "\xff", "~/", "/proc/self/cwd/", "file:///", "{}", "a" * 5000),
)
LINES = (  # of a header
    *("Content-Length: -1", "Content-Length: 1e3", "Content-Length: 5, 6", "Content-Length: 0x10"),
    *("Content-Length: 99999999999999999999", "Transfer-Encoding: chunked", "Trailer: Host"),
    *("Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "Expect: 100-continue"),
    *(
        "Content-Encoding: gzip",
        "Content-Type: text/html",
        "Content-Type: application/json; x=\xff",
    ),
    *("Range: bytes=0-0,5-1,-0", "If-None-Match: \xff", "If-Modified-Since: never", "Upgrade: h2c"),
    *("Connection: upgrade", "Upgrade: websocket", "Accept-Encoding: br;q=x", " folded", ": none"),
    *("Host:", "Host: 127.0.0.1", "X: \x00", "X : space", "X", "Cookie: " + "c" * 20_000),
    *("Origin: null", "Sec-Fetch-Site: none", "Forwarded: for=x", "X-Forwarded-Host: evil"),
)
METHODS = (
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "PRI",
    "get",
    "G\x00",
    "X" * 99,
)
VERSIONS = (
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/0.9",
    "HTTP/2.0",
    "HTTP/9.9",
    "HTTP/1.1 x",
    "http/1.1",
    "",
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        0,
        9,
        64,
        65,
        2**53 + 1,
        2**63,
        10**400,
        0.5,
        1e308,
        "",
        "X",
        "\x00",
        "\ud800",
    ),
    *("../../secret.txt", "runs/pipe", "models/run.json", "mcts-playouts=99999999", "x" * 9_000),
    *("search-depth=99", "latest:dqn", "learner", "human", "<script>", "\x1b[8m"),
    *([], {}, [[]], [0] * 5_000, {"": {}}, {"rows": 7, "cols": 7, "k": 5}, {"rows": 64}),
)
TEXTS = (
    *("NaN", "-Infinity", "1e999", "{", "[" * 4_000, '{"a":' * 1_500, '"\\ud800"', "\ufeff{}"),
    *('{"moves": [], "moves": [0]}', "9" * 8_000, "-", "\x00", "null", '"', "\xff\xfe"),
)


def malformed(draw: random.Random) -> bytes:
    """The bytes of a request."""
    method, path, body = drawn_request(draw)
    version = draw.choice(VERSIONS) if draw.random() < 0.05 else VERSIONS[0]
    lines = ["Host: 127.0.0.1", "Connection: close"]
    if method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    for _ in range(draw.choice((0, 0, 1, 1, 2, 200))):
        lines.insert(draw.randint(0, len(lines)), draw.choice(LINES))
    head = "\r\n".join([f"{method} {path} {version}", *lines, "\r\n"]).encode("latin-1", "replace")
    data = head + body
    for _ in range(draw.choice((0, 0, 1, 3))):
        data = damaged(data, draw)
    return data


def for_files(draw: random.Random) -> list[bytes]:
    """Requests for a file beside those of the page, by every way to it."""
    ways = [way * draw.choice((1, 1, 2, 6)) for way in WAYS]
    lines = [f"GET {path.replace('{}', way)} HTTP/1.1" for path in PATHS for way in ways]
    return [f"{line}\r\nHost: 127.0.0.1\r\n\r\n".encode("latin-1") for line in lines]


def drawn_request(draw: random.Random) -> tuple[str, str, bytes]:
    """A method, a path and a body."""
    kind = draw.random()
    if kind < 0.2:
        return draw.choice(METHODS), draw.choice(GETS), b""
    if kind < 0.4:
        way = draw.choice(WAYS) * draw.choice((1, 1, 2, 6))
        return "GET", draw.choice(PATHS).replace("{}", way), b""
    path = draw.choice(tuple(POSTS))
    if kind < 0.5:
        return "POST", path, draw.choice(TEXTS).encode("utf-8", "surrogatepass")
    value = json.loads(json.dumps(EXAMPLES[POSTS[path]]))
    for _ in range(draw.choice((0, 1, 1, 2))):
        value = changed(value, draw)
    return "POST", path, json.dumps(value).encode()


def changed(value: Any, draw: random.Random) -> Any:
    """A JSON value in which one value, one name or one entry is another."""
    if not isinstance(value, (dict, list)) or not value or draw.random() < 0.1:
        return draw.choice(VALUES)
    if isinstance(value, list):
        at = draw.randrange(len(value))
        return [*value[:at], changed(value[at], draw), *value[at + 1 :]]
    name = draw.choice(list(value))
    kind = draw.random()
    if kind < 0.1:
        return {key: one for key, one in value.items() if key != name}
    if kind < 0.2:
        return {**value, draw.choice(("", "agents", "\ud800", "x" * 500, "__class__")): 0}
    return {**value, name: changed(value[name], draw)}


def damaged(data: bytes, draw: random.Random) -> bytes:
    """The bytes with one place cut off, repeated, left out, or filled with others."""
    at = draw.randrange(len(data) + 1)
    end = min(len(data), at + draw.choice((1, 2, 8, 100)))
    return draw.choice(
        (
            data[:at],
            data[:end] + data[at:],
            data[:at] + data[end:],
            data[:at] + draw.randbytes(end - at) + data[end:],
            data[:at] + b"\r\n" + data[at:],
            data + data,
        )
    )
