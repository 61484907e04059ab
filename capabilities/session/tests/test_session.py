import pytest

from app.testkit import ALICE, BOB, PackageHarness, refuses_bad_arguments


@pytest.fixture(autouse=True)
def conversations(package: PackageHarness) -> None:
    package.sessions.put(ALICE.user_id, "ses_a1", "Fractions")
    package.sessions.put(ALICE.user_id, "ses_a2", "Fractions again")
    package.sessions.put(BOB.user_id, "ses_b1", "Poems")


async def test_lists_only_the_callers_conversations(package: PackageHarness) -> None:
    listed = await package.ok("session::list", {"query": "again"})
    assert [session["id"] for session in listed["sessions"]] == ["ses_a2"]
    assert await package.refused("session::switch", {"session": "ses_b1"}) == "NOT_FOUND"


async def test_renames_the_conversation_asked_for(package: PackageHarness) -> None:
    renamed = await package.ok("session::rename", {"session_id": "ses_a1", "title": "分数"})
    assert renamed["title"] == "分数"
    foreign = {"session_id": "ses_b1", "title": "mine"}
    assert await package.refused("session::rename", foreign) == "NOT_FOUND"


async def test_switching_is_a_request_that_leaves_a_fact_and_no_call(package: PackageHarness) -> None:
    asked = await package.ask("session_switch", {"session": "Fractions"}, run=package.run())
    assert asked.result == {"switch_to": "ses_a1", "title": "Fractions"}
    assert asked.control_fact == "The browser was asked to show conversation ses_a1; this turn stayed here."


async def test_an_unclear_name_lists_the_candidates(package: PackageHarness) -> None:
    asked = await package.call("session::switch", {"session": "fract"})
    assert asked.error is not None
    assert asked.error["code"] == "VERSION_CONFLICT"
    assert "ses_a1" in asked.error["message"]
    assert "ses_a2" in asked.error["message"]


async def test_bad_arguments_are_refused(package: PackageHarness) -> None:
    assert await refuses_bad_arguments(package, "session::rename", {"session_id": "ses_a1", "title": "x"}) > 5
