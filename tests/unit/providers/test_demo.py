"""The demo model: honest, uses a real tool, never loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from app.protocol.conversation import (
    AssistantMessage,
    Message,
    ModelRequest,
    TextPart,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from app.providers.demo import DEMO_MODEL, DemoProvider
from tests.contract.providers.outcome import Outcome, outcome

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
LOADER = ToolSpec("catalog_load_domain", "", EMPTY)
HELLO = ToolSpec("demo_hello", "", EMPTY)
ADD = ToolSpec(
    "mistakes_add",
    "",
    {
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1},
            "answer": {"type": "string"},
            "subject": {"anyOf": [{"$ref": "#/$defs/Subject"}, {"type": "null"}]},
            "level": {"type": "integer", "minimum": 1},
            "tags": {"type": "array"},
            "note": {"type": "string"},
        },
        "required": ["question", "answer", "subject", "level", "tags"],
        "$defs": {"Subject": {"enum": ["math", "physics"]}},
    },
)


async def step(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Outcome:
    async def sleep(seconds: float) -> None:
        return

    request = ModelRequest(model=DEMO_MODEL, system="", messages=messages, tools=tools)
    return outcome([batch async for batch in DemoProvider(sleep=sleep).stream(request)])


async def turn(
    text: str, before: Sequence[Message] = (), *, domain: Sequence[ToolSpec], ok: bool = True
) -> list[Outcome]:
    """Plays a turn as the loop would: each call gets a result, loading makes the domain's tools visible."""
    messages: list[Message] = [*before, UserMessage((TextPart(text),))]
    tools = [LOADER]
    steps: list[Outcome] = []
    while not steps or steps[-1].calls:
        assert len(steps) < 5, "it loops"
        steps.append(await step(messages, tools))
        for number, call in enumerate(steps[-1].calls):
            id = f"c{len(steps)}{number}"
            messages.append(AssistantMessage("", (ToolCall(id, call.name, call.arguments),)))
            messages.append(ToolResultMessage(id, call.name, '{"greeting":"Hello!"}', is_error=not ok))
            if call.name == LOADER.wire_name and ok:
                tools = [LOADER, *domain]
    return steps


def used(steps: list[Outcome]) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for item in steps for call in item.calls]


async def test_the_first_message_shows_a_real_tool_use_and_quotes_it() -> None:
    steps = await turn("Hi there", domain=[HELLO])
    assert used(steps) == [("catalog_load_domain", {"name": "demo"}), ("demo_hello", {})]
    assert "no AI" in steps[-1].text
    assert '{"greeting":"Hello!"}' in steps[-1].text
    assert len(steps) == 3


async def test_chinese_is_answered_in_chinese() -> None:
    steps = await turn("你好", domain=[HELLO])
    assert "不是人工智能" in steps[-1].text
    assert '{"greeting":"Hello!"}' in steps[-1].text


async def test_a_later_message_is_answered_in_text() -> None:
    before = [UserMessage((TextPart("Hi"),)), AssistantMessage("Hello.")]
    assert used(await turn("More", before, domain=[HELLO])) == []


@pytest.mark.parametrize("text", ["Save this mistake: 1+1=3", "请记一道错题：1+1=3"])
async def test_a_mistake_is_added_with_arguments_that_fit_the_schema(text: str) -> None:
    before = [UserMessage((TextPart("Hi"),)), AssistantMessage("Hello.")]
    steps = await turn(text, before, domain=[ADD])
    added: dict[str, Any] = {"question": text, "answer": "", "subject": "math", "level": 1, "tags": []}
    assert used(steps) == [("catalog_load_domain", {"name": "mistakes"}), ("mistakes_add", added)]
    assert steps[-1].stop == "end"


@pytest.mark.parametrize("text", ["Hi", "a mistake"])
@pytest.mark.parametrize("ok", [True, False])
async def test_it_never_loops_when_loading_fails_or_brings_no_tool(text: str, ok: bool) -> None:
    steps = await turn(text, domain=[], ok=ok)
    assert len(used(steps)) == 1
    assert steps[-1].stop == "end"


async def test_a_failed_tool_is_called_failed_and_not_tried_again() -> None:
    messages: list[Message] = [
        UserMessage((TextPart("Hi"),)),
        AssistantMessage("", (ToolCall("c", "demo_hello", {}),)),
        ToolResultMessage("c", "demo_hello", '{"code":"X"}', is_error=True),
    ]
    got = await step(messages, [LOADER, HELLO])
    assert got.calls == []
    assert "failed" in got.text


async def test_without_tools_it_still_answers() -> None:
    got = await step([UserMessage((TextPart("Hi"),))], [])
    assert (got.calls, got.stop) == ([], "end")
