"""The server of the page: `python play.py --web`.

`application` has the addresses of the interface (see /openapi.json) and of the page; `serve`
listens on 127.0.0.1, unless another address is given. docs/play.md has examples.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from math import inf
from pathlib import Path
from socket import socket
from typing import Any

import h11
import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from rich.console import Console
from starlette.requests import Request
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.h11_impl import H11Protocol

from apps.players.gallery import Gallery
from apps.terminal.report import say
from apps.web import network
from apps.web.api import Api, Picture
from apps.web.refusals import HANDLERS, STATIC, guard
from apps.web.work import Processes
from tictactoe_env import __version__
from tictactoe_env.errors import printable
from tictactoe_env.games.store import GameStore
from tictactoe_env.notation import rules_text
from tictactoe_env.rules import Rules

HOST = "127.0.0.1"
ROOM = (
    "Others in this network can play, see your runs and all kept games with the names in them, add "
    "games, from which players such as the apprentice learn, and let this computer work out moves, "
    "hints and proofs, and train one network to watch. They cannot change or delete what is kept, "
    "start train.py, or see other files. Nothing is encrypted."
)
MOST_CONNECTIONS = 192  # a browser has 6; macOS gives a program 256 files
PATIENCE = 5  # seconds for a whole request, or to read LEAST_READ of an answer
LEAST_READ = 16_384  # bytes
MAX_BODY = 8_192  # bytes of a request
PAGES = ("/", "/learn", "/games", "/games/{id}", "/agents", "/agents/{id:path}")


def application(
    store: GameStore,
    gallery: Gallery | None = None,
    processes: Processes | None = None,
    board: Rules | None = None,
    names: Collection[str] = network.LOOPBACK,
    shared: str = "",
) -> FastAPI:
    """The ASGI application. The store stays open and belongs to the caller.

    processes: where heavy work is done. board: another one to play on. names: by which it may be
    called. shared: the address of the page for other devices; "" if they cannot reach it.
    """
    app = FastAPI(
        title="tic-tac-toe",
        version=__version__,
        description="The interface behind the page of `python play.py --web`.",
        docs_url=None,  # both pages of documentation load their scripts from another host
        redoc_url=None,
        exception_handlers=HANDLERS,
        max_body_size=MAX_BODY,
        lifespan=with_threads,
        responses={"default": {"description": 'A refusal, {"error": reason}'}},
    )
    app.middleware("http")(guard)
    app.state.names = names
    further = [] if board is None else [board]
    api = Api(store, gallery or Gallery(), processes or Processes(), further, shared)
    app.state.end = api.end
    for method, path, endpoint in (
        ("POST", "/api/move", api.move),
        ("POST", "/api/analysis", api.analysis),
        ("POST", "/api/verdicts", api.verdicts),
        ("POST", "/api/games", api.keep),
        ("GET", "/api/games", api.games),
        ("GET", "/api/games/{id}", api.game),
        ("GET", "/api/agents", api.agents),
        ("GET", "/api/agents/{id:path}", api.agent),
        ("GET", "/api/accuracy/{id:path}", api.accuracy),
        ("GET", "/api/training", api.trains),
        ("POST", "/api/training", api.train),
        ("GET", "/api/certificates/{id:path}", api.certificate),
    ):
        app.add_api_route(path, endpoint, methods=[method])
    app.add_api_route("/api/code", api.code, methods=["GET"], response_class=Picture)
    for path in PAGES:
        app.add_route(path, page, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))
    return app


@asynccontextmanager
async def with_threads(app: FastAPI) -> AsyncIterator[None]:
    """Give each connection a thread: one that waits for heavy work takes it from nobody."""
    current_default_thread_limiter().total_tokens = MOST_CONNECTIONS
    yield


async def page(request: Request) -> Response:
    """The page; its script shows what the address asks for."""
    return FileResponse(STATIC / "index.html")


class Connection(H11Protocol):
    """A connection that is closed if its client takes too long, or to make place for others.

    uvicorn itself waits for ever for a request, and for its answer to be read.
    deadline: until which the client has to act; None while the server is to act. unread: the bytes
    of answers that wait for the client, when the deadline was set.
    """

    deadline: asyncio.TimerHandle | None = None
    unread = 0

    def connection_made(self, transport: Any) -> None:
        """Await the first request. Of too many connections one is closed."""
        super().connection_made(transport)
        self.watch()
        if len(self.connections) > MOST_CONNECTIONS:
            one_too_many(self.connections).transport.abort()

    def handle_events(self) -> None:
        """Handle what has arrived, also after an answer, and await the rest."""
        super().handle_events()
        self.watch()

    def pause_writing(self) -> None:
        """Wait until the client has read more of an answer."""
        super().pause_writing()
        self.watch()

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        self.watch()

    def on_response_complete(self) -> None:
        """Await the next request, or the end of a connection that is to be closed."""
        super().on_response_complete()
        self.watch()

    def watch(self) -> None:
        """Set the deadline while the client is to act, and lift it after that."""
        is_awaited = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        is_owed = self.flow.write_paused or self.transport.is_closing()
        if not (is_awaited or is_owed):
            self.lift()
        elif self.deadline is None:
            self.unread = self.transport.get_write_buffer_size()
            self.deadline = self.loop.call_later(self.timeout_keep_alive, self.expire)

    def lift(self) -> None:
        """Lift the deadline."""
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def expire(self) -> None:
        """Close the connection, unless the client goes on reading an answer."""
        self.deadline = None
        unread = self.transport.get_write_buffer_size()
        if 0 < unread <= self.unread - LEAST_READ:
            self.watch()
        else:
            self.transport.abort()

    @property
    def address(self) -> str:
        """The address of the client."""
        return self.client[0] if self.client else ""


def one_too_many(connections: Collection[Any]) -> Connection:
    """The connection that waits longest for a client, of the address that has the most of them."""
    is_open = [one for one in connections if not one.transport.is_closing()]
    held = Counter(one.address for one in is_open)
    most = max(held.values())
    of_most = [one for one in is_open if held[one.address] == most]
    return min(of_most, key=lambda one: one.deadline.when() if one.deadline else inf)


class Server(uvicorn.Server):
    """A server that does not wait for heavy work when it ends."""

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Answer what is asked now, and close all connections."""
        app: Any = self.config.app
        app.state.end()
        await super().shutdown(sockets)


def settings(app: FastAPI) -> uvicorn.Config:
    """The settings of uvicorn for the application."""
    return uvicorn.Config(
        app,
        http=Connection,
        log_level="error",  # a warning is of a client's mistake, such as a phone that tries https
        timeout_keep_alive=PATIENCE,
        timeout_graceful_shutdown=2,
    )


def tell_others(pages: list[str], is_asked: bool) -> None:
    """Print how other devices reach the page, and what they can do there.

    pages: its addresses for them. is_asked: whether an address was asked for.
    """
    console = Console()
    for page in pages[1:]:
        say(f"also: {page}", console)
    if pages:
        network.show_code(pages[0], console)
        say(ROOM, console)
    elif is_asked:
        say("No other device can reach this address.", console)


def serve(store: Path, port: int, board: Rules | None = None, host: str = HOST) -> None:
    """Serve until Ctrl-C. Port 0 is any free one. board: the one that the address opens.

    host: a name or an address of this computer at which it listens, or 0.0.0.0 or :: for all.
    Raises StoreError if the store cannot be used, ValueError for a host or port that cannot.
    """
    with GameStore(store) as opened:
        listening = network.listen(host, port)
        bound, free, *_ = listening.getsockname()
        others = [network.page_at(name, free) for name in network.names_for_others(host, bound)]
        own = network.page_at(HOST if bound in network.EVERY else network.plain(host), free)
        path = f"/?board={rules_text(board)}" if board else "/"
        where = f"games are kept in {printable(store)}; Ctrl-C ends"
        print(f"tic-tac-toe: {[*others, own][0]}{path}   ({where})", flush=True)
        tell_others([page + path for page in others], is_asked=host != HOST)
        names = network.names_of(host, bound)
        app = application(opened, board=board, names=names, shared=[*others, ""][0])
        sys.setswitchinterval(0.0005)  # seconds a quick answer waits for a thread that searches
        with suppress(KeyboardInterrupt):
            Server(settings(app)).run(sockets=[listening])
