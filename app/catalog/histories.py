"""The packages' own migration histories, as `storage.migrate` takes them."""

from __future__ import annotations

from app.catalog.catalog import Catalog
from app.storage.migrate import PackageMigrations


def package_migrations(catalog: Catalog) -> list[PackageMigrations]:
    """The histories of all packages in use that have tables of their own."""
    return [
        PackageMigrations(package.id, package.migrations, package.metadata)
        for package in catalog.packages
        if package.migrations is not None and package.id not in catalog.left_out
    ]
