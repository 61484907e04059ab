"""The ORM session behind a package's unit of work, closed against side doors.

A mapped row leads to its session (`object_session(row)`), so the session itself refuses what did not
come through `PackageTx`: other statements, and rows of another owner or package at flush.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import event, inspect
from sqlalchemy.orm import ORMExecuteState, Session

from app.errors import ToolForbidden
from app.protocol.identity import Principal
from app.storage.package_schema import PackageSchema, Refused

CHECKED = object()
"""Rides in the execution options of statements that `PackageTx` has built or checked."""


class GuardedSession(Session):
    """Holds `schema` and `principal` in `info`."""


def _only_checked_statements(state: ORMExecuteState) -> None:
    if state.is_column_load or state.execution_options.get("deskmate_checked") is CHECKED:
        return
    raise Refused("Statements go through the unit of work (`tx`).")


def _only_own_rows(session: Session, _context: Any, _instances: Any) -> None:
    schema: PackageSchema = session.info["schema"]
    principal: Principal = session.info["principal"]
    for row in (*session.new, *session.dirty, *session.deleted):
        entity = schema.entity_of_row(row)
        if entity.shared:
            if not principal.is_operator:
                raise ToolForbidden(
                    f"{entity.cls.__name__} is shared by all users; only operators change it."
                )
            continue
        owner = inspect(row).attrs.owner_id  # type: ignore[union-attr]
        if row in session.new and row.owner_id is None:
            row.owner_id = principal.user_id
        elif row.owner_id != principal.user_id or (row not in session.new and owner.history.has_changes()):
            raise Refused("A row cannot be given to somebody else.")


event.listen(GuardedSession, "do_orm_execute", _only_checked_statements)
event.listen(GuardedSession, "before_flush", _only_own_rows)
