"""What is refused, and how: strict JSON bodies, errors as {"error": reason}, and other hosts.

FastAPI's own answers to errors are lists of objects with the status 422; here every error is one
sentence, and the status says whose mistake it is. Starlette's TrustedHostMiddleware and
RequestBodyLimitMiddleware answer in plain text and cannot be told otherwise, so `Guard` and
`StrictRequest` take their places.
"""

from __future__ import annotations

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
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tictactoe_env.store import StoreError, UnknownGameError
from web.players import BusyError
from web.sentences import reason

STATIC = Path(__file__).with_name("static")
MAX_BODY = 8_192  # bytes of a request
HOSTS = ("127.0.0.1", "localhost", "[::1]")  # other names are DNS rebinding, or a mistake
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # a new version of the page is there at once
}
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


class Refusal(HTTPException):
    """A request that is not served, with the status and the reason."""


def reply(content: Any, status: int = 200, headers: Any = None) -> Response:
    """A JSON answer. ValueError for NaN and infinity, which JSON does not have."""
    return Response(ENCODER.encode(content), status, headers, "application/json")


# --- bodies ---------------------------------------------------------------------------------------


class StrictRequest(Request):
    """A request with a JSON body that is small, and that means the same to every reader."""

    async def body(self) -> bytes:
        """The bytes that were sent, at most MAX_BODY; what comes after these is not read."""
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


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_no_number)


class StrictRoute(APIRoute):
    """A route whose endpoint gets the content of a StrictRequest."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, given another class of request."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


# --- errors ---------------------------------------------------------------------------------------

STATUS = {UnknownGameError: 404, StoreError: 503, BusyError: 503, ValueError: 400}


async def refuse(request: Request, error: Exception) -> Response:
    """The answer to an error of the caller, and of a store that cannot be used."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    return reply({"error": str(error)[:1000]}, status)


async def refuse_content(request: Request, error: Exception) -> Response:
    """The answer to content that does not fit its model."""
    assert isinstance(error, RequestValidationError)
    return reply({"error": reason(error)[:1000]}, 400)


async def refuse_address(request: Request, error: Exception) -> Response:
    """The answer where no endpoint answers; a mistyped address of a page gets the page."""
    assert isinstance(error, HTTPException)
    path, status = request.url.path, error.status_code
    if isinstance(error, Refusal):
        text = error.detail
    elif status == 405:
        text = f"{request.method} is not for {path[:120]}"
    elif request.method in ("GET", "HEAD") and not path.startswith(("/api/", "/static/")):
        return FileResponse(STATIC / "index.html", status)
    else:
        text = f"there is nothing at {path[:120]}"
    return reply({"error": text}, status, error.headers)


async def fail(request: Request, error: Exception) -> Response:
    """The answer to a mistake of the server; uvicorn writes the traceback to its log."""
    return reply({"error": "the server failed; its log says more"}, 500)


HANDLERS: dict[Any, Any] = {
    **dict.fromkeys(STATUS, refuse),
    RequestValidationError: refuse_content,
    HTTPException: refuse_address,
    Exception: fail,
}


class Guard:
    """Serves only requests that call this machine by its own name; adds HEADERS to every answer."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *RAW_HEADERS]
            await send(message)

        hosts = [value for name, value in scope["headers"] if name == b"host"]
        host = hosts[0].decode("latin-1") if hosts else ""
        app = self.app
        if re.sub(r":\d+$", "", host) not in HOSTS:
            text = f"this server is for {HOSTS[0]}, not for {host[:80]!r}"
            app = reply({"error": text}, 421)
        await app(scope, receive, send_with_headers)
