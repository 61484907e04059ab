"""The ASGI application: routers, layers, lifespan; no logic."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

from app.api import openapi, problems
from app.api.agent.router import UPLOAD_PATHS
from app.api.agent.router import router as agent_router
from app.api.bff.browser import PREFIX as BROWSER_PREFIX
from app.api.bff.browser import UPLOAD_PATHS as BROWSER_UPLOAD_PATHS
from app.api.bff.browser import create_browser_app
from app.api.bff.door import BrowserDoor
from app.api.discovery.manifest import ManifestCache
from app.api.discovery.manifest import router as manifest_router
from app.api.discovery.public import router as public_router
from app.api.edge import Edge
from app.api.web import WebPages, find_build
from app.logs import configure_logging_once
from app.settings import Settings, load_settings

if TYPE_CHECKING:
    from app.host.host import Host

HostFactory = Callable[[Settings], "AbstractAsyncContextManager[Host]"]


def create_app(settings: Settings | None = None, host_factory: HostFactory | None = None) -> FastAPI:
    """The application over one host, which lives as long as the application does.

    Args:
        settings: read from the environment where left out (`uvicorn --factory app.main:create_app`).
        host_factory: opens and closes the host; `factory.open_host` where left out.
    """
    configure_logging_once()
    settings = settings or load_settings()
    open_host = host_factory or _open_host

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with open_host(settings) as host:
            app.state.host = browser.state.host = host
            yield

    app = FastAPI(
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    browser = create_browser_app(base_url=settings.base_url)
    app.state.base_url = settings.base_url
    app.state.manifest = ManifestCache(settings.base_url)
    app.include_router(agent_router)
    app.include_router(manifest_router)
    app.include_router(public_router)
    app.mount(BROWSER_PREFIX, BrowserDoor(browser, base_url=settings.base_url))
    if (build := find_build(settings.web_dist)) is not None:
        WebPages(build).add_to(app)
    problems.install(app)
    openapi.describe_with(app, base_url=settings.base_url)
    app.add_middleware(
        Edge,
        body_limit_bytes=settings.body_limit_bytes,
        upload_limit_bytes=settings.upload_limit_bytes,
        upload_paths=UPLOAD_PATHS | BROWSER_UPLOAD_PATHS,
        https=settings.base_url.startswith("https://"),
    )
    return app


def _open_host(settings: Settings) -> AbstractAsyncContextManager[Host]:
    from app.factory import open_host

    return open_host(settings)
