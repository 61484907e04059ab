"""The head of a request has an end, in bytes and in time, on a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.api import http
from app.api.http import LimitedHttp


async def _echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


async def _slow(_request: Request) -> PlainTextResponse:
    await asyncio.sleep(0.5)
    return PlainTextResponse("late")


@pytest.fixture
async def port() -> AsyncIterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    app = Starlette(routes=[Route("/", _echo, methods=["GET", "POST"]), Route("/slow", _slow)])
    server = uvicorn.Server(uvicorn.Config(app, http=LimitedHttp, lifespan="off", log_level="warning"))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    yield listener.getsockname()[1]
    server.should_exit = True
    await task
    listener.close()


async def _answer(port: int, *pieces: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        async with asyncio.timeout(5):
            return await reader.read(1000)
    finally:
        writer.close()


async def test_a_header_that_never_ends_is_refused(port: int) -> None:
    pieces = [b"GET / HTTP/1.1\r\nX: ", *[b"a" * 4096] * 17]
    assert (await _answer(port, *pieces)).startswith(b"HTTP/1.1 431 ")


async def test_a_head_that_comes_too_slowly_is_cut(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.1)
    assert (await _answer(port, b"GET / HTTP/1.1\r\nX: a")).startswith(b"HTTP/1.1 408 ")


async def test_a_slow_second_head_does_not_break_into_the_first_answer(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.1)
    first = b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n"
    assert await _answer(port, first + b"GET / HTTP/1.1\r\nX: a") == b""


@pytest.mark.parametrize("nonsense", [b"\x16\x03\x01\x02", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"])
async def test_what_is_no_http_gets_problem_details(port: int, nonsense: bytes) -> None:
    answer = await _answer(port, nonsense)
    assert answer.startswith(b"HTTP/1.1 400 ")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["code"] == "MALFORMED_REQUEST"


async def test_the_rest_of_a_refused_body_is_not_waited_for_for_ever(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "REST_SECONDS", 0.1)
    head = b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 300\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head)
    async with asyncio.timeout(5):
        assert (await reader.read()).startswith(b"HTTP/1.1 405 ")  # to the end: the server has closed
    writer.close()


async def test_a_large_body_is_no_large_head(port: int) -> None:
    body = b"b" * 300_000
    head = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 300000\r\n\r\n"
    assert b"300000" in await _answer(port, head + body)
