"""Events as lines of a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Model and tool text may hold escape sequences; a terminal must not obey them (LLM10)."""

_SIGNS = {
    "started": "…",
    "progress": "…",
    "succeeded": "✓",
    "failed": "✗",
    "skipped": "-",
    "degraded": "~",
    "awaiting_confirmation": "?",
}


def plain(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)


class Screen:
    """Writes answers to `out` and everything about them to `notes`, so that a pipe gets answers only."""

    def __init__(
        self, words: Mapping[str, str], *, out: TextIO | None = None, notes: TextIO | None = None
    ) -> None:
        self.words = words
        self._out = out or sys.stdout
        self._notes = notes or sys.stderr
        self._in_line = False

    def show(self, event: Mapping[str, Any]) -> None:
        """One event of a run."""
        kind = event["type"]
        if kind == "text" and event["channel"] == "answer":
            self._out.write(plain(event["delta"]))
            self._out.flush()
            self._in_line = not event["delta"].endswith("\n")
        elif kind == "activity":
            self._activity(event)
        elif kind == "error":
            self.note(self.words["failed"].format(message=plain(event["message"])))
        elif kind == "cut":
            self.note(self.words["cut"])
        elif kind == "done":
            self.end_line()
            if event["status"] == "cancelled":
                self.note(self.words["cancelled"])

    def note(self, text: str) -> None:
        self.end_line()
        print(text, file=self._notes, flush=True)

    def end_line(self) -> None:
        if self._in_line:
            self._out.write("\n")
            self._out.flush()
            self._in_line = False

    def _activity(self, event: Mapping[str, Any]) -> None:
        status = event["status"]
        line = f"  {_SIGNS.get(status, '·')} {plain(event['title'] or event['name'])}"
        detail: Mapping[str, Any] = event.get("detail") or {}
        if status == "failed" and detail.get("error"):
            line += f": {plain(str(detail['error'].get('message', '')))}"
        elif status == "awaiting_confirmation":
            line += " " + self.words["confirm"].format(url=plain(str(detail.get("url", ""))))
        self.note(line)
