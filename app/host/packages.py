"""A user's own switches of packages (C17): off for them alone, from the next call on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import text

from app.catalog.catalog import Catalog
from app.errors import NotFound
from app.host.audit import insert_entry
from app.host.snapshot import Snapshots
from app.protocol.identity import Principal
from app.protocol.ports import AuditEntry
from app.storage.database import Database

_SWITCH = text(
    "INSERT INTO package_switches (owner_id, package, enabled) VALUES (:owner, :package, :enabled)"
    " ON CONFLICT (owner_id, package) DO UPDATE SET enabled = excluded.enabled"
)


class Packages:
    def __init__(
        self, *, database: Database, catalog: Catalog, snapshots: Snapshots, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._catalog = catalog
        self._snapshots = snapshots
        self._clock = clock

    async def list(self, principal: Principal) -> Sequence[dict[str, Any]]:
        switches = await self._snapshots.enabled_packages(principal)
        return [self._shown(package, switches.get(package.id, True)) for package in self._catalog.packages]

    async def switch(self, principal: Principal, package_id: str, *, enabled: bool) -> dict[str, Any]:
        """Raises NotFound."""
        found = next((package for package in self._catalog.packages if package.id == package_id), None)
        if found is None:
            raise NotFound
        async with self._database.tenant_write(principal.user_id) as unit:
            values = {"owner": principal.user_id, "package": package_id, "enabled": enabled}
            await unit.connection.execute(_SWITCH, values)
            entry = AuditEntry(
                actor_id=principal.user_id,
                caller_kind=principal.kind,
                action="package.enable" if enabled else "package.disable",
                target=package_id,
                outcome="succeeded",
                version=found.manifest.version,
            )
            insert_entry(unit, entry, self._clock())
        switches = await self._snapshots.enabled_packages(principal)
        return self._shown(found, switches.get(package_id, True))

    def _shown(self, package: Any, enabled: bool) -> dict[str, Any]:
        left_out = self._catalog.left_out.get(package.id)
        return {
            "id": package.id,
            "title": package.manifest.title,
            "description": package.manifest.description,
            "version": package.manifest.version,
            "enabled": enabled and left_out is None,
            "status": left_out or ("on" if enabled else "off"),
        }
