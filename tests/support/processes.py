"""A Deskmate of its own for a test: its data folder, database and models.toml, and its real processes.

`Installation` is what an operator has on disk and in the environment; `serve` starts the service the
way an operator does, and leaves nothing running.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from app.catalog.catalog import load_catalog
from app.host.identity.service import IdentityService
from app.storage.database import Database as Store
from tests.support.client import AgentClient
from tests.support.databases import Database
from tests.support.server_process import ROOT, ProcessFailed, ServerProcess, clean_environment, free_port

SECRET_KEY = "test-secret-key-0123456789abcdef-0123456789"
PASSWORD = "correct horse battery staple 7"
_log_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Installation:
    folder: Path
    database: Database
    model_url: str = ""
    """Base URL of an openai-chat provider; empty leaves models undeclared: the demo model answers."""
    model_id: str = "stub"
    abilities: tuple[str, ...] = ("tools", "vision", "reasoning", "streaming")
    context_window: int = 131_072
    extra: Mapping[str, str] = field(default_factory=dict[str, str])
    """More environment, such as DESKMATE_REDIS_URL; overrides the rest."""

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def environment(self) -> dict[str, str]:
        settings = {
            "DESKMATE_DATABASE_URL": self.database.url,
            "DESKMATE_DATA_DIR": str(self.data_dir),
            "DESKMATE_SECRET_KEY": SECRET_KEY,
        }
        if self.model_url:
            settings |= {"DESKMATE_MODELS": str(self.write_models()), "STUB_API_KEY": "stub-key"}
        return clean_environment({**settings, **self.extra})

    def write_models(self) -> Path:
        """models.toml for the stub; written again for each process, so a test may change it between."""
        path = self.folder / "models.toml"
        abilities = ", ".join(f'"{ability}"' for ability in self.abilities)
        path.write_text(
            f'default = "{self.model_id}"\n'
            "[[providers]]\n"
            'id = "stub"\n'
            'kind = "openai-chat"\n'
            f'base_url = "{self.model_url}"\n'
            'api_key_env = "STUB_API_KEY"\n'
            "[[models]]\n"
            f'id = "{self.model_id}"\n'
            'provider = "stub"\n'
            f"context_window = {self.context_window}\n"
            "max_output_tokens = 8192\n"
            f"abilities = [{abilities}]\n"
        )
        return path

    def with_extra(self, **variables: str) -> Installation:
        return replace(self, extra={**self.extra, **variables})

    # --- commands ---

    async def run(
        self, *arguments: str, stdin: str = "", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """`deskmate …` to its end.

        Raises:
            ProcessFailed: it ended with another code than 0, and `check` is on.
        """
        self.data_dir.mkdir(parents=True, exist_ok=True)
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "app.cli", *arguments],
            cwd=ROOT,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if check and done.returncode:
            raise ProcessFailed(
                f"deskmate {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done

    async def migrate(self) -> None:
        await self.run("migrate")

    async def add_user(self, email: str, password: str = PASSWORD, *, operator: bool = False) -> None:
        flags = ("--operator",) if operator else ()
        await self.run("user", "add", email, "--password-stdin", *flags, stdin=password + "\n")

    async def create_token(self, email: str, *scopes: str) -> str:
        """A token with these scopes; all user scopes where none is named."""
        flags = [flag for scope in scopes or ("*",) for flag in ("--scope", scope)]
        done = await self.run("token", "create", "--user", email, *flags)
        return done.stdout.split()[-1]

    # --- processes ---

    def start(
        self, *arguments: str, base_url: str = "", extra: Mapping[str, str] | None = None
    ) -> ServerProcess:
        """`deskmate …` left running; the caller closes it."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        log = self.folder / f"{arguments[0]}-{next(_log_numbers)}.log"
        command = [sys.executable, "-m", "app.cli", *arguments]
        return ServerProcess(command, env={**self.environment, **(extra or {})}, log=log, base_url=base_url)

    @contextlib.asynccontextmanager
    async def serve(
        self,
        *,
        port: int | None = None,
        crash_at: str = "",
        extra: Mapping[str, str] | None = None,
        ready: bool = True,
    ) -> AsyncGenerator[ServerProcess]:
        """`deskmate serve`, ready to be used; ended and gone afterwards.

        Args:
            port: None takes a free one; give the old one to come back after a crash.
            crash_at: name of a crash point at which the process ends itself.
            extra: more environment.
            ready: whether to wait for /readyz.
        """
        port = port or free_port()
        base_url = f"http://127.0.0.1:{port}"
        variables = {"DESKMATE_BASE_URL": base_url, **(extra or {})}
        if crash_at:
            variables["DESKMATE_CRASH_AT"] = crash_at
        server = self.start(
            "serve", "--host", "127.0.0.1", "--port", str(port), base_url=base_url, extra=variables
        )
        try:
            if ready:
                await server.wait_ready()
            yield server
        finally:
            await asyncio.to_thread(server.close)

    @contextlib.asynccontextmanager
    async def worker(self, *, extra: Mapping[str, str] | None = None) -> AsyncGenerator[ServerProcess]:
        worker = self.start("worker", extra=extra)
        try:
            yield worker
        finally:
            await asyncio.to_thread(worker.close)

    async def issue_token(self, email: str, *scopes: str) -> str:
        """A new user and a token of theirs, made by the service itself: the commands are slow to start."""
        database = Store.open(self.database.url)
        identity = IdentityService(
            database=database, clock=lambda: datetime.now(UTC), package_scopes=load_catalog().scopes
        )
        try:
            await identity.add_user(email)
            token, _ = await identity.create_token(email, scopes or ("*",))
        finally:
            await identity.aclose()
            await database.aclose()
        return token

    async def new_client(self, server: ServerProcess, email: str, *scopes: str) -> AgentClient:
        """A new user with a token; the caller closes the client."""
        return AgentClient(server.base_url, await self.issue_token(email, *scopes))
