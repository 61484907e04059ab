"""The run stream contract, version 1 (P1-P3): one NDJSON line an event.

Four kinds, closed. The models below are the contract (they give the JSON Schema); the event log
writes lines with `encode_*`, which skip validation because it runs for every batch of deltas. A
test holds both together. Fields may be added, never changed or removed: stored lines are re-sent
as they were written.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from app.protocol.jsontext import dump_bytes

EVENT_VERSION = 1

Channel = Literal["answer", "reasoning"]
ActivityKind = Literal["tool", "skill", "domain", "context", "memory", "job", "confirmation", "run"]
ActivityStatus = Literal[
    "started", "progress", "succeeded", "failed", "skipped", "degraded", "awaiting_confirmation"
]
DoneStatus = Literal["completed", "cancelled", "failed"]
RunStatus = Literal["queued", "running", "cancelling", "completed", "cancelled", "failed"]
LIVE_STATUSES: tuple[RunStatus, ...] = ("queued", "running", "cancelling")
TERMINAL_STATUSES: tuple[RunStatus, ...] = ("completed", "cancelled", "failed")


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True)

    v: Literal[1] = 1
    seq: int = Field(ge=1, description="Rises by one within the run, from 1, without gaps.")
    run_id: str
    session_id: str
    at: datetime = Field(description="UTC, RFC 3339 with milliseconds.")


class TextEvent(_Event):
    type: Literal["text"] = "text"
    channel: Channel
    delta: str


class ActivityEvent(_Event):
    type: Literal["activity"] = "activity"
    kind: ActivityKind
    id: str = Field(description="Same id on all lines of one activity; a tool's is its call id.")
    name: str = Field(description="Canonical name, such as `mistakes::add`.")
    title: str
    status: ActivityStatus
    detail: dict[str, Any] = Field(
        default_factory=dict,
        description="A tool's: arguments, result, duration_ms, error {code, message, retryable, source}, degraded.",
    )


class ErrorEvent(_Event):
    """At most one in a run, directly before `done` failed."""

    type: Literal["error"] = "error"
    code: str
    message: str
    retryable: bool
    source: Literal["agent", "provider", "tool", "plugin", "storage", "host"]


class Usage(BaseModel):
    model_config = ConfigDict(frozen=True)

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cost: str = Field(default="0", description="Decimal string in the model's currency.")


class DoneEvent(_Event):
    """The last line of a run, exactly once."""

    type: Literal["done"] = "done"
    status: DoneStatus
    usage: Usage
    steps: int


Event = Annotated[TextEvent | ActivityEvent | ErrorEvent | DoneEvent, Field(discriminator="type")]
EVENT_ADAPTER: TypeAdapter[TextEvent | ActivityEvent | ErrorEvent | DoneEvent] = TypeAdapter(Event)

KEEPALIVE_LINE = b"\n"


def encode_line(fields: dict[str, Any], *, seq: int, run_id: str, session_id: str, at: str) -> bytes:
    """One stored line, newline included. `fields` begins with `type` and holds its own members."""
    kind = fields["type"]
    head = {
        "v": EVENT_VERSION,
        "type": kind,
        "seq": seq,
        "run_id": run_id,
        "session_id": session_id,
        "at": at,
    }
    head.update(fields)
    return dump_bytes(head, option=orjson.OPT_APPEND_NEWLINE)
