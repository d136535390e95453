"""Refusals: an error is {"error": reason}."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.base import RequestResponseEndpoint

from apps.players.gallery import UnknownPlayerError
from apps.web.work import BusyError
from tictactoe_env.games.store import StoreError, UnknownGameError

STATIC = Path(__file__).with_name("static")
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
STATUS: dict[type[Exception], int] = {
    UnknownGameError: 404,
    UnknownPlayerError: 404,
    StoreError: 503,
    BusyError: 503,
    ValueError: 400,
}


def refused(reason: str, status: int, headers: Any = None) -> Response:
    """The answer {"error": reason}."""
    content = json.dumps({"error": reason[:1000]})  # ASCII: a reason may hold half a character
    return Response(content, status, headers, "application/json")


async def refuse(request: Request, error: Exception) -> Response:
    """The answer to an error of what is asked for, or of a server that cannot do it now."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    headers = {"Retry-After": "1"} if status == 503 else None
    return refused(str(error), status, headers)


async def refuse_invalid(request: Request, error: Any) -> Response:
    """The answer to a request that is not as described: up to three things that are wrong."""
    parts = []
    for one in error.errors()[:3]:
        place = one["loc"][1:] or one["loc"]  # without "body" or "query", if more is known
        part = f"{'.'.join(map(str, place))}: {one['msg']}"
        given = one.get("input")
        if isinstance(given, (str, int, float)):
            part += f", got {given!r:.80}"
        parts.append(part)
    return refused("; ".join(parts), 400)


async def refuse_place(request: Request, error: Any) -> Response:
    """The answer to an unknown address or method; at an address of the page it says so itself."""
    is_page = not request.url.path.startswith(("/api/", "/static/"))
    if error.status_code == 404 and is_page:
        return FileResponse(STATIC / "index.html", 404)
    return refused(error.detail, error.status_code, error.headers)


HANDLERS: dict[Any, Any] = {
    **dict.fromkeys(STATUS, refuse),
    RequestValidationError: refuse_invalid,
    HTTPException: refuse_place,
}


def is_strange(request: Request) -> bool:
    """True if the page of another origin asks, not the page itself or a program.

    A browser names the origin of a page in `Origin` (https://fetch.spec.whatwg.org/#origin-header),
    but not for a picture, and its relation to this server in `Sec-Fetch-Site`, always
    (https://www.w3.org/TR/fetch-metadata/). No page can change or leave out either header. Programs
    send neither.
    """
    own = f"http://{request.headers['host']}"
    origin = request.headers.get("origin", own)
    site = request.headers.get("sec-fetch-site")
    return origin.lower() != own.lower() or site not in (None, "same-origin", "none")


async def guard(request: Request, answer: RequestResponseEndpoint) -> Response:
    """Refuse requests of other pages to `/api/`, and add HEADERS to every answer."""
    if request.url.path.startswith("/api/") and is_strange(request):
        found = refused("/api/ is for the page of this server, not for another page", 403)
    else:
        found = await answer(request)
    found.headers.update(HEADERS)
    return found
