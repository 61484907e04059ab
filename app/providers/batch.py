"""Collects the events of one network read, adjoining deltas of a kind merged."""

from __future__ import annotations

from typing import Literal

from app.protocol.conversation import ModelEvent, ReasoningDelta, TextDelta, ToolCallFragment

_Kind = Literal["", "text", "reasoning", "fragment"]


class EventBatch:
    """One run has one open text part downstream, so one event a read and kind is all it needs."""

    __slots__ = ("_events", "_index", "_kind", "_name", "_pieces")

    def __init__(self) -> None:
        self._events: list[ModelEvent] = []
        self._kind: _Kind = ""
        self._pieces: list[str] = []
        self._index = 0
        self._name = ""

    def text(self, piece: str) -> None:
        self._grow("text", piece)

    def reasoning(self, piece: str) -> None:
        self._grow("reasoning", piece)

    def fragment(self, fragment: ToolCallFragment) -> None:
        if self._kind == "fragment" and self._index != fragment.index:
            self._flush()
        self._index, self._name = fragment.index, fragment.name
        if self._kind != "fragment":
            self._flush()
            self._kind = "fragment"
        self._pieces.append(fragment.text)

    def add(self, event: ModelEvent) -> None:
        self._flush()
        self._events.append(event)

    def take(self) -> list[ModelEvent]:
        self._flush()
        events, self._events = self._events, []
        return events

    def _grow(self, kind: _Kind, piece: str) -> None:
        if not piece:
            return
        if self._kind != kind:
            self._flush()
            self._kind = kind
        self._pieces.append(piece)

    def _flush(self) -> None:
        if not self._kind:
            return
        joined = "".join(self._pieces)
        if self._kind == "text":
            self._events.append(TextDelta(joined))
        elif self._kind == "reasoning":
            self._events.append(ReasoningDelta(joined))
        else:
            self._events.append(ToolCallFragment(self._index, self._name, joined))
        self._kind, self._pieces = "", []
