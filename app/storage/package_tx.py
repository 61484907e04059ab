"""The narrow unit of work that packages get (the first wall of tenancy, C4).

It puts the owner into every statement itself. The ORM's automatic criteria are no wall: they skip core
tables, text, bulk by key and objects attached by hand. PostgreSQL's row policies say the same again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from sqlalchemy import ColumnElement, Select, and_, func, inspect, literal_column, select
from sqlalchemy import delete as sql_delete
from sqlalchemy import update as sql_update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import ToolForbidden
from app.protocol.identity import Principal
from app.sdk.errors import Conflict
from app.storage.guarded_session import CHECKED, GuardedSession
from app.storage.package_schema import Entity, PackageSchema, Refused, unique_sets
from app.storage.plain_insert import AddedRows, is_expression
from app.storage.statement_guard import check_expression, checked_select
from app.storage.unit import Unit

T = TypeVar("T")

_ROW_POLICY = "42501"
"""PostgreSQL's code for a row that the second wall keeps away."""

_OPERATOR_ON = select(func.set_config("deskmate.operator", "on", literal_column("true")))


class PackageTx:
    """Implements the sdk's ReadTx and WriteTx over one `Unit` for one package.

    After a constraint error the unit cannot go on: PostgreSQL has ended the transaction. Let it out.
    """

    def __init__(
        self, unit: Unit, *, schema: PackageSchema, principal: Principal, session_id: str | None = None
    ) -> None:
        if unit.owner_id != principal.user_id:
            raise ValueError("a package's unit must be the tenant unit of its principal")
        self._unit = unit
        self._schema = schema
        self._principal = principal
        self.session_id = session_id
        """The session of the call: where a saved fact comes from."""
        self._session: AsyncSession | None = None
        self._added = AddedRows(self._orm)
        self._operator_told = False

    @property
    def unit(self) -> Unit:
        """For the services behind the handles. The sdk's Protocols do not have it, so packages do not."""
        return self._unit

    @property
    def principal(self) -> Principal:
        return self._principal

    # --- reading ---

    async def get(self, entity: type[T], key: Any) -> T | None:
        """The caller's row of that primary key; `owner_id` may be left out of a composite key."""
        known = self._schema.entity(entity)
        columns = list(known.mapper.primary_key)
        values = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
        if len(values) == len(columns) - 1:
            columns = [column for column in columns if column.name != "owner_id"]
        if len(values) != len(columns):
            raise Refused(f"The key of {entity.__name__} has {len(columns)} parts.")
        for value in values:
            if is_expression(value):
                raise Refused("A key is a value, not an expression.")
        where = [column == value for column, value in zip(columns, values, strict=True)]
        statement = select(known.cls).where(*where, *self._owned(known))
        return cast("T | None", (await self._run(statement)).scalars().one_or_none())

    async def select(self, statement: Select[T]) -> Sequence[T]:
        checked, _, froms = checked_select(self._schema, statement)
        owner = self._principal.user_id
        filters = [source.c.owner_id == owner for source in froms if "owner_id" in source.c]
        return cast("Sequence[T]", (await self._run(checked.where(*filters))).scalars().all())

    async def count(self, entity: type[Any], *where: ColumnElement[bool]) -> int:
        known = self._schema.entity(entity)
        statement = select(func.count()).select_from(known.table).where(*self._narrowed(known, where))
        return int((await self._run(statement)).scalar_one())

    # --- writing ---

    async def add(self, row: object) -> None:
        known = self._schema.entity_of_row(row)
        await self._may_write(known)
        if await self._added_plainly(known, row):
            return
        if inspect(row).session not in (None, self._orm().sync_session):  # pyright: ignore[reportOptionalMemberAccess]
            raise Refused("This row belongs to another unit of work.")
        self._orm().add(row)
        await self._orm().flush()

    async def _added_plainly(self, known: Entity, row: object) -> bool:
        """Inserts a new row past the ORM, where its class allows that; the ORM learns of it if it is used."""
        if known.shared or self._session is not None or not inspect(row).transient:  # pyright: ignore[reportOptionalMemberAccess]
            return False
        insert = self._schema.plain_insert(known, self._unit.connection.dialect)
        if insert is None:
            return False
        if row.__dict__.get("owner_id") is None:
            cast("Any", row).owner_id = self._principal.user_id
        elif row.__dict__["owner_id"] != self._principal.user_id:
            raise Refused("A row cannot be given to somebody else.")
        if not await insert.run(self._unit, row):
            return False
        if not self._added:
            self._unit.adopt(self._added)
        self._added.note(row)
        return True

    async def upsert(self, entity: type[Any], values: Mapping[str, Any], *, key: Sequence[str]) -> None:
        """Inserts, or updates the caller's row with the same `key` (attribute names).

        Raises:
            Conflict: the key is taken by a row the caller may not change.
        """
        known = self._schema.entity(entity)
        await self._may_write(known)
        row = self._values(known, values)
        if not known.shared:
            row["owner_id"] = self._principal.user_id
        target = _conflict_target(known, key)
        changes = {name: value for name, value in row.items() if name not in target}
        make: Any = postgresql.insert if self._unit.dialect == "postgresql" else sqlite.insert
        insert = make(known.table).values(row)
        # a set that changes nothing still has to lock and count the row, so the key is set to itself
        insert = insert.on_conflict_do_update(
            index_elements=target,
            set_={name: insert.excluded[name] for name in (changes or target)},
            where=and_(*owned) if (owned := self._owned(known)) else None,
        )
        await self._flush()
        try:
            result = await self._run(insert.returning(*known.table.primary_key.columns))
        except ProgrammingError as error:
            if getattr(error.orig, "sqlstate", None) != _ROW_POLICY:
                raise
            raise Conflict("This key is already taken.") from error
        if result.first() is None:
            raise Conflict("This key is already taken.")

    async def update(self, entity: type[Any], *where: ColumnElement[bool], values: Mapping[str, Any]) -> int:
        known = self._schema.entity(entity)
        await self._may_write(known)
        filters = self._narrowed(known, where)
        changes = self._values(known, values)
        if not changes:
            raise Refused("An update needs values.")
        statement = sql_update(known.cls).where(*filters).values(changes)
        return (await self._run(statement)).rowcount

    async def delete(self, row: object) -> None:
        """Deletes a row that this unit has loaded or added."""
        await self._may_write(self._schema.entity_of_row(row))
        if row not in self._orm():
            raise Refused("Only rows that this unit of work has loaded can be deleted.")
        await self._orm().delete(row)
        await self._orm().flush()

    async def delete_where(self, entity: type[Any], *where: ColumnElement[bool]) -> int:
        known = self._schema.entity(entity)
        await self._may_write(known)
        statement = sql_delete(known.cls).where(*self._narrowed(known, where))
        return (await self._run(statement)).rowcount

    # --- the wall ---

    def _owned(self, entity: Entity) -> list[ColumnElement[bool]]:
        return [] if entity.owner is None else [entity.owner == self._principal.user_id]

    def _narrowed(self, entity: Entity, where: Sequence[ColumnElement[bool]]) -> list[ColumnElement[bool]]:
        for condition in where:
            check_expression([entity.table], condition)
        return [*where, *self._owned(entity)]

    def _values(self, entity: Entity, values: Mapping[str, Any]) -> dict[str, Any]:
        """Attribute names to column names; values are plain or expressions over the same table."""
        known: dict[str, str] = {p.key: p.columns[0].name for p in entity.mapper.column_attrs}
        row: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                raise Refused(f"{entity.cls.__name__} has no attribute {name}.")
            if name == "owner_id" and not entity.shared and value != self._principal.user_id:
                raise Refused("A row cannot be given to somebody else.")
            if is_expression(value):
                check_expression([entity.table], value)
            row[known[name]] = value
        return row

    async def _may_write(self, entity: Entity) -> None:
        if self._unit.mode == "read":
            raise Refused("This unit of work only reads.")
        if not entity.shared:
            return
        if not self._principal.is_operator:
            raise ToolForbidden(f"{entity.cls.__name__} is shared by all users; only operators change it.")
        if self._unit.dialect == "postgresql" and not self._operator_told:
            await self._unit.connection.execute(_OPERATOR_ON)  # the row policy asks for it
            self._operator_told = True

    def _orm(self) -> AsyncSession:
        if self._session is None:
            guard = {"schema": self._schema, "principal": self._principal}
            self._session = AsyncSession(
                bind=self._unit.connection,
                sync_session_class=GuardedSession,
                expire_on_commit=False,
                info=guard,
            )
            self._unit.adopt(self._session)
            self._added.attach_to(self._session)
        return self._session

    async def _flush(self) -> None:
        if self._session is not None:
            await self._session.flush()

    async def _run(self, statement: Any) -> Any:
        return await self._orm().execute(statement, execution_options={"deskmate_checked": CHECKED})


def _conflict_target(entity: Entity, key: Sequence[str]) -> list[str]:
    """The unique columns an upsert goes by: the key within the owner's rows where there is such a rule."""
    names: dict[str, str] = {p.key: p.columns[0].name for p in entity.mapper.column_attrs}
    if not key or any(name not in names for name in key):
        raise Refused(f"{list(key)} are not attributes of {entity.cls.__name__}.")
    wanted = frozenset(names[name] for name in key)
    known = unique_sets(entity.table)
    for columns in ([] if entity.shared else [wanted | {"owner_id"}]) + [wanted]:
        if columns in known:
            return sorted(columns)
    raise Refused(f"{entity.cls.__name__} has no unique constraint over {list(key)}.")
