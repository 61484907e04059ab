"""The built web page: its files, and its one document with a fresh nonce in every answer.

Without a build the first page for people stands at `/` (discovery/public.py).
"""

from __future__ import annotations

import mimetypes
import secrets
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from app.errors import NotFound

NONCE_PLACEHOLDER = "__CSP_NONCE__"
"""What the build leaves in the document (Vite's `html.cspNonce`)."""
PAGES = (
    "/",
    "/setup",
    "/signin",
    "/s/{rest:path}",
    "/mistakes",
    "/settings",
    "/settings/{rest:path}",
    "/audit",
    "/confirmations/{rest:path}",
)
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}';"
    " img-src 'self' blob: data:; connect-src 'self'; font-src 'self'; manifest-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
)
_FOR_EVER = "public, max-age=31536000, immutable"


def find_build(wanted: Path | None) -> Path | None:
    """The folder of the built page: the one that is named, an installed one, or a checkout's."""
    here = Path(__file__).resolve().parents[1]
    places = [wanted] if wanted is not None else [here / "web_dist", here.parent / "web" / "dist"]
    return next((place for place in places if (place / "index.html").is_file()), None)


class WebPages:
    """Routes that answer with the build."""

    def __init__(self, build: Path) -> None:
        self._build = build
        self._document = (build / "index.html").read_text(encoding="utf-8")

    def add_to(self, app: Starlette) -> None:
        """Before other routes of the same paths."""
        methods = ["GET", "HEAD"]
        routes = [Route(path, self.document, methods=methods) for path in PAGES]
        routes.append(Route("/assets/{name:path}", self.asset, methods=methods))
        routes += [
            Route(f"/{file.name}", self.file, methods=methods)
            for file in sorted(self._build.iterdir())
            if file.is_file() and file.name != "index.html"
        ]
        app.router.routes[:0] = routes

    async def document(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        headers = {
            "content-security-policy": _POLICY.replace("{nonce}", nonce),
            "cache-control": "no-store",
            "cross-origin-opener-policy": "same-origin",
        }
        body = self._document.replace(NONCE_PLACEHOLDER, nonce)
        return Response(body, media_type="text/html; charset=utf-8", headers=headers)

    async def asset(self, request: Request) -> Response:
        """Files with a digest in their name."""
        return self._send(self._build / "assets", request.path_params["name"], _FOR_EVER)

    async def file(self, request: Request) -> Response:
        return self._send(self._build, request.url.path.lstrip("/"), "public, max-age=3600")

    def _send(self, folder: Path, name: str, cache: str) -> Response:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            raise NotFound
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        return FileResponse(path, media_type=kind, headers={"cache-control": cache})
