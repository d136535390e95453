"""The server of the page: `python -m web.server`, or `python play.py --web`. It speaks JSON and keeps nothing but finished games.

    GET  /api/agents                who can be chosen, and the boards
    GET  /api/agents/ID             one of them, with its certificate: what is proven
    POST /api/move                  {"board", "moves", "agent", "seed"?} -> the agent's move
    POST /api/analysis              {"board", "moves", "agent"?, "truth"?} -> how the game stands, what the agent thinks, what is true
    GET  /api/games                 finished games, newest first: ?limit= &before= &player= &result= &origin=
    POST /api/games                 {"board", "moves", "x", "o", "ended"?, "result"?, "side"?, "seed"?} -> the id of the game
    GET  /api/games/ID              a game
    POST /api/verdicts              {"board", "moves", "ended"?, "result"?} -> what each move of a finished game was worth

A board is {"rows", "cols", "k"}; moves are the cells of the whole game, from 0, row by row, X first. They travel with every
request and are played through each time, so any number of pages and servers may share a store. Refusals are
{"error": reason} with 400 (what was sent is wrong), 404 (no such agent or game), 405, 413 (too large), 415 (not JSON), 421
(another host's name) or 503 (too busy, or the store cannot be used). docs/PLAY.md has examples.

It listens on 127.0.0.1 only, and imports no torch: agents are tables, or search.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import socket
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from players.gallery import FOLDERS, Entry, Gallery
from tictactoe_env.analysis import Verdict, Worth, truth, turning_point, verdicts
from tictactoe_env.certificate import MAX_CELLS as MAX_PROVEN
from tictactoe_env.errors import unknown_name, whole_number
from tictactoe_env.games import LISTED, Game, GameStore, Player, StoreError, UnknownGameError
from tictactoe_env.notation import SIDES, board_text, cell_text, replay
from tictactoe_env.positions import can_enumerate
from tictactoe_env.rules import Boards, Rules
from training.command_line import Parser
from web.players import TABLE_CELLS, BusyError, Players, Threads, solved

STATIC = Path(__file__).with_name("static")
HOST, PORT = "127.0.0.1", 8000
HOSTS = (
    "127.0.0.1",
    "localhost",
    "[::1]",
)  # names by which a browser may ask; another name is another site's trick
BOARDS = (Rules(), Rules(3, 4, 3), Rules(4, 4, 4), Rules(5, 5, 4), Rules(6, 6, 4), Rules(7, 7, 5))
MAX_BODY = 8_192  # bytes of a request
MAX_LISTED = 100  # games in one answer
HUMAN = "human"

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # a new version of the page is there at once
}


class Refusal(Exception):
    """A request that is not served, with the status and the reason."""

    def __init__(self, status: int, reason: str):
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Server:
    """What the handlers share. Files are read and games are solved in threads, each without waiting for the other."""

    store: GameStore
    gallery: Gallery
    players: Players
    files: Threads
    slow: Threads


# --- what is asked -----------------------------------------------------------------------------------------------------


async def body_of(
    request: Request, required: Collection[str], optional: Collection[str] = ()
) -> dict[str, Any]:
    """The JSON object that was sent, with these fields and no others."""
    if (
        request.headers.get("content-type", "").partition(";")[0].strip().lower()
        != "application/json"
    ):
        raise Refusal(
            415,
            f"send application/json, got {request.headers.get('content-type', 'no content type')[:80]!r}",
        )
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY:
            raise Refusal(413, f"a request may have {MAX_BODY:,} bytes")
    try:
        content = json.loads(
            data.decode(), object_pairs_hook=_without_repeats, parse_constant=_no_number
        )
    except (ValueError, RecursionError) as error:
        raise Refusal(
            400, f"this is not JSON: {type(error).__name__}: {str(error)[:120]}"
        ) from None
    if not isinstance(content, dict):
        raise Refusal(400, f"send an object with {', '.join(required)}, got {content!r:.120}")
    for name in content:
        if name not in (*required, *optional):
            raise unknown_name("field", name[:80], (*required, *optional))
    if missing := [name for name in required if name not in content]:
        raise Refusal(
            400,
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: send {', '.join(required)}",
        )
    return content


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


@lru_cache(maxsize=64)
def _rules(rows: int, cols: int, k: int) -> Rules:
    return Rules(rows, cols, k)  # it keeps what it computes


def rules_of(board: Any) -> Rules:
    """The board of a request: at most 12 cells, or one of BOARDS."""
    if not isinstance(board, dict) or set(board) != {"rows", "cols", "k"}:
        raise ValueError(
            f'a board is written as {{"rows": 3, "cols": 3, "k": 3}}, got {board!r:.120}'
        )
    rules = _rules(*(whole_number(board[name], name, 1, 64) for name in ("rows", "cols", "k")))
    if rules.cells > MAX_PROVEN and rules not in BOARDS:
        known = "; ".join(str(board) for board in BOARDS if board.cells > MAX_PROVEN)
        raise ValueError(
            f"the boards of this page have at most {MAX_PROVEN} cells, or are {known}; got {rules}"
        )
    return rules


@dataclass(frozen=True)
class Standing:
    """How a game stands after its moves: whose turn it is, or how it ended."""

    rules: Rules
    moves: tuple[int, ...]
    board: Boards
    line: tuple[int, ...]

    @property
    def ended(self) -> str:
        """ "line", "full", or "" for a game that goes on."""
        return "line" if self.line else "full" if len(self.moves) == self.rules.cells else ""

    def as_json(self) -> dict[str, Any]:
        """The standing as JSON values."""
        mover, last = (SIDES[(len(self.moves) + turn) % 2] for turn in (0, 1))
        return {
            "board": board_text(self.board, self.rules),
            "turn": None if self.ended else mover,
            "ended": self.ended,
            "result": last if self.line else "draw" if self.ended else None,
            "line": list(self.line),
        }


def standing_of(content: Mapping[str, Any]) -> Standing:
    """The game of a request; every move is checked."""
    rules, moves = rules_of(content["board"]), content["moves"]
    if not isinstance(moves, list):
        raise ValueError(f"moves is a list of cells, such as [4, 0, 8], got {moves!r:.120}")
    if len(moves) > rules.cells:
        raise ValueError(f"{len(moves)} moves are too many: {rules} has {rules.cells} cells")
    cells = tuple(
        whole_number(cell, f"move {ply}", 0, rules.cells - 1) for ply, cell in enumerate(moves, 1)
    )
    bits, marks, board = rules.cell_bits, [0, 0], np.zeros(rules.cells, dtype=np.int8)
    for ply, cell in enumerate(cells):
        if (marks[0] | marks[1]) & bits[cell] or rules.has_line(marks[1 - ply % 2]):
            replay(cells[: ply + 1], rules)  # says what is wrong with the move
        marks[ply % 2] |= bits[cell]
        board[cell] = 1 - 2 * (ply % 2)
    return Standing(
        rules, cells, board, rules.winning_cells(board) if any(map(rules.has_line, marks)) else ()
    )


def entry_of(server: Server, id: Any) -> Entry:
    """The agent of a request."""
    if not isinstance(id, str):
        raise ValueError(f"an agent is named by its id, such as minimax, got {id!r:.120}")
    try:
        return server.gallery.entry(id)
    except ValueError:
        raise Refusal(404, f"unknown agent {id[:120]!r}: GET /api/agents lists them") from None


def number_of(text: str, what: str, low: int, high: int) -> int:
    """A number of an address."""
    if not re.fullmatch("[0-9]{1,19}", text, re.ASCII):
        raise ValueError(f"{what} must be a whole number from {low} to {high}, got {text[:80]!r}")
    return whole_number(int(text), what, low, high)


# --- what is answered --------------------------------------------------------------------------------------------------


def reply(content: Any, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(
        json.dumps(content, separators=(",", ":"), allow_nan=False),
        status,
        media_type="application/json",
    )


def board_json(rules: Rules) -> dict[str, int]:
    """A board as requests write it."""
    return {"rows": rules.rows, "cols": rules.cols, "k": rules.k}


def entry_json(entry: Entry) -> dict[str, Any]:
    """An agent, without what is proven of it. It plays on `board`, or on any of at most `max_cells` cells."""
    board = None if entry.rules is None else board_json(entry.rules)
    about = {
        "id": entry.id,
        "name": entry.name,
        "kind": entry.kind,
        "agent": entry.agent,
        "about": entry.about,
    }
    return {
        **about,
        "unbeatable": entry.unbeatable,
        "broken": entry.broken,
        "boards": entry.boards,
        "board": board,
        "max_cells": entry.max_cells,
    }


def game_json(game: Game) -> dict[str, Any]:
    """A game: as the store exports it, and its moves as `cells`."""
    return {
        **game.as_json(),
        "cells": list(game.moves),
        "line": list(game.rules.winning_cells(game.boards[-1])) if game.ended == "line" else [],
    }


def worth_json(worth: Worth | None) -> dict[str, Any] | None:
    """What a move or position is worth to the side to move."""
    return (
        None if worth is None else {"value": worth.value, "plies": worth.plies, "text": worth.text}
    )


async def seat_of(server: Server, entry: Entry, rules: Rules) -> Any:
    """The player of an agent, made in a thread if it is new."""
    return server.players.ready(entry, rules) or await server.slow.run(
        server.players.make, entry, rules
    )


async def agents(request: Request, server: Server) -> Response:
    """Who can be chosen, and the boards: those of the page and those of the runs."""
    entries = await server.files.run(server.gallery.entries)
    found = dict.fromkeys(
        [*BOARDS, *(entry.rules for entry in entries if entry.rules and not entry.broken)]
    )
    return reply(
        {
            "agents": [entry_json(entry) for entry in entries],
            "boards": [board_json(rules) for rules in found if rules is not None],
        }
    )


async def agent(request: Request, server: Server) -> Response:
    """One of them with its certificate; of a broken one, and of one that nothing can be proven of, the reason."""
    entry = entry_of(server, request.path_params["id"])
    try:
        content = await server.slow.run(server.gallery.certificate, entry.id)
    except ValueError as error:
        return reply(
            {
                **entry_json(entry_of(server, entry.id)),
                "certificate": None,
                "reason": str(error)[:500],
            }
        )
    return reply(
        {
            **entry_json(entry),
            "certificate": {name: value for name, value in content.items() if name != "moves"},
            "reason": "",
        }
    )


async def move(request: Request, server: Server) -> Response:
    """The move of an agent. With a seed the same game gets the same move."""
    content = await body_of(request, ("board", "moves", "agent"), ("seed",))
    now, entry = standing_of(content), entry_of(server, content["agent"])
    seed = (
        None
        if content.get("seed") is None
        else (whole_number(content["seed"], "seed", 0, 2**53), len(now.moves))
    )
    if now.ended:
        raise ValueError(
            f"the game is over on {board_text(now.board, now.rules)!r}: there is no move to make"
        )
    seat = await seat_of(server, entry, now.rules)
    cell = (
        seat.move(now.board, seed)
        if seat.is_quick
        else await server.slow.run(seat.move, now.board, seed)
    )
    about = {"cell": cell, "name": cell_text(cell, now.rules)}
    if now.board[cell] != 0:
        standing = {
            **now.as_json(),
            "turn": None,
            "ended": "illegal",
            "result": SIDES[(len(now.moves) + 1) % 2],
        }
        return reply({**about, "illegal": True, "standing": standing})
    board = now.board.copy()
    board[cell] = 1 - 2 * (len(now.moves) % 2)
    after = Standing(now.rules, (*now.moves, cell), board, now.rules.winning_cells(board))
    return reply({**about, "illegal": False, "standing": after.as_json()})


async def analysis(request: Request, server: Server) -> Response:
    """How a game stands; with an agent, what it thinks of each move; with `truth`, what each is worth with best play."""
    content = await body_of(request, ("board", "moves"), ("agent", "truth"))
    now, wants_truth = standing_of(content), content.get("truth", False)
    if not isinstance(wants_truth, bool):
        raise ValueError(f"truth must be true or false, got {wants_truth!r:.80}")
    answer: dict[str, Any] = {"standing": now.as_json()}
    if content.get("agent") is not None:
        entry = entry_of(server, content["agent"])
        answer["thoughts"] = None if now.ended else await thoughts_of(server, entry, now)
    if wants_truth:
        answer["truth"] = await truth_of(server, now)
    return reply(answer)


async def thoughts_of(server: Server, entry: Entry, now: Standing) -> dict[str, Any]:
    """What an agent thinks of each cell."""
    seat = await seat_of(server, entry, now.rules)
    found = (
        seat.thoughts(now.board)
        if seat.thinks_at_once()
        else await server.slow.run(seat.thoughts, now.board)
    )
    about = {
        "kind": found.kind,
        "meaning": found.meaning,
        "illegal": found.illegal,
        "new": seat.is_new(now.board),
    }
    return {"probs": found.probs, "values": found.values, **about}


async def truth_of(server: Server, now: Standing) -> dict[str, Any]:
    """What is true of a position and of each move; on boards that nobody has solved the reason why not."""
    if not can_enumerate(now.rules):
        return {"position": None, "moves": None, "reason": f"{now.rules} is too large to be solved"}
    found = (
        truth(now.board, now.rules)
        if now.rules.cells <= TABLE_CELLS
        else await server.slow.run(solved, now.rules, truth, now.board, now.rules)
    )
    return {
        "position": worth_json(found.position),
        "moves": [worth_json(worth) for worth in found.moves],
        "reason": "",
    }


async def games(request: Request, server: Server) -> Response:
    """Finished games, newest first."""
    asked = request.query_params
    for name in asked:
        if name not in ("limit", "before", "player", "result", "origin"):
            raise unknown_name(
                "parameter", name[:80], ("limit", "before", "player", "result", "origin")
            )
    limit = number_of(asked.get("limit", "20"), "limit", 1, MAX_LISTED)
    before = number_of(asked["before"], "before", 1, 2**63 - 1) if "before" in asked else None
    filters: dict[str, Any] = {
        "origin": asked.get("origin", LISTED),
        "player": asked.get("player"),
        "result": asked.get("result"),
    }
    found = await server.files.run(lambda: server.store.list(limit, before, **filters))
    count = await server.files.run(lambda: server.store.count(**filters))
    return reply(
        {
            "games": [game_json(game) for game in found],
            "count": count,
            "next": found[-1].id if len(found) == limit else None,
        }
    )


def finished(content: Mapping[str, Any], **about: Any) -> Game:
    """The finished game of a request; everything in it is checked."""
    rules, moves = rules_of(content["board"]), content["moves"]
    if not isinstance(moves, list) or len(moves) > rules.cells + 1:
        raise ValueError(
            f"moves is a list of at most {rules.cells + 1} cells, such as [4, 0, 8], got {moves!r:.120}"
        )
    known = {
        name: content[name]
        for name in ("ended", "result", "side", "seed")
        if content.get(name) is not None
    }
    return Game(moves=tuple(moves), rules=rules, origin="web", **known, **about)


async def add_game(request: Request, server: Server) -> Response:
    """Keep a finished game."""
    content = await body_of(
        request, ("board", "moves", "x", "o"), ("ended", "result", "side", "seed")
    )
    x, o = (
        Player(HUMAN, HUMAN)
        if content[side] == HUMAN
        else server.gallery.player(entry_of(server, content[side]).id)
        for side in ("x", "o")
    )
    id = await server.files.run(server.store.add, finished(content, x=x, o=o))
    return reply({"id": id, "address": f"/games/{id}"}, 201)


async def game(request: Request, server: Server) -> Response:
    """A game that was kept."""
    text = request.path_params["id"]
    if not re.fullmatch("[1-9][0-9]{0,18}", text, re.ASCII):
        raise Refusal(404, f"unknown game {text[:80]!r}: the id of a game is a number")
    return reply(game_json(await server.files.run(server.store.get, int(text))))


async def judge(request: Request, server: Server) -> Response:
    """What each move of a finished game was worth, and which one threw it away; None and the reason on boards that nobody has solved."""
    ended = finished(await body_of(request, ("board", "moves"), ("ended", "result")))
    if not can_enumerate(ended.rules):
        return reply(
            {
                "verdicts": None,
                "turning_point": None,
                "reason": f"{ended.rules} is too large to be solved",
            }
        )
    judged, sentence = await server.slow.run(
        solved, ended.rules, lambda: (verdicts(ended), turning_point(ended))
    )
    return reply(
        {
            "verdicts": [verdict_json(verdict) for verdict in judged],
            "turning_point": sentence,
            "reason": "",
        }
    )


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict on a move."""
    facts = {
        name: getattr(verdict, name)
        for name in ("ply", "cell", "side", "optimal", "threw_away", "text")
    }
    return {**facts, "before": worth_json(verdict.before), "after": worth_json(verdict.after)}


async def page(request: Request, server: Server) -> Response:
    """The page; its script shows what the address asks for."""
    return FileResponse(STATIC / "index.html")


# --- the application ---------------------------------------------------------------------------------------------------

Handler = Callable[[Request, Server], Awaitable[Response]]
log = logging.getLogger("web")


def answering(handler: Handler, server: Server) -> Callable[[Request], Awaitable[Response]]:
    """The handler with its errors as JSON."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request, server)
        except Refusal as refusal:
            return reply({"error": str(refusal)}, refusal.status)
        except UnknownGameError as error:
            return reply({"error": str(error)}, 404)
        except (StoreError, BusyError) as error:
            return reply({"error": str(error)}, 503)
        except ValueError as error:
            return reply({"error": str(error)[:1000]}, 400)
        except ClientDisconnect:
            return reply({"error": "the request ended too early"}, 400)
        except Exception:
            log.exception("%s %s", request.method, request.url.path)
            return reply({"error": "the server failed; its log says more"}, 500)

    return answer


async def refuse(request: Request, error: Exception) -> Response:
    """What no handler is there for. A person who mistypes an address gets the page, which says so."""
    assert isinstance(error, HTTPException)
    path = request.url.path
    if (
        error.status_code == 404
        and request.method in ("GET", "HEAD")
        and not path.startswith(("/api/", "/static/"))
    ):
        return FileResponse(STATIC / "index.html", 404)
    reason = (
        f"{request.method} is not for {path[:120]}"
        if error.status_code == 405
        else f"there is nothing at {path[:120]}"
    )
    return Response(
        json.dumps({"error": reason}), error.status_code, error.headers, "application/json"
    )


class Guard:
    """Answers only those who ask for this machine by its own name, and says to browsers what the page may do."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        host = next(
            (value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), ""
        )
        app: ASGIApp = self.app
        if re.sub(r":\d+$", "", host) not in HOSTS:
            app = reply({"error": f"this server is for {HOSTS[0]}, not for {host[:80]!r}"}, 421)
        await app(scope, receive, send_with_headers)


def application(store: GameStore, gallery: Gallery | None = None) -> Any:
    """The ASGI application; the store stays open, and belongs to the caller."""
    gallery = gallery or Gallery()
    server = Server(store, gallery, Players(gallery), Threads(4, 64), Threads(4, 16))
    paths: tuple[tuple[str, str, Handler], ...] = (
        ("GET", "/api/agents", agents),
        ("GET", "/api/agents/{id:path}", agent),
        ("POST", "/api/move", move),
        ("POST", "/api/analysis", analysis),
        ("GET", "/api/games", games),
        ("POST", "/api/games", add_game),
        ("GET", "/api/games/{id}", game),
        ("POST", "/api/verdicts", judge),
        *(
            ("GET", path, page)
            for path in ("/", "/games", "/games/{id}", "/agents", "/agents/{id:path}")
        ),
    )
    routes = [
        Route(path, answering(handler, server), methods=[method]) for method, path, handler in paths
    ]
    every = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC))],
        exception_handlers={HTTPException: refuse},
    )
    return Guard(every)


def serve(store: Path, port: int = PORT, folders: Collection[str] = FOLDERS) -> None:
    """Serve until Ctrl-C. Raises StoreError if the store cannot be used, ValueError if the port is taken; 0 is any free one."""
    with GameStore(store) as opened:
        listening = socket.socket(
            proto=socket.IPPROTO_TCP
        )  # asyncio turns off Nagle's algorithm only where TCP is named: 40 ms an answer
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen(128)
        except OSError as error:
            listening.close()
            raise ValueError(
                f"port {port} cannot be used ({error.strerror}): give another one, such as --port {port + 1}"
            ) from None
        settings = uvicorn.Config(
            application(opened, Gallery(tuple(folders))),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            h11_max_incomplete_event_size=16_384,
            limit_concurrency=256,
            timeout_graceful_shutdown=2,
        )
        print(
            f"tic-tac-toe: http://{HOST}:{listening.getsockname()[1]}/   (games are kept in {store}; Ctrl-C ends)",
            flush=True,
        )
        sys.setswitchinterval(
            0.0005
        )  # seconds: quick answers wait no longer than that for threads that search
        with suppress(KeyboardInterrupt):
            uvicorn.Server(settings).run(sockets=[listening])


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = Parser(prog="play.py --web", description="Play in the browser.")
    parser.add_argument(
        "--store",
        type=Path,
        default=Path("games.db"),
        metavar="FILE",
        help="where games are kept (default: games.db; by play.py --web: your folder for data)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=PORT,
        metavar="N",
        help=f"of 127.0.0.1 (default: {PORT}; 0 is any free one)",
    )
    given: argparse.Namespace = parser.parse_args(arguments)
    try:
        serve(given.store, whole_number(given.port, "port", 0, 65_535))
    except (ValueError, OSError) as error:
        print(f"play.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
