"""Packages work together through declared calls only (C16)."""

from __future__ import annotations

from typing import Any

import pytest

from app.protocol.identity import Principal
from app.testkit import PackageHarness, user


async def test_a_declared_call_runs_under_ids_of_its_own(lab: PackageHarness, me: Principal) -> None:
    run = lab.run(me)
    how: dict[str, Any] = {"run": run, "initiator": "model", "call_id": "c1"}
    assert (await lab.call("lab_relay", {"mode": "count"}, **how)).result == {"total": 4}
    assert (await lab.call("lab_relay", {"mode": "count"}, **how)).result == {"total": 4}  # a retry
    assert await lab.ok("lab::total", by=me) == {"total": 4}
    assert [entry.call_id for entry in lab.audit.entries[:2]] == ["c1.1", "c1"]


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        ("clear", "TOOL_FORBIDDEN"),
        ("wipe", "TOOL_EXECUTION_ERROR"),
        ("undeclared", "TOOL_EXECUTION_ERROR"),
        ("bad arguments", "INVALID_PARAMS"),
        ("for ever", "TOOL_EXECUTION_ERROR"),
    ],
)
async def test_a_detour_gains_nothing(lab: PackageHarness, me: Principal, mode: str, code: str) -> None:
    await lab.ok("lab::count", {"amount": 9}, by=me)
    outcome = await lab.ask("lab_relay", {"mode": mode}, run=lab.run(me))
    assert outcome.error is not None
    assert outcome.error["code"] == code
    assert await lab.ok("lab::total", by=me) == {"total": 9}


async def test_scope_holds_for_the_inner_call(lab: PackageHarness, me: Principal) -> None:
    reader = user(me.user_id.removeprefix("usr_"), ["lab:read"])
    assert await lab.refused("lab::relay", {"mode": "count"}, by=reader) == "TOOL_FORBIDDEN"


async def test_the_inner_domain_need_not_be_loaded(lab: PackageHarness, me: Principal) -> None:
    run = lab.run(me, load=["detour"])
    assert (await lab.ask("lab_relay", {"mode": "count"}, run=run)).status == "succeeded"


async def test_calls_are_at_most_ten_deep(lab: PackageHarness, me: Principal) -> None:
    outcome = await lab.ask("lab_relay", {"mode": "for ever"}, run=lab.run(me))
    assert outcome.error is not None
    assert "more than 10 deep" in outcome.error["message"]
    assert len(lab.audit.entries) == 11
