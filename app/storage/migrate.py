"""Brings a database up to the code: the core history first, then one history for each package.

Every target (the core or a package) has its own history and version table, so a package whose folder is
gone stops nobody. Each is upgraded in one transaction under a lock that all processes share.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, MetaData, inspect, text

from app.errors import CapabilityInvalid, NeedsMigration
from app.protocol.column_types import Instant
from app.storage.engines import make_folder, parse_url, postgresql_engine, sqlite_engine
from app.storage.tables import metadata as core_metadata

R = TypeVar("R")

SCRIPTS = Path(__file__).resolve().parents[2] / "migrations"
"""Beside `app`, in a checkout and where the package is installed alike."""

_PG_LOCK = 0x6465736B  # "desk"; one key for all targets of a database

_one_at_a_time = asyncio.Lock()
"""Alembic's `op` and `context` are global to the process."""


@dataclass(frozen=True, slots=True)
class PackageMigrations:
    """The history of one package."""

    id: str
    folder: Path
    """`<package>/migrations`; its scripts are in `versions/`."""
    metadata: MetaData = field(compare=False)


@dataclass(frozen=True, slots=True)
class Target:
    """One history with what it is compared to."""

    name: str
    versions: Path
    version_table: str
    metadata: MetaData = field(compare=False)
    prefix: str | None
    """Names of its tables start so; None for the core."""


CORE = Target("core", SCRIPTS / "versions", "alembic_version", core_metadata, None)


def targets(packages: Iterable[PackageMigrations]) -> list[Target]:
    found = [
        Target(p.id, Path(p.folder) / "versions", f"alembic_version_pkg_{p.id}", p.metadata, f"pkg_{p.id}_")
        for p in packages
    ]
    return [CORE, *sorted(found, key=lambda target: target.name)]


async def upgrade(url: str, packages: Sequence[PackageMigrations]) -> list[str]:
    """Runs what is behind and returns the names (`core` or package ids). No DDL if nothing is.

    Safe in several processes at once: the others wait and then find nothing to do.

    Raises:
        NeedsMigration: the database is ahead of this code.
        CapabilityInvalid: a package's history touched a table that is not its own.
    """
    behind = set(await pending(url, packages))
    if not behind:
        return []
    return [t.name for t in targets(packages) if t.name in behind and await upgrade_target(url, t)]


async def upgrade_target(url: str, target: Target) -> bool:
    """Upgrades one target; False where there was nothing to do. Raises as `upgrade` does."""
    async with _one_at_a_time:
        return await _locked(url, lambda connection: _upgrade(connection, target))


async def pending(url: str, packages: Sequence[PackageMigrations]) -> list[str]:
    """Names of what is behind its code.

    Raises:
        NeedsMigration: the database is ahead of this code.
    """

    def look(connection: Connection) -> list[str]:
        return [target.name for target in targets(packages) if _is_behind(connection, target)]

    return await on_connection(url, look)


async def left_behind(url: str, packages: Sequence[PackageMigrations]) -> list[str]:
    """Ids of packages whose tables are not those of their code, be they behind or ahead.

    Raises:
        NeedsMigration: the core's are not, so nothing can be served.
    """

    def look(connection: Connection) -> list[str]:
        if _is_behind(connection, CORE):
            raise NeedsMigration("The database is behind this code: run `deskmate migrate`.")
        return [t.name for t in targets(packages) if t is not CORE and _differs(connection, t)]

    return await on_connection(url, look)


async def check(url: str, packages: Sequence[PackageMigrations] = ()) -> list[str]:
    """Differences between the declared tables and the database, as `alembic check` sees them."""
    every = targets(packages)

    found: list[str] = []
    for target in every:
        others = [t.prefix for t in every if t.prefix and t.prefix != target.prefix]
        found += await differences(url, target, others)
    return found


async def differences(url: str, target: Target, others: Sequence[str] = ()) -> list[str]:
    """Differences of one target; `others` are prefixes of tables that are not its own."""

    def look(connection: Connection) -> list[str]:
        options = context_options(target, connection, others)
        context = MigrationContext.configure(connection, opts=options)
        return [f"{target.name}: {diff!r}" for diff in compare_metadata(context, target.metadata)]

    return await on_connection(url, look)


def context_options(target: Target, connection: Connection, others: Sequence[str] = ()) -> dict[str, Any]:
    """How Alembic is to look at one target. `others` are prefixes of tables that are not its own."""

    def include_name(name: str | None, kind: str, _parents: Any) -> bool:
        if kind != "table" or name is None:
            return True
        if target.prefix is None:
            return not name.startswith(("pkg_", "alembic_version"))
        longer = [prefix for prefix in others if prefix.startswith(target.prefix)]
        return name.startswith(target.prefix) and not name.startswith(tuple(longer))

    return {
        "target_metadata": target.metadata,
        "version_table": target.version_table,
        "include_name": include_name,
        "render_item": _render_item,
        "render_as_batch": connection.dialect.name == "sqlite",  # SQLite alters by copying the table
    }


def _render_item(kind: str, item: Any, context: Any) -> str | Literal[False]:
    """Writes our column types into new revisions as `Instant()`, with their import."""
    if kind == "type" and type(item).__module__ == Instant.__module__:
        context.imports.add(f"from {Instant.__module__} import {type(item).__name__}")
        return f"{type(item).__name__}()"
    return False


async def on_connection(url: str, work: Callable[[Connection], R]) -> R:
    """Runs `work` on a connection of its own, outside any transaction."""
    dialect, parsed = parse_url(url)
    if dialect == "sqlite":
        make_folder(parsed)
        engine = sqlite_engine(parsed, pool_size=0, writes=True, foreign_keys=False)
    else:
        engine = postgresql_engine(parsed, pool_size=0)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(work)
    finally:
        await engine.dispose()


async def _locked(url: str, work: Callable[[Connection], R]) -> R:
    """Runs `work` in one transaction that no other migrating process can share.

    SQLite: BEGIN IMMEDIATE is the lock. PostgreSQL: an advisory lock that ends with the transaction.
    """
    dialect, _ = parse_url(url)

    def locked(connection: Connection) -> R:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if dialect == "sqlite" else "BEGIN")
        try:
            if dialect == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _PG_LOCK})
            result = work(connection)
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        return result

    return await on_connection(url, locked)


def _upgrade(connection: Connection, target: Target) -> bool:
    if not _is_behind(connection, target):
        return False  # another process was faster
    before = set(inspect(connection).get_table_names())
    config = _config(target)
    config.attributes["connection"] = connection
    command.upgrade(config, "heads")
    if target.prefix is not None:
        touched = before ^ set(inspect(connection).get_table_names())
        strangers = [t for t in touched if t != target.version_table and not t.startswith(target.prefix)]
        if strangers:
            raise CapabilityInvalid(f"{target.name}: its migration made or dropped {sorted(strangers)}.")
    return True


def _is_behind(connection: Connection, target: Target) -> bool:
    scripts = ScriptDirectory.from_config(_config(target))
    context = MigrationContext.configure(connection, opts={"version_table": target.version_table})
    current = set(context.get_current_heads())
    for revision in current:
        try:
            scripts.get_revision(revision)
        except CommandError as error:
            raise NeedsMigration(
                f"The database is ahead of this code ({target.name} is at {revision}): install the newer code."
            ) from error
    return current != set(scripts.get_heads())


def _differs(connection: Connection, target: Target) -> bool:
    try:
        return _is_behind(connection, target)
    except NeedsMigration:
        return True


def _config(target: Target) -> Config:
    config = Config()
    for name, value in {
        "script_location": str(SCRIPTS),
        "version_locations": str(target.versions),
        "path_separator": "newline",
        "file_template": "%(rev)s_%(slug)s",
    }.items():
        config.set_main_option(name, value.replace("%", "%%"))
    config.attributes["target"] = target
    return config


async def new_revision(url: str, target: Target, message: str, *, id: str | None = None) -> None:
    """Writes a migration for what has changed in a target's tables (`make migration`)."""
    config = _config(target)

    def write(connection: Connection) -> None:
        config.attributes["connection"] = connection
        command.revision(config, message, autogenerate=True, rev_id=id)

    async with _one_at_a_time:
        await on_connection(url, write)


if __name__ == "__main__":
    from app.storage.revision import main

    main(sys.argv[1:])
