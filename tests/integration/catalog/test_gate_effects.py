"""One key, one effect (P8), and what handlers may do wrong without harm (C14), on both databases."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from sqlalchemy import Engine, event, select
from structlog.testing import capture_logs

from app.protocol.definitions import TOOL_OUTPUT_LIMIT_BYTES
from app.protocol.identity import Principal
from app.storage.tables import effects
from app.testkit import PackageHarness
from app.testkit.laws import count_effects


async def total(lab: PackageHarness, me: Principal) -> int:
    return (await lab.ok("lab::total", by=me))["total"]


async def rows(lab: PackageHarness, me: Principal) -> list[Any]:
    async with lab.database.tenant_read(me.user_id) as unit:
        found = await unit.connection.execute(select(effects).where(effects.c.owner_id == me.user_id))
        return list(found.all())


# --- one key, one effect ------------------------------------------------------------------------


async def test_a_run_call_made_again_gives_the_recorded_result(lab: PackageHarness, me: Principal) -> None:
    run = lab.run(me)
    how: dict[str, Any] = {"run": run, "initiator": "model", "call_id": "call_7"}
    first = await lab.call("lab_count", {"amount": 5}, **how)
    again = await lab.call("lab_count", {"amount": 5}, **how)
    assert first.result == again.result == {"total": 5}
    assert await total(lab, me) == 5
    (row,) = await rows(lab, me)
    assert row.key == f"run:{run.run_id}:call_7"
    assert (row.capability, row.package_version, row.status) == ("lab::count", "0.3.0", "done")
    other = await lab.call("lab_count", {"amount": 6}, **how)
    assert other.error is not None
    assert other.error["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert await total(lab, me) == 5


async def test_a_callers_key_holds_for_one_capability_and_owner(lab: PackageHarness, me: Principal) -> None:
    assert await lab.ok("lab::count", {"amount": 5}, by=me, key="k") == {"total": 5}
    lab.crashes.clear()
    assert await lab.ok("lab::count", {"amount": 5}, by=me, key="k") == {"total": 5}
    assert "in_effect_before_commit" not in lab.crashes
    assert await lab.ok("lab::reset", {}, by=me, key="k") == {"total": 0}
    stranger = Principal(type(me.user_id)(me.user_id + "x"), "browser", frozenset({"*"}), "x@example.org")
    assert await lab.ok("lab::count", {"amount": 1}, by=stranger, key="k") == {"total": 1}


async def test_calls_without_a_key_are_each_their_own(lab: PackageHarness, me: Principal) -> None:
    await lab.ok("lab::count", {"amount": 1}, by=me)
    assert await lab.ok("lab::count", {"amount": 1}, by=me) == {"total": 2}


@pytest.mark.parametrize("in_run", [True, False], ids=["run", "caller's key"])
async def test_the_same_call_many_times_at_once_makes_one_effect(
    lab: PackageHarness, me: Principal, in_run: bool
) -> None:
    run = lab.run(me)
    how: dict[str, Any] = (
        {"run": run, "initiator": "model", "call_id": "c"} if in_run else {"by": me, "key": "k"}
    )
    outcomes = await asyncio.gather(*(lab.call("lab_count", {"amount": 5}, **how) for _ in range(8)))
    assert [outcome.result for outcome in outcomes] == [{"total": 5}] * 8
    assert await total(lab, me) == 5
    assert await count_effects(lab, me) == 1


async def test_different_arguments_at_once_under_one_key_make_one_effect(
    lab: PackageHarness, me: Principal
) -> None:
    calls = (lab.call("lab::count", {"amount": n}, by=me, key="k") for n in (1, 2, 3, 4))
    outcomes = await asyncio.gather(*calls)
    assert sorted(outcome.status for outcome in outcomes) == ["failed", "failed", "failed", "succeeded"]
    assert {outcome.error["code"] for outcome in outcomes if outcome.error} == {"IDEMPOTENCY_KEY_REUSED"}
    assert await count_effects(lab, me) == 1


async def test_a_repeat_is_refused_once_the_right_is_gone(lab: PackageHarness, me: Principal) -> None:
    await lab.ok("lab::count", {"amount": 5}, by=me, key="k")
    lab.authority.disabled.add("lab")
    assert await lab.refused("lab::count", {"amount": 5}, by=me, key="k") == "PACKAGE_DISABLED"


async def test_statements_of_an_effect_stay_few(lab: PackageHarness, me: Principal) -> None:
    """Through SQLAlchemy goes the package's own SELECT only; its plain INSERT, the authority's, the effect's
    and the audit's statements are sent to the driver as they are."""
    await lab.ok("lab::count", {"amount": 1}, by=me)
    seen: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement.split(maxsplit=1)[0])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        await lab.ok("lab::count", {"amount": 1}, by=me)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert [word for word in seen if word in ("INSERT", "SELECT", "UPDATE", "DELETE")] == ["SELECT"]


async def test_crash_points_are_passed_in_order(lab: PackageHarness, me: Principal) -> None:
    await lab.ok("lab::count", {"amount": 1}, by=me)
    assert lab.crashes == [
        "before_handler",
        "in_effect_before_commit",
        "after_effect_commit",
        "after_handler",
    ]


# --- handlers that misbehave ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "mode",
    [
        "raises",
        "own timeout",
        "no effect",
        "not recorded",
        "records twice",
        "wrong result",
        "calls inside",
        "nothing",
    ],
)
async def test_a_broken_handler_leaves_nothing_and_tells_nothing(
    lab: PackageHarness, me: Principal, mode: str
) -> None:
    with capture_logs() as lines:
        outcome = await lab.ask("lab_broken", {"mode": mode}, run=lab.run(me))
    assert outcome.error == {
        "code": "TOOL_EXECUTION_ERROR",
        "message": "Broken failed because of a fault in the tool.",
        "retryable": False,
        "source": "tool",
    }
    assert lines[-1]["exc_info"] is not None
    assert await total(lab, me) == 0
    assert await count_effects(lab, me) == 0


@pytest.mark.parametrize("mode", ["twice", "raises after"])
async def test_what_was_committed_is_reported_whatever_came_after(
    lab: PackageHarness, me: Principal, mode: str
) -> None:
    outcome = await lab.ask("lab_broken", {"mode": mode}, run=lab.run(me))
    assert outcome.result == {"total": 1}
    assert await total(lab, me) == 1
    assert lab.audit.in_effect[0] is True


async def test_a_declared_error_keeps_its_words(lab: PackageHarness, me: Principal) -> None:
    outcome = await lab.ask("lab_broken", {"mode": "declared"}, run=lab.run(me))
    assert outcome.error is not None
    assert (outcome.error["message"], outcome.error["retryable"]) == ("The scale is out of order.", True)


async def test_an_error_inside_an_effect_rolls_it_back(lab: PackageHarness, me: Principal) -> None:
    outcome = await lab.ask("lab_broken", {"mode": "raises inside"}, run=lab.run(me))
    assert outcome.error is not None
    assert outcome.error["message"] == "Changed my mind."
    assert await total(lab, me) == 0
    assert await count_effects(lab, me) == 0


@pytest.mark.parametrize("mode", ["before", "inside"])
async def test_a_slow_handler_is_stopped(lab: PackageHarness, me: Principal, mode: str) -> None:
    outcome = await lab.ask("lab_slow", {"mode": mode}, run=lab.run(me))
    assert outcome.error is not None
    assert outcome.error["code"] == "TOOL_TIMEOUT"
    assert await total(lab, me) == 0


async def test_a_handler_stopped_after_its_commit_has_succeeded(lab: PackageHarness, me: Principal) -> None:
    outcome = await lab.ask("lab_slow", {"mode": "after"}, run=lab.run(me))
    assert outcome.result == {"total": 1}


async def test_a_cancelled_caller_leaves_nothing_half_done(lab: PackageHarness, me: Principal) -> None:
    task = asyncio.create_task(lab.ask("lab_slow", {"mode": "inside"}, run=lab.run(me)))
    await asyncio.sleep(0.03)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lab.audit.entries[-1].error_code == "CANCELLED"
    assert await total(lab, me) == 0


@pytest.mark.parametrize("mode", ["effect", "write", "wrong"])
async def test_a_reading_tool_cannot_write(lab: PackageHarness, me: Principal, mode: str) -> None:
    outcome = await lab.ask("lab_misread", {"mode": mode}, run=lab.run(me))
    assert outcome.error is not None
    assert outcome.error["code"] == "TOOL_EXECUTION_ERROR"
    assert await total(lab, me) == 0


async def test_the_call_follows_into_threads(lab: PackageHarness, me: Principal) -> None:
    assert await lab.ok("lab::misread", {"mode": "context"}, by=me) == {"total": 1}


@pytest.mark.parametrize("size", [1, 100, 400_000, 3_000_000])
async def test_output_is_cut_with_a_note(lab: PackageHarness, me: Principal, size: int) -> None:
    result = await lab.ok("lab::big", {"size": size}, by=me)
    assert len(orjson.dumps(result)) <= TOOL_OUTPUT_LIMIT_BYTES
    assert ("note" in result) == (size > 1000)


# --- effects outside our database -------------------------------------------------------------------


async def test_an_external_effect_replaces_its_intent(lab: PackageHarness, me: Principal) -> None:
    assert await lab.ok("lab::send", {"mode": "fine"}, by=me, key="k") == {"total": 1}
    assert await lab.ok("lab::send", {"mode": "fine"}, by=me, key="k") == {"total": 1}
    (row,) = await rows(lab, me)
    assert (row.status, row.result) == ("done", {"total": 1})


async def test_an_external_effect_of_unknown_outcome_is_never_repeated(
    lab: PackageHarness, me: Principal
) -> None:
    assert await lab.refused("lab::send", {"mode": "lost"}, by=me, key="k") == "OUTCOME_UNKNOWN"
    assert await lab.refused("lab::send", {"mode": "lost"}, by=me, key="k") == "OUTCOME_UNKNOWN"
    (row,) = await rows(lab, me)
    assert row.status == "intent"


async def test_an_external_effect_that_was_refused_can_be_tried_again(
    lab: PackageHarness, me: Principal
) -> None:
    assert await lab.refused("lab::send", {"mode": "refused"}, by=me, key="k") == "TOOL_FAILED"
    assert await rows(lab, me) == []
