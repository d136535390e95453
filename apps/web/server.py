"""The server of the page: `python play.py --web`.

`application` has the addresses of the interface (see /openapi.json) and of the page; `serve`
listens on 127.0.0.1 only. docs/play.md has examples.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.h11_impl import H11Protocol

from apps.players.gallery import Gallery
from apps.web.api import Api, Picture
from apps.web.refusals import HANDLERS, STATIC, guard
from apps.web.work import Processes
from tictactoe_env import __version__
from tictactoe_env.errors import printable
from tictactoe_env.games.store import GameStore
from tictactoe_env.notation import rules_text
from tictactoe_env.rules import Rules

HOST = "127.0.0.1"
NAMES = (HOST, "localhost", "[::1]")  # of this machine; others are DNS rebinding
MOST_CONNECTIONS = 256
REQUEST_SECONDS = 5  # in which a connection must bring its next request as a whole
MAX_BODY = 8_192  # bytes of a request
PAGES = ("/", "/learn", "/games", "/games/{id}", "/agents", "/agents/{id:path}")


def application(
    store: GameStore,
    gallery: Gallery | None = None,
    processes: Processes | None = None,
    board: Rules | None = None,
) -> FastAPI:
    """The ASGI application. The store stays open and belongs to the caller.

    processes: where heavy work is done. board: another one to play on.
    """
    app = FastAPI(
        title="tic-tac-toe",
        version=__version__,
        description="The interface behind the page of `python play.py --web`.",
        docs_url=None,  # both pages of documentation load their scripts from another host
        redoc_url=None,
        exception_handlers=HANDLERS,
        max_body_size=MAX_BODY,
        responses={"default": {"description": 'A refusal, {"error": reason}'}},
    )
    app.middleware("http")(guard)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=NAMES)
    further = [] if board is None else [board]
    api = Api(store, gallery or Gallery(), processes or Processes(), further)
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


async def page(request: Request) -> Response:
    """The page; its script shows what the address asks for."""
    return FileResponse(STATIC / "index.html")


class Connection(H11Protocol):
    """A connection that is closed if its next request does not arrive as a whole in time.

    uvicorn itself waits for ever, so silent clients could take all places for connections.
    """

    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Await the first request."""
        super().connection_made(transport)
        self.watch()

    def handle_events(self) -> None:
        """Handle what has arrived, also after an answer, and await the rest."""
        super().handle_events()
        self.watch()

    def watch(self) -> None:
        """Set the deadline while a request is awaited or arrives, and lift it after that."""
        is_awaited = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if is_awaited and self.deadline is None:
            self.deadline = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)
        elif not is_awaited and self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


def settings(app: FastAPI) -> uvicorn.Config:
    """The settings of uvicorn for the application."""
    return uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=REQUEST_SECONDS,
        timeout_graceful_shutdown=2,
    )


def serve(store: Path, port: int, board: Rules | None = None) -> None:
    """Serve until Ctrl-C. Port 0 is any free one. board: the one that the address opens.

    Raises StoreError if the store cannot be used, ValueError if the port is taken.
    """
    with GameStore(store) as opened:
        try:
            listening = socket.create_server((HOST, port))
        except OSError as error:
            why = error.strerror
            raise ValueError(f"port {port} cannot be used ({why}): give another --port") from None
        # Connections inherit this. Nagle's algorithm delays answers by 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _, free = listening.getsockname()
        address = f"http://{HOST}:{free}/"
        if board is not None:
            address += f"?board={rules_text(board)}"
        where = f"games are kept in {printable(store)}; Ctrl-C ends"
        print(f"tic-tac-toe: {address}   ({where})", flush=True)
        sys.setswitchinterval(0.0005)  # seconds a quick answer waits for a thread that searches
        with suppress(KeyboardInterrupt):
            uvicorn.Server(settings(application(opened, board=board))).run(sockets=[listening])
