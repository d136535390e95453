"""How many moves a second the page's server makes: `python -m benchmarks.web`, or `make bench-web`; ten seconds, as a table.

The server is its own process on 127.0.0.1 with one worker and an empty store. Four clients, each with one connection, ask
for a move of a random unfinished position as soon as they have the last answer. The goal, for agents that are tables: 200
requests/s, p99 below 50 ms. The last row is an agent that searches, in a thread. On a machine with other work the server's
own CPU time a request says more than the clock.
"""

from __future__ import annotations

import argparse
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
from pathlib import Path

from tictactoe_env.certificate import certify, write
from tictactoe_env.policy import MinimaxPolicy
from tictactoe_env.rules import Rules

CLIENTS = 4
GOAL, PATIENCE = 200, 0.050  # requests/s at least, seconds at most for 99 of 100
TABLES = (("minimax", Rules()), ("models/run.json", Rules()))
SEARCH = ("search-depth=2", Rules(5, 5, 4))
ROOT = Path(__file__).parent.parent


def request_of(agent: str, rules: Rules, rng: random.Random) -> bytes:
    """A request for a move after some random moves that end no game."""
    while True:
        moves = rng.sample(range(rules.cells), rng.randrange(rules.cells))
        marks = [sum(rules.cell_bits[cell] for cell in moves[side::2]) for side in (0, 1)]
        if not any(map(rules.has_line, marks)):
            break
    content = json.dumps(
        {
            "board": {"rows": rules.rows, "cols": rules.cols, "k": rules.k},
            "moves": moves,
            "agent": agent,
        }
    ).encode()
    head = f"POST /api/move HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


async def client(port: int, requests: list[bytes], end: float, times: list[float]) -> None:
    """Ask again and again until `end`; the seconds of each request go to `times`. RuntimeError for an answer that is no move."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(sys.maxsize):
        began = time.perf_counter()
        if began > end:
            break
        writer.write(requests[number % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        answer = await reader.readexactly(int(length[1]))
        times.append(time.perf_counter() - began)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answer.decode())
    writer.close()


async def load(port: int, agent: str, rules: Rules, seconds: float) -> list[float]:
    """The seconds of every request of all clients, shortest first."""
    rng, times = random.Random(0), list[float]()
    await client(
        port, [request_of(agent, rules, rng)], time.perf_counter() + 0.2, []
    )  # the player is made at the first request
    end = time.perf_counter() + seconds
    await asyncio.gather(
        *(
            client(port, [request_of(agent, rules, rng) for _ in range(200)], end, times)
            for _ in range(CLIENTS)
        )
    )
    return sorted(times)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far; NaN where the system does not say (it does on Linux)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if the goal was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.web", description="Speed of the page's server."
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="of all rows together (default: 10)"
    )
    seconds = parser.parse_args(arguments).seconds / len((*TABLES, SEARCH))
    print(
        "| agent | board | requests/s | median ms | p99 ms | longest ms | server's CPU ms |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    )
    held = True
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "models").mkdir()
        write(certify(MinimaxPolicy(Rules()), "run"), Path(folder) / "models" / "run.json")
        program = [sys.executable, "-m", "web.server", "--port", "0", "--store", "games.db"]
        server = subprocess.Popen(
            program,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            port = re.search(r"http://127.0.0.1:(\d+)", server.stdout.readline())
            assert port is not None
            for agent, rules in (*TABLES, SEARCH):
                began = cpu_seconds(server.pid)
                times = asyncio.run(load(int(port[1]), agent, rules, seconds))
                cpu = (cpu_seconds(server.pid) - began) / len(times)
                p99, rate = times[len(times) * 99 // 100], len(times) / seconds
                held &= (agent, rules) == SEARCH or (rate >= GOAL and p99 <= PATIENCE)
                figures = " | ".join(
                    f"{1000 * figure:.1f}"
                    for figure in (statistics.median(times), p99, times[-1], cpu)
                )
                print(f"| {agent} | {rules} | {rate:,.0f} | {figures} |", flush=True)
        finally:
            server.terminate()
            server.wait()
    print(
        f"\none worker, {CLIENTS} clients; goal {GOAL} requests/s, p99 below {1000 * PATIENCE:.0f} ms: {'held' if held else 'missed'}"
    )
    return not held


if __name__ == "__main__":
    sys.exit(main())
