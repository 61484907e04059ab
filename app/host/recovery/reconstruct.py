"""What an interrupted run still owes its record, worked out from what is already there. No SQL.

A process may die between any two commits. Its lines, items and effects tell together what happened:
a call whose effect is recorded succeeded even if nobody was told; a call without one did not happen;
an `intent` alone (an effect outside our database) is unknown and never repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.agent.loop import TURN_FAILED
from app.errors import DeskmateError, Interrupted, OutcomeUnknown
from app.host.event_log.log import RunLog
from app.host.runs.letter import open_run
from app.protocol.conversation import AssistantMessage
from app.protocol.ports import CallOutcome, CallRecord

_CALL_KINDS = frozenset({"tool", "domain", "skill"})


@dataclass(frozen=True, slots=True)
class EffectFact:
    call_id: str
    capability: str
    status: str
    """intent or done."""
    result: Any


@dataclass(frozen=True, slots=True)
class Remains:
    """All that is on record of one run."""

    events: Sequence[Mapping[str, Any]]
    """Parsed lines, in order."""
    items: Sequence[Mapping[str, Any]]
    """Stored items with `type`, `status`, `seq`, in order."""
    effects: Sequence[EffectFact]


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    title: str
    kind: str
    arguments: Any = None
    end: Mapping[str, Any] | None = None
    wire_name: str = ""
    wire_id: str | None = None
    has_item: bool = False


@dataclass(slots=True)
class _Findings:
    calls: dict[str, _Call] = field(default_factory=dict[str, _Call])
    answer: str = ""
    reasoning: str = ""


def write_end(log: RunLog, remains: Remains, *, error: DeskmateError, loaded: Sequence[str]) -> None:
    """Puts into `log` what is missing: partial text, ends of calls, a note, `error` and `done` failed."""
    _tell_opening(log, remains)
    found = _find(remains)
    if found.answer or found.reasoning:
        log.assistant_item(AssistantMessage(text=found.answer, reasoning=found.reasoning), complete=False)
    effects = {effect.call_id: effect for effect in remains.effects}
    for effect in remains.effects:
        if effect.call_id not in found.calls:
            found.calls[effect.call_id] = _unannounced(log, effect)
    for call in found.calls.values():
        _close_call(log, call, effects.get(call.id))
    log.note_item(TURN_FAILED.format(code=error.code), facts={"cut": "failed", "code": error.code})
    domains = set(loaded) | {c.name for c in found.calls.values() if c.kind == "domain" and _succeeded(c)}
    steps = sum(1 for item in remains.items if item["type"] == "assistant") + bool(found.answer)
    log.finish(
        status="failed",
        usage={"input_tokens": 0, "output_tokens": 0, "cached_input_tokens": 0, "cost": "0"},
        steps=steps,
        error=error,
        loaded_domains=sorted(domains),
    )


def _tell_opening(log: RunLog, remains: Remains) -> None:
    """A run that took up what ended elsewhere begins with that: said now, if its process had no time to."""
    opening = remains.items[0].get("opening") if remains.items else None
    if opening is None or any(event["type"] == "activity" for event in remains.events):
        return
    open_run(log, opening, with_call=all(item["type"] != "tool" for item in remains.items))


def _find(remains: Remains) -> _Findings:
    found = _Findings()
    said_seq = max((item["seq"] for item in remains.items if item["type"] == "assistant"), default=0)
    for event in remains.events:
        if event["type"] == "text" and event["seq"] > said_seq:
            if event["channel"] == "answer":
                found.answer += event["delta"]
            else:
                found.reasoning += event["delta"]
        elif event["type"] == "activity" and event["kind"] in _CALL_KINDS:
            call = found.calls.get(event["id"])
            if call is None:
                call = _Call(event["id"], event["name"], event["title"], event["kind"])
                found.calls[event["id"]] = call
            call.arguments = event["detail"].get("arguments", call.arguments)
            if event["status"] not in ("started", "progress"):
                call.end = event
    _add_items(found, remains.items)
    return found


def _add_items(found: _Findings, items: Sequence[Mapping[str, Any]]) -> None:
    for item in items:
        if item["type"] == "tool" and item["call"]["id"] in found.calls:
            found.calls[item["call"]["id"]].has_item = True
        for asked in item.get("calls", ()):
            call = found.calls.get(asked["id"])
            if call is not None:
                call.wire_name = asked["wire_name"]
                call.wire_id = asked.get("wire_id")


def _unannounced(log: RunLog, effect: EffectFact) -> _Call:
    """An effect whose `started` line was lost with its process: said now, before its end."""
    call = _Call(effect.call_id, effect.capability, effect.capability, "tool")
    log.activity("tool", call.id, call.name, call.title, "started", {"arguments": {}})
    return call


def _close_call(log: RunLog, call: _Call, effect: EffectFact | None) -> None:
    if call.end is None:
        outcome = _outcome(effect)
        detail: dict[str, Any] = {"arguments": call.arguments, "result": outcome.result, "duration_ms": 0}
        if outcome.error is not None:
            detail["error"] = outcome.error
        log.activity(call.kind, call.id, call.name, call.title, outcome.status, detail)  # pyright: ignore[reportArgumentType]
    else:
        detail = call.end["detail"]
        outcome = CallOutcome(
            status=call.end["status"], result=detail.get("result"), error=detail.get("error")
        )
    if not call.has_item:
        log.tool_item(
            CallRecord(
                call_id=call.id,
                name=call.name,
                wire_name=call.wire_name or call.name.replace("::", "_"),
                arguments=call.arguments,
                raw_arguments="",
                outcome=outcome,
                duration_ms=0,
                wire_id=call.wire_id,
            )
        )


def _outcome(effect: EffectFact | None) -> CallOutcome:
    if effect is None:
        error = Interrupted("The server stopped before this call had any effect. It may be tried again.")
        return CallOutcome("failed", error=error.as_dict())
    if effect.status != "done":
        unknown = OutcomeUnknown("The server stopped during this call; whether it took effect is not known.")
        return CallOutcome("failed", error=unknown.as_dict())
    return CallOutcome("succeeded", result=effect.result)


def _succeeded(call: _Call) -> bool:
    return call.end is not None and call.end["status"] == "succeeded"
