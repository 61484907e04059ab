"""The composition root: builds every service from settings and hands in the implementation of each port."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta

import structlog

from app.agent.config import AgentConfig, Limits
from app.catalog.catalog import load_catalog
from app.catalog.gate import Gate
from app.catalog.histories import package_migrations
from app.errors import RunInterrupted, StorageUnavailable
from app.host.approvals import Approvals
from app.host.audit import AuditLog
from app.host.authority import HostAuthority
from app.host.bus import LocalBus, RedisBus
from app.host.bus.over_redis import channel_name
from app.host.confirmations import Confirmations
from app.host.data_folder import DataFolder
from app.host.event_log import GroupWriter
from app.host.event_log.postgres import PostgresLogStore
from app.host.event_log.sqlite import SqliteLogStore
from app.host.feed import Feed
from app.host.files import HostFiles
from app.host.health import Health
from app.host.host import Host
from app.host.hub import Hub
from app.host.idempotency import Idempotency
from app.host.identity.devices import Devices
from app.host.identity.login_limits import LoginLimits
from app.host.identity.service import IdentityService
from app.host.invocations import Invocations
from app.host.packages import Packages
from app.host.projections import Projections
from app.host.recovery.ending import end_run
from app.host.recovery.lease import Lease
from app.host.recovery.sweeper import Sweeper
from app.host.reentry import Inbox, Reentry
from app.host.runs.driver import RunDriver
from app.host.runs.service import RunService
from app.host.sessions import Sessions
from app.host.snapshot import Snapshots
from app.protocol.ids import new_id
from app.protocol.ports import Bus
from app.providers.registry import load_models
from app.services.cursors import Cursors
from app.services.files import FileStore
from app.services.handles import PackageMemory, PackageSessions
from app.services.memory import MemoryService
from app.services.sessions import SessionService
from app.settings import Settings
from app.storage.database import Database
from app.storage.engines import sqlite_file
from app.storage.migrate import left_behind, pending

_log = structlog.get_logger(__name__)

MAX_MODEL_CONNECTIONS = 1_000
"""Connections to model providers; live runs are limited per user, so this only bounds a flood."""

SHARED_HALF_S = 3600.0
"""In a shared folder an unfinished file may be another process's work; after an hour it is not."""


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def open_host(settings: Settings) -> AsyncGenerator[Host]:
    """A running Host: database open, lease held, orphans ended, writer and sweeper at work.

    Closing ends live runs on record before anything is shut.

    Raises:
        StartupError: settings, packages or the data folder do not allow a start.
        StorageUnavailable: the database does not answer.
    """
    async with AsyncExitStack() as stack:
        folder = DataFolder(settings.data_dir, sqlite_file(settings.database_url))
        folder.open()
        stack.callback(folder.close)
        models = load_models(settings.models, os.environ, max_connections=MAX_MODEL_CONNECTIONS)
        stack.push_async_callback(models.aclose)
        database = Database.open(settings.database_url, pool_size=settings.pool_size)
        stack.push_async_callback(database.aclose)
        catalog = load_catalog(settings.capabilities)
        for package in await left_behind(settings.database_url, package_migrations(catalog)):
            catalog.leave_out(package, "NEEDS_MIGRATION")
        process_id = new_id("prc")
        bus = _open_bus(stack, settings, process_id)

        cursors = Cursors(secret=settings.secret())
        audit = AuditLog(database=database, clock=_now, cursors=cursors)
        stack.push_async_callback(audit.aclose)
        identity = IdentityService(database=database, clock=_now, package_scopes=catalog.scopes)
        stack.push_async_callback(identity.aclose)
        confirmations = Confirmations(database=database, clock=_now, base_url=settings.base_url)
        session_service = SessionService(cursors=cursors)
        memory = MemoryService()
        gate = Gate(
            catalog=catalog,
            database=database,
            authority=HostAuthority(),
            confirmations=confirmations,
            audit=audit,
            services={"memory": PackageMemory(memory), "sessions": PackageSessions(session_service)},
        )
        gate.bind_eager()

        writer = _open_writer(stack, settings, database, bus)
        snapshots = Snapshots(database=database, source=catalog)
        bus.subscribe("packages", lambda _: snapshots.forget())
        bus.subscribe("resumed", lambda _: snapshots.forget())
        blobs = FileStore(settings.files_dir or settings.data_dir / "files")
        blobs.remove_halves(older_than_s=0.0 if settings.embedded else SHARED_HALF_S)
        files = HostFiles(
            database=database, store=blobs, clock=_now,
            limit_bytes=settings.upload_limit_bytes,
        )  # fmt: skip
        hub = Hub(bus=bus, keepalive_s=settings.keepalive_seconds)
        driver = RunDriver(
            database=database,
            gate=gate,
            models=models,
            config=AgentConfig(max_tool_calls_per_turn=settings.run_tool_calls or None),
            limits=Limits(
                wall_time=timedelta(seconds=settings.run_seconds), max_tokens=settings.run_tokens or None
            ),
            pictures=files,
        )
        runs = RunService(
            database=database,
            writer=writer,
            driver=driver,
            snapshots=snapshots,
            inputs=files,
            hub=hub,
            bus=bus,
            process_id=process_id,
            keepalive_s=settings.keepalive_seconds,
            max_live_runs=settings.user_live_runs,
            default_model=models.default_id,
            cursors=cursors,
        )
        idempotency = Idempotency(database=database, process_id=process_id, clock=_now)
        lease = Lease(
            database=database,
            process_id=process_id,
            kind="serve",
            instance=folder.instance,
            on_lost=lambda: runs.lose_all(RunInterrupted("This process lost its lease on the database.")),
            lease_s=settings.lease_seconds,
            renew_s=settings.lease_renew_seconds,
        )
        await lease.open()
        stack.push_async_callback(lease.aclose)
        sweeper = Sweeper(
            database=database,
            process_id=process_id,
            live_here=runs.live_runs,
            cancel_here=runs.cancel_here,
            retention_days=settings.events_retention_days,
            sweep_s=settings.sweep_seconds,
            hourly=[idempotency.purge],
        )
        await sweeper.open()
        stack.push_async_callback(sweeper.aclose)

        async def end_live_runs() -> None:
            for run_id in await runs.aclose():
                try:
                    await end_run(database, run_id, process_id=process_id)
                except StorageUnavailable:
                    _log.warning("run_left_to_the_next_start", run_id=run_id)

        stack.push_async_callback(end_live_runs)
        _open_reentry(stack, database=database, bus=bus, identity=identity, snapshots=snapshots, runs=runs)
        inbox = Inbox(bus=bus, clock=_now)
        packages = package_migrations(catalog)
        yield Host(
            identity=identity,
            sessions=Sessions(
                database=database,
                sessions=session_service,
                models=models,
                runs=runs,
                files=files,
                hub=hub,
                clock=_now,
            ),
            runs=runs,
            projections=Projections(database=database, cursors=cursors),
            feed=Feed(database=database, hub=hub),
            snapshots=snapshots,
            invocations=Invocations(gate=gate, confirmations=confirmations),
            idempotency=idempotency,
            confirmations=confirmations,
            audit=audit,
            files=files,
            catalog=catalog,
            models=models,
            health=Health(database=database, pending=lambda: pending(settings.database_url, packages)),
            bus=bus,
            inbox=inbox,
            devices=Devices(
                database=database,
                identity=identity,
                limits=LoginLimits(database=database, clock=_now),
                clock=_now,
            ),
            approvals=_open_approvals(
                stack, database=database, gate=gate, inbox=inbox, hub=hub, identity=identity
            ),
            packages=Packages(database=database, catalog=catalog, snapshots=snapshots, clock=_now),
        )


def _open_bus(stack: AsyncExitStack, settings: Settings, process_id: str) -> LocalBus | RedisBus:
    if settings.redis_url is None:
        return LocalBus()
    bus = RedisBus(url=settings.redis_url, channel=channel_name(settings.secret()), origin=process_id)
    bus.open()
    stack.push_async_callback(bus.aclose)
    return bus


def _open_writer(stack: AsyncExitStack, settings: Settings, database: Database, bus: Bus) -> GroupWriter:
    def announce(run_id: str, seq: int, ended: bool) -> None:
        bus.publish("run", {"run_id": run_id, "seq": seq, "ended": ended})

    store = PostgresLogStore(database) if database.dialect == "postgresql" else SqliteLogStore(database)
    writer = GroupWriter(store=store, interval_s=settings.flush_interval_ms / 1000, announce=announce)
    writer.open()
    stack.push_async_callback(writer.aclose)
    return writer


def _open_reentry(
    stack: AsyncExitStack,
    *,
    database: Database,
    bus: Bus,
    identity: IdentityService,
    snapshots: Snapshots,
    runs: RunService,
) -> None:
    reentry = Reentry(
        database=database, bus=bus, identity=identity, snapshots=snapshots, runs=runs, clock=_now
    )
    reentry.open()
    stack.push_async_callback(reentry.aclose)


def _open_approvals(
    stack: AsyncExitStack,
    *,
    database: Database,
    gate: Gate,
    inbox: Inbox,
    hub: Hub,
    identity: IdentityService,
) -> Approvals:
    approvals = Approvals(database=database, gate=gate, inbox=inbox, hub=hub, identity=identity, clock=_now)
    approvals.open()
    stack.push_async_callback(approvals.aclose)
    return approvals
