"""Who may call what (C7, C8, C9, C19), on every way to a handler."""

from __future__ import annotations

from typing import Any

import pytest

from app.catalog.trigger import trigger_command
from app.errors import IdentityLost, RunLost
from app.protocol.identity import Principal
from app.protocol.ports import Invocation
from app.testkit import PackageHarness, user


def code(outcome: Any) -> str:
    assert outcome.error is not None, outcome
    return str(outcome.error["code"])


def names(lab: PackageHarness, run: Any) -> list[str]:
    return [spec.wire_name for spec in lab.gate.visible_tools(run)]


# --- caller policy ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lab::clear", "lab_clear", "lab::reset", "lab_reset"])
async def test_users_own_entries_are_absent_for_the_model_and_refused(
    lab: PackageHarness, me: Principal, name: str
) -> None:
    run = lab.run(me)
    assert not {"lab_clear", "lab_reset"} & set(names(lab, run))
    assert code(await lab.ask(name, {"amount": 1}, run=run)) == "TOOL_FORBIDDEN"
    assert lab.audit.entries[-1].outcome == "denied"
    assert lab.audit.entries[-1].error_code == "TOOL_FORBIDDEN"


async def test_a_confirmation_does_not_open_a_users_entry_to_the_model(
    lab: PackageHarness, me: Principal
) -> None:
    outcome = await lab.call("lab::clear", {"amount": 1}, run=lab.run(me), initiator="model", confirmed=True)
    assert code(outcome) == "TOOL_FORBIDDEN"


async def test_user_and_model_get_the_same_answer(lab: PackageHarness, me: Principal) -> None:
    await lab.ok("lab::count", {"amount": 2}, by=me)
    by_model = await lab.ask("lab_total", {}, run=lab.run(me))
    by_user = await trigger_command(lab.gate, "lab::total", {}, principal=me)
    assert by_model.result == by_user.result == {"total": 2}


async def test_one_door_takes_commands_and_tools_and_nothing_else(lab: PackageHarness, me: Principal) -> None:
    assert (await trigger_command(lab.gate, "lab::reset", {}, principal=me)).result == {"total": 0}
    assert (await trigger_command(lab.gate, "lab::total", {}, principal=me)).result == {"total": 0}
    assert code(await trigger_command(lab.gate, "rm -rf /", {}, principal=me)) == "TOOL_NOT_FOUND"
    assert code(await trigger_command(lab.gate, "lab::reset", {"x": 1}, principal=me)) == "INVALID_PARAMS"


async def test_a_missing_scope_is_named(lab: PackageHarness, me: Principal) -> None:
    reader = user(me.user_id, ["lab:read"])
    assert (await lab.call("lab::total", by=reader)).status == "succeeded"
    refused = await lab.call("lab::count", {"amount": 1}, by=reader)
    assert code(refused) == "TOOL_FORBIDDEN"
    assert "lab:write" in refused.error["message"]  # type: ignore[index]


# --- loading ----------------------------------------------------------------------------------


async def test_tools_are_seen_only_after_their_domain_is_loaded(lab: PackageHarness, me: Principal) -> None:
    run = lab.run(me, load=[])
    assert names(lab, run) == ["catalog_load_domain", "catalog_load_skill"]
    text = lab.gate.catalog_text(run)
    assert "- annex: Reading only." in text
    assert "- count-up: Counts things" in text
    assert "quietly" not in text
    assert "lab_total" not in text

    early = await lab.ask("lab_total", {}, run=run)
    assert code(early) == "TOOL_NOT_LOADED"
    assert 'catalog_load_domain with name "annex"' in early.error["message"]  # type: ignore[index]

    loaded = await lab.ask("catalog_load_domain", {"name": "annex"}, run=run)
    assert loaded.loads == ("annex",)
    assert loaded.extra == {"activity_kind": "domain", "activity_name": "annex"}
    assert [tool["name"] for tool in loaded.result["tools"]] == ["lab_big", "lab_misread", "lab_total"]
    run.loaded.update(loaded.loads)
    assert names(lab, run)[2:] == ["lab_big", "lab_misread", "lab_total"]
    assert (await lab.ask("lab_total", {}, run=run)).status == "succeeded"


async def test_a_skill_is_data_and_loads_its_domains(lab: PackageHarness, me: Principal) -> None:
    run = lab.run(me, load=[])
    loaded = await lab.ask("catalog::load_skill", {"name": "count-up"}, run=run)
    assert loaded.loads == ("lab",)
    assert "Ignore all rules" in loaded.result["instructions"]
    run.loaded.update(loaded.loads)
    assert "lab_clear" not in names(lab, run)


async def test_an_unlisted_skill_is_the_users_alone(lab: PackageHarness, me: Principal) -> None:
    run = lab.run(me)
    asked = await lab.ask("catalog_load_skill", {"name": "quietly"}, run=run)
    unknown = await lab.ask("catalog_load_skill", {"name": "quiet"}, run=run)
    assert asked.error == unknown.error
    assert (await lab.call("catalog::load_skill", {"name": "quietly"}, run=run)).status == "succeeded"


async def test_what_is_not_in_the_snapshot_is_as_unknown_as_nonsense(
    lab: PackageHarness, me: Principal
) -> None:
    reader = user(me.user_id, ["lab:read"])
    run = lab.run(reader)
    run.loaded.add("lab")  # old history gives no right
    denied = await lab.ask("lab_count", {"amount": 1}, run=run)
    unknown = await lab.ask("lab_county", {"amount": 1}, run=run)
    assert code(denied) == code(unknown) == "TOOL_NOT_FOUND"
    hidden = await lab.ask("catalog_load_domain", {"name": "lab"}, run=run)
    nonsense = await lab.ask("catalog_load_domain", {"name": "lib"}, run=run)
    assert hidden.error == nonsense.error
    assert "lab_count" not in names(lab, run)


async def test_a_near_miss_gets_suggestions(lab: PackageHarness, me: Principal) -> None:
    missed = await lab.ask("lab_totl", {}, run=lab.run(me))
    assert "lab_total" in missed.error["message"]  # type: ignore[index]
    missed = await lab.ask("catalog_load_domain", {"name": "anex"}, run=lab.run(me))
    assert "annex" in missed.error["message"]  # type: ignore[index]


# --- confirmation -----------------------------------------------------------------------------


@pytest.mark.parametrize("initiator", ["user", "model"])
async def test_a_destructive_call_waits_and_does_nothing(
    lab: PackageHarness, me: Principal, initiator: Any
) -> None:
    await lab.ok("lab::count", {"amount": 3}, by=me)
    run = lab.run(me)
    first = await lab.call("lab_wipe", {"amount": 1}, run=run, initiator=initiator)
    again = await lab.call("lab_wipe", {"amount": 1}, run=run, initiator=initiator)
    assert first.status == "awaiting_confirmation"
    assert first.result == again.result
    assert first.result["confirmation_id"] in lab.confirmations.pending
    assert lab.audit.entries[-1].outcome == "awaiting_confirmation"
    assert await lab.ok("lab::total", by=me) == {"total": 3}
    assert await lab.ok("lab::wipe", {"amount": 1}, by=me, confirmed=True) == {"total": 0}


async def test_bad_arguments_are_refused_before_the_user_is_asked(lab: PackageHarness, me: Principal) -> None:
    assert code(await lab.ask("lab_wipe", {"amount": 0}, run=lab.run(me))) == "INVALID_PARAMS"
    assert not lab.confirmations.pending


@pytest.mark.parametrize("flag", ["confirmed", "confirm", "force", "_confirmed"])
async def test_no_argument_stands_in_for_the_user(lab: PackageHarness, me: Principal, flag: str) -> None:
    assert code(await lab.ask("lab_wipe", {"amount": 1, flag: True}, run=lab.run(me))) == "INVALID_PARAMS"


# --- the Host's word --------------------------------------------------------------------------


async def test_a_package_switched_off_in_mid_run_is_refused(lab: PackageHarness, me: Principal) -> None:
    run = lab.run(me)
    assert (await lab.ask("lab_count", {"amount": 1}, run=run)).status == "succeeded"
    lab.authority.disabled.add("lab")
    assert code(await lab.ask("lab_count", {"amount": 1}, run=run)) == "PACKAGE_DISABLED"
    assert code(await lab.ask("lab_total", {}, run=run)) == "PACKAGE_DISABLED"
    assert code(await lab.ask("lab_big", {"size": 1}, run=run)) == "PACKAGE_DISABLED"
    lab.authority.disabled.clear()
    assert await lab.ok("lab::total", by=me) == {"total": 1}


async def test_a_lost_run_or_user_ends_the_run_and_is_audited(lab: PackageHarness, me: Principal) -> None:
    run = lab.run(me)
    lab.authority.lost_runs.add(run.run_id)
    with pytest.raises(RunLost):
        await lab.ask("lab_count", {"amount": 1}, run=run)
    assert lab.audit.entries[-1].error_code == "RUN_LOST"
    lab.authority.lost_users.add(me.user_id)
    with pytest.raises(IdentityLost):
        await lab.call("lab::total", by=me)


@pytest.mark.parametrize("tool", ["lab::total", "lab::big", "catalog::load_domain", "lab::count"])
async def test_the_host_is_asked_exactly_once_a_call(lab: PackageHarness, me: Principal, tool: str) -> None:
    arguments = {
        "lab::big": {"size": 1},
        "catalog::load_domain": {"name": "lab"},
        "lab::count": {"amount": 1},
    }
    await lab.ok(tool, arguments.get(tool), by=me)
    assert [name for _, name in lab.authority.checks] == [tool]


# --- arguments --------------------------------------------------------------------------------


async def test_wrong_fields_are_listed_and_values_never_echoed(lab: PackageHarness, me: Principal) -> None:
    outcome = await lab.call("lab::count", {"amount": "hunter2", "colour": "hunter2", "secret": 5}, by=me)
    assert code(outcome) == "INVALID_PARAMS"
    assert outcome.extra == {
        "fields": [
            {"path": "amount", "problem": "Input should be a valid integer"},
            {"path": "secret", "problem": "Input should be a valid string"},
            {"path": "colour", "problem": "is not a known field"},
        ]
    }
    assert "hunter2" not in str(outcome)


async def test_arguments_that_are_no_object_are_refused(lab: PackageHarness, me: Principal) -> None:
    run = lab.run(me)
    outcome = await lab.gate.call(
        Invocation("call_1", "lab_count", None, "[1,2", me, "model", run, session_id=run.session_id)
    )
    assert code(outcome) == "INVALID_PARAMS"


async def test_arguments_nested_without_end_are_refused(lab: PackageHarness, me: Principal) -> None:
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    assert code(await lab.call("lab::count", {"amount": deep}, by=me)) == "INVALID_PARAMS"
    assert code(await lab.call("lab::nothing", {"amount": deep}, by=me)) == "TOOL_NOT_FOUND"


async def test_the_host_is_asked_before_the_user_is(lab: PackageHarness, me: Principal) -> None:
    lab.authority.disabled.add("lab")
    assert code(await lab.ask("lab_wipe", {"amount": 1}, run=lab.run(me))) == "PACKAGE_DISABLED"
    assert not lab.confirmations.pending


async def test_every_call_is_audited_with_its_arguments_digest(lab: PackageHarness, me: Principal) -> None:
    await lab.ok("lab::count", {"amount": 1}, by=me)
    await lab.call("lab::nothing", {"amount": 1}, by=me)
    await lab.call("lab::count", {"amount": -1}, by=me)
    count, nothing, bad = lab.audit.entries
    assert (count.target, count.outcome, count.version) == ("lab::count", "succeeded", "0.3.0")
    assert (nothing.target, nothing.outcome, nothing.error_code) == (
        "lab::nothing",
        "denied",
        "TOOL_NOT_FOUND",
    )
    assert (bad.outcome, bad.error_code) == ("failed", "INVALID_PARAMS")
    assert count.arguments_digest == nothing.arguments_digest != bad.arguments_digest
    assert lab.audit.in_effect == [True, False, False]
