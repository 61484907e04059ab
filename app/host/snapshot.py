"""What a run may use, frozen at its start (H2): installed ∩ switched on ∩ allowed by scope."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import text

from app.protocol.definitions import Snapshot
from app.protocol.digests import canonical_json
from app.protocol.identity import Principal
from app.storage.database import Database

_SWITCHES = text(
    "SELECT package, enabled, 0 AS rank FROM package_switches WHERE owner_id = :owner"
    " UNION ALL SELECT package, enabled, 1 AS rank FROM package_states ORDER BY rank"
)
CACHED = 256


class SnapshotSource(Protocol):
    """What the catalog gives for a principal and the switches."""

    def snapshot(self, principal: Principal, enabled: Mapping[str, bool]) -> Snapshot: ...


@dataclass(frozen=True, slots=True)
class FrozenSnapshot:
    snapshot: Snapshot
    body: str
    """Canonical JSON, as stored."""


class Snapshots:
    """Makes snapshots; the same rights and switches give the same one, so few are ever built."""

    def __init__(self, *, database: Database, source: SnapshotSource) -> None:
        self._database = database
        self._source = source
        self._cache: OrderedDict[tuple[frozenset[str], tuple[tuple[str, bool], ...]], FrozenSnapshot]
        self._cache = OrderedDict()

    async def enabled_packages(self, principal: Principal) -> Mapping[str, bool]:
        """Switches that are set: a user may switch off what is on for all, not on what is off."""
        async with self._database.tenant_read(principal.user_id) as unit:
            rows = (await unit.connection.execute(_SWITCHES, {"owner": principal.user_id})).all()
        switches: dict[str, bool] = {}
        for package, enabled, _ in rows:
            switches[package] = switches.get(package, True) and bool(enabled)
        return switches

    async def freeze(self, principal: Principal) -> FrozenSnapshot:
        switches = await self.enabled_packages(principal)
        key = (principal.scopes, tuple(sorted(switches.items())))
        frozen = self._cache.get(key)
        if frozen is None:
            snapshot = self._source.snapshot(principal, switches)
            frozen = FrozenSnapshot(snapshot, canonical_json(_body(snapshot)).decode())
            self._cache[key] = frozen
            if len(self._cache) > CACHED:
                self._cache.popitem(last=False)
        return frozen

    def forget(self) -> None:
        """Called when packages are reloaded: versions may have changed."""
        self._cache.clear()


def _body(snapshot: Snapshot) -> dict[str, object]:
    return {
        "packages": dict(snapshot.packages),
        "tools": list(snapshot.tools),
        "domains": list(snapshot.domains),
        "skills": list(snapshot.skills),
        "preloaded": list(snapshot.preloaded),
    }
