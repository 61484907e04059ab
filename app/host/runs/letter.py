"""One row of the inbox: what ended elsewhere, and how the run that takes it up begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.protocol.jsontext import clean_text
from app.protocol.ports import CallOutcome, CallRecord, RunRecord


@dataclass(frozen=True, slots=True)
class Letter:
    """An inbox row.

    `body` is `{"text": what ended and how, for the model; states the outcome only,
    "facts": {…}, "call": {id, name, arguments, result, error, status, duration_ms} | null,
    "activity": {kind, id, name, title, status, detail}}`.
    """

    id: str
    source: str
    """job or confirmation."""
    source_id: str
    body: Mapping[str, Any]

    def note_body(self) -> dict[str, Any]:
        """The run's first item. `opening` is what recovery needs if the process dies before it is told."""
        return {
            "parts": [{"type": "text", "text": clean_text(str(self.body["text"]))}],
            "facts": {**self.body.get("facts", {}), "source": self.source, "source_id": self.source_id},
            "opening": {"activity": self.body["activity"], "call": self.body.get("call")},
        }

    def open(self, record: RunRecord) -> None:
        """Puts the first lines and items of the run on record."""
        open_run(record, self.note_body()["opening"])


def open_run(record: RunRecord, opening: Mapping[str, Any], *, with_call: bool = True) -> None:
    activity = opening["activity"]
    record.activity(
        activity["kind"],
        activity["id"],
        activity["name"],
        activity["title"],
        activity["status"],
        activity.get("detail"),
    )
    call = opening.get("call")
    if call is not None and with_call:
        record.tool_item(
            CallRecord(
                call_id=call["id"],
                name=call["name"],
                wire_name=call["name"].replace("::", "_"),
                arguments=call.get("arguments"),
                raw_arguments="",
                outcome=CallOutcome(
                    status=call["status"], result=call.get("result"), error=call.get("error")
                ),
                duration_ms=int(call.get("duration_ms") or 0),
            )
        )
