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
from pydantic import BaseModel
from starlette.requests import Request
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from players.gallery import Gallery
from tictactoe_env import __version__
from tictactoe_env.store import GameStore
from web import answers, requests
from web.api import Api
from web.refusals import HANDLERS, STATIC, Guard, StrictRoute

PAGES = ("/", "/games", "/games/{id}", "/agents", "/agents/{id:path}")
REFUSALS: dict[int | str, str] = {
    400: "What was sent is wrong.",
    404: "There is no such agent or game.",
    413: "The request is too large.",
    415: "The request is not application/json.",
    421: "The machine is called by another name than its own.",
    503: "Too many requests wait, or the store cannot be used.",
    "default": "Any other refusal.",
}


def add_endpoints(app: FastAPI, api: Api) -> None:
    """Add the addresses of the interface, the busiest first. Those with GET answer HEAD too."""
    sent = (400, 413, 415)  # what may be wrong with a body
    endpoints: tuple[tuple[str, str, Callable[..., Any], type[BaseModel], tuple[int, ...]], ...] = (
        ("POST", "/api/move", api.move, answers.MoveAnswer, (*sent, 404)),
        ("POST", "/api/analysis", api.analysis, answers.AnalysisAnswer, (*sent, 404)),
        ("POST", "/api/verdicts", api.verdicts, answers.VerdictsAnswer, sent),
        ("POST", "/api/games", api.keep, answers.Kept, (*sent, 404)),
        ("GET", "/api/games", api.games, answers.GamesAnswer, (400,)),
        ("GET", "/api/games/{id}", api.game, answers.GameAnswer, (404,)),
        ("GET", "/api/agents", api.agents, answers.AgentsAnswer, ()),
        ("GET", "/api/agents/{id:path}", api.agent, answers.AgentAnswer, (404,)),
    )
    for method, path, endpoint, model, statuses in endpoints:
        status = 201 if model is answers.Kept else 200
        codes: tuple[int | str, ...] = (*statuses, 421, 503, "default")
        responses: dict[int | str, dict[str, Any]] = {
            code: {"model": answers.Refused, "description": REFUSALS[code]} for code in codes
        }
        app.add_api_route(
            path,
            endpoint,
            methods=[method],
            status_code=status,
            response_model=None,  # endpoints return a Response; `responses` only describes it
            responses={status: {"model": model}, **responses},
        )
    for method, path, endpoint, *_ in endpoints:
        if method == "GET":  # FastAPI, unlike Starlette, does not add HEAD
            app.add_api_route(
                path, endpoint, methods=["HEAD"], response_model=None, include_in_schema=False
            )


class DescribedApp(FastAPI):
    """FastAPI with pydantic's own schemas of the models in /openapi.json.

    FastAPI's copies of them lose every null in an example, turn whole numbers into floats, and
    require fields of an answer that may be left out.
    """

    def openapi(self) -> dict[str, Any]:
        """The description, made at the first request."""
        if self.openapi_schema is None:
            schemas = super().openapi()["components"]["schemas"]
            for name in schemas:
                model = getattr(requests, name, None) or getattr(answers, name)
                schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
                schemas[name] = {key: value for key, value in schema.items() if key != "$defs"}
        assert self.openapi_schema is not None
        return self.openapi_schema


async def page(request: Request) -> Response:
    """The page; its script shows what the address asks for."""
    return FileResponse(STATIC / "index.html")


def application(store: GameStore, gallery: Gallery | None = None) -> ASGIApp:
    """The ASGI application. The store stays open and belongs to the caller."""
    app = DescribedApp(
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
