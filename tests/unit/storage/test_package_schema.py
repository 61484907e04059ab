# pyright: reportUnusedClass=false
"""What the tables of a package may not be."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Computed, ForeignKey, Integer, String, TypeDecorator, func, select
from sqlalchemy.orm import Mapped, column_property, mapped_column, relationship

from app.errors import CapabilityInvalid
from app.sdk.tables import OwnedMixin, SharedMixin, package_base
from app.storage.package_schema import PackageSchema


class Shouting(TypeDecorator[str]):
    impl = String
    cache_ok = True

    def bind_expression(self, bindparam: Any) -> Any:
        return func.upper(bindparam)


def test_owned_and_shared_tables_are_taken() -> None:
    base = package_base("notes")

    class Note(OwnedMixin, base):
        __tablename__ = "entries"
        id: Mapped[int] = mapped_column(Integer, primary_key=True)
        parent: Mapped[int | None] = mapped_column(ForeignKey("pkg_notes_entries.id"))
        twice: Mapped[int | None] = mapped_column(Integer, Computed("id * 2"))

    class Rule(SharedMixin, base):
        __tablename__ = "rules"
        id: Mapped[int] = mapped_column(Integer, primary_key=True)

    schema = PackageSchema(base)
    assert schema.entity(Note).shared is False
    assert schema.entity(Rule).shared is True


def with_core_key(base: Any) -> None:
    class Note(OwnedMixin, base):
        __tablename__ = "entries"
        id: Mapped[str] = mapped_column(ForeignKey("sessions.id"), primary_key=True)


def with_no_owner(base: Any) -> None:
    class Note(base):
        __tablename__ = "entries"
        id: Mapped[int] = mapped_column(Integer, primary_key=True)


def with_both_mixins(base: Any) -> None:
    class Note(SharedMixin, OwnedMixin, base):
        __tablename__ = "entries"
        id: Mapped[int] = mapped_column(Integer, primary_key=True)


def with_relationship(base: Any) -> None:
    class Note(OwnedMixin, base):
        __tablename__ = "entries"
        id: Mapped[int] = mapped_column(Integer, primary_key=True)
        parent_id: Mapped[int] = mapped_column(ForeignKey("pkg_notes_entries.id"))
        parent: Mapped[Any] = relationship("Note", remote_side="Note.id")


def with_expression(base: Any) -> None:
    class Note(OwnedMixin, base):
        __tablename__ = "entries"
        id: Mapped[int] = mapped_column(Integer, primary_key=True)
        others: Mapped[int] = column_property(select(func.count()).scalar_subquery())


def with_inheritance(base: Any) -> None:
    class Note(OwnedMixin, base):
        __tablename__ = "entries"
        id: Mapped[int] = mapped_column(Integer, primary_key=True)

    class Special(Note):
        pass


def with_a_schema(base: Any) -> None:
    class Note(OwnedMixin, base):
        __tablename__ = "entries"
        __table_args__ = ({"schema": "information_schema"},)
        id: Mapped[int] = mapped_column(Integer, primary_key=True)


def with_sql_in_a_type(base: Any) -> None:
    class Note(OwnedMixin, base):
        __tablename__ = "entries"
        id: Mapped[str] = mapped_column(Shouting, primary_key=True)


@pytest.mark.parametrize(
    "declare",
    [
        with_core_key,
        with_no_owner,
        with_both_mixins,
        with_relationship,
        with_expression,
        with_inheritance,
        with_a_schema,
        with_sql_in_a_type,
    ],
)
def test_what_the_owners_filter_could_not_hold_is_refused(declare: Any) -> None:
    base = package_base("notes")
    declare(base)
    with pytest.raises(CapabilityInvalid):
        PackageSchema(base)


def test_a_base_not_made_by_the_sdk_is_refused() -> None:
    class Loose:
        pass

    with pytest.raises(CapabilityInvalid):
        PackageSchema(Loose)  # type: ignore[arg-type]
