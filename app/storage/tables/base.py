"""The core metadata and how a table says that its rows belong to a user."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, MetaData, String, Table

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

OWNED: set[str] = set()
"""Names of core tables whose rows belong to one user: each has `owner_id` and a row policy."""


def owner_id(*, primary_key: bool = False) -> Column[str]:
    return Column("owner_id", String(64), nullable=False, primary_key=primary_key)


def owned_table(name: str, *columns: Any, **options: Any) -> Table:
    """A table with an `owner_id` column; the migration gives it its row policy (tenancy wall two)."""
    OWNED.add(name)
    table = Table(name, metadata, *columns, **options)
    assert "owner_id" in table.c, name
    return table
