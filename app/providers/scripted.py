"""A provider that plays a script: for tests, in this process or (kind `scripted`) in a server.

It is no model and does not look like one; what it streams is what the script says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.protocol.conversation import (
    AssistantMessage,
    Done,
    Failed,
    ModelEvent,
    ModelRequest,
    TextDelta,
    TextPart,
    ToolCallReady,
    UserMessage,
)
from app.providers.faults import fault
from app.providers.wire_text import dump_json


@dataclass(frozen=True, slots=True)
class Pause:
    """Silence; `seconds` None: until the call is cancelled or closed."""

    seconds: float | None = None


ScriptItem = ModelEvent | Pause | Sequence[ModelEvent]
"""A bare event is a batch of its own; a sequence is one batch."""
Step = Sequence[ScriptItem]
"""One model call. Where no Done or Failed stands at its end, the fitting Done is added."""
Script = Sequence[Step] | Callable[[ModelRequest], Step]


def say(text: str, *, every_s: float = 0.0) -> list[ScriptItem]:
    """`text` word by word, with a pause before each word but the first."""
    items: list[ScriptItem] = []
    for number, word in enumerate(text.split(" ")):
        if every_s and number:
            items.append(Pause(every_s))
        items.append(TextDelta(word if number == 0 else " " + word))
    return items


def call(
    name: str, arguments: Mapping[str, Any] | None = None, *, wire_id: str | None = None
) -> ToolCallReady:
    """A whole tool call; in a step with several, the provider numbers them."""
    given = dict(arguments or {})
    return ToolCallReady(index=0, name=name, arguments=given, raw_arguments=dump_json(given), wire_id=wire_id)


def last_user_text(request: ModelRequest) -> str:
    for item in reversed(request.messages):
        if isinstance(item, UserMessage):
            return "\n".join(part.text for part in item.parts if isinstance(part, TextPart))
    return ""


def step_of_run(request: ModelRequest) -> int:
    """How many model calls this turn already had: assistant messages since the last user message."""
    count = 0
    for item in reversed(request.messages):
        if isinstance(item, UserMessage):
            break
        count += isinstance(item, AssistantMessage)
    return count


class ScriptedProvider:
    """A `ModelProvider` that plays the steps in order, or asks a function for each."""

    def __init__(self, script: Script, *, id: str = "scripted") -> None:
        self._id = id
        self._script = script
        self._played = 0
        self.requests: list[ModelRequest] = []
        """All requests so far."""
        self.cut_short = 0
        """Calls that were closed or cancelled before their end."""
        self.open = 0
        """Calls going on right now."""

    @property
    def id(self) -> str:
        return self._id

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[ModelEvent]]:
        self.requests.append(request)
        step = self._next(request)
        self.open += 1
        whole = False
        try:
            calls = 0
            for item in step:
                if isinstance(item, Pause):
                    await (asyncio.Event().wait() if item.seconds is None else asyncio.sleep(item.seconds))
                    continue
                batch: list[ModelEvent] = []
                for event in item if isinstance(item, Sequence) else [item]:
                    if isinstance(event, ToolCallReady):
                        batch.append(replace(event, index=calls))
                        calls += 1
                    else:
                        batch.append(event)
                whole = bool(batch) and isinstance(batch[-1], Done | Failed)
                yield batch
                if whole:
                    return
            whole = True
            yield [Done("tool_use" if calls else "end")]
        finally:
            self.open -= 1
            self.cut_short += not whole

    async def aclose(self) -> None:
        return

    def _next(self, request: ModelRequest) -> Step:
        if callable(self._script):
            return self._script(request)
        if self._played >= len(self._script):
            return [Failed(fault("invalid_request", "The script has no more steps."))]
        self._played += 1
        return self._script[self._played - 1]
