"""The ASGI application: the addresses of the interface, and the page. /openapi.json describes it.

POST /api/move                  the move of an agent, and what to know of the position after it
POST /api/analysis              how a game stands, what an agent thinks, what is true
POST /api/verdicts              what each move of a finished game was worth
POST /api/games                 keep a finished game
GET  /api/games                 kept games, the newest first
GET  /api/games/ID              a kept game
GET  /api/agents                who can be chosen, and the boards
GET  /api/agents/ID             one of them, with its certificate
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from starlette.requests import Request
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from players.gallery import Gallery
from tictactoe_env import __version__
from tictactoe_env.games import Store
from web import answers
from web.api import Api
from web.refusals import HANDLERS, STATIC, Guard, StrictRoute

PAGES = ("/", "/games", "/games/{id}", "/agents", "/agents/{id:path}")
REFUSALS = {
    400: "What was sent is wrong.",
    404: "There is no such agent or game.",
    413: "The request is too large.",
    415: "The request is not application/json.",
    421: "The machine is called by another name than its own.",
    503: "Too many requests wait, or the store cannot be used.",
}


def add_endpoints(app: FastAPI, api: Api) -> None:
    """Add the addresses of the interface, the busiest first. Those with GET answer HEAD too."""
    post, get = ("POST", (400, 404, 413, 415, 421, 503)), ("GET", (404, 421, 503))
    paths: tuple[tuple[tuple[str, tuple[int, ...]], str, Callable[..., Any], Any], ...] = (
        (post, "/api/move", api.move, answers.MoveAnswer),
        (post, "/api/analysis", api.analysis, answers.AnalysisAnswer),
        (post, "/api/verdicts", api.verdicts, answers.VerdictsAnswer),
        (post, "/api/games", api.keep, answers.Kept),
        (get, "/api/games", api.games, answers.GamesAnswer),
        (get, "/api/games/{id}", api.game, answers.GameAnswer),
        (get, "/api/agents", api.agents, answers.AgentsAnswer),
        (get, "/api/agents/{id:path}", api.agent, answers.AgentAnswer),
    )
    for (method, statuses), path, endpoint, model in paths:
        status = 201 if model is answers.Kept else 200
        reasons: dict[int | str, str] = {code: REFUSALS[code] for code in statuses}
        reasons["default"] = "Any other refusal."
        app.add_api_route(
            path,
            endpoint,
            methods=[method],
            status_code=status,
            response_model=None,  # endpoints return a Response
            responses={
                status: {"model": model},
                **{
                    code: {"model": answers.Refused, "description": reason}
                    for code, reason in reasons.items()
                },
            },
        )
    for (method, _), path, endpoint, _ in paths:
        if method == "GET":
            app.add_api_route(
                path, endpoint, methods=["HEAD"], response_model=None, include_in_schema=False
            )


async def page(request: Request) -> Response:
    """The page; its script shows what the address asks for."""
    return FileResponse(STATIC / "index.html")


def application(store: Store, gallery: Gallery | None = None) -> ASGIApp:
    """The ASGI application. The store stays open and belongs to the caller."""
    app = FastAPI(
        title="tic-tac-toe",
        version=__version__,
        description="The interface behind the page of `python play.py --web`.",
        docs_url=None,  # both pages of documentation load their scripts from another host
        redoc_url=None,
        exception_handlers=HANDLERS,
    )
    app.router.route_class = StrictRoute
    add_endpoints(app, Api(store, gallery or Gallery()))
    for path in PAGES:
        app.add_route(path, page, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))
    return Guard(app)
