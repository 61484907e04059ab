"""Splits `<think>` reasoning out of answer text, for servers whose own reasoning parser is off.

Off unless a profile asks for it: text about such tags is a fair answer too
(https://github.com/vllm-project/vllm/issues/46042).
"""

from __future__ import annotations

from typing import Literal

OPEN, CLOSE = "<think>", "</think>"

Channel = Literal["answer", "reasoning"]


class ThinkSplitter:
    """Feed text deltas; a tag may be cut at any character."""

    __slots__ = ("_held", "_inside")

    def __init__(self, *, inside: bool = False) -> None:
        """`inside`: the chat template already opened the tag, so the reply begins with reasoning."""
        self._inside = inside
        self._held = ""

    def push(self, text: str) -> list[tuple[Channel, str]]:
        text, self._held = self._held + text, ""
        out: list[tuple[Channel, str]] = []
        while text:
            tag = CLOSE if self._inside else OPEN
            before, found, after = text.partition(tag)
            if not found:
                keep = _tail_that_may_begin(text, tag)
                before, self._held = text[: len(text) - keep], text[len(text) - keep :]
            if before:
                out.append((self._channel(), before))
            if found:
                self._inside = not self._inside
            text = after
        return out

    def flush(self) -> list[tuple[Channel, str]]:
        held, self._held = self._held, ""
        return [(self._channel(), held)] if held else []

    def _channel(self) -> Channel:
        return "reasoning" if self._inside else "answer"


def _tail_that_may_begin(text: str, tag: str) -> int:
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-size:]):
            return size
    return 0
