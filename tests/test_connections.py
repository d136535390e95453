"""How the server treats clients that are silent, slow or too many, or that send no HTTP."""

import asyncio
import contextlib
import errno
import json
import logging
import logging.config
import socket
import subprocess
import urllib.request

import pytest
import uvicorn
from uvicorn.server import ServerState

from benchmarks.web import serving
from web.connections import Connection, Seldom, log_config, most_connections, tell

HOST = b"Host: 127.0.0.1\r\n"
GET = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST / HTTP/1.1\r\n" + HOST
BODY = POST + b"Content-Length: 9\r\n\r\n"
CHUNKS = POST + b"Transfer-Encoding: chunked\r\n\r\n"
LARGE = b"x" * 8_000_000  # more than the buffers of a connection hold
HANGS = 60  # seconds after which a test fails


class Impatient(Connection):
    PATIENCE = 0.05


class Patient(Connection):
    PATIENCE = HANGS


class App:
    """Reads a request, waits until `release` is set, answers `answer`; then `ended` is set."""

    def __init__(self, answer=b"here", reads=True):
        self.answer, self.reads = answer, reads
        self.begun, self.release, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.release.set()

    async def __call__(self, scope, receive, send):
        try:
            self.begun.set()
            message = {"more_body": self.reads}
            while message.get("more_body"):
                message = await receive()
            await self.release.wait()
            headers = [(b"content-length", str(len(self.answer)).encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": self.answer})
        finally:
            self.ended.set()


@contextlib.asynccontextmanager
async def listening(app, kind=Impatient, **settings):
    """The port of a server in this event loop, and the set of its connections."""
    settings = {"ws": "none", "lifespan": "off", "log_config": None, **settings}
    config = uvicorn.Config(app, http=kind, timeout_keep_alive=HANGS, **settings)
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: kind(config, state, {}), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], state.connections
        for connection in list(state.connections):
            connection.drop()


def in_loop(test):
    """Run a coroutine; a failure of the loop fails the test."""

    async def run():
        failures = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: failures.append(context))
        await asyncio.wait_for(test, HANGS)
        assert failures == []

    asyncio.run(run())


async def sent(port, *parts):
    """A connection on which this was sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
    return reader, writer


async def rest(reader):
    """What the server still sends until it closes the connection."""
    with contextlib.suppress(ConnectionResetError):
        return await reader.read()
    return b""


async def status(reader):
    return int((await reader.readuntil(b"\r\n\r\n")).split()[1])


@pytest.mark.parametrize(
    "parts", [(), (GET[:9],), (POST,), (BODY, b"x"), (CHUNKS, b"5\r\nab")], ids=repr
)
def test_a_connection_is_closed_if_its_request_does_not_arrive_in_time(parts):
    async def test():
        app = App()
        async with listening(app) as (port, open_ones):
            reader, writer = await sent(port, *parts)
            assert await rest(reader) == b""
            assert not open_ones
            writer.close()
            if app.begun.is_set():  # the endpoint is told of the end of the request
                await app.ended.wait()

    in_loop(test())


@pytest.mark.parametrize("beginning", [b"GET /", BODY.replace(b"9", b"999999999"), CHUNKS])
def test_the_time_is_for_the_whole_request_not_for_each_byte(beginning):
    async def test():
        async with listening(App()) as (port, _):
            reader, writer = await sent(port, beginning)
            ended = asyncio.ensure_future(rest(reader))
            while not ended.done():
                writer.write(b"1\r\nx\r\n" if beginning is CHUNKS else b"x")
                await asyncio.sleep(0.001)

    in_loop(test())


def test_a_client_that_takes_nothing_of_an_answer_is_left():
    async def test():
        app = App(LARGE)
        async with listening(app) as (port, open_ones):
            _, writer = await sent(port, GET)
            await app.ended.wait()
            while open_ones:  # hangs if the server waits for the client
                await asyncio.sleep(0.001)
            writer.close()

    in_loop(test())


def test_a_body_that_no_endpoint_reads_does_not_keep_a_connection():
    async def test():
        async with listening(App(reads=False)) as (port, _):
            reader, _ = await sent(port, BODY)
            assert await status(reader) == 200
            assert await rest(reader) == b"here"

    in_loop(test())


def test_an_answer_may_take_any_time_and_the_next_request_has_its_own():
    async def test():
        app = App()
        app.release.clear()
        async with listening(app) as (port, open_ones):
            reader, writer = await sent(port, BODY, b"123456789")
            await app.begun.wait()
            (connection,) = open_ones
            while connection.closes_at is not None:
                await asyncio.sleep(0)
            app.release.set()
            assert (await status(reader), await reader.readexactly(4)) == (200, b"here")
            writer.write(GET)
            assert (await status(reader), await reader.readexactly(4)) == (200, b"here")

    in_loop(test())


def test_a_new_connection_takes_the_place_of_the_one_that_has_waited_longest():
    async def test():
        async with listening(App(), Patient, limit_concurrency=4) as (port, open_ones):
            silent = [await sent(port, b"GET /"[:length]) for length in (0, 3, 0, 3, 0, 3)]
            reader, _ = await sent(port, GET)
            assert await status(reader) == 200
            assert len(open_ones) == 3
            for early, _ in silent[:4]:
                assert await rest(early) == b""
            silent[4][1].write(GET)
            assert await status(silent[4][0]) == 200

    in_loop(test())


def test_if_every_connection_is_being_answered_the_next_gets_503():
    async def test():
        app = App()
        app.release.clear()
        async with listening(app, Patient, limit_concurrency=3) as (port, _):
            first, second = await sent(port, GET), await sent(port, GET)
            while len(app_tasks()) < 2:
                await asyncio.sleep(0)
            third, _ = await sent(port, GET)
            head = (await third.readuntil(b"\r\n\r\n")).lower()
            assert head.startswith(b"http/1.1 503 ")
            assert b"retry-after: 1\r\n" in head
            assert b"content-security-policy: default-src 'none'" in head
            assert "too many requests" in json.loads(await rest(third))["error"]
            app.release.set()
            assert [await status(reader) for reader, _ in (first, second)] == [200, 200]

    def app_tasks():
        return [task for task in asyncio.all_tasks() if "run_asgi" in repr(task)]

    in_loop(test())


NO_HTTP = {
    "garbage": (b"\x00\x01 garbage\r\n\r\n",),
    "after an answer": (GET, b"\x00\x01\r\n\r\n"),
    "a body that no endpoint reads": (CHUNKS, b"zz\r\n"),
    "at once": (CHUNKS + b"zz\r\n",),
    "a length that is none": (POST + b"Content-Length: x\r\n\r\n",),
    "an upgrade": (GET.replace(b"\r\n\r\n", b"\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),),
}


@pytest.mark.parametrize("parts", NO_HTTP.values(), ids=NO_HTTP)
@pytest.mark.parametrize("is_half_closed", [False, True])
@pytest.mark.parametrize("reads", [False, True])
def test_what_is_no_http_makes_no_traceback(parts, is_half_closed, reads, caplog):
    async def test():
        async with listening(App(reads=reads)) as (port, _):
            reader, writer = await sent(port, parts[0])
            if len(parts) == 2 and not reads:
                assert await status(reader) == 200  # the rest comes when the answer is complete
            for part in parts[1:]:
                writer.write(part)
            if is_half_closed:
                writer.write_eof()
            await rest(reader)

    in_loop(test())
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []


def test_a_warning_is_logged_once_a_minute_and_an_error_always(capsys):
    logging.config.dictConfig(log_config())
    logger = logging.getLogger("uvicorn.error")
    for number in range(5):
        logger.warning("Invalid HTTP request received.")
        logger.warning("descriptors: %s", number)
        logger.error("a failure")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 7
    assert sum("descriptors: 0" in line for line in lines) == 1
    again = Seldom(seconds=0)
    record = logging.LogRecord("", logging.WARNING, "", 0, "text", (), None)
    assert again.filter(record)
    assert again.filter(record)


def test_a_lack_of_descriptors_is_told_in_a_line_and_other_failures_in_full(caplog):
    loop = asyncio.new_event_loop()
    tell(loop, {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")})
    (record,) = caplog.records
    assert record.getMessage().startswith("no more files can be opened (Too many open files)")
    assert record.exc_info is None
    tell(loop, {"message": "else", "exception": ZeroDivisionError()})
    assert caplog.records[1].exc_info
    loop.close()


@pytest.mark.parametrize("descriptors", [64, 256, 1024, 1_000_000])
def test_connections_leave_descriptors_for_files(descriptors):
    connections, backlog = most_connections(descriptors)
    assert connections + 4 * backlog <= 3 * descriptors / 4
    assert connections <= most_connections()[0] <= 256 or descriptors >= 1024


def test_silent_connections_neither_use_up_descriptors_nor_keep_others_from_an_answer(tmp_path):
    resource = pytest.importorskip("resource")

    def allow_few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    settings = {"stderr": subprocess.PIPE, "preexec_fn": allow_few_files}
    with serving(tmp_path, **settings) as (process, address), contextlib.ExitStack() as stack:
        port = int(address.rpartition(":")[2])
        for _ in range(300):
            silent = stack.enter_context(socket.socket())
            silent.setblocking(False)  # one that finds no place tries again by itself
            silent.connect_ex(("127.0.0.1", port))
        for _ in range(3):
            with urllib.request.urlopen(f"{address}/api/agents", timeout=HANGS) as answer:
                assert json.load(answer)["agents"]
        process.terminate()
        assert process.communicate(timeout=HANGS)[1] == ""
