"""Strict mode names the fault that a real server would refuse."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.strict import find_fault
from tests.support.stub_model import StubModel

USER: dict[str, Any] = {"role": "user", "content": "hi"}


def asking(*ids: str, name: str = "add", arguments: Any = "{}") -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "{}"}


def request_of(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


def tool(name: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters or {"type": "object"}}}


@pytest.mark.parametrize(
    "request_body",
    [
        request_of(USER),
        request_of(
            {"role": "system", "content": "s"}, USER, asking("a", "b"), result("b"), result("a"), USER
        ),
        request_of(USER, {"role": "assistant", "content": "done"}, tools=[tool("add")], stream=True),
        request_of({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    ],
)
def test_sound_requests_pass(request_body: dict[str, Any]) -> None:
    assert find_fault(request_body) is None


@pytest.mark.parametrize(
    ("request_body", "said"),
    [
        (request_of(USER, asking("a")), "unpaired"),
        (request_of(USER, asking("a"), USER, result("a")), "unpaired"),
        (request_of(USER, asking("a", "b"), result("a"), USER), "unpaired"),
        (request_of(USER, result("a")), "orphan"),
        (request_of(USER, asking("a"), result("a"), result("a")), "orphan"),
        (request_of(USER, asking("a", "a"), result("a")), "two tool calls"),
        (request_of({"role": "bot", "content": "x"}), "unknown role"),
        (request_of(USER, asking("a", arguments={}), result("a")), "not a string"),
        (request_of(USER, asking("a", arguments=None), result("a")), "not a string"),
        (request_of(USER, asking("a", name="mistakes::add"), result("a")), "mistakes::add"),
        (request_of(USER, {"role": "assistant", "content": None}), "neither content nor tool calls"),
        (request_of(USER, {"role": "assistant", "content": "x", "tool_calls": []}), "empty"),
        (request_of(USER, tools=[tool("x" * 65)]), "xxx"),
        (request_of(USER, tools=[tool("a"), tool("a")]), "repeats"),
        (request_of(USER, tools=[tool("a", type="array")]), "type object"),
        (request_of(USER, tools=[]), "tools is not a list"),
        (request_of(USER, session="s"), "unknown field 'session'"),
        (request_of(), "messages"),
        ([], "not a JSON object"),
    ],
)
def test_fault_is_named(request_body: Any, said: str) -> None:
    fault = find_fault(request_body)
    assert fault is not None
    assert said in fault


async def test_stub_answers_400_and_keeps_the_fault_unless_lenient() -> None:
    body = request_of(USER, result("a"))
    for strict, status in ((True, 400), (False, 200)):
        async with StubModel(strict=strict) as stub, httpx.AsyncClient(trust_env=False) as http:
            answer = await http.post(f"{stub.base_url}/chat/completions", json=body)
            assert answer.status_code == status
            assert (stub.requests[0].fault is not None) is strict
            if strict:
                assert "orphan" in answer.json()["error"]["message"]
