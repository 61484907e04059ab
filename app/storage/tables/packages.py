"""Which packages are on: for everybody (operators), and for each user."""

from sqlalchemy import Boolean, Column, Integer, String, Table

from app.protocol.column_types import JsonText
from app.storage.tables.base import metadata, owned_table, owner_id

package_states = Table(
    "package_states",
    metadata,
    Column("package", String(64), primary_key=True),
    Column("enabled", Boolean, nullable=False, default=True),
    Column("config", JsonText),
    Column("generation", Integer, nullable=False, default=1),
)

package_switches = owned_table(
    "package_switches",
    owner_id(primary_key=True),
    Column("package", String(64), primary_key=True),
    Column("enabled", Boolean, nullable=False),
)
