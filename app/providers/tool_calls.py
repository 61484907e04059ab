"""Joins the fragments of tool calls, and reads their arguments.

Which delta belongs to which call is the least agreed point between "compatible" servers. The rules
below come from recorded streams and public bug reports (each is named at its rule).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from app.protocol.conversation import ToolCallFragment, ToolCallReady
from app.providers.wire_text import (
    MAX_DEPTH,
    as_dict,
    as_text,
    clean_text,
    clean_value,
    depth_of,
    dump_json,
    load_json,
)

_LEGACY = "function_call"
"""Key of the one call that comes in the old `function_call` field."""


def parse_arguments(raw: str) -> list[Mapping[str, Any] | None]:
    """The argument objects in `raw`: normally one; [None] where it is not JSON objects throughout.

    Empty, blank and `null` mean "no arguments". Several objects in one string are parallel calls
    that a server put on one index (https://github.com/BerriAI/litellm/issues/40582); exact repeats
    are a resent final text. A list or scalar is no argument object.
    """
    text = raw.strip()
    if not text:
        return [{}]
    try:
        value = load_json(text)
    except ValueError:
        return _glued(text) or [None]
    if value is None:
        return [{}]
    return [_checked(value)]


def _glued(text: str) -> list[Mapping[str, Any] | None]:
    decoder = json.JSONDecoder(strict=False)
    found: list[Mapping[str, Any] | None] = []
    at = 0
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
            value = _checked(load_json(text[at:end]))
        except (ValueError, RecursionError):
            return []
        if value is None:
            return []
        if value not in found:
            found.append(value)
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def _checked(value: Any) -> Mapping[str, Any] | None:
    whole = as_dict(value)
    if whole is None or depth_of(whole) > MAX_DEPTH:
        return None
    return cast("dict[str, Any]", clean_value(whole))


def _is_whole(raw: str) -> bool:
    try:
        return isinstance(load_json(raw), dict)
    except ValueError:
        return False


@dataclass(slots=True)
class _Slot:
    """One call as it grows."""

    position: int
    key: object
    name: str = ""
    wire_id: str = ""
    pieces: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] | None = None
    """`extra_content`, where Gemini's compatible endpoint keeps a call's thought signature."""

    @property
    def raw(self) -> str:
        return "".join(self.pieces)


class ToolCallAssembler:
    """Takes the `tool_calls` list of each delta; gives the whole calls once the reply ended."""

    __slots__ = ("_by_index", "_slots", "_touched")

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_index: dict[object, _Slot] = {}
        self._touched: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._slots)

    def add_list(self, entries: list[Any]) -> Iterator[ToolCallFragment]:
        self._touched.clear()
        for entry in entries:
            call = as_dict(entry)
            if call is not None:
                yield from self._add(call, _index_of(call))

    def add_legacy(self, call: dict[str, Any]) -> Iterator[ToolCallFragment]:
        """The `function_call` of old servers. Snowflake pads replies with an empty one: no call."""
        if as_text(call.get("name")) or call.get("arguments"):
            self._touched.clear()
            yield from self._add({"function": call}, _LEGACY)

    def ready(self, *, cut: bool) -> list[ToolCallReady]:
        """All calls in the model's order.

        Args:
            cut: the reply ended at the token limit, so empty arguments of the last call are not
                "none" but "not written yet": that call gets None and is never run.
        """
        slots = [slot for slot in self._slots if slot.key != _LEGACY] or self._slots
        out: list[ToolCallReady] = []
        spare = len(self._slots)
        for number, slot in enumerate(slots):
            raw = clean_text(slot.raw)
            name = clean_text(slot.name)
            wire_id = clean_text(slot.wire_id) or None
            parsed = parse_arguments(raw)
            if cut and number == len(slots) - 1 and not raw.strip():
                parsed = [None]
            for part, arguments in enumerate(parsed):
                # Only the first of several glued calls may own the wire's id and index.
                index = slot.position if part == 0 else spare
                spare += part > 0
                text = raw if len(parsed) == 1 else dump_json(arguments)
                out.append(ToolCallReady(index, name, arguments, text, wire_id if part == 0 else None))
        return out

    def extras(self) -> dict[str, Any]:
        """`extra_content` by wire id, to be sent back with its call."""
        return {slot.wire_id: slot.extra for slot in self._slots if slot.extra and slot.wire_id}

    def _add(self, call: dict[str, Any], index: object | None) -> Iterator[ToolCallFragment]:
        function = as_dict(call.get("function")) or {}
        wire_id = _id_of(call)
        name = as_text(function.get("name"))
        arguments = function.get("arguments")
        # A server may send the arguments as JSON instead of as text (hermes-agent#1440); null is
        # "nothing yet" (open-webui#27195).
        piece = arguments if isinstance(arguments, str) else _as_json_text(arguments)
        if not (wire_id or name or piece) and (index is None or index not in self._by_index):
            return
        slot = self._find(index, wire_id, name)
        if slot is None:
            slot = _Slot(position=len(self._slots), key=index)
            self._slots.append(slot)
        if index is not None:
            self._by_index[index] = slot
        self._touched.add(slot.position)
        slot.wire_id = slot.wire_id or wire_id
        slot.name = _joined_name(slot.name, name)
        slot.extra = as_dict(call.get("extra_content")) or slot.extra
        if piece:
            slot.pieces.append(piece)
        yield ToolCallFragment(slot.position, clean_text(slot.name), clean_text(piece))

    def _find(self, index: object | None, wire_id: str, name: str) -> _Slot | None:
        """The open call that a delta continues, or None where it opens one."""
        if index is not None:
            slot = self._by_index.get(index)
            if slot is None or not self._opens_beside(slot, wire_id, name):
                return slot
            return None
        if wire_id:
            same = next((slot for slot in reversed(self._slots) if slot.wire_id == wire_id), None)
            if same is not None:
                # The id repeated in each delta is one call (koog#2052), but two whole calls that
                # share an id within one delta are two.
                return None if name and same.position in self._touched and _is_whole(same.raw) else same
            last = self._slots[-1] if self._slots else None
            return last if last is not None and not last.wire_id and not name else None
        if not self._slots:
            return None
        last = self._slots[-1]
        if not name:
            return last
        # A name without id and index: the name repeated in a later delta (open-webui#22177), or a
        # whole call of its own; two in one delta are always two (AstrBot#6692).
        repeated = name == last.name and last.position not in self._touched and not _is_whole(last.raw)
        return last if repeated else None

    @staticmethod
    def _opens_beside(slot: _Slot, wire_id: str, name: str) -> bool:
        """Whether a delta with an index already in use is another call all the same.

        Servers exist that put all calls on index 0. A new id counts only with a name beside it:
        others make a fresh id for each fragment.
        """
        if not name:
            return False
        if wire_id and slot.wire_id and wire_id != slot.wire_id:
            return True
        return name != slot.name and bool(slot.name) and _is_whole(slot.raw)


def _as_json_text(arguments: Any) -> str:
    if arguments is None:
        return ""
    # Too deep to be encoded: an unfinished text, so that the call is refused instead of run without.
    return "{" if depth_of(arguments) > MAX_DEPTH else dump_json(arguments)


def _joined_name(held: str, name: str) -> str:
    """Names come once, repeated, in pieces, or growing; "" and null are absent (opencode#37783)."""
    return name if name.startswith(held) else held + name


def _index_of(call: dict[str, Any]) -> int | None:
    index = call.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _id_of(call: dict[str, Any]) -> str:
    wire_id = call.get("id")
    return str(wire_id) if isinstance(wire_id, int) and not isinstance(wire_id, bool) else as_text(wire_id)
