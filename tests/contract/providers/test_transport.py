"""The provider over real sockets: what goes out, how faults are told apart, who hangs up when."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import aiohttp
import pytest

from app.errors import ProviderError
from app.protocol.conversation import Failed, ModelEvent, TextDelta, ToolSpec
from app.providers.http_provider import Endpoint, HttpProvider
from app.providers.openai_chat import ChatWire
from app.providers.transport import HttpTransport, fault_of_exception
from tests.contract.providers.chunks import DONE, MODEL, chunk, request, text, tool, tools
from tests.contract.providers.outcome import Outcome, outcome
from tests.contract.providers.servers import LAST_CHUNK, SSE_HEAD, http_chunk, plain, serve, stream_of

KEY = "sk-very-secret-0123"


@asynccontextmanager
async def provider_at(
    url: str, *, max_connections: int = 10, idle_timeout_s: float = 5.0
) -> AsyncGenerator[HttpProvider, None]:
    transport = HttpTransport(
        max_connections=max_connections, connect_timeout_s=2.0, idle_timeout_s=idle_timeout_s
    )
    provider = HttpProvider(Endpoint("p", url, KEY), transport, ChatWire())
    try:
        yield provider
    finally:
        await provider.aclose()
        await asyncio.sleep(0.01)  # let aiohttp's connections finish closing


async def run(provider: HttpProvider) -> Outcome:
    return outcome([batch async for batch in provider.stream(request())])


def stream(provider: HttpProvider) -> Any:
    return aclosing(cast("Any", provider.stream(request())))


async def fault_at(url: str, *, idle_timeout_s: float = 5.0) -> ProviderError:
    async with provider_at(url, idle_timeout_s=idle_timeout_s) as provider:
        got = await run(provider)
    assert got.error is not None
    return got.error


# --- what goes out ----------------------------------------------------------------------------


async def test_a_call_is_one_post_with_key_and_without_compression() -> None:
    async with (
        serve(stream_of(text("hi"), chunk(finish="stop"), DONE)) as server,
        provider_at(server.url) as provider,
    ):
        got = await run(provider)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert (got.text, got.stop) == ("hi", "end")
    assert lines[0] == b"post /v1/chat/completions http/1.1"
    assert b"authorization: bearer " + KEY.encode() in lines
    assert b"accept-encoding: identity" in lines
    assert b"content-type: application/json" in lines
    assert json.loads(body)["messages"] == [{"role": "user", "content": "hi"}]


async def test_the_environment_s_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with serve(stream_of(text("hi"), DONE)) as server, provider_at(server.url) as provider:
        assert (await run(provider)).text == "hi"


async def test_a_connection_is_used_again_and_carries_no_cookies() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        head = SSE_HEAD.replace(b"\r\n\r\n", b"\r\nset-cookie: session=someone\r\n\r\n")
        writer.write(head + http_chunk(text("hi")) + http_chunk(DONE))
        await writer.drain()
        await asyncio.sleep(0.02)  # the end of the body may come a little later than [DONE]
        writer.write(LAST_CHUNK)

    # By name, because aiohttp's own jar would ignore the cookies of a bare address.
    async with serve(answer) as server, provider_at(server.url.replace("127.0.0.1", "localhost")) as provider:
        for _ in range(3):
            assert (await run(provider)).text == "hi"
    assert server.connections == 1
    assert not any(b"cookie" in sent.lower() for sent in server.requests)


async def test_a_compressed_reply_is_read_all_the_same() -> None:
    packed = gzip.compress(text("hi") + DONE)
    async with (
        serve(
            plain("200 OK", packed, b"content-type: text/event-stream", b"content-encoding: gzip")
        ) as server,
        provider_at(server.url) as provider,
    ):
        assert (await run(provider)).text == "hi"


async def test_done_is_handed_out_though_the_server_leaves_the_body_open() -> None:
    async with serve(stream_of(text("hi"), DONE, end=False)) as server, provider_at(server.url) as provider:
        async with asyncio.timeout(2):
            assert (await run(provider)).stop == "end"


async def test_names_and_arguments_come_back_as_the_tool_knows_them() -> None:
    """Quirk rows 22 and 23, there and back."""
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["q"],
    }
    model = replace(MODEL, profile={"strict_tools": True})
    made = request(tools=[ToolSpec("web::search", "", schema)], model=model)
    entry = tool('{"q": "x", "n": null}', index=0, id="c1", name="web__search")
    async with serve(stream_of(tools(entry), DONE)) as server, provider_at(server.url) as provider:
        got = outcome([batch async for batch in provider.stream(made)])
    assert (
        json.loads(server.requests[0].partition(b"\r\n\r\n")[2])["tools"][0]["function"]["name"]
        == "web__search"
    )
    assert [(call.name, call.arguments) for call in got.calls] == [("web::search", {"q": "x"})]
    assert [fragment.name for fragment in got.fragments] == ["web::search"]


async def test_18_the_model_s_profile_decides_on_think_tags() -> None:
    made = request(model=replace(MODEL, profile={"think_tags": "tagged"}))
    async with (
        serve(stream_of(text("<think>why</think>hi"), DONE)) as server,
        provider_at(server.url) as provider,
    ):
        got = outcome([batch async for batch in provider.stream(made)])
    assert (got.text, got.reasoning) == ("hi", "why")


# --- refusals ---------------------------------------------------------------------------------


async def test_a_refusal_is_told_by_status_body_and_headers() -> None:
    answer = plain("429 Too Many Requests", b'{"error":{"message":"slow down"}}', b"Retry-After: 3")
    async with serve(answer) as server:
        error = await fault_at(server.url)
    assert (error.kind, error.retryable, error.retry_after_s) == ("rate_limit", True, 3.0)
    assert "slow down" in error.message


async def test_the_key_is_taken_out_of_what_a_server_repeats() -> None:
    async with serve(
        plain("401 Unauthorized", b'{"error":{"message":"bad key ' + KEY.encode() + b'"}}')
    ) as server:
        error = await fault_at(server.url)
    assert error.kind == "auth"
    assert KEY not in error.message
    async with serve(stream_of(b'data: {"error":{"message":"bad key ' + KEY.encode() + b'"}}\n\n')) as server:
        assert KEY not in (await fault_at(server.url)).message


async def test_the_key_is_in_no_repr() -> None:
    async with provider_at("http://127.0.0.1:9/v1") as provider:
        assert KEY not in repr(provider)
        assert KEY not in repr(Endpoint("p", "u", KEY))


async def test_a_web_page_is_a_wrong_address() -> None:
    async with serve(plain("200 OK", b"<html>", b"content-type: text/html; charset=utf-8")) as server:
        error = await fault_at(server.url)
    assert (error.kind, error.retryable) == ("invalid_request", False)
    assert "base_url" in error.message


# --- faults of the wire -----------------------------------------------------------------------


async def test_a_refused_port() -> None:
    error = await fault_at("http://127.0.0.1:1/v1")
    assert (error.kind, error.retryable) == ("connection", True)
    assert "reached" in error.message


async def test_a_name_that_does_not_resolve() -> None:
    error = await fault_at("http://no-such-host.invalid/v1")
    assert (error.kind, error.retryable) == ("connection", True)
    assert "resolved" in error.message


async def test_a_server_that_never_answers() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0)

    async with serve(answer) as server:
        error = await fault_at(server.url, idle_timeout_s=0.2)
    assert (error.kind, error.retryable) == ("timeout", True)
    assert "silent" in error.message


async def test_a_server_that_falls_silent_in_mid_reply_keeps_the_partial_text() -> None:
    async with (
        serve(stream_of(text("half"), end=False)) as server,
        provider_at(server.url, idle_timeout_s=0.2) as provider,
    ):
        got = await run(provider)
    assert got.text == "half"
    assert got.error is not None
    assert got.error.kind == "timeout"


async def test_43_comments_keep_a_stream_alive() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD)
        for _ in range(8):
            writer.write(http_chunk(b": still thinking\n\n"))
            await writer.drain()
            await asyncio.sleep(0.1)
        writer.write(http_chunk(text("hi") + DONE) + LAST_CHUNK)

    async with serve(answer) as server, provider_at(server.url, idle_timeout_s=0.4) as provider:
        assert (await run(provider)).text == "hi"


async def test_a_body_cut_in_the_middle() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + http_chunk(text("half")))
        writer.close()

    async with serve(answer) as server, provider_at(server.url) as provider:
        got = await run(provider)
    assert got.text == "half"
    assert got.error is not None
    assert (got.error.kind, got.error.retryable) == ("incomplete_stream", True)


async def test_a_body_cut_after_the_model_had_finished_is_whole() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + http_chunk(text("all") + chunk(finish="stop")))
        writer.close()

    async with serve(answer) as server, provider_at(server.url) as provider:
        got = await run(provider)
    assert (got.text, got.stop) == ("all", "end")


async def test_a_server_that_closes_before_its_head() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with serve(answer) as server:
        error = await fault_at(server.url)
    assert (error.kind, error.retryable) == ("connection", True)
    assert "without an answer" in error.message


async def test_a_server_that_speaks_no_http() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
        writer.close()

    async with serve(answer) as server:
        error = await fault_at(server.url)
    assert error.kind == "server"


async def test_a_pool_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.providers.transport.POOL_TIMEOUT_S", 0.2)
    async with (
        serve(stream_of(text("half"), end=False)) as server,
        provider_at(server.url, max_connections=1) as provider,
        stream(provider) as first,
    ):
        assert await anext(first) == [TextDelta("half")]
        got = await run(provider)
    assert got.error is not None
    assert (got.error.kind, got.error.retryable) == ("timeout", True)
    assert "connection" in got.error.message.lower()


def test_each_exception_of_the_transport_is_known() -> None:
    """No aiohttp exception falls through to the catch-all but those that say no more than it."""
    default = fault_of_exception(aiohttp.ClientError()).message
    plain_classes = {
        "ClientError",
        "ClientConnectionError",
        "ClientOSError",
        "ServerConnectionError",
        "ClientConnectionResetError",
        "UploadAbortedError",
    }
    todo: list[type[BaseException]] = [aiohttp.ClientError]
    seen: set[str] = set()
    while todo:
        kind = todo.pop()
        todo.extend(kind.__subclasses__())
        if kind.__module__ == "aiohttp.client_exceptions" and kind.__name__ not in plain_classes:
            error = fault_of_exception(kind.__new__(kind))
            assert error.message != default, kind
            seen.add(kind.__name__)
    assert {"ClientConnectorDNSError", "ServerDisconnectedError", "ClientPayloadError"} <= seen
    assert not fault_of_exception(ssl.SSLCertVerificationError()).retryable


# --- hanging up (O14) -------------------------------------------------------------------------


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(SSE_HEAD + http_chunk(text("first")))
    await writer.drain()


async def test_closing_the_iterator_closes_the_socket_at_once() -> None:
    async with serve(endless) as server, provider_at(server.url) as provider:
        async with stream(provider) as batches:
            assert await anext(batches) == [TextDelta("first")]
        async with asyncio.timeout(1):
            await server.hung_up.wait()


@pytest.mark.parametrize("silent", [False, True], ids=["in mid-reply", "before the answer"])
async def test_cancelling_the_task_closes_the_socket_at_once(silent: bool) -> None:
    got: list[ModelEvent] = []

    async def silence(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0)

    async with serve(silence if silent else endless) as server, provider_at(server.url) as provider:

        async def consume() -> None:
            async for batch in provider.stream(request()):
                got.extend(batch)

        task = asyncio.create_task(consume())
        await server.asked.wait()
        await asyncio.sleep(0.05)
        assert bool(got) is not silent
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(1):
            await server.hung_up.wait()
    assert not any(isinstance(event, Failed) for event in got)
