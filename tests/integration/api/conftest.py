"""The whole service in this process, over each kind of database, spoken to over ASGI."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.catalog.catalog import load_catalog
from app.catalog.histories import package_migrations
from app.host.host import Host
from app.main import create_app
from app.settings import load_settings
from app.storage.migrate import upgrade

SCRIPT = """{"rules": [
  {"when": "wait", "steps": [[{"text": "I wait."}, {"pause": null}]]},
  {"when": "tool", "steps": [
    [{"call": {"name": "catalog_load_domain", "arguments": {"name": "demo"}}}],
    [{"call": {"name": "demo_hello", "arguments": {}}}],
    [{"text": "Done."}]]}],
 "steps": [[{"text": "Hello."}, {"usage": {"input": 3, "output": 5}}]]}"""
MODELS = """default = "scripted"
[[providers]]
id = "script"
kind = "scripted"
script = "{script}"
[[models]]
id = "scripted"
provider = "script"
[[models]]
id = "other"
provider = "script"
"""


@dataclass(frozen=True)
class Someone:
    """A user with a token."""

    email: str
    user_id: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class Api:
    """The Agent API of one running service."""

    def __init__(self, http: httpx.AsyncClient, host: Host) -> None:
        self.http = http
        self.host = host

    async def someone(self, *scopes: str, operator: bool = False) -> Someone:
        """A new user, with a token of these scopes; all of them where none is named."""
        email = f"{secrets.token_hex(6)}@example.org"
        user = await self.host.identity.add_user(email, operator=operator)
        token, _ = await self.host.identity.create_token(email, scopes or ("*",), operator=operator)
        return Someone(email, user.id, token)

    async def another_token(self, of: Someone, *scopes: str) -> Someone:
        token, _ = await self.host.identity.create_token(of.email, scopes)
        return Someone(of.email, of.user_id, token)

    async def call(
        self,
        who: Someone | None,
        method: str,
        path: str,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> httpx.Response:
        own = {} if who is None else who.headers
        if json is not None:
            options["json"] = json
        return await self.http.request(
            method, f"/api/v1{path}", headers={**own, **(headers or {})}, **options
        )

    async def session(self, who: Someone, **fields: Any) -> str:
        answer = await self.call(who, "POST", "/sessions", fields)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    async def run(self, who: Someone, session_id: str, text: str = "hi") -> str:
        """A run to its end; returns its id."""
        answer = await self.call(who, "POST", f"/sessions/{session_id}/runs", say(text))
        assert answer.status_code == 200, answer.text
        return answer.headers["deskmate-run-id"]

    async def start(self, who: Someone, session_id: str, text: str = "wait") -> str:
        """A run that is left going; returns its id."""
        answer = await self.call(
            who, "POST", f"/sessions/{session_id}/runs", say(text), {"Prefer": "respond-async"}
        )
        assert answer.status_code == 202, answer.text
        return answer.json()["run_id"]


def say(text: str) -> dict[str, Any]:
    return {"input": [{"type": "text", "text": text}]}


def without_id(answer: httpx.Response) -> dict[str, Any]:
    """A problem without what differs from request to request."""
    body = answer.json()
    assert body.pop("request_id") == answer.headers["x-request-id"]
    return body


@pytest.fixture(scope="module")
def migrated_url(empty_url: str) -> str:
    asyncio.run(upgrade(empty_url, package_migrations(load_catalog())))
    return empty_url


@pytest.fixture
async def api(migrated_url: str, tmp_path: Path) -> AsyncIterator[Api]:
    script = tmp_path / "script.json"
    script.write_text(SCRIPT)
    models = tmp_path / "models.toml"
    models.write_text(MODELS.replace("{script}", str(script)))
    settings = load_settings(
        {
            "DESKMATE_DATABASE_URL": migrated_url,
            "DESKMATE_DATA_DIR": str(tmp_path / "data"),
            "DESKMATE_MODELS": str(models),
            "DESKMATE_BASE_URL": "https://deskmate.example.org",
            "DESKMATE_WEB_DIST": str(tmp_path),
        }
    )
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=30) as http:
            yield Api(http, app.state.host)
