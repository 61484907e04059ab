"""Cancel at each point of a turn (L4, O5, O10, O14): what stops, what is kept, what the next turn sees."""

from __future__ import annotations

import asyncio

from app.agent import TurnEnd
from app.protocol.conversation import Done, TextDelta, ToolCallFragment, ToolCallReady
from app.protocol.ports import CallOutcome, Invocation
from tests.unit.agent.fakes import FakeGate, Script, Stage, Wait, calls, succeed


async def _cancel_while_streaming(stage: Stage, wait: Wait) -> TurnEnd:
    task = asyncio.create_task(stage.play())
    await wait.reached.wait()
    stage.run.cancel.set()
    async with asyncio.timeout(1):
        end = await task
    assert stage.provider.open_streams == 0
    assert len(stage.provider.requests) == 1
    return end


async def _next_turn_knows(stage: Stage, *facts: str) -> str:
    sent = await stage.next_request()
    for fact in ("the user cancelled this turn", *facts):
        assert fact in sent
    return sent


async def test_before_the_first_model_call() -> None:
    stage = Stage()
    stage.run.cancel.set()
    end = await stage.play()
    assert (end.status, end.error, end.steps) == ("cancelled", None, 0)
    await _next_turn_knows(stage)


async def test_before_the_first_token() -> None:
    wait = Wait()
    stage = Stage([wait, [TextDelta("never")], [Done("end")]])
    end = await _cancel_while_streaming(stage, wait)
    assert (end.status, end.error, end.steps) == ("cancelled", None, 1)
    assert stage.record.lines == []
    await _next_turn_knows(stage)


async def test_while_text_streams() -> None:
    wait = Wait()
    stage = Stage([[TextDelta("Half a sen")], wait, [TextDelta("tence")], [Done("end")]])
    end = await _cancel_while_streaming(stage, wait)
    assert end.status == "cancelled"
    assert stage.record.answer == "Half a sen"
    assert stage.record.items[0]["status"] == "incomplete"
    sent = await _next_turn_knows(stage, "Half a sen", "cut off before its end")
    assert "tence" not in sent


async def test_while_the_record_has_no_room() -> None:
    async def full() -> None:
        stage.run.cancel.set()
        await asyncio.Event().wait()

    stage = Stage([[TextDelta("Half")], [Done("end")]])
    stage.record.on_room = full
    async with asyncio.timeout(1):
        end = await stage.play()
    assert end.status == "cancelled"
    assert stage.record.items[0]["parts"] == [{"type": "text", "text": "Half"}]
    assert stage.provider.open_streams == 0


async def test_while_arguments_stream() -> None:
    wait = Wait()
    script: Script = [
        [TextDelta("Let me"), ToolCallReady(0, "math_set", {"n": 1}, '{"n":1}', "w0")],
        [ToolCallFragment(1, "math_set", '{"n"')],
        wait,
    ]
    stage = Stage(script, gate=FakeGate().add("math::set", effect="create"))
    end = await _cancel_while_streaming(stage, wait)
    assert end.status == "cancelled"
    assert stage.gate.invocations == []
    assert [call["arguments"] for call in stage.record.items[0]["calls"]] == [{"n": 1}]
    assert [call.outcome.status for call in stage.record.calls] == ["skipped"]
    await _next_turn_knows(stage, "Let me", "not started because the run was cancelled")


async def test_while_a_tool_is_queued_behind_another() -> None:
    async def cancels(invocation: Invocation) -> CallOutcome:
        stage.run.cancel.set()
        await asyncio.sleep(0.005)
        return await succeed(invocation)

    gate = FakeGate().add("math::set", cancels, effect="create")
    stage = Stage(calls(("math_set", {"n": 1}), ("math_set", {"n": 2})), gate=gate)
    end = await stage.play()
    assert end.status == "cancelled"
    assert len(gate.invocations) == 1
    assert [status for _, status in stage.record.statuses()] == ["started", "succeeded", "started", "skipped"]
    error = stage.record.calls[1].outcome.error
    assert error is not None
    assert (error["code"], error["message"]) == ("SKIPPED", "not started because the run was cancelled")
    await _next_turn_knows(stage, '{"ok":{"n":1}}', "SKIPPED")


async def test_while_a_mutating_call_waits_for_its_commit() -> None:
    async def cancels() -> None:
        stage.run.cancel.set()

    stage = Stage(calls(("math_set", {})), gate=FakeGate().add("math::set", effect="create"))
    stage.record.on_commit = cancels
    end = await stage.play()
    assert end.status == "cancelled"
    assert stage.gate.invocations == []
    assert [status for _, status in stage.record.statuses()] == ["started", "skipped"]
    await _next_turn_knows(stage, "SKIPPED")


async def test_while_tools_run_they_finish_and_are_recorded() -> None:
    async def cancels(invocation: Invocation) -> CallOutcome:
        stage.run.cancel.set()
        await asyncio.sleep(0.005)
        return await succeed(invocation)

    gate = FakeGate().add("math::a", cancels)
    stage = Stage(calls(("math_a", {"n": 1}), text="Looking"), gate=gate)
    end = await stage.play()
    assert (end.status, end.steps) == ("cancelled", 1)
    assert stage.record.statuses() == [("math::a", "started"), ("math::a", "succeeded")]
    await _next_turn_knows(stage, "Looking", '{"ok":{"n":1}}')


async def test_after_a_result_was_committed_while_the_next_sentence_streams() -> None:
    wait = Wait()
    gate = FakeGate().add("math::set", effect="create")
    stage = Stage(calls(("math_set", {"n": 1})), [[TextDelta("I added the")], wait], gate=gate)
    task = asyncio.create_task(stage.play())
    await wait.reached.wait()
    stage.run.cancel.set()
    end = await task
    assert (end.status, end.steps) == ("cancelled", 2)
    assert len(stage.provider.requests) == 2
    await _next_turn_knows(stage, '{"ok":{"n":1}}', "I added the", "cut off before its end")


async def test_after_the_whole_answer_came_the_turn_is_complete() -> None:
    async def cancels() -> None:
        stage.run.cancel.set()
        await asyncio.sleep(0)

    lingering = Wait()
    stage = Stage([[TextDelta("All"), Done("end")], lingering])
    stage.record.on_room = cancels
    async with asyncio.timeout(1):
        end = await stage.play()
    assert end.status == "completed"
    assert stage.record.items[0]["status"] == "completed"
    assert stage.provider.open_streams == 0


async def test_partly_streamed_step_is_counted_in_the_usage() -> None:
    wait = Wait()
    stage = Stage([[TextDelta("Half a sentence")], wait])
    end = await _cancel_while_streaming(stage, wait)
    assert end.usage.input_tokens > 0
