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
from apps.web import network, work
from apps.web.work import BusyError
from tictactoe_env.games.store import StoreError, UnknownGameError

STATIC = Path(__file__).with_name("static")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # see `is_strange`
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


def is_called(request: Request) -> bool:
    """True if a request calls this server by one of its names, or by the address it was sent to."""
    address, _ = request.scope["server"]
    name = network.plain(network.name_in(request.headers.get("host", "")))
    return name == network.plain(address) or name in request.app.state.names


def is_strange(request: Request) -> bool:
    """True if the page of another origin asks, not the page itself or a program.

    A browser names the origin of a page in `Origin` (https://fetch.spec.whatwg.org/#origin-header),
    but not for a picture, and its relation to this server in `Sec-Fetch-Site`, always
    (https://www.w3.org/TR/fetch-metadata/). No page can change or leave out either header. Programs
    send neither.

    `Sec-Fetch-Site` is sent to servers on the browser's own computer only, since this one has no
    https, and not by each of its names, such as [::ffff:127.0.0.1]. Under a name not in LOOPBACK
    the page names itself in `Referer` therefore, where it sends no `Origin`, and a program has to
    send either.
    """
    own = own_origin(request)
    sent = request.headers
    site = sent.get("sec-fetch-site")
    if "origin" in sent or site is not None:
        return sent.get("origin", own).lower() != own or site not in (None, "same-origin", "none")
    is_from_page = sent.get("referer", "").lower().startswith(f"{own}/")
    return not (is_from_page or network.name_in(sent["host"]) in network.LOOPBACK)


def own_origin(request: Request) -> str:
    """The origin of the page, by the name that a request calls this server."""
    return f"http://{request.headers['host']}".lower()


async def guard(request: Request, answer: RequestResponseEndpoint) -> Response:
    """Refuse wrong names, and requests of other pages to `/api/`; add HEADERS to every answer."""
    client = request.client
    work.ASKING.set(client.host if client else "")
    if not is_called(request):
        found = refused("this server has another name: open the address that it has printed", 400)
    elif request.url.path.startswith("/api/") and is_strange(request):
        reason = "/api/ is for the page of this server, not for another page; "
        found = refused(f"{reason}a program sends the header Origin: {own_origin(request)}", 403)
    else:
        found = await answer(request)
    found.headers.update(HEADERS)
    return found
