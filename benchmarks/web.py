"""Moves a second of the page's server, as a table: `python -m benchmarks.web`, `make bench-web`.

The server runs in its own process on 127.0.0.1, with one worker and an empty store. Each of four
clients has one connection, asks for a move in a random unfinished position, and asks again as soon
as it has the answer. The goal for agents that are tables: 200 requests/s, p99 below 50 ms. Two rows
have no goal: "with insight" also asks for the thoughts and the truth after the move, as the page
does with both switches on; the agent of the last row searches in a thread. On a busy machine the
server's CPU time for a request is the better measure.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tictactoe_env.certificate import certify, write
from tictactoe_env.policy import MinimaxPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.standing import standing
from training.command_line import CommandLine, Option, number

CLIENTS = 4
GOAL, PATIENCE = 200, 0.050  # requests/s at least, seconds at most for 99 of 100
INSIGHT = {"thinker": "minimax", "truth": True}
WITH_GOAL = ("minimax", "models/run.json")
ROWS: tuple[tuple[str, Rules, dict[str, Any]], ...] = (
    ("minimax", Rules(), {}),
    ("models/run.json", Rules(), {}),
    ("minimax with insight", Rules(), INSIGHT),
    ("search-depth=2", Rules(5, 5, 4), {}),
)
ROOT = Path(__file__).parent.parent


def request_of(agent: str, rules: Rules, more: dict[str, Any], rng: random.Random) -> bytes:
    """A request for a move after some random moves that end no game."""
    while True:
        moves = rng.sample(range(rules.cells), rng.randrange(rules.cells))
        if not standing(moves, rules).ended:
            break
    board = {"rows": rules.rows, "cols": rules.cols, "k": rules.k}
    content = json.dumps({"board": board, "moves": moves, "agent": agent, **more}).encode()
    head = (
        "POST /api/move HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        "\r\n",
    )
    return "\r\n".join(head).encode() + content


async def client(port: int, requests: list[bytes], end: float, times: list[float]) -> None:
    """Ask again and again until `end`; append the seconds that each request took to `times`.

    Raises RuntimeError for an answer that is no move.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for turn in range(sys.maxsize):
        began = time.perf_counter()
        if began > end:
            break
        writer.write(requests[turn % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        answer = await reader.readexactly(int(length[1]))
        times.append(time.perf_counter() - began)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answer.decode())
    writer.close()


async def load(
    port: int, agent: str, rules: Rules, more: dict[str, Any], seconds: float
) -> list[float]:
    """The seconds of every request of all clients, shortest first."""
    rng, times = random.Random(0), list[float]()
    requests = [[request_of(agent, rules, more, rng) for _ in range(200)] for _ in range(CLIENTS)]
    await client(port, requests[0][:1], time.perf_counter() + 0.2, [])  # makes the player
    end = time.perf_counter() + seconds
    await asyncio.gather(*(client(port, asked, end, times) for asked in requests))
    return sorted(times)


def cpu_seconds(pid: int) -> float:
    """The CPU time that a process has used so far; NaN on systems other than Linux."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server that runs in this folder and keeps games in `games.db`: its process, its address.

    settings: of the process, such as `stderr`.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "web.server", "--port", "0", "--store", "games.db"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        **settings,
    )
    with process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://127.0.0.1:\d+", process.stdout.readline())
            assert address is not None
            yield process, address[0]
        finally:
            process.terminate()


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if the goal was missed."""
    line = CommandLine(
        "python -m benchmarks.web",
        [Option("seconds", "of all rows together", number, 10.0, metavar="SECONDS")],
        usage="python -m benchmarks.web [--seconds SECONDS]",
        about="Speed of the page's server.",
    )
    seconds = line.values(arguments).seconds / len(ROWS)
    print("| agent | board | requests/s | median ms | p99 ms | longest ms | server's CPU ms |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    held = True
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (process, address):
        (Path(folder) / "models").mkdir()
        write(certify(MinimaxPolicy(Rules()), "run"), Path(folder) / "models" / "run.json")
        for name, rules, more in ROWS:
            began, agent = cpu_seconds(process.pid), name.partition(" ")[0]
            port = int(address.rpartition(":")[2])
            times = asyncio.run(load(port, agent, rules, more, seconds))
            cpu = (cpu_seconds(process.pid) - began) / len(times)
            p99, rate = times[len(times) * 99 // 100], len(times) / seconds
            if name in WITH_GOAL:
                held &= rate >= GOAL and p99 <= PATIENCE
            figures = (statistics.median(times), p99, times[-1], cpu)
            text = " | ".join(f"{1000 * figure:.1f}" for figure in figures)
            print(f"| {name} | {rules} | {rate:,.0f} | {text} |", flush=True)
    goal = f"goal {GOAL} requests/s, p99 below {1000 * PATIENCE:.0f} ms"
    print(f"\none worker, {CLIENTS} clients; {goal}: {'held' if held else 'missed'}")
    return not held


if __name__ == "__main__":
    sys.exit(main())
