"""A server of the page in a process of its own: raw requests to it, its memory, its end."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tictactoe_env.certificate import certify, write
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy
from tictactoe_env.rules import Rules

ROOT = Path(__file__).parent.parent
COMMAND = (sys.executable, "-m", "web.server", "--port", "0", "--store", "games.db")
DESCRIPTORS = 256  # that the server may have open
SECRET = "a-file-that-is-not-of-the-page"  # stands in the server's folder
PATIENCE = 60.0  # seconds for one request; the server itself ends a computation after 60
LAST_WORDS = 20.0  # seconds for the end of the server, which is 2 and the end of its processes


@dataclass(frozen=True)
class Server:
    """A running server. log: the file to which its errors are written."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.port}"

    def descriptors(self) -> int:
        """How many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def megabytes(self) -> list[int]:
        """The largest memory that each process has had so far, its own first."""
        pids = [self.process.pid, *children_of(self.process.pid)]
        return [peak for pid in pids for peak in peak_of(pid)]


@dataclass(frozen=True)
class Answer:
    """The answer to a request. headers: the names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


def prepare(folder: Path) -> None:
    """Write what a server finds in its folder: players, files that are none, a secret."""
    (folder / "secret.txt").write_text(SECRET)
    for place in ("models", "runs/pipe", "runs/torn"):
        (folder / place).mkdir(parents=True)
    write(certify(MinimaxPolicy(Rules()), "run"), folder / "models" / "run.json")
    write(certify(RandomPolicy(), "random", Rules(2, 3, 2)), folder / "models" / "weak.json")
    os.mkfifo(folder / "runs" / "pipe" / "certificate.json")
    (folder / "runs" / "torn" / "certificate.json").write_text('{"format": 1, ')


@contextmanager
def serving(folder: Path, command: Sequence[str] = COMMAND) -> Iterator[Server]:
    """A server that runs in this folder, and has ended afterwards."""
    prepare(folder)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C for this program is not for the server
            preexec_fn=_limit,
        )
    with process:
        try:
            assert process.stdout is not None
            address = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
            if address is None:
                raise RuntimeError(f"the server has not started:\n{(folder / 'log').read_text()}")
            yield Server(process, int(address[1]), folder / "log")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its processes too


def _limit() -> None:
    """Few descriptors; and Ctrl-C is heeded, which a process in the background ignores."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    signal.signal(signal.SIGINT, signal.default_int_handler)


def ended(server: Server) -> Iterator[str]:
    """Press Ctrl-C; what is wrong with the end of the server, and with what it has logged."""
    children = children_of(server.process.pid)
    server.process.send_signal(signal.SIGINT)
    try:
        code = server.process.wait(LAST_WORDS)
    except subprocess.TimeoutExpired:
        yield f"the server still runs {LAST_WORDS:g} s after Ctrl-C"
    else:
        if code != 0:
            yield f"the server has ended with {code} after Ctrl-C"
        left = [pid for pid in children if is_running(pid)]
        if left:
            yield f"{len(left)} processes of the server go on after its end"
    text = server.log.read_text(errors="replace")
    if "Traceback" in text:
        yield f"a traceback in the log of the server:\n{text[:4000]}"
    elif len(text.splitlines()) > MOST_LINES:
        yield f"{len(text.splitlines())} lines in the log of the server:\n{text[:2000]}"


MOST_LINES = 20  # of a server's log: it tells each warning once a minute


def children_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def peak_of(pid: int) -> list[int]:
    """The largest memory of a process in megabytes; empty if it has ended."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return [int(found[1]) // 1024] if found else []
    return []


async def sent(port: int, data: bytes, seconds: float = PATIENCE) -> Answer | None:
    """Send raw bytes; the first answer, or None if the server closes the connection without one.

    Raises TimeoutError if it does neither in this time.
    """
    return await asyncio.wait_for(_sent(port, data), seconds)


async def _sent(port: int, data: bytes) -> Answer | None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with suppress(ConnectionError):
            writer.write(data)
            await writer.drain()
        return await answer_from(reader, is_head=data.startswith(b"HEAD "))
    finally:
        writer.close()


async def answer_from(reader: asyncio.StreamReader, is_head: bool = False) -> Answer | None:
    """The next answer on a connection, or None if it is closed."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in lines if line]
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = b""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        if not is_head:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Answer(int(first.split()[1]), headers, body)


def wrong_in(answer: Answer) -> str:
    """What no answer may be, whatever was asked; empty if it is right."""
    is_told = answer.status == 503 and "retry-after" in answer.headers
    if answer.status >= 500 and not is_told:
        return f"answered with {answer.status}: {answer.body[:200]!r}"
    if b"Traceback" in answer.body:
        return f"answered with a traceback: {answer.body[:500]!r}"
    if SECRET.encode() in answer.body:
        return "sent a file that is not of the page"
    return ""
