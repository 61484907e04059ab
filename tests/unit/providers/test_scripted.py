"""The scripted provider and its script files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.errors import SettingsInvalid
from app.protocol.conversation import (
    AssistantMessage,
    Done,
    ModelEvent,
    ModelRequest,
    ModelSpec,
    TextDelta,
    TextPart,
    UserMessage,
)
from app.protocol.ports import ModelProvider
from app.providers.script_file import load_script
from app.providers.scripted import Pause, ScriptedProvider, call, say
from tests.contract.providers.outcome import outcome


def request(*messages: Any) -> ModelRequest:
    return ModelRequest(model=ModelSpec("m", "p", "m"), system="", messages=messages or (user("hi"),))


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


async def play(provider: ModelProvider, *messages: Any) -> list[Sequence[ModelEvent]]:
    return [batch async for batch in provider.stream(request(*messages))]


async def test_steps_are_played_in_order_and_requests_recorded() -> None:
    provider = ScriptedProvider([[call("f", {"a": 1}), call("g")], say("all done")])
    first = outcome(await play(provider))
    assert [(item.index, item.name, item.arguments) for item in first.calls] == [
        (0, "f", {"a": 1}),
        (1, "g", {}),
    ]
    assert first.stop == "tool_use"
    second = outcome(await play(provider))
    assert (second.text, second.stop) == ("all done", "end")
    assert outcome(await play(provider)).stop == "error", "a script never repeats by itself"
    assert len(provider.requests) == 3


async def test_a_function_may_choose_the_step() -> None:
    provider = ScriptedProvider(lambda made: [TextDelta(str(len(made.messages)))])
    assert outcome(await play(provider)).text == "1"


async def test_a_cut_off_call_is_counted() -> None:
    provider = ScriptedProvider([[TextDelta("a"), Pause()]])
    task = asyncio.create_task(play(provider))
    await asyncio.sleep(0.01)
    assert provider.open == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (provider.open, provider.cut_short) == (0, 1)


def script(folder: Path, content: Any) -> Path:
    path = folder / "script.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


async def test_a_file_takes_the_step_by_its_number_within_the_turn(tmp_path: Path) -> None:
    steps: list[Any] = [
        [
            {"reasoning": "why"},
            {"call": {"name": "f", "arguments": {"a": 1}, "id": "w"}},
            {"call": {"name": "g", "raw": "{"}},
        ],
        [
            {"say": "one two", "every": 0.001},
            {"pause": 0},
            {"usage": {"input": 3, "output": 5}},
            {"done": "max_tokens"},
        ],
    ]
    rules = [
        {"when": "boom", "steps": [[{"text": "half"}, {"fail": {"kind": "overloaded", "retry_after_s": 2}}]]}
    ]
    provider = ScriptedProvider(load_script(script(tmp_path, {"rules": rules, "steps": steps})))
    first = outcome(await play(provider, user("x")))
    assert [(item.name, item.arguments, item.wire_id) for item in first.calls] == [
        ("f", {"a": 1}, "w"),
        ("g", None, None),
    ]
    second = outcome(await play(provider, user("x"), AssistantMessage("")))
    assert (second.text, second.stop) == ("one two", "max_tokens")
    assert second.usage is not None
    assert outcome(await play(provider, user("x"), AssistantMessage(""), user("y"))).calls, (
        "a new turn starts again"
    )
    failed = outcome(await play(provider, user("go boom")))
    assert failed.error is not None
    assert (failed.text, failed.error.kind, failed.error.retryable, failed.error.retry_after_s) == (
        "half",
        "overloaded",
        True,
        2,
    )


async def test_a_file_may_be_played_in_order(tmp_path: Path) -> None:
    provider = ScriptedProvider(
        load_script(script(tmp_path, {"by": "order", "steps": [[{"text": "a"}], [{"text": "b"}]]}))
    )
    assert [outcome(await play(provider)).text for _ in range(2)] == ["a", "b"]


WRONG: list[Any] = [
    [],
    {"step": []},
    {"steps": [[{"txt": "a"}]]},
    {"steps": [[5]]},
    {"steps": [[{"fail": {"kind": "x"}}]]},
    {"steps": [[{"call": {}}]]},
    {"steps": [[{"usage": {"in": 1}}]]},
    {"steps": [[{"done": "x"}]]},
]


@pytest.mark.parametrize("content", WRONG)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, content: Any) -> None:
    with pytest.raises(SettingsInvalid, match=r"script\.json"):
        load_script(script(tmp_path, content))


def test_a_missing_or_broken_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"none\.json"):
        load_script(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=r"bad\.json"):
        load_script(tmp_path / "bad.json")


async def test_nothing_is_played_after_an_end() -> None:
    assert await play(ScriptedProvider([[Done("refusal"), TextDelta("never")]])) == [[Done("refusal")]]
