"""Table mixins for packages. Each package instance makes its own declarative base (C17)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import MetaData, String
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column

from app.protocol.column_types import Instant, JsonText

__all__ = ["Instant", "JsonText", "OwnedMixin", "SharedMixin", "package_base"]


class OwnedMixin:
    """Rows that belong to one user. `owner_id` is stamped by the unit of work, never by the package."""

    @declared_attr
    def owner_id(cls) -> Mapped[str]:
        return mapped_column(String(64), nullable=False, index=True)


class SharedMixin:
    """Rows that all users read and operators write."""

    __deskmate_shared__ = True


def package_base(package: str) -> type[DeclarativeBase]:
    """A fresh declarative base whose tables are named `pkg_<package>_<table>`.

    Called once in a package's tables.py. Table classes give `__tablename__ = "entries"`; the prefix
    is put before it here, so that no package can name a core table or another's.
    """
    prefix = f"pkg_{package}_"

    class PackageBase(DeclarativeBase):
        metadata = MetaData()
        __deskmate_package__ = package

        def __init_subclass__(cls, **kwargs: Any) -> None:
            name = cls.__dict__.get("__tablename__")
            if isinstance(name, str) and not name.startswith(prefix):
                cls.__tablename__ = prefix + name
            super().__init_subclass__(**kwargs)

    return PackageBase
