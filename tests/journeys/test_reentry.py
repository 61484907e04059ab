"""What ended elsewhere comes back into its session: once, in order, when the session is free (J4)."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

from app.host.bus import LocalBus
from app.host.reentry import Inbox
from app.protocol.ids import new_id
from tests.long.service import ON_MODULE_LOOP, Person, Service, service, service_fixture
from tests.support.client import AgentClient, answer_text
from tests.support.replies import Reply, Say, say

__all__ = ["running", "service"]

pytestmark = ON_MODULE_LOOP
running = service_fixture(DESKMATE_SWEEP_SECONDS="0.5")


def body(word: str, id: str) -> dict[str, Any]:
    return {
        "text": f"The job lab::{word} completed.",
        "facts": {"status": "completed"},
        "call": None,
        "activity": {
            "kind": "job",
            "id": id,
            "name": f"lab::{word}",
            "title": word,
            "status": "succeeded",
            "detail": {"job_id": id},
        },
    }


async def put(service: Service, person: Person, session: str, word: str, id: str = "") -> str:
    """A row as somebody in another process would leave it; no wake-up reaches the server."""
    id = id or new_id("job")
    inbox = Inbox(bus=LocalBus(), clock=lambda: datetime.now(UTC))
    async with service.store.tenant_write(person.user_id) as unit:
        await inbox.put(
            unit,
            owner_id=person.user_id,
            session_id=session,
            source="job",
            source_id=id,
            body=body(word, id),
        )
    return id


async def runs_of(client: AgentClient, session: str, count: int, timeout: float = 12) -> list[dict[str, Any]]:
    """The session's runs, oldest first, once there are `count` and all have ended."""
    async with asyncio.timeout(timeout):
        while True:
            runs = (await client.json("GET", f"/sessions/{session}/runs"))["runs"][::-1]
            if len(runs) >= count and all(run["ended_at"] for run in runs):
                return runs
            await asyncio.sleep(0.05)


async def test_what_ended_comes_back_as_a_note_that_the_model_answers(service: Service) -> None:
    person = await service.person()
    client = person.client
    session = await client.create_session()
    service.script(say("Your export is there."))
    id = await put(service, person, session, "export")

    (run,) = await runs_of(client, session, 1)
    assert run["status"] == "completed"
    events = await client.events_after(run["id"])
    assert {key: events[0][key] for key in ("type", "kind", "id", "name", "status")} == {
        "type": "activity",
        "kind": "job",
        "id": id,
        "name": "lab::export",
        "status": "succeeded",
    }
    assert answer_text(events) == "Your export is there."
    note, answer = await client.all_items(session)
    assert note["type"] == "note"
    assert note["facts"] == {"status": "completed", "source": "job", "source_id": id}
    assert answer["type"] == "assistant"
    asked = service.stub.requests[-1]
    assert asked.fault is None
    assert "<note>The job lab::export completed.</note>" in str(asked.body["messages"][-1])
    found = await client.json("GET", f"/sessions/{session}")
    assert found["message_count"] == 1, "a note is no message"


async def test_the_same_end_told_twice_comes_back_once(service: Service) -> None:
    person = await service.person()
    session = await person.client.create_session()
    service.script(say("Seen."), say("Again?"))
    id = await put(service, person, session, "export")
    await put(service, person, session, "export", id)
    await runs_of(person.client, session, 1)
    await put(service, person, session, "export", id)
    await asyncio.sleep(2.5)
    assert len(await runs_of(person.client, session, 1)) == 1


async def test_a_busy_session_is_waited_for_and_ends_come_in_order(service: Service) -> None:
    person = await service.person()
    client = person.client
    session = await client.create_session()
    slow = Reply(steps=(Say(deltas=tuple("slowly"), gap_ms=500),), contains="begin")
    service.script(slow, say("about one"), say("about two"))
    run_id = await client.start_run(session, "begin")
    await put(service, person, session, "one")
    await put(service, person, session, "two")
    await client.wait_for_end(run_id)
    ended = time.monotonic()
    runs = await runs_of(client, session, 3)
    assert time.monotonic() - ended < 1.9, "the end of the run wakes the inbox, not the next look"
    assert runs[0]["id"] == run_id
    assert runs[0]["ended_at"] <= runs[1]["started_at"]
    names = [(await client.events_after(run["id"]))[0]["name"] for run in runs[1:]]
    assert names == ["lab::one", "lab::two"]


async def test_rights_that_were_lost_meanwhile_keep_an_end_out(service: Service) -> None:
    person = await service.person()
    session = await person.client.create_session()
    facts = f'{{"kind":"api","scopes":["*"],"token_id":"{person.token_id}","app_id":null}}'
    id = new_id("job")
    await service.execute(
        "INSERT INTO jobs (id, owner_id, session_id, name, package, package_version, title, input, principal,"
        " status, attempt, max_attempts, cancel_requested, run_at, created_at)"
        " VALUES (:id, :owner, :session, 'mistakes::export', 'mistakes', '1', 'Export', '{}', :facts,"
        " 'completed', 1, 3, :no, 0, 0)",
        id=id,
        owner=person.user_id,
        session=session,
        facts=facts,
        no=False,
    )
    other = await service.identity.create_token(
        (await service.rows("SELECT email FROM users WHERE id = :id", id=person.user_id))[0][0], ["*"]
    )
    await service.identity.revoke_token(person.user_id, person.token_id)
    await put(service, person, session, "export", id)
    async with asyncio.timeout(10):
        while not await service.rows(  # noqa: ASYNC110 - another process writes it
            "SELECT 1 FROM inbox WHERE source_id = :id AND consumed_at IS NOT NULL", id=id
        ):
            await asyncio.sleep(0.1)
    async with AgentClient(service.server.base_url, other[0]) as client:
        assert (await client.json("GET", f"/sessions/{session}/runs"))["runs"] == []
    said = await service.rows("SELECT error_code FROM audit WHERE action = 'session.reenter'")
    assert [row[0] for row in said] == ["IDENTITY_LOST"]


async def test_a_deleted_session_takes_its_inbox_along(service: Service) -> None:
    person = await service.person()
    session = await person.client.create_session()
    hang = Reply(steps=(Say(deltas=("a",) * 100, gap_ms=100),))
    service.script(hang)
    await person.client.start_run(session, "begin")
    await put(service, person, session, "export")
    await person.client.json("DELETE", f"/sessions/{session}")
    assert await service.rows("SELECT 1 FROM inbox WHERE session_id = :id", id=session) == []
