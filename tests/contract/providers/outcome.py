"""What a list of neutral events comes to, and the laws that hold for each list."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.errors import ProviderError
from app.protocol.conversation import (
    Done,
    Failed,
    ModelEvent,
    OpaqueState,
    ReasoningDelta,
    TextDelta,
    ToolCallFragment,
    ToolCallReady,
    UsageReport,
)


@dataclass
class Outcome:
    text: str = ""
    reasoning: str = ""
    calls: list[ToolCallReady] = field(default_factory=list[ToolCallReady])
    fragments: list[ToolCallFragment] = field(default_factory=list[ToolCallFragment])
    opaque: OpaqueState | None = None
    usage: UsageReport | None = None
    stop: str | None = None
    raw: str | None = None
    error: ProviderError | None = None


def outcome(batches: Sequence[Sequence[ModelEvent]]) -> Outcome:
    """Sums up, checking the laws: one end and it is last, usage once, adjoining deltas merged."""
    out = Outcome()
    events = [event for batch in batches for event in batch]
    assert events, "a stream without events"
    assert sum(isinstance(event, Done | Failed) for event in events) == 1
    assert isinstance(events[-1], Done | Failed)
    assert sum(isinstance(event, UsageReport) for event in events) <= 1
    for batch in batches:
        assert batch, "an empty batch"
        for one, two in itertools.pairwise(batch):
            assert not (type(one) is type(two) and isinstance(one, TextDelta | ReasoningDelta))
    for event in events:
        match event:
            case TextDelta(text):
                assert text
                out.text += text
            case ReasoningDelta(text):
                assert text
                out.reasoning += text
            case ToolCallFragment():
                out.fragments.append(event)
            case ToolCallReady():
                out.calls.append(event)
            case OpaqueState():
                assert out.opaque is None
                out.opaque = event
            case UsageReport():
                out.usage = event
            case Done(stop, raw):
                out.stop, out.raw = stop, raw
            case Failed(error):
                out.stop, out.error = "error", error
    for text in (out.text, out.reasoning, *(call.raw_arguments for call in out.calls)):
        text.encode()
        assert "\0" not in text
    return out
