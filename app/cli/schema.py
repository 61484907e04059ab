"""The database's tables, as commands need them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import make_url

from app.catalog.catalog import Catalog, load_catalog
from app.errors import NeedsMigration, StorageUnavailable
from app.settings import Settings, load_settings
from app.storage.faults import is_unavailable
from app.storage.migrate import PackageMigrations, pending, upgrade


def package_migrations(catalog: Catalog) -> list[PackageMigrations]:
    return [
        PackageMigrations(package.id, package.migrations, package.metadata)
        for package in catalog.packages
        if package.migrations is not None
    ]


async def migrate_now() -> Sequence[str]:
    """Upgrades what is behind; returns the names. Raises StorageUnavailable, NeedsMigration."""
    settings = load_settings()
    packages = package_migrations(load_catalog(settings.capabilities))
    async with _database_faults(settings):
        return await upgrade(settings.database_url, packages)


async def make_ready(settings: Settings, catalog: Catalog) -> None:
    """Embedded: migrates by itself. Elsewhere an operator decides when.

    Raises:
        NeedsMigration: the database is behind (or ahead of) this code.
        StorageUnavailable: it does not answer.
    """
    packages = package_migrations(catalog)
    async with _database_faults(settings):
        if settings.embedded:
            await upgrade(settings.database_url, packages)
            return
        behind = await pending(settings.database_url, packages)
    if behind:
        raise NeedsMigration(
            f"The database is behind this code ({', '.join(behind)}): run `deskmate migrate`."
        )


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
