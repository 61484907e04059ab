"""The service against its own OpenAPI description: no status, media type or body that is not in it.

Schemathesis makes requests, good and bad, from the description and sends them to a real server. Examples
are few and always the same here; a campaign takes more.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi import checks

from app.main import create_app
from app.settings import load_settings
from tests.support.databases import Database
from tests.support.processes import Installation
from tests.support.server_process import ServerProcess, free_port

EXAMPLES = int(os.environ.get("DESKMATE_TEST_EXAMPLES", "12"))


@dataclass(frozen=True)
class Served:
    server: ServerProcess
    token: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("served")
    installation = Installation(folder, Database("sqlite", f"sqlite+aiosqlite:///{folder / 'deskmate.db'}"))

    async def prepare() -> str:
        await installation.add_user("somebody@example.org")
        return await installation.create_token("somebody@example.org")

    token = asyncio.run(prepare())
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = installation.start("serve", "--port", str(port), base_url=url, extra={"DESKMATE_BASE_URL": url})
    try:
        asyncio.run(server.wait_ready())
        yield Served(server, token)
    finally:
        server.close()


description = create_app(load_settings({})).openapi()
# Unknown query parameters are let through on purpose: `?user_id=` changes nothing, and says nothing.
config = cast("Any", schemathesis.Config).from_dict({"generation": {"allow-extra-parameters": False}})
# A feed stays open by design; other tests read it.
schema = cast("Any", schemathesis.openapi.from_dict(description, config=config)).exclude(path_regex=r"/feed$")


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_every_answer_is_one_that_the_description_has(case: Any, served: Served) -> None:
    case.call_and_validate(
        base_url=served.server.base_url,
        headers={"Authorization": f"Bearer {served.token}"},
        # No schema can say which cursors are signed by us or which keys were used with another body.
        excluded_checks=[cast("Any", checks).positive_data_acceptance],
    )
