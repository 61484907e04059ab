"""The calls of one answer: order, limits, and one record for each."""

from __future__ import annotations

import asyncio

import pytest

from app.agent import AgentConfig
from app.errors import IdentityLost, RequestCancelled, RunLost, StorageUnavailable
from app.protocol.conversation import Done, TextDelta, ToolCallFragment, ToolCallReady
from app.protocol.ports import CallOutcome, Invocation
from tests.unit.agent.fakes import Activity, FakeGate, Stage, calls, fail, says, succeed, times


async def _slowly(invocation: Invocation) -> CallOutcome:
    await asyncio.sleep(0.005)
    return CallOutcome("succeeded", result=invocation.arguments)


async def test_calls_that_only_read_run_side_by_side_with_results_in_order() -> None:
    async def by_size(invocation: Invocation) -> CallOutcome:
        arguments = invocation.arguments or {}
        await asyncio.sleep(0.002 * (4 - arguments["n"]))
        return CallOutcome("succeeded", result=arguments["n"])

    gate = FakeGate().add("math::a", by_size)
    stage = Stage(calls(*[("math_a", {"n": n}) for n in range(4)]), says("ok"), gate=gate)
    await stage.play()
    assert gate.most_running == 4
    assert [getattr(message, "content", "") for message in stage.provider.requests[1].messages[2:]] == list(
        "0123"
    )
    assert [status for _, status in stage.record.statuses()] == ["started"] * 4 + ["succeeded"] * 4


async def test_one_mutating_call_makes_the_whole_batch_serial_in_the_models_order() -> None:
    gate = FakeGate().add("math::a", _slowly).add("math::set", _slowly, effect="update")
    stage = Stage(
        calls(("math_a", {"n": 1}), ("math_set", {"n": 2}), ("math_a", {"n": 3})), says("ok"), gate=gate
    )
    await stage.play()
    assert gate.most_running == 1
    assert [(call.arguments or {})["n"] for call in gate.invocations] == [1, 2, 3]
    assert [status for _, status in stage.record.statuses()] == ["started", "succeeded"] * 3


async def test_mutating_call_is_committed_to_the_record_before_it_acts() -> None:
    async def acts(invocation: Invocation) -> CallOutcome:
        line = stage.record.lines[stage.record.committed_lines - 1]
        assert isinstance(line, Activity)
        assert (line.id, line.status) == (invocation.call_id, "started")
        assert stage.record.items[0]["calls"][0]["id"] == invocation.call_id
        return await succeed(invocation)

    stage = Stage(
        calls(("math_set", {})), says("ok"), gate=FakeGate().add("math::set", acts, effect="create")
    )
    assert (await stage.play()).status == "completed"
    assert stage.record.calls[0].outcome.status == "succeeded"


async def test_reading_call_does_not_wait_for_a_commit() -> None:
    stage = Stage(calls(("math_a", {})), says("ok"), gate=FakeGate().add("math::a"))
    await stage.play()
    assert stage.record.committed_lines == 0


async def test_unknown_tool_counts_as_reading_and_goes_back_to_the_model() -> None:
    stage = Stage(calls(("no such tool!", {})), says("sorry"))
    assert (await stage.play()).status == "completed"
    assert stage.record.statuses() == [("no such tool!", "started"), ("no such tool!", "failed")]
    assert stage.record.committed_lines == 0
    assert "TOOL_NOT_FOUND" in str(stage.provider.requests[1].messages)


async def test_invocation_names_the_model_as_initiator_and_the_run() -> None:
    stage = Stage(calls(("math_a", {"n": 1})), says("ok"), gate=FakeGate().add("math::a"))
    await stage.play()
    invocation = stage.gate.invocations[0]
    assert (invocation.initiator, invocation.run, invocation.session_id) == ("model", stage.run, "session_1")
    assert (invocation.principal, invocation.confirmed) == (stage.run.principal, False)


async def test_activity_carries_title_arguments_result_time_and_extras() -> None:
    async def waits(invocation: Invocation) -> CallOutcome:
        result = {"status": "awaiting_confirmation", "confirmation_id": "c1"}
        return CallOutcome("awaiting_confirmation", result=result, extra={"confirmation_id": "c1"})

    stage = Stage(
        calls(("math_drop", {"n": 1})), says("ok"), gate=FakeGate().add("math::drop", waits, effect="delete")
    )
    await stage.play()
    started, ended = stage.record.activities
    assert (started.kind, started.name, started.title) == ("tool", "math::drop", "Title of drop")
    assert started.detail == {"arguments": {"n": 1}}
    assert ended.status == "awaiting_confirmation"
    assert ended.detail == {
        "arguments": {"n": 1},
        "result": {"status": "awaiting_confirmation", "confirmation_id": "c1"},
        "duration_ms": 0,
        "error": None,
        "degraded": None,
        "confirmation_id": "c1",
    }


async def test_extras_cannot_hide_the_facts_of_a_call() -> None:
    async def odd(invocation: Invocation) -> CallOutcome:
        return CallOutcome("succeeded", result=1, extra={"result": 2, "arguments": "x", "more": 3})

    stage = Stage(calls(("math_a", {})), says("ok"), gate=FakeGate().add("math::a", odd))
    await stage.play()
    detail = stage.record.activities[1].detail
    assert (detail["result"], detail["arguments"], detail["more"]) == (1, {}, 3)


async def test_degraded_result_says_so_to_the_model_and_on_record() -> None:
    async def second_best(invocation: Invocation) -> CallOutcome:
        return CallOutcome("degraded", result=1, degraded="the backup was used")

    stage = Stage(calls(("math_a", {})), says("ok"), gate=FakeGate().add("math::a", second_best))
    await stage.play()
    assert stage.record.statuses()[-1] == ("math::a", "degraded")
    assert "the backup was used" in str(stage.provider.requests[1].messages)
    assert "the backup was used" in await stage.next_request()


async def test_results_of_the_run_are_kept_by_call_id() -> None:
    stage = Stage(
        calls(("math_a", {}), ("math_bad", {})),
        says("ok"),
        gate=FakeGate().add("math::a").add("math::bad", fail("X")),
    )
    await stage.play()
    assert stage.run.results == {stage.record.calls[0].call_id: {"ok": {}}}


@pytest.mark.parametrize("raw", ["{", '["a"]', "3", '"text"', '{"a": 1', "nonsense"])
async def test_unreadable_arguments_are_never_run_and_are_quoted_back(raw: str) -> None:
    call = ToolCallReady(0, "math_set", None, raw, None)
    stage = Stage(calls(call), says("ok"), gate=FakeGate().add("math::set", effect="create"))
    assert (await stage.play()).status == "completed"
    assert stage.gate.invocations == []
    error = stage.record.calls[0].outcome.error
    assert error is not None
    assert (error["code"], error["retryable"]) == ("INVALID_PARAMS", True)
    assert raw in error["message"]
    await stage.next_request()


@pytest.mark.parametrize("raw", ["", "  ", "null"])
async def test_arguments_of_a_tool_without_parameters_may_be_left_out(raw: str) -> None:
    call = ToolCallReady(0, "math_a", None, raw, None)
    stage = Stage(calls(call), says("ok"), gate=FakeGate().add("math::a"))
    await stage.play()
    assert stage.gate.invocations[0].arguments == {}
    await stage.next_request()


async def test_long_unreadable_arguments_are_quoted_by_their_beginning() -> None:
    stage = Stage(calls(ToolCallReady(0, "math_a", None, "x" * 9_000, None)), says("ok"))
    await stage.play()
    error = stage.record.calls[0].outcome.error
    assert error is not None
    assert len(error["message"]) < 500


async def test_fragments_alone_are_an_unreadable_call_and_run_nothing() -> None:
    script = [[TextDelta("x"), ToolCallFragment(0, "math_a", '{"n":')], [Done("tool_use")]]
    stage = Stage(script, says("ok"), gate=FakeGate().add("math::a"))
    assert (await stage.play()).status == "completed"
    assert stage.gate.invocations == []
    assert stage.record.calls[0].outcome.status == "failed"


# --- limits ----------------------------------------------------------------------------------------


async def test_calls_beyond_the_limit_are_refused_and_end_the_run() -> None:
    gate = FakeGate().add("math::a")
    stage = Stage(calls(("math_a", {})), calls(*times(3, "math_a")), gate=gate)
    end = await stage.play(config=AgentConfig(max_tool_calls_per_turn=2))
    assert end.error is not None
    assert (end.status, end.error.code) == ("failed", "MAX_TOOL_CALLS_EXCEEDED")
    assert len(gate.invocations) == 2
    assert [call.outcome.status for call in stage.record.calls] == [
        "succeeded",
        "succeeded",
        "skipped",
        "skipped",
    ]
    assert "MAX_TOOL_CALLS_EXCEEDED" in await stage.next_request()


async def test_calls_up_to_the_limit_are_fine_and_none_switches_it_off() -> None:
    for limit, asked in ((3, 3), (None, 60)):
        stage = Stage(calls(*times(asked, "math_a")), says("ok"), gate=FakeGate().add("math::a"))
        end = await stage.play(config=AgentConfig(max_tool_calls_per_turn=limit))
        assert end.status == "completed"


async def test_same_error_three_times_in_a_row_ends_the_run() -> None:
    gate = FakeGate().add("math::a", fail("TOOL_TIMEOUT", "took too long"))
    end = await (stage := Stage(*[calls(("math_a", {}))] * 3, gate=gate)).play()
    assert end.error is not None
    assert (end.status, end.error.code, end.steps) == ("failed", "REPEATED_TOOL_ERROR", 3)
    for word in ("math::a", "TOOL_TIMEOUT", "took too long"):
        assert word in end.error.message
    assert len(stage.record.calls) == 3


async def test_success_or_another_code_starts_the_count_anew() -> None:
    gate = FakeGate().add("math::a", fail("A")).add("math::b", fail("B")).add("math::ok")
    order = ["math_a", "math_a", "math_ok", "math_a", "math_a", "math_b", "math_a", "math_a"]
    end = await Stage(*[calls((name, {})) for name in order], says("ok"), gate=gate).play()
    assert end.status == "completed"


async def test_third_same_error_stops_the_rest_of_a_serial_batch() -> None:
    gate = FakeGate().add("math::set", fail("A"), effect="update")
    stage = Stage(calls(*times(5, "math_set")), gate=gate)
    await stage.play()
    assert len(gate.invocations) == 3
    assert [call.outcome.status for call in stage.record.calls] == ["failed"] * 3 + ["skipped"] * 2


# --- what ends the run ------------------------------------------------------------------------------


async def test_fatal_in_a_concurrent_batch_lets_the_others_finish_and_be_recorded() -> None:
    async def lost(invocation: Invocation) -> CallOutcome:
        await asyncio.sleep(0)
        raise IdentityLost("Sign in again.")

    gate = FakeGate().add("math::lost", lost).add("math::slow", _slowly)
    stage = Stage(calls(("math_slow", {}), ("math_lost", {}), ("math_slow", {})), gate=gate)
    end = await stage.play()
    assert end.error is not None
    assert end.error.code == "IDENTITY_LOST"
    assert [call.outcome.status for call in stage.record.calls] == ["failed", "succeeded", "succeeded"]
    await stage.next_request()


async def test_fatal_in_a_serial_batch_skips_what_was_not_started() -> None:
    async def gone(invocation: Invocation) -> CallOutcome:
        raise StorageUnavailable("The database is gone.")

    gate = FakeGate().add("math::set", gone, effect="create")
    stage = Stage(calls(*times(2, "math_set")), gate=gate)
    end = await stage.play()
    assert end.error is not None
    assert end.error.code == "STORAGE_ERROR"
    assert [call.outcome.status for call in stage.record.calls] == ["failed", "skipped"]


async def test_mutating_call_does_not_act_when_its_start_cannot_be_committed() -> None:
    async def no_commit() -> None:
        raise StorageUnavailable("The database is gone.")

    stage = Stage(calls(("math_set", {})), gate=FakeGate().add("math::set", effect="create"))
    stage.record.on_commit = no_commit
    end = await stage.play()
    assert end.error is not None
    assert end.error.code == "STORAGE_ERROR"
    assert stage.gate.invocations == []


async def test_gate_that_finds_the_run_cancelled_ends_it_cancelled() -> None:
    async def refused(invocation: Invocation) -> CallOutcome:
        raise RequestCancelled("The run was cancelled.")

    stage = Stage(calls(("math_set", {})), gate=FakeGate().add("math::set", refused, effect="create"))
    end = await stage.play()
    assert (end.status, end.error) == ("cancelled", None)
    assert stage.record.calls[0].outcome.status == "skipped"


@pytest.mark.parametrize("effect", ["read", "create"])
async def test_lost_run_stops_the_batch_and_records_nothing_more(effect: str) -> None:
    async def lost(invocation: Invocation) -> CallOutcome:
        raise RunLost("Another process owns the run.")

    gate = FakeGate().add("math::a", _slowly).add("math::lost", lost, effect=effect)  # type: ignore[arg-type]  # parametrised
    stage = Stage(calls(("math_lost", {}), ("math_a", {})), gate=gate)
    with pytest.raises(RunLost):
        await stage.play()
    assert stage.record.calls == []
    assert gate.running == 0


async def test_exception_that_the_gate_lets_through_is_a_failed_call() -> None:
    async def broken(invocation: Invocation) -> CallOutcome:
        raise ZeroDivisionError("secret")

    stage = Stage(calls(("math_a", {})), says("ok"), gate=FakeGate().add("math::a", broken))
    assert (await stage.play()).status == "completed"
    error = stage.record.calls[0].outcome.error
    assert error is not None
    assert error["code"] == "TOOL_EXECUTION_ERROR"
    assert "secret" not in str(error)


# --- loaders and control tools -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["domain", "skill"])
async def test_loader_call_is_shown_as_what_it_loads_on_all_its_lines(kind: str) -> None:
    async def load(invocation: Invocation) -> CallOutcome:
        extra = {"activity_kind": kind, "activity_name": "mistakes"}
        return CallOutcome("succeeded", result="loaded", loads=("mistakes",), extra=extra)

    gate = FakeGate().add(f"catalog::load_{kind}", load)
    stage = Stage(calls((f"catalog_load_{kind}", {"name": "mistakes"})), says("ok"), gate=gate)
    await stage.play()
    assert stage.record.statuses(kind) == [("mistakes", "started"), ("mistakes", "succeeded")]
    assert "activity_kind" not in stage.record.activities[1].detail
    assert stage.record.calls[0].name == f"catalog::load_{kind}"


async def test_control_call_is_on_record_but_only_a_fact_in_later_turns() -> None:
    async def switch(invocation: Invocation) -> CallOutcome:
        return CallOutcome("succeeded", result="asked", control_fact="The user was asked to open session 7.")

    stage = Stage(calls(("session_switch", {})), says("done"), gate=FakeGate().add("session::switch", switch))
    await stage.play()
    assert stage.record.items[1]["call"]["name"] == "session::switch"
    sent = await stage.next_request()
    assert "asked to open session 7" in sent
    assert "session_switch" not in sent
