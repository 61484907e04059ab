"""What the mapped classes of one package may be, checked once when the package is loaded.

The unit of work puts the owner into every statement. That holds only for plain tables, so whatever
would make the ORM read or write something else by itself (relationships, column properties,
inheritance, types that carry SQL) is refused here instead of being hunted in each statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Column, Dialect, Index, Table, UniqueConstraint, inspect
from sqlalchemy.exc import NoInspectionAvailable
from sqlalchemy.orm import DeclarativeBase, Mapper

from app.errors import CapabilityInvalid, ToolExecutionError
from app.storage.plain_insert import PlainInsert, plain_insert


class Refused(ToolExecutionError):
    """A package asked its unit of work for something outside its own rows: a fault in the package."""

    default_source = "plugin"


@dataclass(frozen=True, slots=True)
class Entity:
    """One mapped class of the package."""

    cls: type[Any]
    mapper: Mapper[Any]
    table: Table
    shared: bool
    """All users read it, operators write it; there is no owner."""

    @property
    def owner(self) -> Column[str] | None:
        return None if self.shared else cast("Column[str]", self.table.c.owner_id)


class PackageSchema:
    """The classes of one package instance. Build it once and share it among units of work.

    Raises:
        CapabilityInvalid: a class is not a plain owned or shared table of the package.
    """

    def __init__(self, base: type[DeclarativeBase]) -> None:
        package = getattr(base, "__deskmate_package__", None)
        if not isinstance(package, str):
            raise CapabilityInvalid("Make the declarative base with app.sdk.package_base(package).")
        self.package: str = package
        base.registry.configure()
        self._entities = {m.class_: _entity(package, m) for m in base.registry.mappers}
        self.tables = frozenset(entity.table for entity in self._entities.values())
        self._inserts: dict[tuple[type[Any], str], PlainInsert | None] = {}

    def plain_insert(self, entity: Entity, dialect: Dialect) -> PlainInsert | None:
        """The way past the ORM for new rows of this class, or None where it needs the ORM."""
        key = (entity.cls, dialect.name)
        if key not in self._inserts:
            self._inserts[key] = plain_insert(entity.mapper, dialect)
        return self._inserts[key]

    def entity(self, cls: object) -> Entity:
        """Raises Refused for anything but one of the package's own mapped classes."""
        found = self._entities.get(cast("type[Any]", cls)) if isinstance(cls, type) else None
        if found is None:
            raise Refused(f"{cls!r} is not a table of the package {self.package}.")
        return found

    def entity_of_table(self, table: object) -> Entity:
        for entity in self._entities.values():
            if entity.table is table:
                return entity
        raise Refused(f"{table!r} is not a table of the package {self.package}.")

    def entity_of_row(self, row: object) -> Entity:
        try:
            inspect(row, raiseerr=True)
        except NoInspectionAvailable as error:
            raise Refused(f"{type(row).__name__} is not a row of the package {self.package}.") from error
        return self.entity(type(row))

    def entities(self) -> Sequence[Entity]:
        return tuple(self._entities.values())


def unique_sets(table: Table) -> list[frozenset[str]]:
    """The column sets that the table keeps unique, whole tables only (no partial index)."""
    found = [frozenset(column.name for column in table.primary_key.columns)]
    found += [
        frozenset(column.name for column in constraint.columns)
        for constraint in table.constraints
        if isinstance(constraint, UniqueConstraint)
    ]
    found += [frozenset(c.name for c in index.columns) for index in table.indexes if _is_whole_unique(index)]
    return found


def _is_whole_unique(index: Index) -> bool:
    partial = any(index.dialect_options[name].get("where") is not None for name in ("sqlite", "postgresql"))
    return bool(index.unique) and not partial


def _entity(package: str, mapper: Mapper[Any]) -> Entity:
    cls, mapped = mapper.class_, mapper.local_table
    prefix = f"pkg_{package}_"

    def fault(what: str) -> CapabilityInvalid:
        return CapabilityInvalid(f"{package}: class {cls.__name__} {what}.")

    if not isinstance(mapped, Table) or mapped.schema is not None:
        raise fault("must be mapped to one table")
    table = cast("Table", mapped)
    if not table.name.startswith(prefix):
        raise fault(f"must have a table named {prefix}…")
    if mapper.inherits is not None or mapper.polymorphic_on is not None:
        raise fault("must not use mapper inheritance")
    if mapper.relationships or mapper.composites or mapper.synonyms:
        raise fault("must not have relationships, composites or synonyms: select by id instead")
    for attribute in mapper.column_attrs:
        if any(not isinstance(c, Column) or c.table is not table for c in attribute.columns):
            raise fault(f"maps {attribute.key} to an expression instead of a column")
    for column in table.columns:
        if carries_sql(column.type):
            raise fault(f"has a column {column.name} whose type carries SQL")
    for key in table.foreign_keys:
        if not key.target_fullname.startswith(prefix):
            raise fault(f"refers to {key.target_fullname}, outside the package")
    shared = bool(getattr(cls, "__deskmate_shared__", False))
    if shared == ("owner_id" in table.c):
        raise fault("must use exactly one of OwnedMixin and SharedMixin")
    if not shared and mapper.get_property_by_column(table.c.owner_id).key != "owner_id":
        raise fault("must keep the attribute name owner_id")
    return Entity(cls=cls, mapper=mapper, table=table, shared=shared)


def carries_sql(kind: Any) -> bool:
    """Whether a column type wraps values in SQL of its own, which no statement check would see."""
    return bool(kind._has_bind_expression or kind._has_column_expression)
