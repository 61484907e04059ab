"""The tool calls of a turn: their order, their limits, and one record for each (L3, L4, C11)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.agent.budget import Budget, Clock
from app.agent.items import replayable, result_message
from app.errors import (
    DeskmateError,
    MaxToolCallsExceeded,
    RepeatedToolError,
    RequestCancelled,
    RunFatal,
    RunLost,
    ToolExecutionError,
    ToolInvalidParams,
    ToolSkipped,
)
from app.protocol.conversation import ToolCall, ToolResultMessage
from app.protocol.definitions import CapabilityDefinition
from app.protocol.events import ActivityKind
from app.protocol.ports import CallOutcome, CallRecord, Invocation, RunRecord, RunScope, ToolGate

log = logging.getLogger(__name__)

REPEATS = 3
"""The same error code this often in a row ends the run."""
LOADERS: dict[str, ActivityKind] = {"catalog::load_domain": "domain", "catalog::load_skill": "skill"}
"""Calls shown as what they load. Named here since `started` goes out before the gate has answered."""
_QUOTED_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Call:
    """One call with how it is shown: the same on all lines of its activity."""

    asked: ToolCall
    definition: CapabilityDefinition | None
    kind: ActivityKind
    shown_name: str
    title: str
    cut: bool

    @property
    def name(self) -> str:
        """Canonical id, or what the model wrote where there is no such tool."""
        return self.definition.id if self.definition else self.asked.wire_name

    @property
    def mutating(self) -> bool:
        return self.definition is not None and self.definition.mutating


@dataclass(slots=True, kw_only=True)
class ToolBatches:
    """Runs the batches of one turn. `fatal` is set once something in a batch ends the run."""

    run: RunScope
    gate: ToolGate
    record: RunRecord
    budget: Budget
    max_calls: int | None
    clock: Clock
    fatal: RunFatal | None = field(default=None, init=False)
    _asked: int = field(default=0, init=False)
    _same_code: tuple[str, int] = field(default=("", 0), init=False)
    """The error code of the last calls, and how often it came in a row."""

    async def run_batch(
        self, calls: Sequence[ToolCall], *, cut: frozenset[str] = frozenset()
    ) -> list[ToolResultMessage]:
        """Runs what one answer asked for; gives one result for each call, in the model's order.

        Concurrent if all calls only read, else one after the other. Raises RunLost.
        """
        batch = [self._prepare(call, call.call_id in cut) for call in calls]
        within, beyond = self._split_at_limit(batch)
        if any(call.mutating for call in batch):
            results = [await self._perform(call) for call in within]
        else:
            results = await _all([self._perform(call) for call in within])
        if beyond:
            over = MaxToolCallsExceeded(
                f"The turn asked for more than {self.max_calls} tool calls and was stopped. "
                "The calls beyond that were not made."
            )
            self.fatal = self.fatal or over
            results += [self._refuse(call, over) for call in beyond]
        return results

    def skip_batch(self, calls: Sequence[ToolCall], reason: str) -> None:
        """Records calls of an answer that was cut off: asked for, never run."""
        for call in calls:
            self._skip(self._prepare(call, cut=False), reason)

    def _prepare(self, call: ToolCall, cut: bool) -> _Call:
        definition = self.gate.find(call.wire_name)
        name = definition.id if definition else call.wire_name
        title = definition.title if definition else call.wire_name
        kind = LOADERS.get(name, "tool")
        if kind != "tool":
            wanted = (call.arguments or {}).get("name")
            name = wanted if isinstance(wanted, str) and wanted else name
        return _Call(call, definition, kind, name[:_QUOTED_CHARS], title[:_QUOTED_CHARS], cut)

    def _split_at_limit(self, batch: list[_Call]) -> tuple[list[_Call], list[_Call]]:
        room = len(batch) if self.max_calls is None else max(0, self.max_calls - self._asked)
        self._asked += len(batch)
        return batch[:room], batch[room:]

    # --- one call -----------------------------------------------------------------------------

    async def _perform(self, call: _Call) -> ToolResultMessage:
        if reason := self._why_not_start():
            return self._skip(call, reason)
        self._started(call)
        began = self.clock()
        outcome = await self._outcome(call)
        self._note_loads(outcome)
        self._count_repeats(call, outcome)
        return self._finished(call, outcome, int((self.clock() - began) * 1000))

    def _why_not_start(self) -> str | None:
        if self.run.cancel.is_set():
            return "the run was cancelled"
        if self.fatal:
            return f"the run ended ({self.fatal.code})"
        if self.budget.time_fault():
            return "the run reached its time limit"
        return None

    async def _outcome(self, call: _Call) -> CallOutcome:
        if call.asked.arguments is None:
            return _failure(_unreadable(call))
        try:
            if call.mutating:
                # On record before it acts: after a crash the effect table is read against this line.
                await self.record.committed()
                if self.run.cancel.is_set():
                    return _skipped("the run was cancelled")
            return await self.gate.call(self._invocation(call.asked))
        except RunLost:
            raise
        except RequestCancelled as cancelled:
            self.fatal = self.fatal or cancelled
            return _skipped("the run was cancelled")
        except RunFatal as fatal:
            self.fatal = self.fatal or fatal
            return _failure(fatal)
        except Exception:
            log.exception("the gate let an exception of %s through", call.name)
            return _failure(ToolExecutionError("The tool failed unexpectedly."))

    def _invocation(self, call: ToolCall) -> Invocation:
        return Invocation(
            call_id=call.call_id,
            name=call.wire_name,
            arguments=call.arguments,
            raw_arguments=call.raw_arguments,
            principal=self.run.principal,
            initiator="model",
            run=self.run,
            session_id=self.run.session_id,
        )

    def _note_loads(self, outcome: CallOutcome) -> None:
        if outcome.status != "failed":
            self.run.loaded.update(outcome.loads)

    def _count_repeats(self, call: _Call, outcome: CallOutcome) -> None:
        """Stops a model that runs into the same wall again and again."""
        if outcome.status == "skipped":
            return
        if outcome.status != "failed" or outcome.error is None:
            self._same_code = ("", 0)
            return
        code = str(outcome.error.get("code", ""))
        last, times = self._same_code
        self._same_code = (code, times + 1 if code == last else 1)
        if self._same_code[1] >= REPEATS and self.fatal is None:
            self.fatal = RepeatedToolError(
                f"The run was stopped because {call.name} failed with {code}, the same error {REPEATS} times "
                f"in a row. It last said: {outcome.error.get('message', '')}",
                details={"tool": call.name, "tool_error": code},
            )

    # --- the record ---------------------------------------------------------------------------

    def _started(self, call: _Call) -> None:
        detail = {"arguments": call.asked.arguments}
        self.record.activity(call.kind, call.asked.call_id, call.shown_name, call.title, "started", detail)

    def _skip(self, call: _Call, reason: str) -> ToolResultMessage:
        self._started(call)
        return self._finished(call, _skipped(reason), 0)

    def _refuse(self, call: _Call, error: DeskmateError) -> ToolResultMessage:
        self._started(call)
        return self._finished(call, CallOutcome("skipped", error=error.as_dict()), 0)

    def _finished(self, call: _Call, outcome: CallOutcome, duration_ms: int) -> ToolResultMessage:
        asked = call.asked
        extra = dict(outcome.extra)
        kind: ActivityKind = extra.pop("activity_kind", call.kind)
        shown_name = str(extra.pop("activity_name", call.shown_name))
        detail: dict[str, Any] = {
            **extra,
            "arguments": asked.arguments,
            "result": outcome.result,
            "duration_ms": duration_ms,
            "error": outcome.error,
            "degraded": outcome.degraded,
        }
        self.record.activity(kind, asked.call_id, shown_name, call.title, outcome.status, detail)
        self.record.tool_item(
            CallRecord(
                call_id=asked.call_id,
                name=call.name,
                wire_name=asked.wire_name,
                arguments=asked.arguments,
                raw_arguments=asked.raw_arguments,
                outcome=outcome,
                duration_ms=duration_ms,
                wire_id=asked.wire_id,
            )
        )
        if outcome.error is None:
            self.run.results[asked.call_id] = outcome.result
        return result_message(replayable(asked), outcome)


def _failure(error: DeskmateError) -> CallOutcome:
    return CallOutcome("failed", error=error.as_dict())


def _skipped(reason: str) -> CallOutcome:
    return CallOutcome("skipped", error=ToolSkipped(f"not started because {reason}").as_dict())


def _unreadable(call: _Call) -> ToolInvalidParams:
    raw = call.asked.raw_arguments
    quoted = raw if len(raw) <= _QUOTED_CHARS else raw[:_QUOTED_CHARS] + " […]"
    if call.cut:
        return ToolInvalidParams(
            "The answer reached its length limit before the arguments were complete, so the call was not made. "
            f"Send it again with shorter arguments. They began: {quoted}"
        )
    return ToolInvalidParams(
        f"The arguments are not one JSON object, so the call was not made. They were: {quoted}"
    )


async def _all(performs: Sequence[Awaitable[ToolResultMessage]]) -> list[ToolResultMessage]:
    """Runs all at once. Only the loss of the run stops the others: their results belong to nobody."""
    tasks = [asyncio.ensure_future(perform) for perform in performs]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
