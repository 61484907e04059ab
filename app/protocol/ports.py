"""Ports: what one room needs and another fills in. `factory` hands in the implementations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from app.protocol.conversation import AssistantMessage, ModelEvent, ModelRequest, ModelSpec, ToolSpec
from app.protocol.definitions import CapabilityDefinition, Snapshot
from app.protocol.events import ActivityKind, ActivityStatus, Channel
from app.protocol.identity import Initiator, Principal

# --- models -----------------------------------------------------------------------------------


class ModelProvider(Protocol):
    """One endpoint in one wire format. Implementations live in `providers/`."""

    @property
    def id(self) -> str: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[ModelEvent]]:
        """Yields batches (all events of one network read), ending with exactly one Done or Failed.

        Never raises for what the provider does: that is a Failed event. Closing the iterator (or
        cancelling the task) closes the socket at once.
        """
        ...

    async def aclose(self) -> None: ...


class ModelCatalog(Protocol):
    """Which models are declared and which provider serves each (M3)."""

    def resolve(self, model_id: str | None) -> tuple[ModelSpec, ModelProvider]:
        """The model of that id, or the default for None. Raises ModelNotSupported."""
        ...

    def list(self) -> Sequence[ModelSpec]: ...


# --- the run's record -------------------------------------------------------------------------


class RunRecord(Protocol):
    """Where the loop puts what happens. Nothing put here is shown before it is committed (P2).

    `text`, `activity` and the item calls only append in memory; the event log commits them in groups.
    """

    def text(self, channel: Channel, delta: str) -> None: ...

    def activity(
        self,
        kind: ActivityKind,
        id: str,
        name: str,
        title: str,
        status: ActivityStatus,
        detail: Mapping[str, Any] | None = None,
    ) -> None: ...

    def assistant_item(self, message: AssistantMessage, *, complete: bool) -> None:
        """The final text (and calls asked for) of one step; `complete=False` for a cut-off one."""
        ...

    def tool_item(self, call: CallRecord) -> None: ...

    def note_item(self, text: str, *, facts: Mapping[str, Any] | None = None) -> None: ...

    async def room(self) -> None:
        """Back-pressure: returns at once unless too much waits to be committed. Raises RunLost."""
        ...

    async def committed(self) -> None:
        """Returns when all that was put so far is committed. Raises RunLost, StorageUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One tool call with its outcome, as it stands in an item."""

    call_id: str
    name: str
    wire_name: str
    arguments: Mapping[str, Any] | None
    raw_arguments: str
    outcome: CallOutcome
    duration_ms: int
    wire_id: str | None = None


# --- wake-ups ---------------------------------------------------------------------------------

Topic = Literal["run", "cancel", "session", "packages", "jobs", "inbox", "resumed"]
"""What a wake-up is about, with its facts:

- `run`: lines of a run are committed: `{run_id, seq, ended}`.
- `cancel`: a run is asked to end: `{run_id}`.
- `session`: a hint line for open feeds: `{type, session_id, …}`.
- `packages`: switches or packages have changed: `{}`.
- `jobs`: there may be work: `{}`.
- `inbox`: a session has something to take up: `{session_id}`.
- `resumed`: never published. Wake-ups may have been lost until now: look at the tables. `{}`.
"""

WakeUp = Callable[[Mapping[str, Any]], None]
"""Called with the facts, on the event loop; short, and sets something going instead of doing it."""


class Bus(Protocol):
    """Says in all processes that something is new. The tables are the truth: a wake-up may come twice,
    late or never, so who waits for one also looks every 2 s at most (P4).
    """

    def publish(self, topic: Topic, facts: Mapping[str, Any]) -> None:
        """Tells all processes, this one at once. Never blocks, never raises; only after the commit.

        `facts` are JSON, and small.
        """
        ...

    def subscribe(self, topic: Topic, callback: WakeUp) -> Callable[[], None]:
        """Calls `callback` at each wake-up of that topic until the answer is called."""
        ...


# --- the gate ---------------------------------------------------------------------------------

CallStatus = Literal["succeeded", "failed", "skipped", "degraded", "awaiting_confirmation"]


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came of one call through the gate. `error` is set exactly when status is failed or skipped."""

    status: CallStatus
    result: Any = None
    error: Mapping[str, Any] | None = None
    """`{code, message, retryable, source}`."""
    degraded: str | None = None
    loads: tuple[str, ...] = ()
    """Domains whose tools the model sees from the next step on (control tools only)."""
    control_fact: str | None = None
    """A control tool leaves this sentence in the context instead of a call record (L9)."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More members for the activity's detail, such as confirmation_id."""


@dataclass(slots=True)
class RunScope:
    """What one run is, for the gate, the handlers' context and the loop. One object a run."""

    run_id: str
    session_id: str
    principal: Principal
    snapshot: Snapshot
    fence: int
    started_at: datetime
    loaded: set[str] = field(default_factory=set[str])
    """Domains loaded so far in this session and allowed by the snapshot."""
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the user asked for the end of the run; running tools finish, nothing new starts."""
    results: dict[str, Any] = field(default_factory=dict[str, Any])
    """Results of this run's calls so far, by call id (C16)."""
    input_text: str = ""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call on its way to a handler, whoever asked for it."""

    call_id: str
    """Host-made; part of the effect key for run calls."""
    name: str
    """Canonical id, wire name, or unknown text from the model."""
    arguments: Mapping[str, Any] | None
    raw_arguments: str
    principal: Principal
    initiator: Initiator
    run: RunScope | None
    """None for calls from API and browser that belong to no run."""
    idempotency_key: str | None = None
    """The caller's key, for calls without a run."""
    session_id: str | None = None
    confirmed: bool = False
    """True only where the Host itself runs the stored arguments of an approved confirmation."""


class ToolGate(Protocol):
    """The only way to a handler. Implemented by `catalog.gate`."""

    def visible_tools(self, run: RunScope) -> Sequence[ToolSpec]:
        """What the model sees at this step: loader tools, plus tools of loaded domains."""
        ...

    def catalog_text(self, run: RunScope) -> str:
        """Names and descriptions of what can be loaded, for the system prompt (C9)."""
        ...

    def find(self, name: str) -> CapabilityDefinition | None:
        """By canonical id or wire name."""
        ...

    async def call(self, invocation: Invocation) -> CallOutcome:
        """Checks policy, scope, schema, authority; runs the handler under its limits; audits.

        Returns failures as outcomes. Raises RunFatal only (identity lost, run lost, storage gone).
        """
        ...


class Authority(Protocol):
    """The Host's word on whether a call may still happen (H3)."""

    async def check(self, tx: Any, invocation: Invocation, definition: CapabilityDefinition) -> None:
        """Inside the transaction `tx`: run live under its fence, user active, token valid, package on.

        Raises RunLost, RequestCancelled, IdentityLost, PackageDisabled, ToolForbidden.
        """
        ...


class Confirmations(Protocol):
    """Pending approvals of destructive calls (C19)."""

    async def pend(self, invocation: Invocation, definition: CapabilityDefinition) -> str:
        """Stores the exact arguments (or finds the pending row of the same digest); returns its id."""
        ...


class AuditSink(Protocol):
    """Where the gate reports each call (H10). `tx` is the effect's transaction, or None."""

    async def record(self, tx: Any, entry: AuditEntry) -> None: ...


@dataclass(frozen=True, slots=True)
class AuditEntry:
    actor_id: str | None
    caller_kind: str
    action: str
    """Such as `tool.call`, `login`, `token.create`."""
    target: str
    outcome: str
    """succeeded, failed, denied, awaiting_confirmation."""
    version: str = ""
    initiator: str = ""
    run_id: str | None = None
    session_id: str | None = None
    call_id: str | None = None
    arguments_digest: str = ""
    error_code: str = ""
    duration_ms: int = 0
    usage: Mapping[str, Any] | None = None
    token_id: str | None = None
