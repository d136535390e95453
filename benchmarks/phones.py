"""A class that plays on the page at once: `python -m benchmarks.phones http://192.168.1.5:8000`.

Each phone opens the page and a player, then plays a game with random moves, and asks for the truth
before each move. The games are not kept. What is refused is counted, and the exit code is 1 then.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.client import HTTPConnection
from typing import Annotated
from urllib.parse import urlsplit

import numpy as np
from cyclopts import App, Parameter

from tictactoe_env.notation import parse_size
from tictactoe_env.rules import Rules, game_state

APP = App(help=__doc__)
OPENED = ("/", "/static/app.js", "/static/play.js", "/static/style.css", "/api/agents")
SECONDS = 90  # that an answer may take


class Phone:
    """A phone that asks a server. found: the seconds of its answers by what was asked; refused."""

    def __init__(self, page: str, seed: int):
        self.page = page
        self.connection = HTTPConnection(urlsplit(page).netloc, timeout=SECONDS)
        self.rng = np.random.default_rng(seed)
        self.found: dict[str, list[float]] = defaultdict(list)
        self.refused: list[str] = []

    def ask(self, name: str, path: str, asked: object = None) -> dict:
        """Ask once, as the page does, and note how long the answer has taken; its content."""
        headers = {"Origin": self.page, "Content-Type": "application/json"}
        began = time.monotonic()
        try:
            body = None if asked is None else json.dumps(asked)
            self.connection.request("POST" if body else "GET", path, body, headers)
            answer = self.connection.getresponse()
            content = answer.read()
            self.found[name].append(time.monotonic() - began)
            if answer.status == 200:
                return json.loads(content) if path.startswith("/api/") else {}
            self.refused.append(f"{name}: {answer.status} {content[:200]!r}")
        except OSError as error:
            self.refused.append(f"{name}: {error!r}")
        self.connection.close()
        return {}

    def play(self, rules: Rules, agent: str, think: float) -> None:
        """Open the page and the agent's page, and play a game against it."""
        for path in OPENED:
            self.ask("page", path)
        self.ask("proof", f"/api/agents/{agent}")
        asked = {"board": rules.to_json(), "moves": []}
        now = game_state([], rules)
        while not now.ended:
            moves = [*now.moves]
            if len(moves) % 2 == 0:
                time.sleep(self.rng.uniform(0, 2 * think))
                self.ask("truth", "/api/analysis", {**asked, "moves": moves, "truth": True})
                cell = int(self.rng.choice(np.flatnonzero(rules.legal_cells(now.board))))
            else:
                found = self.ask("move", "/api/move", {**asked, "moves": moves, "agent": agent})
                if not found:
                    return
                cell = found["cell"]
            now = game_state([*moves, cell], rules)
        self.ask("verdicts", "/api/verdicts", {**asked, "moves": [*now.moves]})


@APP.default
def check(
    page: str,
    /,
    *,
    phones: int = 30,
    board: Annotated[str, Parameter(help="such as 3x3x3")] = "3x3x3",
    gravity: bool = False,
    agent: str = "minimax",
    think: Annotated[float, Parameter(help="mean seconds before a move")] = 2.0,
) -> int:
    """Let phones play at once, print how long answers take, and how many are refused."""
    rules = replace(parse_size(board), gravity=gravity)
    room = [Phone(page.rstrip("/"), seed) for seed in range(phones)]
    with ThreadPoolExecutor(phones) as pool:
        list(pool.map(lambda phone: phone.play(rules, agent, think), room))
    for name in ("page", "proof", "truth", "move", "verdicts"):
        seconds = np.concatenate([phone.found[name] for phone in room])
        if not seconds.size:  # all was refused before
            continue
        median, most = np.median(seconds), seconds.max()
        print(f"{name:9} {len(seconds):5} answers, median {median:.3f} s, slowest {most:.3f} s")
    refused = [text for phone in room for text in phone.refused]
    print(f"refused: {len(refused)}", *refused[:5], sep="\n")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(APP())
