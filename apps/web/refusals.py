"""What is refused, and how: an error is {"error": reason}.

FastAPI answers errors with the status 422 and a list of objects. Here every error is one sentence,
and the status says whether the client or the server is at fault. Starlette's TrustedHostMiddleware
and RequestBodyLimitMiddleware always answer in plain text, so `Guard` takes their places.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apps.web.processes import BusyError
from tictactoe_env.games.store import StoreError, UnknownGameError

STATIC = Path(__file__).with_name("static")
MAX_BODY = 8_192  # bytes
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


STATUS = {UnknownGameError: 404, StoreError: 503, BusyError: 503, ValueError: 400}


async def refuse(request: Request, error: Exception) -> Response:
    """The answer to any error but an HTTPException. Uvicorn logs the traceback of a status 500."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    text = "the server failed; its log says more" if status == 500 else str(error)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]  # of a body that is no JSON, or a model has raised ValueError
        is_json = first["type"] == "value_error"
        text = str(first["ctx"]["error"]) if is_json else f"this is not JSON: {first['msg']}"
        status = 400
    return refused(text, status, {"Retry-After": "1"} if status == 503 else None)


async def refuse_address(request: Request, error: Any) -> Response:
    """The answer of no endpoint: a refusal, or the page if it is an unknown address of the page."""
    path, status, text = request.url.path, error.status_code, error.detail
    if status == 405:
        text = f"{request.method} is not for {path[:120]}"
    elif status == 404 and not isinstance(error, Refusal):
        if request.method in ("GET", "HEAD") and not path.startswith(("/api/", "/static/")):
            return FileResponse(STATIC / "index.html", status)
        text = f"there is nothing at {path[:120]}"
    return refused(text, status, error.headers)


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


def unfit(headers: dict[bytes, bytes]) -> Response | None:
    """The refusal of a body that is no JSON by its type, or is too long; None for a fit one."""
    kind = headers.get(b"content-type", b"no content type").decode("latin-1")
    if kind.partition(";")[0].strip().lower() != "application/json":
        return refused(f"send application/json, got {kind[:80]!r}", 415)
    if int(headers.get(b"content-length", MAX_BODY + 1)) > MAX_BODY:
        return refused(f"a request says how many bytes it has, at most {MAX_BODY:,} bytes", 413)
    return None


class Guard:
    """Refuses requests that call this machine by another name, and those of other pages to `/api/`.

    Refuses bodies that are `unfit`, and adds HEADERS to every answer.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *RAW_HEADERS]
            await send(message)

        app: ASGIApp | None = None
        if scope["type"] == "http":
            headers = dict(reversed(scope["headers"]))
            host = headers.get(b"host", b"")
            if not HOST.fullmatch(host):
                name = host.decode("latin-1")[:80]
                app = refused(f"this server is for 127.0.0.1, not for {name!r}", 421)
            elif scope["path"].startswith("/api/") and stranger(headers):
                text = f"/api/ is for the page of this server, not for {stranger(headers)}"
                app = refused(text, 403)
            elif scope["method"] == "POST":
                app = unfit(headers)
        with suppress(asyncio.CancelledError):  # Ctrl-C, then `timeout_graceful_shutdown`
            await (app or self.app)(scope, receive, send_with_headers)
