"""All services of the Host, as the API sees them. Built by `factory`."""

from __future__ import annotations

from dataclasses import dataclass

from app.catalog.catalog import Catalog
from app.host.approvals import Approvals
from app.host.audit import AuditLog
from app.host.confirmations import Confirmations
from app.host.feed import Feed
from app.host.files import HostFiles
from app.host.health import Health
from app.host.idempotency import Idempotency
from app.host.identity.devices import Devices
from app.host.identity.service import IdentityService
from app.host.invocations import Invocations
from app.host.packages import Packages
from app.host.projections import Projections
from app.host.reentry import Inbox
from app.host.runs.service import RunService
from app.host.sessions import Sessions
from app.host.snapshot import Snapshots
from app.protocol.ports import Bus, ModelCatalog


@dataclass(frozen=True, slots=True)
class Host:
    identity: IdentityService
    sessions: Sessions
    runs: RunService
    projections: Projections
    feed: Feed
    snapshots: Snapshots
    invocations: Invocations
    idempotency: Idempotency
    confirmations: Confirmations
    audit: AuditLog
    files: HostFiles
    catalog: Catalog
    models: ModelCatalog
    health: Health
    bus: Bus
    inbox: Inbox
    devices: Devices
    approvals: Approvals
    packages: Packages
