"""One running Deskmate for a whole test module: to start a process for each test would cost most of its time.

A module makes its fixture with `service_fixture(...)` and sets `pytestmark = ON_MODULE_LOOP`. The stub
belongs to all tests of the module, so each takes `service` and begins with an empty script.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import text

from app.catalog.catalog import load_catalog
from app.host.identity.service import IdentityService
from app.storage.database import Database as Store
from tests.support.client import AgentClient, RunStream
from tests.support.databases import KINDS, Kind, NoPostgres, fresh_database
from tests.support.processes import Installation
from tests.support.replies import Reply, call
from tests.support.server_process import ServerProcess
from tests.support.stub_model import StubModel

PACKAGES = Path(__file__).parent / "packages"
ON_MODULE_LOOP = pytest.mark.asyncio(loop_scope="module")
LOAD_PACE = call("catalog_load_domain", '{"name": "pace"}')
HASTE_S = 0.6
"""How long a silent provider is waited for by a hasty installation."""
ENDED = {"completed", "cancelled", "failed"}


class HastyInstallation(Installation):
    """An installation whose model provider is given up after a short silence."""

    def write_models(self) -> Path:
        path = super().write_models()
        line = 'api_key_env = "STUB_API_KEY"\n'
        path.write_text(path.read_text().replace(line, f"{line}idle_timeout_s = {HASTE_S}\n"))
        return path


@dataclass(slots=True)
class Person:
    user_id: str
    token_id: str
    client: AgentClient


class Service:
    """A serving process with its database, its stub and as many users as a test asks for."""

    def __init__(self, installation: Installation, server: ServerProcess, stub: StubModel) -> None:
        self.installation = installation
        self.server = server
        self.stub = stub
        self.store = Store.open(installation.database.url)
        self.identity = IdentityService(
            database=self.store,
            clock=lambda: datetime.now(UTC),
            package_scopes=load_catalog((PACKAGES,)).scopes,
        )
        self._clients: list[AgentClient] = []

    @property
    def kind(self) -> Kind:
        return self.installation.database.kind

    async def someone(self, *scopes: str, base_url: str = "") -> AgentClient:
        return (await self.person(*scopes, base_url=base_url)).client

    async def person(self, *scopes: str, base_url: str = "") -> Person:
        """A new user with a token; the client is closed with the service."""
        email = f"{secrets.token_hex(6)}@example.org"
        user = await self.identity.add_user(email)
        token, row = await self.identity.create_token(email, scopes or ("*",))
        client = AgentClient(base_url or self.server.base_url, token)
        self._clients.append(client)
        return Person(user.id, row.id, client)

    async def execute(self, sql: str, **values: Any) -> None:
        """SQL by hand, past the service."""
        async with self.store.system_write() as unit:
            await unit.connection.execute(text(sql), values)

    async def rows(self, sql: str, **values: Any) -> list[Any]:
        async with self.store.system_read() as unit:
            return list((await unit.connection.execute(text(sql), values)).all())

    def script(self, *replies: Reply) -> None:
        """A fresh script; requests of earlier tests are forgotten."""
        self.stub.script.clear()
        self.stub.requests.clear()
        self.stub.counters.clear()
        self.stub.add(*replies)

    async def aclose(self) -> None:
        for client in self._clients:
            await client.close()
        await self.identity.aclose()
        await self.store.aclose()


@contextlib.asynccontextmanager
async def open_service(
    kind: Kind, folder: Path, *, extra: Mapping[str, str] | None = None, hasty: bool = False
) -> AsyncGenerator[Service]:
    """A service of its own: database, stub and process, all gone afterwards."""
    variables = {"DESKMATE_CAPABILITIES": str(PACKAGES), **(extra or {})}
    async with fresh_database(kind, folder) as database, StubModel() as stub:
        make = HastyInstallation if hasty else Installation
        installation = make(folder, database, stub.base_url, extra=variables)
        async with installation.serve() as server:
            service = Service(installation, server, stub)
            try:
                yield service
            finally:
                await service.aclose()


def service_fixture(*kinds: Kind, hasty: bool = False, **extra: str) -> Any:
    """A fixture `service` for a module, once for each kind of database; `extra` is more environment."""
    params = [
        pytest.param(kind, marks=pytest.mark.postgres) if kind == "postgresql" else kind
        for kind in kinds or KINDS
    ]

    @pytest_asyncio.fixture(scope="module", loop_scope="module", params=params, name="running")
    async def running(
        request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
    ) -> AsyncIterator[Service]:
        folder = tmp_path_factory.mktemp("service")
        try:
            async with open_service(request.param, folder, extra=extra, hasty=hasty) as service:
                yield service
        except NoPostgres as error:
            pytest.skip(f"NOT TESTED ON POSTGRESQL: {error}")

    return running


@pytest.fixture
def service(running: Service) -> Service:
    """The module's service with an empty script. A module takes it beside its own `running`."""
    running.script()
    return running


# --- what tests look at -----------------------------------------------------------------------------


def gapless(events: list[dict[str, Any]]) -> bool:
    return [event["seq"] for event in events] == list(range(1, len(events) + 1))


def tool_ends(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The last word on each call of `name`."""
    return [
        event
        for event in events
        if event["type"] == "activity"
        and event["name"] == name
        and event["status"] not in ("started", "progress")
    ]


def assert_well_ended(events: list[dict[str, Any]]) -> None:
    """The invariants of every finished run's record."""
    assert gapless(events)
    assert [event["type"] for event in events].count("done") == 1
    assert events[-1]["type"] == "done"
    errors = [at for at, event in enumerate(events) if event["type"] == "error"]
    assert errors == ([len(events) - 2] if events[-1]["status"] == "failed" else [])
    started: set[str] = set()
    ended: set[str] = set()
    for event in events:
        if event["type"] != "activity" or event["status"] == "progress":
            continue
        if event["status"] == "started":
            assert event["id"] not in started
            started.add(event["id"])
        else:
            assert event["id"] in started
            assert event["id"] not in ended, "one end for each call"
            ended.add(event["id"])
    assert started == ended


def text_of_items(items: list[dict[str, Any]], kind: str = "assistant") -> str:
    return "".join(
        part["text"]
        for item in items
        if item["type"] == kind
        for part in item["parts"]
        if part["type"] == "text"
    )


async def seconds_of(call: Any) -> float:
    """How long an awaitable takes."""
    began = time.monotonic()
    await call
    return time.monotonic() - began


async def until(condition: Any, timeout: float = 10) -> None:
    """Waits for a condition over plain data."""
    async with asyncio.timeout(timeout):
        while not condition():  # noqa: ASYNC110 - plain data has no event
            await asyncio.sleep(0.01)


async def read_and_act(
    stream: RunStream, act: Callable[[], Awaitable[Any]], **members: Any
) -> list[dict[str, Any]]:
    """Reads a stream to its end; at the first event with these members it does `act` once."""
    done = False
    async for event in stream.events():
        if not done and all(event.get(name) == value for name, value in members.items()):
            done = True
            await act()
    assert done, f"no event with {members}; the last ones were {stream.seen[-3:]}"
    return stream.seen
