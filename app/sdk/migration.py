"""What a package's migration calls after it has made a table, so that the table is a tenant's table.

On PostgreSQL this is the second wall of tenancy: row policies that hold whatever a statement says. SQLite
has no such thing; there this does nothing.

A migration that has shipped must go on doing the same: add functions here, do not change what these do.
"""

from __future__ import annotations

from typing import Literal, Protocol

from sqlalchemy import Connection, Executable

TENANT_ROLE = "deskmate_tenant"

_OWNER = "NULLIF(current_setting('deskmate.owner', true), '')"
_OPERATOR = "current_setting('deskmate.operator', true) = 'on'"

Privilege = Literal["SELECT", "INSERT", "UPDATE", "DELETE"]
ALL_PRIVILEGES: tuple[Privilege, ...] = ("SELECT", "INSERT", "UPDATE", "DELETE")


class Op(Protocol):
    """The part of `alembic.op` that is used here."""

    def get_bind(self) -> Connection: ...

    def execute(self, sqltext: Executable | str) -> None: ...


def protect(op: Op, table: str, *, shared: bool = False) -> None:
    """Call it once for each new table: `protect(op, "pkg_notes_entries")`.

    `shared=True` is for tables with SharedMixin: all users read them, operators write them.
    """
    if shared:
        restrict(op, table, using="true", writing=_OPERATOR)
    else:
        restrict(op, table, using=f"owner_id = {_OWNER}")


def restrict(
    op: Op,
    table: str,
    *,
    using: str,
    writing: str | None = None,
    privileges: tuple[Privilege, ...] = ALL_PRIVILEGES,
    columns: tuple[str, ...] = (),
) -> None:
    """Row policies and grants for the tenant role; the login that migrates keeps seeing all rows.

    `columns` narrows the grant to these columns. Packages call `protect`.
    """
    bind = op.get_bind()
    if bind.dialect.name != "postgresql":
        return
    name = bind.dialect.identifier_preparer.quote(table)
    check = writing or using
    op.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
    # FORCE binds the owner of the table too, who runs the system units, so it gets its own policy
    op.execute(f"CREATE POLICY deskmate_system ON {name} TO CURRENT_USER USING (true) WITH CHECK (true)")
    if writing is None:
        op.execute(
            f"CREATE POLICY deskmate_tenant ON {name} TO {TENANT_ROLE} USING ({using}) WITH CHECK ({check})"
        )
    else:
        op.execute(f"CREATE POLICY deskmate_read ON {name} FOR SELECT TO {TENANT_ROLE} USING ({using})")
        op.execute(
            f"CREATE POLICY deskmate_write ON {name} TO {TENANT_ROLE} USING ({check}) WITH CHECK ({check})"
        )
    only = f" ({', '.join(columns)})" if columns else ""
    op.execute(f"GRANT {', '.join(privilege + only for privilege in privileges)} ON {name} TO {TENANT_ROLE}")
    _grant_sequences(op, table)


def _grant_sequences(op: Op, table: str) -> None:
    """An auto-incremented key draws from a sequence, which has rights of its own."""
    literal = table.replace("'", "''")
    op.execute(
        f"""
        DO $$ DECLARE s regclass; BEGIN
          FOR s IN SELECT d.objid::regclass FROM pg_depend d JOIN pg_class c ON c.oid = d.objid
                   WHERE c.relkind = 'S' AND d.refobjid = quote_ident('{literal}')::regclass
          LOOP EXECUTE format('GRANT USAGE ON SEQUENCE %s TO {TENANT_ROLE}', s); END LOOP;
        END $$
        """  # noqa: S608 - a table name from a migration, quoted
    )
