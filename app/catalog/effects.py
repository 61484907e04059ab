"""The one transaction of a mutating call (P8): authority, writes, result, audit, one commit.

Statements: BEGIN (with owner and role), the Host's authority check, what the package writes, the INSERTs
of the effect and its audit entry (one round trip on PostgreSQL), COMMIT. The effect row is written last, with its result, so there
is no UPDATE. Two calls with one key cannot both commit: the second's INSERT waits for the first
(PostgreSQL) or comes after it (SQLite), inserts nothing, is rolled back, and answers what is on record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol

from sqlalchemy import delete, select

from app.catalog.results import HandlerFault, pack_result
from app.errors import IdempotencyMismatch, InvalidParams, OutcomeUnknown
from app.protocol.column_types import to_ms
from app.protocol.crash import CrashHook
from app.protocol.definitions import CapabilityDefinition
from app.protocol.ids import new_id
from app.protocol.jsontext import dump_text
from app.protocol.ports import AuditSink, Authority, Invocation
from app.sdk import Recorded
from app.storage.database import Database, Unit
from app.storage.package_schema import PackageSchema
from app.storage.package_tx import PackageTx
from app.storage.statement import Statement
from app.storage.tables import effects

_INSERT = Statement(
    f"INSERT INTO effects ({', '.join(c.name for c in effects.columns)})"  # noqa: S608 - our own column names
    f" VALUES ({', '.join(':' + c.name for c in effects.columns)})"
    " ON CONFLICT DO NOTHING RETURNING key"
)
_KEY_LIMIT = 300


class Replayed(BaseException):
    """Carries the recorded result past the handler. Not an Exception, so that no handler swallows it."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


class KeyTaken(BaseException):
    """Another call with this key committed while the body ran; ours is rolled back."""


class EffectAudit(Protocol):
    async def __call__(self, tx: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class EffectParts:
    """What all effects of a process share."""

    database: Database
    authority: Authority
    audit: AuditSink
    clock: Callable[[], datetime]
    crash: CrashHook


def effect_key(invocation: Invocation, capability: str) -> tuple[str, bool]:
    """The key of a call, and whether it is the caller's own, so that a repeat is to be expected."""
    if invocation.run is not None:
        return f"run:{invocation.run.run_id}:{invocation.call_id}", False
    if invocation.idempotency_key is not None:
        if not 1 <= len(invocation.idempotency_key) <= _KEY_LIMIT:  # the column holds 400 with its prefix
            raise InvalidParams(f"An Idempotency-Key has 1 to {_KEY_LIMIT} characters.")
        return f"api:{capability}:{invocation.idempotency_key}", True
    return f"once:{new_id('eff')}", False


class Effect:
    """The effect of one call; at most one is ever made. Also knows what came of it."""

    def __init__(
        self,
        parts: EffectParts,
        invocation: Invocation,
        definition: CapabilityDefinition,
        *,
        digest: str,
        result_model: Any,
        audit: EffectAudit,
        schema: PackageSchema,
    ) -> None:
        self._parts = parts
        self._invocation = invocation
        self._definition = definition
        self._digest = digest
        self._result_model = result_model
        self._audit = audit
        self._schema = schema
        self._key, self._repeats_expected = effect_key(invocation, definition.id)
        self._context: Any = None
        self._unit: Unit | None = None
        self.recorded: Recorded | None = None
        """Set by `tx.record`; its result is already packed."""
        self.begun = False
        """Whether the Host agreed, so that the body ran."""
        self.committed = False

    @property
    def entered(self) -> bool:
        return self._context is not None

    @property
    def open(self) -> bool:
        """Whether its transaction is under way."""
        return self._unit is not None

    @property
    def may_repeat(self) -> bool:
        """Whether anybody could know this key from an earlier try."""
        return not self._key.startswith("once:")

    def record(self, result: Any) -> Recorded:
        if self.recorded is not None:
            raise HandlerFault("tx.record was called twice")
        self.recorded = Recorded(pack_result(self._result_model, result))
        return self.recorded

    async def __aenter__(self) -> EffectFace:
        if not self._definition.mutating:
            raise HandlerFault("an entry that only reads asked for an effect")
        if self.entered:
            raise HandlerFault("call.effect() was entered twice")
        self._context = self._parts.database.tenant_write(self._invocation.principal.user_id)
        unit: Unit = await self._context.__aenter__()
        try:
            await self._parts.authority.check(unit, self._invocation, self._definition)
            if self._repeats_expected:
                await self._replay_if_recorded(unit)
        except BaseException as error:
            await self._context.__aexit__(type(error), error, error.__traceback__)
            raise
        self._unit = unit
        self.begun = True
        unit.on_commit(self._note_commit)
        return EffectFace(unit, self._schema, self._invocation, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        unit, self._unit = self._unit, None
        assert unit is not None
        if error is not None:
            await self._context.__aexit__(kind, error, trace)
            return
        try:
            await self._complete(unit)
        except BaseException as fault:
            await self._context.__aexit__(type(fault), fault, fault.__traceback__)
            raise
        await self._context.__aexit__(None, None, None)
        self._parts.crash("after_effect_commit")

    async def _complete(self, unit: Unit) -> None:
        if self.recorded is None:
            raise HandlerFault("the effect ended without tx.record")
        await unit.flush()
        if self._definition.effect == "external":
            await self._forget_intent(unit)
        await self._audit(unit)  # goes with the next statement, or with the commit; rolled back like it
        if not await self._insert(unit, "done", self.recorded.result):
            raise KeyTaken
        self._parts.crash("in_effect_before_commit")

    def _note_commit(self) -> None:
        self.committed = True

    # --- the row ------------------------------------------------------------------------------

    async def _insert(self, unit: Unit, status: str, result: Any) -> bool:
        invocation = self._invocation
        values = {
            "owner_id": invocation.principal.user_id,
            "key": self._key,
            "capability": self._definition.id,
            "package_version": self._definition.package_version,
            "arguments_digest": self._digest,
            "status": status,
            "result": None if result is None else dump_text(result),
            "run_id": invocation.run.run_id if invocation.run else None,
            "call_id": invocation.call_id,
            "session_id": invocation.session_id,
            "at": to_ms(self._parts.clock()),
        }
        return len(await unit.last_rows(_INSERT, values)) == 1

    async def _replay_if_recorded(self, unit: Unit, *, own_intent: bool = True) -> None:
        """Raises Replayed, or why not; returns if nothing is on record (but our own intent, if allowed)."""
        found = select(effects.c.arguments_digest, effects.c.result, effects.c.status, effects.c.call_id)
        row = (await unit.connection.execute(found.where(*self._own_row()))).one_or_none()
        if row is None or (own_intent and row.status == "intent" and row.call_id == self._invocation.call_id):
            return
        if row.arguments_digest != self._digest:
            raise IdempotencyMismatch("This key was used before with other arguments. Use a fresh one.")
        if row.status == "intent":
            raise OutcomeUnknown("An earlier try with this key did not report back; it may have happened.")
        raise Replayed(row.result)

    async def find_recorded(self) -> None:
        """After a failed try: raises Replayed if the key is on record after all."""
        async with self._parts.database.tenant_read(self._invocation.principal.user_id) as unit:
            await self._replay_if_recorded(unit)

    # --- effects outside our database -----------------------------------------------------------

    async def declare_intent(self) -> None:
        """Before an external effect: a row that says that it may have happened, whatever comes."""
        async with self._parts.database.tenant_write(self._invocation.principal.user_id) as unit:
            await self._parts.authority.check(unit, self._invocation, self._definition)
            if not await self._insert(unit, "intent", None):
                await self._replay_if_recorded(unit, own_intent=False)

    async def withdraw_intent(self) -> None:
        """The handler itself said that nothing happened outside."""
        async with self._parts.database.tenant_write(self._invocation.principal.user_id) as unit:
            await self._forget_intent(unit)

    async def _forget_intent(self, unit: Unit) -> None:
        mine = effects.c.call_id == self._invocation.call_id
        await unit.connection.execute(
            delete(effects).where(*self._own_row(), effects.c.status == "intent", mine)
        )

    def _own_row(self) -> tuple[Any, ...]:
        return effects.c.owner_id == self._invocation.principal.user_id, effects.c.key == self._key


class EffectFace(PackageTx):
    """The package's transaction with `record`."""

    def __init__(self, unit: Unit, schema: PackageSchema, invocation: Invocation, effect: Effect) -> None:
        super().__init__(
            unit, schema=schema, principal=invocation.principal, session_id=invocation.session_id
        )
        self._effect = effect

    def record(self, result: Any) -> Recorded:
        return self._effect.record(result)
