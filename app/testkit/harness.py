"""Runs a package's handlers through the real gate, on a database of its own.

In a package's `tests/conftest.py`:

    package = harness_fixture(Path(__file__).parents[1])

and a test takes `package: PackageHarness`.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.catalog.catalog import Catalog
from app.catalog.check import examine
from app.catalog.faults import refuse
from app.catalog.gate import Gate
from app.catalog.package import Package
from app.protocol.identity import Initiator, Principal
from app.protocol.ids import UserId, new_id
from app.protocol.ports import CallOutcome, Invocation, RunScope
from app.storage.database import Database
from app.storage.migrate import PackageMigrations, upgrade
from app.testkit.stand_ins import AuditList, FactsInMemory, HeldConfirmations, OpenAuthority, SessionsInMemory


def user(name: str, scopes: Iterable[str] = ("*",)) -> Principal:
    """A principal of that name; by default with all user scopes."""
    return Principal(
        user_id=UserId(f"usr_{name}"), kind="browser", scopes=frozenset(scopes), email=f"{name}@example.org"
    )


ALICE = user("alice")
BOB = user("bob")


class PackageHarness:
    """A gate over the given packages, with stand-ins for the Host."""

    def __init__(
        self, packages: Sequence[Package], database: Database, *, services: Mapping[str, object]
    ) -> None:
        self.catalog = Catalog(packages)
        self.database = database
        self.authority = OpenAuthority()
        self.confirmations = HeldConfirmations()
        self.audit = AuditList()
        self.memory = FactsInMemory()
        self.sessions = SessionsInMemory()
        self.crashes: list[str] = []
        """Names of the crash points passed, in order."""
        self.now = datetime(2026, 1, 31, 8, tzinfo=UTC)
        self.gate = Gate(
            catalog=self.catalog,
            database=database,
            authority=self.authority,
            confirmations=self.confirmations,
            audit=self.audit,
            services={"memory": self.memory, "sessions": self.sessions, **services},
            clock=lambda: self.now,
            crash_hook=self.crashes.append,
        )

    def run(self, by: Principal = ALICE, *, load: Iterable[str] | None = None) -> RunScope:
        """A run of `by` whose snapshot holds all it may use; all of it is loaded unless `load` says what."""
        snapshot = self.catalog.snapshot(by, {})
        return RunScope(
            run_id=new_id("run"),
            session_id="ses_test",
            principal=by,
            snapshot=snapshot,
            fence=1,
            started_at=self.now,
            loaded=set(snapshot.domains if load is None else load),
        )

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        by: Principal = ALICE,
        initiator: Initiator = "user",
        run: RunScope | None = None,
        call_id: str | None = None,
        key: str | None = None,
        confirmed: bool = False,
    ) -> CallOutcome:
        """One call through the gate. A call with a run is the model's unless `initiator` says otherwise."""
        return await self.gate.call(
            Invocation(
                call_id=call_id or new_id("call"),
                name=name,
                arguments={} if arguments is None else arguments,
                raw_arguments="",
                principal=run.principal if run else by,
                initiator=initiator,
                run=run,
                idempotency_key=key,
                session_id=run.session_id if run else "ses_test",
                confirmed=confirmed,
            )
        )

    async def ask(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, run: RunScope
    ) -> CallOutcome:
        """The same call as a model makes it."""
        return await self.call(name, arguments, run=run, initiator="model")

    async def ok(self, name: str, arguments: Mapping[str, Any] | None = None, **how: Any) -> Any:
        """The result of a call that must succeed."""
        outcome = await self.call(name, arguments, **how)
        assert outcome.status == "succeeded", outcome
        return outcome.result

    async def refused(self, name: str, arguments: Mapping[str, Any] | None = None, **how: Any) -> str:
        """The error code of a call that must fail."""
        outcome = await self.call(name, arguments, **how)
        assert outcome.status == "failed", outcome
        assert outcome.error is not None
        return str(outcome.error["code"])


@asynccontextmanager
async def open_harness(
    *folders: Path, url: str, services: Mapping[str, object] | None = None
) -> AsyncGenerator[PackageHarness]:
    """A harness over the packages in `folders` and what they depend on, on the database at `url`.

    Raises:
        CapabilityInvalid: one of them is faulty.
    """
    packages = _with_dependencies(folders)
    histories = [
        PackageMigrations(package.id, package.migrations, package.metadata)
        for package in packages
        if package.migrations is not None
    ]
    await upgrade(url, histories)
    database = Database.open(url)
    try:
        yield PackageHarness(packages, database, services=services or {})
    finally:
        await database.aclose()


def harness_fixture(folder: Path) -> Callable[..., AsyncIterator[PackageHarness]]:
    """A pytest fixture that gives a harness over one package, on a fresh SQLite database.

    The migrations run once; each test gets a copy of the file they made.
    """

    import pytest  # here, since `deskmate capability check` must run where it is not installed

    @pytest.fixture(name="package")
    async def package(
        tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> AsyncIterator[PackageHarness]:
        template = tmp_path_factory.getbasetemp() / f"template-{folder.name}.db"
        if not template.exists():
            async with open_harness(folder, url=f"sqlite:///{template}"):
                pass
        shutil.copy(template, tmp_path / "deskmate.db")
        async with open_harness(folder, url=f"sqlite:///{tmp_path}/deskmate.db") as harness:
            yield harness

    return package


def _with_dependencies(folders: Sequence[Path]) -> list[Package]:
    examination = examine(dict.fromkeys(folder.parent for folder in folders))
    by_id = {package.id: package for package in examination.packages}
    wanted = [folder.name for folder in folders]
    for name in wanted:
        if name in by_id:
            wanted += [needed for needed in by_id[name].manifest.depends if needed not in wanted]
    faults = [fault for fault in examination.faults if fault.package in wanted]
    if faults:
        raise refuse(faults)
    return [package for package in examination.packages if package.id in wanted]
