"""The first minutes with an installation: `serve --first-user`, what it prints, and a log without secrets."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.support.databases import fresh_database
from tests.support.processes import Installation
from tests.support.server_process import ROOT, ServerProcess, free_port

SECRET = "hunter2-in-a-local-variable"
HANDLERS = """
from app.sdk import Bind, Call, NoParams, Services


def register(bind: Bind, services: Services) -> None:
    @bind.tool("fail")
    async def fail(call: Call, params: NoParams) -> None:
        password = "-".join(["hunter2", "in", "a", "local", "variable"])
        raise ValueError(f"a fault beside {len(password)} characters")
"""
CONTRACT = """
from app.sdk import Contract, Domain, NoParams, Result, Tool


class Nothing(Result):
    pass


CONTRACT = Contract(
    domains=(Domain("faulty", "Faulty", "Fails whenever it is called."),),
    tools=(
        Tool(
            name="fail",
            domain="faulty",
            title="Fail",
            description="Fails whenever it is called, to see what is logged.",
            params=NoParams,
            result=Nothing,
            effect="read",
        ),
    ),
)
"""
MANIFEST = """
id = "faulty"
version = "1.0.0"
title = "Faulty"
description = "Fails whenever it is called."
"""


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[Installation]:
    """SQLite and the demo model."""
    async with fresh_database("sqlite", tmp_path) as database:
        yield Installation(tmp_path, database)


async def test_the_first_start_makes_a_user_and_prints_commands_that_work(plain: Installation) -> None:
    port = str(free_port())
    base_url = f"http://127.0.0.1:{port}"
    arguments = ("serve", "--port", port, "--first-user", "Learner@localhost")
    server = plain.start(*arguments, base_url=base_url)
    try:
        await server.wait_for_log("curl -s")
        said = re.search(r"DESKMATE_BASE_URL=(\S+) DESKMATE_TOKEN=(\S+) (.+) chat", server.log)
        assert said is not None
        assert said[1] == base_url
        curl = re.search(r"curl -s (\S+) -H '([\w-]+): (.+)'", server.log)
        assert curl is not None
        async with httpx.AsyncClient(trust_env=False) as http:
            me = await http.get(curl[1], headers={curl[2]: curl[3]})
        assert (me.status_code, me.json()["email"], me.json()["scopes"]) == (200, "learner@localhost", ["*"])
        chat = plain.with_extra(DESKMATE_BASE_URL=said[1], DESKMATE_TOKEN=said[2])
        assert "demo model" in (await chat.run("chat", "hello")).stdout
    finally:
        await asyncio.to_thread(server.close)

    again = plain.start(*arguments, base_url=base_url)
    try:
        await again.wait_for_log("to talk to it")
        assert "token create --user learner@localhost" in again.log
        assert "deskmate_u_" not in again.log
    finally:
        await asyncio.to_thread(again.close)


async def test_a_bad_address_stops_the_start(plain: Installation) -> None:
    done = await plain.run("serve", "--port", "0", "--first-user", "nobody", check=False)
    assert done.returncode == 1
    assert "e-mail address" in done.stderr


async def test_a_second_server_on_the_same_file_is_refused_whatever_its_folder(plain: Installation) -> None:
    async with plain.serve():
        other = plain.with_extra(DESKMATE_DATA_DIR=str(plain.folder / "other"))
        done = await other.run("serve", "--port", "0", check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("deskmate: DATA_FOLDER_IN_USE")


@pytest.mark.parametrize("way", ["deskmate serve", "uvicorn --factory"])
async def test_no_value_of_a_local_variable_is_logged(plain: Installation, way: str) -> None:
    package = plain.folder / "packages" / "faulty"
    package.mkdir(parents=True)
    for name, text in {
        "manifest.toml": MANIFEST,
        "contract.py": CONTRACT,
        "handlers.py": HANDLERS,
        "__init__.py": "",
    }.items():
        (package / name).write_text(text)
    faulty = plain.with_extra(DESKMATE_CAPABILITIES=str(package.parent), DESKMATE_LOG="debug")
    await faulty.migrate()
    token = await faulty.issue_token("a@example.org")
    port = str(free_port())
    base_url = f"http://127.0.0.1:{port}"
    if way == "deskmate serve":
        server = faulty.start("serve", "--port", port, base_url=base_url)
    else:
        command = [sys.executable, "-m", "uvicorn", "app.main:create_app", "--factory", "--port", port]
        server = ServerProcess(
            command, env=faulty.environment, log=plain.folder / "uvicorn.log", base_url=base_url
        )
    try:
        await server.wait_ready()
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.post(
                f"{base_url}/api/v1/capabilities/faulty::fail/invoke",
                json={"params": {}},
                headers={"Authorization": f"Bearer {token}"},
            )
        assert answer.status_code == 500, answer.text
        await server.wait_for_log("a fault beside")
        assert "Traceback" in server.log
        assert SECRET not in server.log
        assert token not in server.log
    finally:
        await asyncio.to_thread(server.close)


async def test_examples_are_written_once(plain: Installation) -> None:
    async def seed() -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "scripts/seed.py", cwd=ROOT, env=plain.environment, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate()
        assert process.returncode == 0
        return said.decode()

    assert "3 conversations, 3 mistakes and 2 memories" in await seed()
    assert "already" in await seed()
    token = (await plain.run("token", "create", "--user", "learner@localhost", "--scope", "*")).stdout.split()
    async with (
        plain.serve() as server,
        httpx.AsyncClient(
            base_url=f"{server.base_url}/api/v1",
            headers={"Authorization": f"Bearer {token[-1]}"},
            trust_env=False,
        ) as http,
    ):
        sessions = (await http.get("/sessions")).json()["sessions"]
        assert sessions[0]["title"] == "Adding fractions"
        assert [session["live_run_id"] for session in sessions] == [None] * 3
        runs = (await http.get(f"/sessions/{sessions[0]['id']}/runs")).json()["runs"]
        assert [run["status"] for run in runs] == ["completed"]
