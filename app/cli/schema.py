"""The database's tables, as commands need them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import structlog
from sqlalchemy import make_url

from app.catalog.catalog import Catalog, load_catalog
from app.catalog.histories import package_migrations
from app.errors import StorageUnavailable
from app.settings import Settings, load_settings
from app.storage.faults import is_unavailable
from app.storage.migrate import left_behind, upgrade

_log = structlog.get_logger(__name__)


async def migrate_now() -> Sequence[str]:
    """Upgrades what is behind; returns the names. Raises StorageUnavailable, NeedsMigration."""
    settings = load_settings()
    packages = package_migrations(load_catalog(settings.capabilities))
    async with _database_faults(settings):
        return await upgrade(settings.database_url, packages)


async def make_ready(settings: Settings, catalog: Catalog) -> None:
    """Embedded: migrates by itself. Elsewhere an operator decides when.

    Only the core must be ready: a package whose own tables are not is left out by the service.

    Raises:
        NeedsMigration: the core is behind (or ahead of) this code.
        StorageUnavailable: the database does not answer.
    """
    async with _database_faults(settings):
        if not settings.embedded:
            await left_behind(settings.database_url, [])
            return
        await upgrade(settings.database_url, [])
        for package in package_migrations(catalog):
            try:
                await upgrade(settings.database_url, [package])
            except Exception as error:
                if is_unavailable(error):
                    raise
                _log.error("package_not_migrated", package=package.id, exc_info=error)


@asynccontextmanager
async def _database_faults(settings: Settings) -> AsyncGenerator[None]:
    """Says where the database was looked for, without its password."""
    try:
        yield
    except Exception as error:
        if not is_unavailable(error):
            raise
        where = make_url(settings.database_url).render_as_string(hide_password=True)
        raise StorageUnavailable(f"The database does not answer at {where}: {error}") from error
