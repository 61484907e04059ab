from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.cli.chat.app import Chat, run_chat
from app.cli.chat.client import AgentClient, ServerAbsent, ServerRefused, StreamLost
from app.cli.chat.screen import Screen
from app.cli.chat.words import CHINESE, ENGLISH, words


def event(seq: int, **fields: Any) -> str:
    return json.dumps({"v": 1, "seq": seq, "run_id": "run_1", "session_id": "ses_1", **fields}) + "\n"


TEXT = event(1, type="text", channel="answer", delta="Hello ")
MORE = event(2, type="text", channel="answer", delta="there\x1b[2J.")
DONE = event(3, type="done", status="completed")
Answer = Callable[[httpx.Request], httpx.Response]


class Cut(httpx.AsyncByteStream):
    """A body whose connection breaks after some lines."""

    def __init__(self, *lines: str) -> None:
        self._lines = lines

    async def __aiter__(self):  # type: ignore[no-untyped-def]
        for line in self._lines:
            yield line.encode()
        raise httpx.ReadError("cut")


def client(answer: Answer, tries: int = 3) -> AgentClient:
    return AgentClient(
        "http://test", "token", transport=httpx.MockTransport(answer), retry_delays_s=(0.0,) * tries
    )


def stream(*lines: str) -> httpx.Response:
    return httpx.Response(200, headers={"Deskmate-Run-Id": "run_1"}, text="".join(lines))


async def test_a_cut_stream_is_read_on_from_where_it_broke() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.raw_path.decode()}")
        if request.method == "POST":
            return httpx.Response(200, headers={"Deskmate-Run-Id": "run_1"}, stream=Cut(TEXT, "\n"))
        return stream(TEXT, MORE, DONE)

    seen = [one async for one in client(answer).say("ses_1", "hi")]
    assert asked == ["POST /api/v1/sessions/ses_1/runs", "GET /api/v1/runs/run_1/events?after=1"]
    assert [one["type"] for one in seen] == ["run", "text", "cut", "run", "text", "done"]
    assert [one["seq"] for one in seen if "seq" in one] == [1, 2, 3]


async def test_a_start_whose_answer_got_lost_is_sent_again_under_the_same_key() -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/healthz":
            return httpx.Response(200)
        keys.append(request.headers["idempotency-key"])
        if len(keys) == 1:
            raise httpx.ReadError("cut")
        return stream(TEXT, DONE)

    assert [one["type"] async for one in client(answer).say("ses_1", "hi")][-1] == "done"
    assert len(keys) == 2
    assert keys[0] == keys[1]


async def test_a_run_that_cannot_be_followed_is_given_up_by_name() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(200, headers={"Deskmate-Run-Id": "run_1"}, stream=Cut(TEXT))
        raise httpx.ConnectError("gone")

    with pytest.raises(StreamLost, match="run_1"):
        [one async for one in client(answer).say("ses_1", "hi")]


async def test_a_server_that_is_not_there_is_said_at_once() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(ServerAbsent):
        await client(answer).me()
    with pytest.raises(ServerAbsent):
        [one async for one in client(answer).say("ses_1", "hi")]


async def test_a_refusal_is_told_in_the_server_s_words() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(409, json={"detail": "The session is busy.", "code": "SESSION_BUSY"})

    with pytest.raises(ServerRefused, match=r"The session is busy\. \(SESSION_BUSY\)"):
        [one async for one in client(answer).say("ses_1", "hi")]


async def test_the_answer_goes_to_one_stream_and_everything_else_to_the_other() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/sessions":
            return httpx.Response(201, json={"id": "ses_1"})
        tool = {"type": "activity", "kind": "tool", "id": "c", "name": "a::b", "title": "Look"}
        return stream(
            event(1, **tool, status="started", detail={}),
            event(2, **tool, status="failed", detail={"error": {"message": "No such thing."}}),
            event(3, type="text", channel="reasoning", delta="hmm"),
            event(4, type="text", channel="answer", delta="Hello\x1b[2J"),
            event(5, type="done", status="completed"),
        )

    out, notes = io.StringIO(), io.StringIO()
    assert await Chat(client(answer), Screen(ENGLISH, out=out, notes=notes)).run("hi") == 0
    assert out.getvalue() == "Hello\ufffd[2J\n"
    assert "Look: No such thing." in notes.getvalue()
    assert "hmm" not in out.getvalue() + notes.getvalue()


async def test_a_failed_run_is_an_error_for_scripts() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/sessions":
            return httpx.Response(201, json={"id": "ses_1"})
        fault = {"code": "PROVIDER_ERROR", "message": "No key.", "retryable": False, "source": "provider"}
        return stream(event(1, type="error", **fault), event(2, type="done", status="failed"))

    out, notes = io.StringIO(), io.StringIO()
    assert await Chat(client(answer), Screen(ENGLISH, out=out, notes=notes)).run("hi") == 1
    assert "No key." in notes.getvalue()


def test_without_a_token_it_says_how_to_get_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_chat("hi", {"LANG": "en_GB.UTF-8"}) == 1
    assert "deskmate token create" in capsys.readouterr().err


def test_where_no_server_answers_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    environment = {"DESKMATE_TOKEN": "x", "DESKMATE_BASE_URL": "http://127.0.0.1:1/", "LANG": "zh_CN.UTF-8"}
    assert run_chat("hi", environment) == 1
    assert "http://127.0.0.1:1 没有 Deskmate 应答" in capsys.readouterr().err


def test_the_language_follows_the_first_variable_that_is_set() -> None:
    assert words({"LANG": "zh_CN.UTF-8"}) is CHINESE
    assert words({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}) is ENGLISH
    assert words({}) is ENGLISH
    assert ENGLISH.keys() == CHINESE.keys()
