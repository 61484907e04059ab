"""The only way to a handler: model, palette, API, jobs and confirmations all come through here.

In order: name, caller policy, snapshot, loaded domain, scope, arguments, confirmation, the Host's
authority, the handler under its limits, the result's form. Every call is audited, refused ones too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import structlog
from pydantic import BaseModel

from app.catalog import loader_tools
from app.catalog.arguments import read_arguments
from app.catalog.bind import PackageBinding
from app.catalog.catalog import Catalog
from app.catalog.digest import arguments_digest
from app.catalog.effects import EffectParts
from app.catalog.invoke import BoundEntry, run_entry
from app.catalog.nested import NestedCall
from app.catalog.package import Entry
from app.catalog.visible import Visible
from app.catalog.walls import refusal, unknown_entry
from app.errors import DeskmateError, RunFatal, ToolError, ToolExecutionError
from app.protocol import crash
from app.protocol.conversation import ToolSpec
from app.protocol.definitions import CapabilityDefinition
from app.protocol.ports import (
    AuditEntry,
    AuditSink,
    Authority,
    CallOutcome,
    Confirmations,
    Invocation,
    RunScope,
)
from app.sdk import Tool
from app.storage.database import Database

log = structlog.get_logger(__name__)

_LOADERS = {d.id: d for d in loader_tools.DEFINITIONS}
_LOADERS_BY_WIRE = {d.wire_name: d for d in loader_tools.DEFINITIONS}
_UNKNOWN_NAME_LIMIT = 200


@dataclass(frozen=True, slots=True)
class _Shared:
    """What every call of a process uses."""

    catalog: Catalog
    confirmations: Confirmations
    effects: EffectParts
    bindings: Mapping[str, PackageBinding]


class Gate:
    """Implements `protocol.ports.ToolGate`."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        database: Database,
        authority: Authority,
        confirmations: Confirmations,
        audit: AuditSink,
        services: Mapping[str, object],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        crash_hook: crash.CrashHook = crash.crash_point,
    ) -> None:
        """`services` holds the handle objects by the names that manifests require."""
        self._visible = Visible(catalog)
        self._shared = _Shared(
            catalog=catalog,
            confirmations=confirmations,
            effects=EffectParts(database, authority, audit, clock, crash_hook),
            bindings={package.id: PackageBinding(package, services) for package in catalog.packages},
        )

    def bind_eager(self) -> None:
        """Binds packages in use with `load = "eager"`. Raises CapabilityInvalid."""
        left_out = self._shared.catalog.left_out
        for binding in self._shared.bindings.values():
            if binding.package.manifest.load == "eager" and binding.package.id not in left_out:
                binding.bound()

    # --- what can be called -------------------------------------------------------------------

    def visible_tools(self, run: RunScope) -> Sequence[ToolSpec]:
        return self._visible.tools(run)

    def catalog_text(self, run: RunScope) -> str:
        return self._visible.text(run.snapshot)

    def find(self, name: str) -> CapabilityDefinition | None:
        return _LOADERS.get(name) or _LOADERS_BY_WIRE.get(name) or self._shared.catalog.find(name)

    # --- one call -----------------------------------------------------------------------------

    async def call(self, invocation: Invocation) -> CallOutcome:
        return await self._call(invocation, nested=False)

    async def _call(self, invocation: Invocation, *, nested: bool = True) -> CallOutcome:
        journey = _Journey(self._shared, invocation, self.find(invocation.name), self._call, nested=nested)
        try:
            outcome = await journey.travel()
        except (RunFatal, asyncio.CancelledError) as end:
            await journey.audit_end(end)
            raise
        if not journey.audited:
            await journey.audit(outcome.status, str((outcome.error or {}).get("code", "")))
        return outcome


class _Journey:
    """One call from name to outcome."""

    def __init__(
        self,
        shared: _Shared,
        invocation: Invocation,
        definition: CapabilityDefinition | None,
        call_nested: NestedCall,
        *,
        nested: bool,
    ) -> None:
        self._call_nested = call_nested
        self._nested = nested
        self._shared = shared
        self._invocation = invocation
        self._definition = definition
        self._digest = arguments_digest(invocation.arguments, invocation.raw_arguments)
        self._began = time.perf_counter()
        self._denied = False
        self.audited = False

    async def travel(self) -> CallOutcome:
        try:
            return await self._travel()
        except RunFatal:
            raise
        except DeskmateError as error:
            return _failed(error)
        except Exception:
            log.exception("a call failed outside its handler", call_id=self._invocation.call_id)
            return _failed(ToolExecutionError("The call failed because of a fault in the service."))

    async def _travel(self) -> CallOutcome:
        invocation, definition, catalog = self._invocation, self._definition, self._shared.catalog
        if definition is None:
            self._denied = True
            raise unknown_entry(catalog, invocation)
        if definition.package == loader_tools.PACKAGE:
            return await self._load(definition)
        refused = refusal(catalog, invocation, definition, nested=self._nested)
        if refused is not None:
            self._denied = True
            raise refused
        binding = self._shared.bindings[definition.package]
        bound = BoundEntry(definition, binding.package.entries[definition.id], binding, self._call_nested)
        params = read_arguments(bound.entry.params, invocation.arguments)
        if definition.destructive and not invocation.confirmed:
            return await self._ask_user(definition)
        return await self._run(bound, params)

    async def _ask_user(self, definition: CapabilityDefinition) -> CallOutcome:
        """No text, page or flag of a client stands in for the user's own approval (C19)."""
        await self._ask_host(definition)
        confirmation = await self._shared.confirmations.pend(self._invocation, definition)
        result = {"status": "awaiting_confirmation", "confirmation_id": confirmation}
        extra = {"confirmation_id": confirmation}
        return CallOutcome("awaiting_confirmation", result=result, extra=extra)

    async def _run(self, bound: BoundEntry, params: BaseModel) -> CallOutcome:
        ran = await run_entry(
            self._shared.effects,
            bound,
            self._invocation,
            params,
            digest=self._digest,
            audit=self._audit_effect,
        )
        self.audited = ran.audited
        if ran.error is not None:
            return _failed(ran.error)
        return CallOutcome(
            "succeeded", result=ran.result, control_fact=_control_fact(bound.entry, ran.result)
        )

    async def _load(self, definition: CapabilityDefinition) -> CallOutcome:
        invocation, catalog = self._invocation, self._shared.catalog
        params = read_arguments(loader_tools.LoadParams, invocation.arguments)
        assert isinstance(params, loader_tools.LoadParams)
        await self._ask_host(definition)
        snapshot = invocation.run.snapshot if invocation.run else catalog.snapshot(invocation.principal, {})
        if definition.id == loader_tools.LOAD_DOMAIN:
            return loader_tools.load_domain(catalog, snapshot, params.name)
        by_user = invocation.initiator == "user"
        return loader_tools.load_skill(catalog, snapshot, params.name, unlisted=by_user)

    async def _ask_host(self, definition: CapabilityDefinition) -> None:
        """For calls that reach no handler, where the question is asked in the handler's transaction."""
        effects = self._shared.effects
        async with effects.database.tenant_read(self._invocation.principal.user_id) as unit:
            await effects.authority.check(unit, self._invocation, definition)

    # --- audit (H10) --------------------------------------------------------------------------

    async def _audit_effect(self, tx: Any) -> None:
        await self._shared.effects.audit.record(tx, self._entry("succeeded", ""))

    async def audit(self, status: str, code: str) -> None:
        """Outside an effect: the sink gathers such entries and writes them in groups."""
        outcome = "denied" if self._denied else status
        await self._shared.effects.audit.record(None, self._entry(outcome, code))

    async def audit_end(self, end: BaseException) -> None:
        code = end.code if isinstance(end, DeskmateError) else "CANCELLED"
        try:
            await self.audit("failed", code)
        except Exception:
            log.exception("a call could not be audited", call_id=self._invocation.call_id)

    def _entry(self, outcome: str, code: str) -> AuditEntry:
        invocation, definition = self._invocation, self._definition
        principal = invocation.principal
        return AuditEntry(
            actor_id=principal.user_id,
            caller_kind=principal.kind,
            action=f"{definition.kind}.call" if definition else "tool.call",
            target=definition.id if definition else invocation.name[:_UNKNOWN_NAME_LIMIT],
            outcome=outcome,
            version=definition.package_version if definition else "",
            initiator=invocation.initiator,
            run_id=invocation.run.run_id if invocation.run else None,
            session_id=invocation.session_id,
            call_id=invocation.call_id,
            arguments_digest=self._digest,
            error_code=code,
            duration_ms=round((time.perf_counter() - self._began) * 1000),
            token_id=principal.token_id,
        )


def _failed(error: DeskmateError) -> CallOutcome:
    shown = error.as_dict()
    if not isinstance(error, ToolError) and error.source == "host":
        shown["source"] = "tool"  # a service refused inside the tool; the Host itself is not at fault
    return CallOutcome("failed", error=shown, extra=dict(error.details))


def _control_fact(entry: Entry, result: Any) -> str | None:
    """Fills the declared sentence with short values of the result; anything else stays in braces."""
    if not isinstance(entry, Tool) or not entry.control_fact:
        return None
    fact = entry.control_fact
    for key, value in cast("dict[str, Any]", result).items() if isinstance(result, dict) else ():
        if isinstance(value, str | int):
            fact = fact.replace(f"{{{key}}}", " ".join(str(value).split())[:200])
    return fact
