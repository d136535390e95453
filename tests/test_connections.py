"""Clients that are silent or slow, that are too many, or that send no HTTP."""

import asyncio
import contextlib
import json

import pytest
import uvicorn
from uvicorn.server import ServerState

from apps.web.connections import Connection

GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
POST = GET.replace(b"GET", b"POST").removesuffix(b"\r\n")
CHUNKS = POST + b"Transfer-Encoding: chunked\r\n\r\n"
HANGS = 60  # seconds after which a test fails


def served(test, body=b"here", patience=HANGS, is_held=False, **settings):
    """Run `test(ask, server)`, where ask(*parts) opens a connection and sends these parts.

    The server reads a request, waits until `server.release` is set, and answers `body`.
    """

    class Impatient(Connection):
        PATIENCE = patience

    async def app(scope, receive, send):
        server.begun.set()
        message = {"more_body": True}
        while message.get("more_body"):
            message = await receive()
        await server.release.wait()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        server.ended.set()

    async def ask(*parts):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        opened.append(writer)  # which would be closed with its last reference
        with contextlib.suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await writer.drain()
        return reader, writer

    async def run():
        failures, loop = [], asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: failures.append(context))
        about = {"ws": "none", "lifespan": "off", "log_config": None, "timeout_keep_alive": HANGS}
        config = uvicorn.Config(app, http=Impatient, **about, **settings)
        config.load()
        server.begun, server.release, server.ended = (asyncio.Event() for _ in range(3))
        if not is_held:
            server.release.set()
        listening = await loop.create_server(lambda: Impatient(config, server, {}), "127.0.0.1", 0)
        async with listening:
            server.port = listening.sockets[0].getsockname()[1]
            await asyncio.wait_for(test(ask, server), HANGS)
            for connection in list(server.connections):
                connection.drop()
        assert failures == []

    server, opened = ServerState(), []
    asyncio.run(run())


async def rest(reader):
    """What the server still sends until it closes the connection."""
    with contextlib.suppress(ConnectionResetError):
        return await reader.read()
    return b""


async def status(reader):
    return int((await reader.readuntil(b"\r\n\r\n")).split()[1])


@pytest.mark.parametrize(
    ("beginning", "more"),  # what is sent at once, and then again and again
    [(b"", b""), (GET[:5], b"x"), (CHUNKS, b"1\r\nx\r\n")],
)
def test_a_connection_is_closed_if_its_request_does_not_arrive_in_time(beginning, more):
    async def test(ask, server):
        reader, writer = await ask(beginning)
        ended = asyncio.ensure_future(rest(reader))
        while not ended.done():
            writer.write(more)
            await asyncio.sleep(0.001)
        assert not server.connections
        if server.begun.is_set():  # the endpoint is told of the end of the request
            await server.ended.wait()

    served(test, patience=0.05)


def test_a_new_connection_takes_the_place_of_a_silent_one_but_not_of_one_that_is_answered():
    async def test(ask, server):
        first, _ = await ask(GET)
        await server.begun.wait()
        silent, _ = await ask()
        while len(server.connections) < 2:
            await asyncio.sleep(0)
        server.begun.clear()
        second, _ = await ask(GET)
        assert await rest(silent) == b""
        await server.begun.wait()
        third, _ = await ask(GET)
        head = (await third.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 503 ")
        assert b"retry-after: 1\r\n" in head
        assert json.loads(await rest(third))["error"]
        server.release.set()
        assert [await status(reader) for reader in (first, second)] == [200, 200]

    served(test, is_held=True, limit_concurrency=2)
