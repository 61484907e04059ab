"""The browser's application: its own routes and the Agent API's, behind the cookie's door."""

from __future__ import annotations

from fastapi import FastAPI

from app.api import openapi, problems
from app.api.agent.router import SHARED
from app.api.bff import account, commands, settings

PREFIX = "/bff"
UPLOAD_PATHS = frozenset({f"{PREFIX}/files"})


def create_browser_app(*, base_url: str) -> FastAPI:
    """To be mounted at `PREFIX` behind `BrowserDoor`; its `state.host` is set when the host is open."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.base_url = base_url
    for noun in (account, settings, commands):
        app.include_router(noun.router)
    for noun in SHARED:
        app.include_router(noun.router)
    problems.install(app)
    openapi.describe_with(app, base_url=f"{base_url}{PREFIX}", title="Deskmate, the browser's routes")
    return app
