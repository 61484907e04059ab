"""Runs one admitted call: binds, calls the handler under its time limit, and says what came of it.

A handler runs in this process. One that awaits is stopped at its limit; one that blocks the event loop
(a busy loop, blocking I/O) cannot be stopped from inside it, and belongs in a thread or a job.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

import structlog
from pydantic import BaseModel

from app.catalog.bind import PackageBinding
from app.catalog.effects import Effect, EffectAudit, EffectParts, KeyTaken, Replayed
from app.catalog.nested import NestedCall, NestedCalls
from app.catalog.package import Entry
from app.catalog.results import HandlerFault, pack_result
from app.errors import DeskmateError, OutcomeUnknown, RunFatal, StartupError, ToolExecutionError, ToolTimeout
from app.protocol.column_types import from_ms, to_ms
from app.protocol.definitions import CapabilityDefinition
from app.protocol.identity import Initiator, Principal
from app.protocol.ports import Invocation
from app.sdk import EffectTx, ReadTx, Recorded, context
from app.storage.package_tx import PackageTx

log = structlog.get_logger(__name__)

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BoundEntry:
    """An entry with all that is needed to run it."""

    definition: CapabilityDefinition
    entry: Entry
    binding: PackageBinding
    nested: NestedCall
    """The way back into the gate, for handlers that call other entries."""


@dataclass(slots=True)
class Ran:
    """What came of a handler: a packed result, or an error."""

    result: Any = None
    error: DeskmateError | None = None
    audited: bool = False
    """Whether the effect's own transaction holds the audit entry."""


class HandlerCall:
    """The `Call` that a handler gets."""

    def __init__(self, parts: EffectParts, bound: BoundEntry, invocation: Invocation, effect: Effect) -> None:
        self._parts = parts
        self._invocation = invocation
        self._definition = bound.definition
        self._schema = bound.binding.package.schema
        self._effect = effect
        self._nested = NestedCalls(bound.nested, invocation, bound.binding.package.manifest.permissions)
        self.checked = False
        """Whether the Host was asked within one of this call's transactions."""
        self.now: datetime = from_ms(to_ms(parts.clock()))  # as it is stored and read again

    @property
    def call_id(self) -> str:
        return self._invocation.call_id

    @property
    def principal(self) -> Principal:
        return self._invocation.principal

    @property
    def package_version(self) -> str:
        return self._definition.package_version

    @property
    def initiator(self) -> Initiator:
        return self._invocation.initiator

    @property
    def session_id(self) -> str | None:
        return self._invocation.session_id

    @property
    def run_id(self) -> str | None:
        return self._invocation.run.run_id if self._invocation.run else None

    @property
    def input_text(self) -> str:
        return self._invocation.run.input_text if self._invocation.run else ""

    @property
    def earlier_results(self) -> Mapping[str, Any]:
        return MappingProxyType(self._invocation.run.results) if self._invocation.run else _NOTHING

    @property
    def cancelled(self) -> bool:
        return self._invocation.run is not None and self._invocation.run.cancel.is_set()

    def read(self) -> AbstractAsyncContextManager[ReadTx]:
        return self._read()

    def effect(self) -> AbstractAsyncContextManager[EffectTx]:
        effect: Any = self._effect  # its face is generic in other words than the sdk's Protocol
        return effect

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if self._effect.open:
            raise HandlerFault("call other entries before or after the effect: one transaction at a time")
        return await self._nested.make(name, arguments)

    @asynccontextmanager
    async def _read(self) -> AsyncGenerator[ReadTx]:
        async with self._parts.database.tenant_read(self.principal.user_id) as unit:
            if not self.checked:
                await self._parts.authority.check(unit, self._invocation, self._definition)
                self.checked = True
            tx: Any = PackageTx(unit, schema=self._schema, principal=self.principal)
            yield tx

    async def check(self) -> None:
        """Asks the Host in a unit of its own, for handlers that opened none."""
        async with self._parts.database.tenant_read(self.principal.user_id) as unit:
            await self._parts.authority.check(unit, self._invocation, self._definition)
        self.checked = True


async def run_entry(
    parts: EffectParts,
    bound: BoundEntry,
    invocation: Invocation,
    params: BaseModel,
    *,
    digest: str,
    audit: EffectAudit,
) -> Ran:
    """Runs the handler. Raises RunFatal and CancelledError only."""
    definition = bound.definition
    effect = Effect(
        parts,
        invocation,
        definition,
        digest=digest,
        result_model=bound.entry.result,
        audit=audit,
        schema=bound.binding.package.schema,
    )
    call = HandlerCall(parts, bound, invocation, effect)
    try:
        result = await _attempt(parts, bound, call, effect, params)
    except Replayed as replayed:
        return Ran(result=replayed.result)
    except RunFatal:
        if effect.committed:
            # The commit is a fact. The next call will meet the same fault, and end the run.
            return _committed(effect)
        raise
    except DeskmateError as error:
        return Ran(error=error)
    return Ran(result=result, audited=effect.committed)


async def _attempt(
    parts: EffectParts, bound: BoundEntry, call: HandlerCall, effect: Effect, params: BaseModel
) -> Any:
    """The packed result. Raises Replayed, DeskmateError (RunFatal among them), CancelledError."""
    definition = bound.definition
    external = definition.effect == "external"
    if external:
        await effect.declare_intent()
    elif not bound.binding.package.manifest.requires and not definition.mutating:
        await call.check()  # such a handler opens no transaction of its own
    try:
        returned = await _call_handler(bound, call, params, parts)
        return await _settle(returned, bound, call, effect)
    except (KeyTaken, Exception) as error:
        if effect.committed:
            _log_fault(definition, error, "a handler failed after its effect was committed")
            return _recorded_result(effect)
        if isinstance(error, RunFatal):
            raise
        if effect.begun and effect.may_repeat:
            await effect.find_recorded()
        if isinstance(error, KeyTaken):
            raise OutcomeUnknown("The same call is being made at this moment.") from None
        if external:
            await _close_intent(effect, error)
        if isinstance(error, DeskmateError) and not isinstance(error, StartupError):
            raise
        _log_fault(definition, error, "a handler failed")
        raise ToolExecutionError(f"{definition.title} failed because of a fault in the tool.") from error


async def _call_handler(bound: BoundEntry, call: HandlerCall, params: BaseModel, parts: EffectParts) -> Any:
    definition = bound.definition
    handler = bound.binding.handler(definition.id)
    token = context.enter(call)
    limit = asyncio.timeout(definition.timeout.total_seconds())
    try:
        parts.crash("before_handler")
        async with limit:
            returned = await handler(call, params)
        parts.crash("after_handler")
        return returned
    except TimeoutError:
        if not limit.expired():
            raise  # the handler's own
        seconds = definition.timeout.total_seconds()
        raise ToolTimeout(
            f"{definition.title} took longer than {seconds:g} seconds and was stopped."
        ) from None
    finally:
        context.leave(token)


async def _settle(returned: Any, bound: BoundEntry, call: HandlerCall, effect: Effect) -> Any:
    if effect.committed:
        return _recorded_result(effect)
    if bound.definition.mutating:
        raise HandlerFault("a mutating handler ended without its effect")
    if isinstance(returned, Recorded):
        raise HandlerFault("a reading handler returned a record")
    result = pack_result(bound.entry.result, returned)
    if not call.checked:
        await call.check()  # nothing leaves before the Host agreed
    return result


async def _close_intent(effect: Effect, error: BaseException) -> None:
    """A refusal that the handler declared is believed; of anything else nobody knows the outcome."""
    if isinstance(error, DeskmateError) and not isinstance(error, ToolTimeout | StartupError):
        await effect.withdraw_intent()
        return
    raise OutcomeUnknown("It is not known whether this happened; check before you try again.") from error


def _recorded_result(effect: Effect) -> Any:
    assert effect.recorded is not None
    return effect.recorded.result


def _committed(effect: Effect) -> Ran:
    return Ran(result=_recorded_result(effect), audited=True)


def _log_fault(definition: CapabilityDefinition, error: BaseException, event: str) -> None:
    log.error(event, capability=definition.id, package=definition.package, exc_info=error)
