"""What an interrupted run still owes its record, for each place where it can have died."""

from __future__ import annotations

from typing import Any

import orjson

from app.errors import RunInterrupted
from app.host.event_log.log import RunLog, Sealed
from app.host.recovery.reconstruct import EffectFact, Remains, write_end

CALLS = [{"id": "call_1", "wire_name": "mistakes_add", "wire_id": "w1", "arguments": {"q": 1}}]


def text(seq: int, delta: str, channel: str = "answer") -> dict[str, Any]:
    return {"type": "text", "seq": seq, "channel": channel, "delta": delta}


def activity(seq: int, status: str, id: str = "call_1", kind: str = "tool", **detail: Any) -> dict[str, Any]:
    return {
        "type": "activity",
        "seq": seq,
        "kind": kind,
        "id": id,
        "name": "mistakes::add" if kind == "tool" else "mistakes",
        "title": "Add",
        "status": status,
        "detail": detail,
    }


def assistant(seq: int, calls: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"type": "assistant", "status": "completed", "seq": seq, "parts": [], "calls": calls or []}


def ended(
    events: list[dict[str, Any]], items: list[dict[str, Any]], effects: list[EffectFact] | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Sealed]:
    log = RunLog(
        run_id="run_1",
        session_id="ses_1",
        owner_id="usr_1",
        turn=1,
        fence=2,
        mark_dirty=lambda _: None,
        next_seq=len(events) + 1,
        next_ordinal=len(items) + 1,
    )
    write_end(log, Remains(events, items, effects or []), error=RunInterrupted("stopped"), loaded=["demo"])
    sealed = log.seal()
    lines = [orjson.loads(row.line) for row in sealed.lines]
    stored = [{"type": row.type, "status": row.status, **orjson.loads(row.body)} for row in sealed.items]
    return lines, stored, sealed


def kinds(lines: list[dict[str, Any]]) -> list[str]:
    return [str(line["status"]) if line["type"] == "activity" else line["type"] for line in lines]


def test_a_run_that_had_said_nothing_gets_its_error_and_its_end() -> None:
    lines, stored, sealed = ended([], [])
    assert kinds(lines) == ["error", "done"]
    assert lines[0]["code"] == "RUN_INTERRUPTED"
    assert [item["type"] for item in stored] == ["note"]
    assert sealed.finish is not None
    assert sealed.finish.status == "failed"


def test_partial_text_is_kept_as_incomplete() -> None:
    _, stored, _ = ended([text(1, "Half a "), text(2, "sentence")], [])
    assert stored[0]["status"] == "incomplete"
    assert stored[0]["parts"] == [{"type": "text", "text": "Half a sentence"}]


def test_text_that_is_already_an_item_is_not_told_twice() -> None:
    _, stored, _ = ended([text(1, "first"), text(2, "second")], [assistant(1)])
    assert stored[0]["parts"] == [{"type": "text", "text": "second"}]


def test_a_started_call_without_effect_failed() -> None:
    lines, stored, _ = ended([activity(1, "started", arguments={"q": 1})], [assistant(0, CALLS)])
    assert kinds(lines) == ["failed", "error", "done"]
    assert lines[0]["detail"]["error"]["code"] == "INTERRUPTED"
    assert stored[0]["call"]["error"]["code"] == "INTERRUPTED"
    assert stored[0]["call"]["wire_name"] == "mistakes_add"


def test_a_started_call_whose_effect_is_recorded_succeeded() -> None:
    effect = EffectFact("call_1", "mistakes::add", "done", {"id": "m1"})
    lines, stored, _ = ended([activity(1, "started")], [assistant(0, CALLS)], [effect])
    assert kinds(lines) == ["succeeded", "error", "done"]
    assert lines[0]["detail"]["result"] == {"id": "m1"}
    assert stored[0]["call"]["result"] == {"id": "m1"}


def test_an_outside_effect_that_only_began_is_unknown() -> None:
    effect = EffectFact("call_1", "mail::send", "intent", None)
    lines, _, _ = ended([activity(1, "started")], [assistant(0, CALLS)], [effect])
    assert lines[0]["detail"]["error"]["code"] == "OUTCOME_UNKNOWN"
    assert lines[0]["detail"]["error"]["retryable"] is False


def test_an_effect_that_nobody_announced_is_announced_and_ended() -> None:
    effect = EffectFact("call_9", "mistakes::add", "done", {"id": "m1"})
    lines, stored, _ = ended([], [], [effect])
    assert kinds(lines) == ["started", "succeeded", "error", "done"]
    assert stored[0]["call"]["id"] == "call_9"


def test_a_call_that_ended_before_its_item_was_written_gets_the_item_only() -> None:
    events = [activity(1, "started"), activity(2, "succeeded", result={"id": "m1"})]
    lines, stored, _ = ended(events, [assistant(0, CALLS)])
    assert kinds(lines) == ["error", "done"]
    assert stored[0]["call"]["result"] == {"id": "m1"}


def test_a_call_that_is_whole_on_record_is_left_alone() -> None:
    events = [activity(1, "started"), activity(2, "succeeded", result={"id": "m1"})]
    tool = {"type": "tool", "status": "completed", "seq": 2, "call": {"id": "call_1"}}
    lines, stored, _ = ended(events, [assistant(0, CALLS), tool])
    assert kinds(lines) == ["error", "done"]
    assert [item["type"] for item in stored] == ["note"]


def test_a_domain_that_was_loaded_stays_loaded() -> None:
    events = [activity(1, "started", kind="domain"), activity(2, "succeeded", kind="domain")]
    _, _, sealed = ended(events, [])
    assert sealed.finish is not None
    assert orjson.loads(sealed.finish.loaded_domains) == ["demo", "mistakes"]


def test_numbers_go_on_where_they_stopped() -> None:
    lines, _, _ = ended([text(1, "a"), text(2, "b"), text(3, "c")], [])
    assert [line["seq"] for line in lines] == [4, 5]
