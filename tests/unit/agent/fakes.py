"""Real, small parts behind the loop's ports: a record, a gate and a model that follow a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.agent import AgentConfig, Limits, PromptInputs, Sampling, Turn, TurnEnd, run_turn
from app.agent.items import assistant_data, messages_from_items, note_data, tool_data
from app.errors import ModelNotSupported, RunLost
from app.protocol.conversation import (
    AssistantMessage,
    Done,
    Message,
    ModelEvent,
    ModelRequest,
    ModelSpec,
    StopReason,
    TextDelta,
    TextPart,
    ToolCallReady,
    ToolSpec,
    UsageReport,
    UserMessage,
)
from app.protocol.definitions import CapabilityDefinition, EffectKind, Snapshot
from app.protocol.events import ActivityKind, ActivityStatus, Channel
from app.protocol.identity import Principal
from app.protocol.ids import UserId
from app.protocol.ports import CallOutcome, CallRecord, Invocation, RunScope
from tests.unit.agent.valid import check_conversation

# --- the model ----------------------------------------------------------------------------------


@dataclass
class Wait:
    """A place in a script where the stream hangs until the test lets it go on."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)


Script = Sequence[Sequence[ModelEvent] | Wait | Exception]


def says(*texts: str, stop: StopReason = "end", usage: UsageReport | None = None) -> Script:
    """A step that says something and ends."""
    report = [usage] if usage else []
    return [[TextDelta(text)] for text in texts] + [[*report, Done(stop)]]


def calls(*wanted: tuple[str, Mapping[str, Any] | None] | ToolCallReady, text: str = "") -> Script:
    """A step that asks for tools by wire name."""
    ready = [
        call
        if isinstance(call, ToolCallReady)
        else ToolCallReady(index, call[0], call[1], "{}" if call[1] is not None else "{", f"wire_{index}")
        for index, call in enumerate(wanted)
    ]
    return [[TextDelta(text)], ready, [Done("tool_use")]] if text else [ready, [Done("tool_use")]]


def times(count: int, wire_name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The same call without arguments, `count` times."""
    return [(wire_name, {})] * count


@dataclass
class ScriptedProvider:
    """Plays one script a call, checks each request strictly, and knows when its socket was closed."""

    scripts: list[Script]
    id: str = "scripted"
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    open_streams: int = 0

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        check_conversation(request.messages)
        self.requests.append(request)
        return self._play(self.scripts[len(self.requests) - 1])

    async def _play(self, script: Script) -> AsyncGenerator[Sequence[ModelEvent], None]:
        self.open_streams += 1
        try:
            for entry in script:
                if isinstance(entry, Wait):
                    entry.reached.set()
                    await entry.release.wait()
                elif isinstance(entry, Exception):
                    raise entry
                else:
                    yield entry
        finally:
            self.open_streams -= 1

    async def aclose(self) -> None:
        return None


@dataclass
class OneModel:
    """A catalog with a single model."""

    provider: ScriptedProvider
    spec: ModelSpec = field(
        default_factory=lambda: ModelSpec(
            "m", "scripted", "m", abilities=frozenset({"tools", "vision", "streaming"})
        )
    )

    def resolve(self, model_id: str | None) -> tuple[ModelSpec, ScriptedProvider]:
        if model_id not in {None, self.spec.id}:
            raise ModelNotSupported(f"No provider serves {model_id}.")
        return self.spec, self.provider

    def list(self) -> Sequence[ModelSpec]:
        return [self.spec]


# --- the record ---------------------------------------------------------------------------------


@dataclass
class Activity:
    kind: ActivityKind
    id: str
    name: str
    title: str
    status: ActivityStatus
    detail: Mapping[str, Any]


@dataclass
class FakeRecord:
    """Keeps what the loop wrote, in order; `items` in the stored form."""

    lines: list[tuple[Channel, str] | Activity] = field(default_factory=list[tuple[Channel, str] | Activity])
    items: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    committed_lines: int = 0
    rooms: int = 0
    on_room: Callable[[], Awaitable[None]] | None = None
    on_commit: Callable[[], Awaitable[None]] | None = None
    lost: bool = False

    def text(self, channel: Channel, delta: str) -> None:
        self.lines.append((channel, delta))

    def activity(
        self,
        kind: ActivityKind,
        id: str,
        name: str,
        title: str,
        status: ActivityStatus,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        self.lines.append(Activity(kind, id, name, title, status, detail or {}))

    def assistant_item(self, message: AssistantMessage, *, complete: bool) -> None:
        self.items.append(assistant_data(message, complete=complete))

    def tool_item(self, call: CallRecord) -> None:
        self.calls.append(call)
        self.items.append(tool_data(call))

    def note_item(self, text: str, *, facts: Mapping[str, Any] | None = None) -> None:
        self.items.append(note_data(text))

    async def room(self) -> None:
        self.rooms += 1
        if self.on_room:
            await self.on_room()
        if self.lost:
            raise RunLost("Another process owns the run.")

    async def committed(self) -> None:
        if self.on_commit:
            await self.on_commit()
        self.committed_lines = len(self.lines)

    # --- what tests ask --------------------------------------------------------------------------

    @property
    def activities(self) -> list[Activity]:
        return [line for line in self.lines if isinstance(line, Activity)]

    def statuses(self, kind: str = "tool") -> list[tuple[str, str]]:
        return [(line.name, line.status) for line in self.activities if line.kind == kind]

    @property
    def answer(self) -> str:
        return "".join(line[1] for line in self.lines if isinstance(line, tuple) and line[0] == "answer")

    @property
    def notes(self) -> list[str]:
        return [item["parts"][0]["text"] for item in self.items if item["type"] == "note"]

    def next_history(self, *earlier: Mapping[str, Any]) -> list[Message]:
        """What the next turn sees of this one."""
        return messages_from_items([*earlier, *self.items])


# --- the gate -----------------------------------------------------------------------------------

Handler = Callable[[Invocation], Awaitable[CallOutcome]]


async def succeed(invocation: Invocation) -> CallOutcome:
    return CallOutcome("succeeded", result={"ok": invocation.arguments})


def fail(code: str, message: str = "no") -> Handler:
    async def handler(invocation: Invocation) -> CallOutcome:
        error = {"code": code, "message": message, "retryable": False, "source": "tool"}
        return CallOutcome("failed", error=error)

    return handler


def definition(id: str, effect: EffectKind = "read") -> CapabilityDefinition:
    namespace, _, name = id.partition("::")
    return CapabilityDefinition(
        id=id,
        wire_name=f"{namespace}_{name}",
        kind="tool",
        package=namespace,
        package_version="1.0.0",
        domain=namespace,
        version=1,
        title=f"Title of {name}",
        description=f"Does {name}.",
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        scopes=(),
        effect=effect,
    )


@dataclass
class FakeGate:
    """Tools by canonical id; `hidden` domains are visible once loaded."""

    tools: dict[str, tuple[CapabilityDefinition, Handler]] = field(
        default_factory=dict[str, tuple[CapabilityDefinition, Handler]]
    )
    hidden: set[str] = field(default_factory=set[str])
    invocations: list[Invocation] = field(default_factory=list[Invocation])
    running: int = 0
    most_running: int = 0

    def add(self, id: str, handler: Handler = succeed, *, effect: EffectKind = "read") -> FakeGate:
        self.tools[id] = (definition(id, effect), handler)
        return self

    def visible_tools(self, run: RunScope) -> Sequence[ToolSpec]:
        return [
            ToolSpec(known.wire_name, known.description, known.input_schema)
            for known, _ in self.tools.values()
            if known.domain not in self.hidden or known.domain in run.loaded
        ]

    def catalog_text(self, run: RunScope) -> str:
        return "mistakes: the notebook"

    def find(self, name: str) -> CapabilityDefinition | None:
        return next((known for known, _ in self.tools.values() if name in {known.id, known.wire_name}), None)

    async def call(self, invocation: Invocation) -> CallOutcome:
        self.invocations.append(invocation)
        known = self.find(invocation.name)
        if known is None:
            return await fail("TOOL_NOT_FOUND")(invocation)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self.tools[known.id][1](invocation)
        finally:
            self.running -= 1


def run_scope() -> RunScope:
    principal = Principal(UserId("user_1"), "browser", frozenset({"*"}), "a@example.org")
    snapshot = Snapshot("digest", {}, (), (), ())
    return RunScope("run_1", "session_1", principal, snapshot, fence=1, started_at=datetime.now(UTC))


@dataclass
class HandClock:
    """A clock that moves only when told."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


# --- one turn, put together -----------------------------------------------------------------------


class Stage:
    """A model script, a gate and a record around one run."""

    def __init__(self, *scripts: Script, gate: FakeGate | None = None, spec: ModelSpec | None = None) -> None:
        self.provider = ScriptedProvider(list(scripts))
        self.models = OneModel(self.provider)
        if spec:
            self.models.spec = spec
        self.gate = gate or FakeGate()
        self.record = FakeRecord()
        self.run = run_scope()
        self.clock = HandClock()

    async def play(
        self,
        text: str = "Hello",
        *,
        history: Sequence[Message] = (),
        config: AgentConfig | None = None,
        limits: Limits | None = None,
        prompt: PromptInputs | None = None,
        sampling: Sampling | None = None,
        model_id: str | None = None,
    ) -> TurnEnd:
        turn = Turn(
            run=self.run,
            history=history,
            user=UserMessage((TextPart(text),)),
            model_id=model_id,
            prompt=prompt or PromptInputs(),
            config=config or AgentConfig(),
            limits=limits or Limits(),
            sampling=sampling or Sampling(),
        )
        return await run_turn(turn, record=self.record, gate=self.gate, models=self.models, clock=self.clock)

    async def next_request(self, text: str = "And now?") -> str:
        """What the model is sent in the next turn, as text; the conversation is checked strictly."""
        user = {"type": "user", "parts": [{"type": "text", "text": "Hello"}]}
        after = Stage(says("fine"))
        end = await after.play(text, history=self.record.next_history(user))
        assert end.status == "completed"
        return str(list(after.provider.requests[0].messages))
