"""What is refused, and how: JSON bodies are checked strictly, and an error is {"error": reason}.

FastAPI answers errors with the status 422 and a list of objects. Here every error is one sentence,
and the status says whether the client or the server is at fault. Starlette's TrustedHostMiddleware
and RequestBodyLimitMiddleware always answer in plain text, so `Guard` and `StrictRequest` take
their places.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apps.web.processes import BusyError
from tictactoe_env.files import without_repeats
from tictactoe_env.games.store import StoreError, UnknownGameError

STATIC = Path(__file__).with_name("static")
MAX_BODY = 8_192  # bytes of a request
HOST = re.compile(rb"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?")  # others are DNS rebinding
OWN_FETCHES = (b"same-origin", b"none")  # of Sec-Fetch-Site: the page, an address that was typed
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # browsers ask for a new version of the page every time
}
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Refusal(HTTPException):
    """A request that is refused, with the status and the reason."""


def refused(reason: str, status: int, headers: Any = None) -> Response:
    """The answer {"error": reason}."""
    content = json.dumps({"error": reason[:1000]})  # ASCII: a reason may hold half a character
    return Response(content, status, headers, "application/json")


class StrictRequest(Request):
    """A request whose body is small, and is JSON that every reader understands alike."""

    async def body(self) -> bytes:
        """The bytes that were sent, at most MAX_BODY; the rest is not read."""
        kind = self.headers.get("content-type", "no content type")
        if kind.partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, f"send application/json, got {kind[:80]!r}")
        data = b""
        try:
            async for chunk in self.stream():
                data += chunk
                if len(data) > MAX_BODY:
                    raise Refusal(413, f"a request may have {MAX_BODY:,} bytes")
        except ClientDisconnect:
            raise Refusal(400, "the request ended too early") from None
        if not data:
            raise Refusal(400, "this is not JSON: the request has no body")
        self._body = data
        return data

    async def json(self) -> Any:
        """The content; refused if a name stands twice in an object, and for NaN and infinity."""
        try:
            return DECODER.decode(self._body.decode())
        except (ValueError, RecursionError) as error:
            text = f"this is not JSON: {type(error).__name__}: {str(error)[:120]}"
        raise Refusal(400, text)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


DECODER = json.JSONDecoder(object_pairs_hook=without_repeats, parse_constant=_no_number)


class StrictRoute(APIRoute):
    """A route that reads the body of a request as a StrictRequest does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, given a StrictRequest."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


STATUS = {UnknownGameError: 404, StoreError: 503, BusyError: 503, ValueError: 400}


async def refuse(request: Request, error: Exception) -> Response:
    """The answer to any error but an HTTPException. Uvicorn logs the traceback of a status 500."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    text = "the server failed; its log says more" if status == 500 else str(error)
    if isinstance(error, RequestValidationError):  # a model has raised ValueError
        status, text = 400, str(error.errors()[0]["ctx"]["error"])
    return refused(text, status, {"Retry-After": "1"} if status == 503 else None)


async def refuse_address(request: Request, error: Any) -> Response:
    """The answer of no endpoint: a refusal, or the page if it is an unknown address of the page."""
    path, status, headers = request.url.path, error.status_code, error.headers
    if isinstance(error, Refusal):
        text = error.detail
    elif status == 405:
        text = f"{request.method} is not for {path[:120]}"
        headers = {"Allow": ", ".join(methods_of(request))}
    elif request.method in ("GET", "HEAD") and not path.startswith(("/api/", "/static/")):
        return FileResponse(STATIC / "index.html", status)
    else:
        text = f"there is nothing at {path[:120]}"
    return refused(text, status, headers)


def methods_of(request: Request) -> list[str]:
    """The methods of an address; Starlette names those of the first endpoint there."""
    routes = [one for one in request.app.routes if one.matches(request.scope)[0] is not Match.NONE]
    found = {method for route in routes for method in route.methods}
    return sorted(found or ("GET", "HEAD"))  # of a file


HANDLERS: dict[Any, Any] = {
    HTTPException: refuse_address,
    **dict.fromkeys([*STATUS, RequestValidationError, Exception], refuse),
}


def stranger(headers: dict[bytes, bytes]) -> str:
    """The other page that a browser asks for; empty if this page asks, or a program.

    A browser names the origin of a page in `Origin` (https://fetch.spec.whatwg.org/#origin-header),
    but not for a picture, and its relation to this server in `Sec-Fetch-Site`, always
    (https://www.w3.org/TR/fetch-metadata/). No page can change or leave out either header. Programs
    send neither.
    """
    own = b"http://" + headers.get(b"host", b"")
    origin, site = headers.get(b"origin", own), headers.get(b"sec-fetch-site", OWN_FETCHES[0])
    if origin.lower() != own.lower():
        return f"the page of {origin.decode('latin-1')[:80]!r}"
    return "" if site in OWN_FETCHES else f"a page that is {site.decode('latin-1')[:20]!r}"


class Guard:
    """Refuses requests that call this machine by another name, and those of other pages to `/api/`.

    Adds HEADERS to every answer.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        has_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                message["headers"] = [*message["headers"], *RAW_HEADERS]
            await send(message)

        app, headers = self.app, dict(reversed(scope.get("headers", [])))
        host = headers.get(b"host", b"")
        if scope["type"] == "http" and not HOST.fullmatch(host):
            name = host.decode("latin-1")[:80]
            app = refused(f"this server is for 127.0.0.1, not for {name!r}", 421)
        elif scope["type"] == "http" and scope["path"].startswith("/api/") and stranger(headers):
            text = f"/api/ is for the page of this server, not for {stranger(headers)}"
            app = refused(text, 403)
        try:
            await app(scope, receive, send_with_headers)
        except asyncio.CancelledError:  # after Ctrl-C and uvicorn's `timeout_graceful_shutdown`
            if not has_begun:
                app = refused("the server has been ended while it computed this", 503)
                await app(scope, receive, send_with_headers)
