"""The stub keeps its word: each kind of reply on the wire, and what it records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support import replies
from tests.support.replies import AskTools, Call, Reply, ReportUsage, Say, SendRaw
from tests.support.stub_model import StubModel


@pytest.fixture
async def stub() -> AsyncIterator[StubModel]:
    async with StubModel() as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=5, trust_env=False) as client:
        yield client


def request_for(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}], **more}


async def read_chunks(http: httpx.AsyncClient, stub: StubModel, body: dict[str, Any]) -> list[dict[str, Any]]:
    """All chunks of one answer; the stream must end with [DONE]."""
    answer = await http.post(f"{stub.base_url}/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    *events, last = [line[6:] for line in answer.text.split("\n\n") if line]
    assert last == "[DONE]"
    return [json.loads(event) for event in events]


def joined(chunks: list[dict[str, Any]], member: str = "content") -> str:
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return "".join(delta.get(member) or "" for delta in deltas)


def fragments(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return [entry for delta in deltas for entry in delta.get("tool_calls", ())]


async def test_script_is_consumed_in_order_and_then_the_fallback_answers(
    stub: StubModel, http: httpx.AsyncClient
) -> None:
    stub.add(replies.say("one ", "two"), replies.say("three"))
    assert joined(await read_chunks(http, stub, request_for())) == "one two"
    assert joined(await read_chunks(http, stub, request_for())) == "three"
    assert joined(await read_chunks(http, stub, request_for())) == "Okay."
    assert stub.counters["unscripted"] == 1
    assert [record.body["messages"][0]["content"] for record in stub.requests] == ["hi"] * 3


async def test_reply_waits_for_the_request_that_it_matches(stub: StubModel, http: httpx.AsyncClient) -> None:
    stub.add(Reply(steps=(Say(deltas=("B",)),), contains="from B", times=2), replies.say("A"))
    assert joined(await read_chunks(http, stub, request_for("from A"))) == "A"
    assert joined(await read_chunks(http, stub, request_for("from B"))) == "B"
    assert joined(await read_chunks(http, stub, request_for("from B"))) == "B"
    assert stub.script == []


async def test_reasoning_usage_and_finish_reason_come_in_their_members(
    stub: StubModel, http: httpx.AsyncClient
) -> None:
    steps = (
        Say(deltas=("hm",), member="reasoning_content"),
        Say(deltas=("yes",)),
        ReportUsage(input=7, cached=3),
    )
    stub.add(Reply(steps=steps))
    chunks = await read_chunks(http, stub, request_for())
    assert joined(chunks, "reasoning_content") == "hm"
    assert joined(chunks) == "yes"
    usage = next(chunk["usage"] for chunk in chunks if "usage" in chunk)
    assert usage["prompt_tokens"] == 7
    assert usage["prompt_tokens_details"] == {"cached_tokens": 3}
    assert [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]][-1] == "stop"


async def test_usage_chunk_comes_unasked_only_where_the_request_wants_it(
    stub: StubModel, http: httpx.AsyncClient
) -> None:
    plain = await read_chunks(http, stub, request_for())
    asked = await read_chunks(http, stub, request_for(stream_options={"include_usage": True}))
    assert not any("usage" in chunk for chunk in plain)
    assert asked[-1]["choices"] == []
    assert asked[-1]["usage"]["total_tokens"] == 15


async def test_interleaved_tool_calls_join_again_by_index(stub: StubModel, http: httpx.AsyncClient) -> None:
    asked = (Call(name="a", arguments='{"x":"12345"}'), Call(name="b", arguments='{"y":2}', id="call_b"))
    stub.add(replies.calls(*asked, fragments=3, interleaved=True))
    entries = fragments(await read_chunks(http, stub, request_for()))
    assert [entry["index"] for entry in entries] == [0, 1, 0, 1, 0, 1, 0, 1]
    text = ["".join(e["function"]["arguments"] for e in entries if e["index"] == at) for at in (0, 1)]
    assert text == ['{"x":"12345"}', '{"y":2}']
    assert entries[1]["id"] == "call_b"


@pytest.mark.parametrize("raw", ["", None, "  ", "[1]", '{"a":', '{"a":1}{"b":2}'])
async def test_arguments_go_out_as_they_are(
    stub: StubModel, http: httpx.AsyncClient, raw: str | None
) -> None:
    stub.add(Reply(steps=(AskTools(calls=(Call(name="a", arguments=raw),), fragments=0),)))
    (entry,) = fragments(await read_chunks(http, stub, request_for()))
    assert entry["function"]["arguments"] == raw


async def test_refusal_has_status_headers_and_openai_body(stub: StubModel, http: httpx.AsyncClient) -> None:
    stub.add(replies.refuse(429, "slow down", code="rate_limit_exceeded", headers={"retry-after": "3"}))
    answer = await http.post(f"{stub.base_url}/chat/completions", json=request_for())
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3")
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"


async def test_error_in_midstream_follows_the_text(stub: StubModel, http: httpx.AsyncClient) -> None:
    stub.add(replies.fail_midway("half", message="boom"))
    answer = await http.post(f"{stub.base_url}/chat/completions", json=request_for())
    assert '"content":"half"' in answer.text
    assert '"message":"boom"' in answer.text
    assert "[DONE]" not in answer.text


@pytest.mark.parametrize("reset", [True, False])
async def test_cut_breaks_the_body(stub: StubModel, http: httpx.AsyncClient, reset: bool) -> None:
    stub.add(replies.cut("half", reset=reset))
    with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
        await http.post(f"{stub.base_url}/chat/completions", json=request_for())
    record = stub.requests[0]
    await stub.wait_until_closed(record)


async def test_bytewise_sends_one_byte_a_chunk(stub: StubModel) -> None:
    stub.add(Reply(steps=(Say(deltas=("é!",)), SendRaw(text=": ping\n\n")), bytewise=True))
    body = json.dumps(request_for()).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", stub.port)
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )
    raw = await reader.readuntil(b"\r\n0\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    sizes = raw.split(b"\r\n\r\n", 1)[1].split(b"\r\n")[0::2]
    assert set(sizes[:-2]) == {b"1"}


@pytest.mark.parametrize(
    "reply",
    [replies.hang_before_headers(), replies.hang(), replies.hang("some")],
    ids=["headers", "first", "mid"],
)
async def test_hang_ends_when_the_client_goes_and_the_close_is_on_record(
    stub: StubModel, http: httpx.AsyncClient, reply: Reply
) -> None:
    stub.add(reply)
    call = asyncio.create_task(http.post(f"{stub.base_url}/chat/completions", json=request_for()))
    (record,) = await stub.wait_for_requests(1)
    assert record.closed_at is None
    call.cancel()
    closed_at = await stub.wait_until_closed(record, timeout=1)
    assert closed_at >= record.received_at
    assert record.abandoned


async def test_kept_alive_connection_serves_the_next_request(
    stub: StubModel, http: httpx.AsyncClient
) -> None:
    for _ in range(3):
        await read_chunks(http, stub, request_for())
    assert stub.open_connections == 1
    assert not any(record.abandoned for record in stub.requests)


async def test_answer_without_stream_is_one_object(stub: StubModel, http: httpx.AsyncClient) -> None:
    stub.add(replies.say("a", "b"), replies.call("t", '{"k":1}'))
    plain = {**request_for(), "stream": False}
    first = (await http.post(f"{stub.base_url}/chat/completions", json=plain)).json()
    second = (await http.post(f"{stub.base_url}/chat/completions", json=plain)).json()
    assert first["choices"][0]["message"]["content"] == "ab"
    assert second["choices"][0]["finish_reason"] == "tool_calls"
    assert second["choices"][0]["message"]["tool_calls"][0]["function"] == {
        "name": "t",
        "arguments": '{"k":1}',
    }


async def test_orders_in_the_user_text_give_load_tool_and_text(
    stub: StubModel, http: httpx.AsyncClient
) -> None:
    body = request_for('bench deltas=3 tool=mistakes_add after_load=mistakes args={"q": "a b"}')
    names: list[str] = []
    arguments = ""
    for _ in range(2):
        (head, *rest) = fragments(await read_chunks(http, stub, body))
        names.append(head["function"]["name"])
        arguments = "".join(entry["function"]["arguments"] for entry in rest)
        call = {"id": head["id"], "type": "function", "function": {"name": names[-1], "arguments": arguments}}
        body["messages"] += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": head["id"], "content": "{}"},
        ]
    assert names == ["catalog_load_domain", "mistakes_add"]
    assert arguments == '{"q": "a b"}'
    assert joined(await read_chunks(http, stub, body)) == " word~0 word~1 word~2"


async def test_order_for_letters_sends_single_characters(stub: StubModel, http: httpx.AsyncClient) -> None:
    chunks = await read_chunks(http, stub, request_for("please\nbench deltas=4 letters=1 gap_ms=1"))
    assert joined(chunks) == "~~~~"


async def test_records_and_script_are_open_over_http(stub: StubModel, http: httpx.AsyncClient) -> None:
    root = f"http://127.0.0.1:{stub.port}"
    await http.post(f"{root}/__script", content=b'[{"steps": [{"do": "say", "deltas": ["scripted"]}]}]')
    assert joined(await read_chunks(http, stub, request_for())) == "scripted"
    report = (await http.get(f"{root}/__requests")).json()
    assert report["counters"] == {"requests": 1, "streamed": 1}
    assert report["requests"][0]["body"]["model"] == "m"
    assert not report["requests"][0]["abandoned"]
