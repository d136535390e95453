"""The server of the page: `python -m web.server`, or `python play.py --web`.

It listens on 127.0.0.1 only. `web.app` is the application, docs/PLAY.md has examples.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import uvicorn

from players.gallery import Gallery
from tictactoe_env.runs import FOLDERS
from tictactoe_env.store import GameStore
from training.command_line import CommandLine, Option, whole
from web.app import application

HOST, PORT = "127.0.0.1", 8000


def serve(store: Path, port: int = PORT, folders: Collection[str] = FOLDERS) -> None:
    """Serve until Ctrl-C. Port 0 is any free one.

    Raises StoreError if the store cannot be used, ValueError if the port is taken.
    """
    with GameStore(store) as opened:
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
    """The command line; the exit code."""
    given = command_line().values(arguments)
    try:
        serve(given.store, given.port)
    except (ValueError, OSError) as error:
        print(f"play.py: {error}", file=sys.stderr)
        return 1
    return 0


def command_line() -> CommandLine:
    """The options."""
    return CommandLine(
        "play.py --web",
        [
            Option(
                "store",
                "where games are kept; by play.py --web in your folder for data",
                Path,
                Path("games.db"),
                metavar="FILE",
            ),
            Option(
                "port",
                f"port of {HOST}; 0 is any free one",
                whole(0, 65_535),
                PORT,
                metavar="N",
                bound="0 to 65535",
            ),
        ],
        usage="play.py --web [--store FILE] [--port N]",
        about="Play in the browser.",
    )


if __name__ == "__main__":
    sys.exit(main())
