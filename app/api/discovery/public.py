"""Addresses without a token: the way in (RFC 9727), health, and a first page for people."""

from __future__ import annotations

from html import escape

import orjson
from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from app.api.answers import problems, reply
from app.api.dependencies import host_of
from app.errors import StorageUnavailable

router = APIRouter(tags=["discovery"])

LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'


@router.api_route(
    "/.well-known/api-catalog", methods=["GET", "HEAD"], response_class=Response, include_in_schema=False
)
async def read_api_catalog(request: Request) -> Response:
    """RFC 9727: one link set that leads to everything else."""
    base_url: str = request.app.state.base_url
    document = {
        "linkset": [
            {
                "anchor": f"{base_url}/api/v1",
                "service-desc": [
                    {
                        "href": f"{base_url}/api/v1/openapi.json",
                        "type": "application/vnd.oai.openapi+json;version=3.1",
                    }
                ],
                "service-meta": [{"href": f"{base_url}/api/v1/manifest.json", "type": "application/json"}],
                "service-doc": [{"href": f"{base_url}/", "type": "text/html"}],
            }
        ]
    }
    headers = {
        "Content-Type": LINKSET,
        "Cache-Control": "public, max-age=300",
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Link": f'<{base_url}/.well-known/api-catalog>; rel="api-catalog"',
    }
    return Response(orjson.dumps(document), headers=headers)


@router.api_route("/healthz", methods=["GET", "HEAD"], response_class=Response, include_in_schema=False)
async def read_health() -> Response:
    """The process answers. Asks no database, so that a database fault does not restart us."""
    return reply({"status": "ok"})


@router.api_route(
    "/readyz",
    methods=["GET", "HEAD"],
    response_class=Response,
    include_in_schema=False,
    responses=problems(503),
)
async def read_readiness(request: Request) -> Response:
    """The database answers and its tables are those of this code."""
    reason = await host_of(request).health.not_ready()
    if reason is not None:
        raise StorageUnavailable(reason)
    return reply({"status": "ready"})


_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Deskmate</title></head>
<body>
<h1>Deskmate</h1>
<p>This is the server of a Deskmate: one agent that works for you with tools you allow. There is no
web page for chatting in this installation, so talk to it from a terminal:</p>
<pre>export DESKMATE_BASE_URL={base_url}
export DESKMATE_TOKEN=…   # from: deskmate token create --user EMAIL --scope '*'
deskmate chat</pre>
<p>Programs use the <a href="/api/v1/openapi.json">Agent API</a>; what it can do stands in the
<a href="/api/v1/manifest.json">manifest</a>.</p>
</body>
</html>
"""


@router.api_route("/", methods=["GET", "HEAD"], response_class=HTMLResponse, include_in_schema=False)
async def read_front_page(request: Request) -> Response:
    """What stands here when no web build is installed: how to talk to the service."""
    return HTMLResponse(_PAGE.replace("{base_url}", escape(request.app.state.base_url)))
