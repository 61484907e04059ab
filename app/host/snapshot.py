"""What a run may use, frozen at its start (H2): installed ∩ switched on ∩ allowed by scope."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import text

from app.protocol.definitions import Snapshot
from app.protocol.digests import canonical_json
from app.protocol.identity import Principal
from app.storage.database import Database
from app.storage.statement import Statement

_SWITCHES = text(
    "SELECT package, enabled, 0 AS rank FROM package_switches WHERE owner_id = :owner"
    " UNION ALL SELECT package, enabled, 1 AS rank FROM package_states ORDER BY rank"
)
_STATES = Statement("SELECT package, enabled FROM package_states")
STATES_S = 1.0
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
        self._known_states: Mapping[str, bool] = {}
        self._states_until = 0.0

    async def enabled_packages(self, principal: Principal) -> Mapping[str, bool]:
        """Switches that are set: a user may switch off what is on for all, not on what is off."""
        async with self._database.tenant_read(principal.user_id) as unit:
            rows = (await unit.connection.execute(_SWITCHES, {"owner": principal.user_id})).all()
        switches: dict[str, bool] = {}
        for package, enabled, _ in rows:
            switches[package] = switches.get(package, True) and bool(enabled)
        return switches

    async def freeze(self, principal: Principal) -> FrozenSnapshot:
        """The user's own switches came with the principal; those for all are read again every second."""
        switches = {**await self._states(), **dict.fromkeys(principal.switched_off, False)}
        key = (principal.scopes, tuple(sorted(switches.items())))
        frozen = self._cache.get(key)
        if frozen is None:
            snapshot = self._source.snapshot(principal, switches)
            frozen = FrozenSnapshot(snapshot, canonical_json(_body(snapshot)).decode())
            self._cache[key] = frozen
            if len(self._cache) > CACHED:
                self._cache.popitem(last=False)
        return frozen

    async def _states(self) -> Mapping[str, bool]:
        """What is on for everybody. Replicas follow a change within 2 s; each call asks again anyway."""
        now = time.monotonic()
        if now >= self._states_until:
            rows = await self._database.lookup(_STATES, {})
            self._known_states = {row[0]: bool(row[1]) for row in rows}
            self._states_until = now + STATES_S
        return self._known_states

    def forget(self) -> None:
        """Called when packages are switched or reloaded."""
        self._cache.clear()
        self._states_until = 0.0


def _body(snapshot: Snapshot) -> dict[str, object]:
    return {
        "packages": dict(snapshot.packages),
        "tools": list(snapshot.tools),
        "domains": list(snapshot.domains),
        "skills": list(snapshot.skills),
        "preloaded": list(snapshot.preloaded),
    }
