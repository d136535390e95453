"""The server of the page: `python -m web.server`, or `python play.py --web`.

It listens on 127.0.0.1 only. `web.app` is the application, docs/PLAY.md has examples.
"""

from __future__ import annotations

import argparse
import socket
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import uvicorn

from players.gallery import FOLDERS, Gallery
from tictactoe_env.errors import whole_number
from tictactoe_env.games import Store
from training.command_line import Parser
from web.app import application

HOST, PORT = "127.0.0.1", 8000


def serve(store: Path, port: int = PORT, folders: Collection[str] = FOLDERS) -> None:
    """Serve until Ctrl-C. Port 0 is any free one.

    Raises StoreError if the store cannot be used, ValueError if the port is taken.
    """
    with Store(store) as opened:
        # asyncio turns off Nagle's algorithm, which costs 40 ms an answer, only if TCP is named.
        listening = socket.socket(proto=socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen(128)
        except OSError as error:
            listening.close()
            raise ValueError(
                f"port {port} cannot be used ({error.strerror}): "
                f"give another one, such as --port {port + 1}"
            ) from None
        settings = uvicorn.Config(
            application(opened, Gallery(tuple(folders))),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            h11_max_incomplete_event_size=16_384,
            limit_concurrency=256,
            timeout_graceful_shutdown=2,
        )
        address = f"http://{HOST}:{listening.getsockname()[1]}/"
        print(f"tic-tac-toe: {address}   (games are kept in {store}; Ctrl-C ends)", flush=True)
        sys.setswitchinterval(
            0.0005
        )  # seconds that a quick answer waits for a thread that searches
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
