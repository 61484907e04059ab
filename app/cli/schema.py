"""The database's tables, as commands need them."""

from __future__ import annotations

from collections.abc import Sequence

from app.catalog.catalog import Catalog, load_catalog
from app.errors import NeedsMigration
from app.settings import Settings, load_settings
from app.storage.migrate import PackageMigrations, pending, upgrade


def package_migrations(catalog: Catalog) -> list[PackageMigrations]:
    return [
        PackageMigrations(package.id, package.migrations, package.metadata)
        for package in catalog.packages
        if package.migrations is not None
    ]


async def migrate_now() -> Sequence[str]:
    settings = load_settings()
    return await upgrade(settings.database_url, package_migrations(load_catalog(settings.capabilities)))


async def make_ready(settings: Settings, catalog: Catalog) -> None:
    """Embedded: migrates by itself. Elsewhere an operator decides when.

    Raises:
        NeedsMigration: the database is behind (or ahead of) this code.
    """
    packages = package_migrations(catalog)
    if settings.embedded:
        await upgrade(settings.database_url, packages)
        return
    behind = await pending(settings.database_url, packages)
    if behind:
        raise NeedsMigration(
            f"The database is behind this code ({', '.join(behind)}): run `deskmate migrate`."
        )
