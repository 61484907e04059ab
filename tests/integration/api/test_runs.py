from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from tests.integration.api.conftest import Api, say, without_id


def events(content: bytes) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in content.split(b"\n") if line.strip()]


async def test_a_run_streams_its_committed_lines(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    answer = await api.call(me, "POST", f"/sessions/{session_id}/runs", say("use the tool"))
    assert answer.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store, no-transform"
    assert answer.headers["x-accel-buffering"] == "no"
    lines = events(answer.content)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert {line["run_id"] for line in lines} == {answer.headers["deskmate-run-id"]}
    assert [line["type"] for line in lines].count("done") == 1
    assert lines[-1]["type"] == "done"
    assert lines[-1]["status"] == "completed"
    again = await api.call(me, "GET", f"/runs/{lines[0]['run_id']}/events")
    assert events(again.content) == lines
    rest = await api.call(me, "GET", f"/runs/{lines[0]['run_id']}/events", params={"after": 3})
    assert events(rest.content) == lines[3:]
    past = await api.call(me, "GET", f"/runs/{lines[0]['run_id']}/events", params={"after": 10_000})
    assert (past.status_code, past.content) == (200, b"")


async def test_respond_async_answers_at_once(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    answer = await api.call(
        me, "POST", f"/sessions/{session_id}/runs", say("hi"), {"Prefer": "respond-async, wait=10"}
    )
    run_id = answer.json()["run_id"]
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/api/v1/runs/{run_id}"
    followed = await api.call(me, "GET", f"/runs/{run_id}/events")
    assert events(followed.content)[-1]["type"] == "done"
    run = (await api.call(me, "GET", f"/runs/{run_id}")).json()
    assert (run["id"], run["session_id"], run["status"], run["error"]) == (
        run_id,
        session_id,
        "completed",
        None,
    )
    assert run["usage"]["input_tokens"] == 3


async def test_a_second_run_is_told_that_the_session_is_busy(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    run_id = await api.start(me, session_id)
    answer = await api.call(me, "POST", f"/sessions/{session_id}/runs", say("hi"))
    assert (answer.status_code, answer.json()["code"]) == (409, "SESSION_BUSY")
    assert answer.json()["run_id"] == run_id
    assert (await api.call(me, "POST", f"/runs/{run_id}/cancel")).status_code == 202
    lines = events((await api.call(me, "GET", f"/runs/{run_id}/events")).content)
    assert (lines[-1]["type"], lines[-1]["status"]) == ("done", "cancelled")
    assert (await api.call(me, "POST", f"/runs/{run_id}/cancel")).status_code == 202
    await api.run(me, session_id)


async def test_cancelling_right_after_the_start_always_ends_the_run(api: Api) -> None:
    me = await api.someone()
    for delay in range(0, 20, 4):
        session_id = await api.session(me)
        run_id = await api.start(me, session_id)
        await asyncio.sleep(delay / 1000)
        assert (await api.call(me, "POST", f"/runs/{run_id}/cancel")).status_code == 202
        lines = events((await api.call(me, "GET", f"/runs/{run_id}/events")).content)
        assert lines[-1]["type"] == "done"


async def test_the_same_key_gives_the_same_run_from_its_first_line(api: Api) -> None:
    me = await api.someone()
    path = f"/sessions/{await api.session(me)}/runs"
    key = {"Idempotency-Key": "once"}
    first = await api.call(me, "POST", path, say("hi"), key)
    again = await api.call(me, "POST", path, say("hi"), key)
    assert again.headers["deskmate-run-id"] == first.headers["deskmate-run-id"]
    assert again.content == first.content
    other = await api.call(me, "POST", path, say("other"), key)
    assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_the_same_key_is_looked_at_before_busy(api: Api) -> None:
    me = await api.someone()
    path = f"/sessions/{await api.session(me)}/runs"
    key = {"Idempotency-Key": "once", "Prefer": "respond-async"}
    first = await api.call(me, "POST", path, say("wait"), key)
    again = await api.call(me, "POST", path, say("wait"), key)
    assert (again.status_code, again.json()) == (202, first.json())
    await api.call(me, "POST", f"/runs/{first.json()['run_id']}/cancel")


async def test_runs_are_listed(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    made = [await api.run(me, session_id) for _ in range(3)]
    page = (await api.call(me, "GET", f"/sessions/{session_id}/runs", params={"limit": 2})).json()
    assert [run["id"] for run in page["runs"]] == made[:0:-1]
    rest = await api.call(me, "GET", f"/sessions/{session_id}/runs", params={"cursor": page["next"]})
    assert [run["id"] for run in rest.json()["runs"]] == made[:1]
    assert rest.json()["next"] is None


async def test_a_foreign_run_looks_like_a_missing_one(api: Api) -> None:
    owner, other = await api.someone(), await api.someone()
    run_id = await api.start(owner, await api.session(owner))
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
        foreign = await api.call(other, method, f"/runs/{run_id}{path}", params={"user_id": owner.user_id})
        missing = await api.call(other, method, f"/runs/run_nothing{path}")
        assert foreign.status_code == missing.status_code == 404
        assert without_id(foreign) == without_id(missing)
    assert (await api.call(owner, "GET", f"/runs/{run_id}")).json()["status"] == "running"
    await api.call(owner, "POST", f"/runs/{run_id}/cancel")


@pytest.mark.parametrize("file_id", ["file_nothing", "../../etc/passwd"])
async def test_a_file_that_is_not_there_starts_no_run(api: Api, file_id: str) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    answer = await api.call(
        me, "POST", f"/sessions/{session_id}/runs", {"input": [{"type": "image", "file_id": file_id}]}
    )
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert (await api.call(me, "GET", f"/sessions/{session_id}/runs")).json()["runs"] == []


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "99999999999999999999"])
async def test_a_wrong_place_in_the_stream_is_refused(api: Api, after: str) -> None:
    me = await api.someone()
    run_id = await api.run(me, await api.session(me))
    answer = await api.call(me, "GET", f"/runs/{run_id}/events", params={"after": after})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "query.after")


async def test_an_archived_session_takes_no_run(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    await api.call(me, "PATCH", f"/sessions/{session_id}", {"archived": True})
    answer = await api.call(me, "POST", f"/sessions/{session_id}/runs", say("hi"))
    assert answer.status_code == 409
