"""The whole way of a message on real processes: token → session → run → domain → tool → record → readers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import orjson

from tests.support.client import answer_text
from tests.support.processes import Installation
from tests.support.replies import Reply, Say, call, say
from tests.support.stub_model import StubModel

MISTAKE = '{"question": "3/4 + 1/8 = ?", "answer": "4/12", "subject": "math"}'


def gapless(events: list[dict[str, Any]]) -> bool:
    return [e["seq"] for e in events] == list(range(1, len(events) + 1))


async def test_a_mistake_is_filed_and_every_reader_sees_the_same(
    installation: Installation, stub: StubModel
) -> None:
    words = [f"w{n} " for n in range(1, 61)]
    stub.add(
        call("catalog_load_domain", '{"name": "mistakes"}'),
        call("mistakes_add", MISTAKE),
        Reply(steps=(Say(deltas=tuple(words), gap_ms=10),)),
    )
    async with (
        installation.serve() as server,
        await installation.new_client(server, "ada@example.org") as ada,
    ):
        me = await ada.json("GET", "/me")
        assert me["email"] == "ada@example.org"
        session = await ada.create_session()

        # the first reader goes away in mid-answer
        async with ada.run(session, "I got 3/4 + 1/8 wrong, please note it") as stream:
            run_id = stream.run_id
            async for event in stream.events():
                if event["type"] == "text" and "w10 " in event["delta"]:
                    break
            first = list(stream.seen)
        # and comes back with the sequence it has
        rest = await ada.events_after(run_id, after=first[-1]["seq"])
        whole = first + rest
        assert gapless(whole)
        assert answer_text(whole) == "".join(words)
        assert whole[-1]["type"] == "done"
        assert whole[-1]["status"] == "completed"

        # a second reader gets the same bytes
        raw = await ada.call("GET", f"/runs/{run_id}/events")
        again = [line for line in raw.content.split(b"\n") if line]
        assert [orjson.loads(line) for line in again] == whole

        # tools: started, then succeeded, under their own names
        tools = [(e["name"], e["status"]) for e in whole if e["type"] == "activity"]
        assert ("mistakes::add", "started") in tools
        assert ("mistakes::add", "succeeded") in tools
        assert tools.index(("mistakes::add", "started")) < tools.index(("mistakes::add", "succeeded"))

        # the items agree with the events
        items = await ada.all_items(session)
        assert [i["type"] for i in items] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
        assert items[-1]["parts"][-1]["text"] == "".join(words)
        added = next(i["call"] for i in items if i["type"] == "tool" and i["call"]["name"] == "mistakes::add")
        assert added["error"] is None

        # and so does the service: the mistake is there, once
        found = await ada.invoke("mistakes::search", {})
        assert found.status_code == 200, found.text
        assert orjson.dumps(found.json()).count(b"3/4 + 1/8") == 1

        # export holds it all
        export = await ada.call("GET", f"/sessions/{session}/export")
        lines = [orjson.loads(x) for x in export.content.split(b"\n") if x]
        assert lines[0]["type"] == "session"
        assert len(lines) == 1 + len(items)


async def test_before_loading_the_model_sees_only_the_loaders_and_afterwards_the_tools(
    installation: Installation, stub: StubModel
) -> None:
    stub.add(call("catalog_load_domain", '{"name": "mistakes"}'), say("Loaded."), say("Still there."))
    async with installation.serve() as server, await installation.new_client(server, "b@example.org") as ben:
        session = await ben.create_session()
        await ben.ask(session, "hello")
        await ben.ask(session, "and now?")
    names = [[t["function"]["name"] for t in r.body["tools"]] for r in stub.requests]
    assert names[0] == sorted(names[0])
    assert set(names[0]) == {"catalog_load_domain", "catalog_load_skill"}
    assert "mistakes_add" in names[1]
    assert "mistakes_remove" not in names[1]  # the user's alone
    assert "mistakes_add" in names[2]  # a loaded domain stays loaded in its session


async def test_a_user_only_entry_is_refused_when_the_model_calls_it_all_the_same(
    installation: Installation, stub: StubModel
) -> None:
    stub.add(
        call("catalog_load_domain", '{"name": "mistakes"}'),
        call("mistakes_remove", '{"id": "anything"}'),
        say("I may not."),
    )
    async with (
        installation.serve() as server,
        await installation.new_client(server, "c@example.org") as client,
    ):
        session = await client.create_session()
        events = await client.ask(session, "remove it")
    refused = [e for e in events if e["type"] == "activity" and e["status"] == "failed"]
    assert [e["detail"]["error"]["code"] for e in refused] == ["TOOL_FORBIDDEN"]


async def test_the_same_capability_answers_the_same_to_model_and_api(
    installation: Installation, stub: StubModel
) -> None:
    stub.add(
        call("catalog_load_domain", '{"name": "mistakes"}'), call("mistakes_search", "{}"), say("There.")
    )
    async with (
        installation.serve() as server,
        await installation.new_client(server, "d@example.org") as client,
    ):
        added = await client.invoke("mistakes::add", json.loads(MISTAKE))
        assert added.status_code == 200, added.text
        session = await client.create_session()
        events = await client.ask(session, "what did I get wrong?")
        by_model = [
            e["detail"]["result"]
            for e in events
            if e["type"] == "activity" and e["name"] == "mistakes::search" and e["status"] == "succeeded"
        ]
        by_api = (await client.invoke("mistakes::search", {})).json()["result"]
    assert by_model == [by_api]


async def test_reload_during_a_stream_shows_each_word_once(
    installation: Installation, stub: StubModel
) -> None:
    """O1: 400 numbered words, the client gone at 150; history and re-attaching give 1..400 once."""
    words = tuple(f"<{n}>" for n in range(1, 401))
    stub.add(Reply(steps=(Say(deltas=words, gap_ms=3),)))
    async with (
        installation.serve() as server,
        await installation.new_client(server, "e@example.org") as client,
    ):
        session = await client.create_session(title="Numbers")
        async with client.run(session, "count") as stream:
            run_id = stream.run_id
            async for event in stream.events():
                if event["type"] == "text" and "<150>" in event["delta"]:
                    break
        page = await client.items(session)
        assert page["live_run"]["run_id"] == run_id
        shown = "".join(p["text"] for i in page["items"] if i["type"] == "assistant" for p in i["parts"])
        rest = await client.events_after(run_id, after=page["live_run"]["after"])
        assert shown + answer_text(rest) == "".join(words)
        assert (await client.json("GET", f"/sessions/{session}"))["title"] == "Numbers"


async def test_a_reader_that_slept_through_the_end_gets_the_tail_and_one_done_at_once(
    installation: Installation, stub: StubModel
) -> None:
    """O2."""
    stub.add(Reply(steps=(Say(deltas=("a ", "b ", "c "), gap_ms=80),)))
    async with (
        installation.serve() as server,
        await installation.new_client(server, "f@example.org") as client,
    ):
        session = await client.create_session()
        async with client.run(session, "go") as stream:
            run_id = stream.run_id
            await stream.read_until(type="text")
            cursor = stream.last_seq
        await client.wait_for_end(run_id)
        async with asyncio.timeout(1):
            tail = await client.events_after(run_id, after=cursor)
        assert [e["type"] for e in tail].count("done") == 1
        assert tail[-1]["type"] == "done"
        assert await client.events_after(run_id, after=tail[-1]["seq"]) == []
        assert await client.events_after(run_id, after=tail[-1]["seq"] + 100) == []


async def test_leaving_before_the_first_token_loses_nothing(
    installation: Installation, stub: StubModel
) -> None:
    """O3 and the first half of O4: the run belongs to nobody's connection."""
    stub.add(Reply(steps=(Say(deltas=("the answer",)),), wait_before_headers=0.3))
    async with (
        installation.serve() as server,
        await installation.new_client(server, "g@example.org") as client,
    ):
        session = await client.create_session()
        async with client.run(session, "q") as stream:
            run_id = stream.run_id
        run = await client.wait_for_end(run_id)
        assert run["status"] == "completed"
        items = await client.all_items(session)
        assert items[-1]["parts"][-1]["text"] == "the answer"


async def test_two_starts_at_once_give_one_run_and_one_busy(
    installation: Installation, stub: StubModel
) -> None:
    stub.add(Reply(steps=(Say(deltas=("x",) * 20, gap_ms=30),)))
    async with (
        installation.serve() as server,
        await installation.new_client(server, "h@example.org") as client,
    ):
        session = await client.create_session()
        body = {"input": [{"type": "text", "text": "go"}]}
        answers = await asyncio.gather(
            *(
                client.call("POST", f"/sessions/{session}/runs", body, headers={"prefer": "respond-async"})
                for _ in range(4)
            )
        )
        assert sorted(a.status_code for a in answers) == [202, 409, 409, 409]
        busy = next(a for a in answers if a.status_code == 409)
        assert busy.json()["code"] == "SESSION_BUSY"


async def test_the_same_key_gives_the_same_run_from_its_first_line(
    installation: Installation, stub: StubModel
) -> None:
    stub.add(say("once"))
    async with (
        installation.serve() as server,
        await installation.new_client(server, "i@example.org") as client,
    ):
        session = await client.create_session()
        key = {"idempotency-key": "turn-1"}
        async with client.run(session, "hi", headers=key) as stream:
            first = await stream.read_all()
        async with client.run(session, "hi", headers=key) as stream:
            second = await stream.read_all()
        assert first == second
        other = await client.call(
            "POST", f"/sessions/{session}/runs", {"input": [{"type": "text", "text": "no"}]}, headers=key
        )
        assert other.status_code == 422
        assert other.json()["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert len(stub.requests) == 1


async def test_sessions_and_users_do_not_see_each_other(installation: Installation, stub: StubModel) -> None:
    async with installation.serve() as server:
        a = await installation.new_client(server, "a1@example.org")
        b = await installation.new_client(server, "b1@example.org")
        async with a, b:
            session = await a.create_session(title="private")
            run_id = (await a.ask(session, "hi"))[0]["run_id"]
            for path in (f"/sessions/{session}", f"/sessions/{session}/items", f"/runs/{run_id}",
                         f"/runs/{run_id}/events", f"/sessions/{session}/export"):  # fmt: skip
                answer = await b.call("GET", path)
                assert answer.status_code == 404, path
            assert (await b.json("GET", "/sessions"))["sessions"] == []


async def test_keep_alive_lines_hold_an_idle_proxy_open(installation: Installation, stub: StubModel) -> None:
    """O13: silence longer than a proxy's patience; blank lines come and the stream is whole."""
    stub.add(Reply(steps=(Say(deltas=("late",)),), wait_before_headers=2.5))
    extra = {"DESKMATE_KEEPALIVE_SECONDS": "0.5"}
    async with (
        installation.serve(extra=extra) as server,
        await installation.new_client(server, "j@example.org") as client,
    ):
        session = await client.create_session()
        async with client.run(session, "q") as stream:
            await stream.read_all()
            assert stream.keepalives >= 2
            assert answer_text(stream.seen) == "late"
