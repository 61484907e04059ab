"""What goes out to a Chat Completions server, one test a quirk (numbers as in the stream tests)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from app.protocol.conversation import (
    AssistantMessage,
    ImagePart,
    TextPart,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from app.providers.chat_request import build_chat_request
from app.providers.paired import NEVER_RAN, UNSEEN_IMAGE
from app.providers.profiles import Profile
from tests.contract.providers.chunks import MODEL, request, sent

SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
    "additionalProperties": False,
}
SEARCH = ToolSpec("web_search", "Searches.", SCHEMA)
NO_TOOLS = replace(MODEL, abilities=frozenset({"streaming"}))


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def asked(*calls: ToolCall, text: str = "", provider: str | None = "p", **fields: Any) -> AssistantMessage:
    return AssistantMessage(text=text, tool_calls=calls, provider_id=provider, **fields)


def call(
    call_id: str, *, wire_id: str | None = None, name: str = "web_search", arguments: Any = None
) -> ToolCall:
    return ToolCall(call_id, name, {"q": call_id} if arguments is None else arguments, "", wire_id)


def result(call_id: str, content: str = '{"ok":1}') -> ToolResultMessage:
    return ToolResultMessage(call_id, "web_search", content)


def roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


def test_a_plain_request_is_the_documented_one() -> None:
    made = request(
        user("hi"),
        system="Be kind.",
        tools=[SEARCH],
        temperature=0.3,
        max_output_tokens=50,
        reasoning_effort="low",
    )
    assert sent(made) == {
        "model": "model-1",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "web_search", "description": "Searches.", "parameters": SCHEMA},
            }
        ],
        "max_tokens": 50,
        "temperature": 0.3,
        "reasoning_effort": "low",
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_06_arguments_of_the_history_are_always_a_string() -> None:
    odd = ToolCall("c2", "web_search", None, '{"q": "cut')
    body = sent(request(user("hi"), asked(call("c1"), odd), result("c1"), result("c2"), tools=[SEARCH]))
    assert [entry["function"]["arguments"] for entry in body["messages"][1]["tool_calls"]] == [
        '{"q":"c1"}',
        "{}",
    ]


def test_14_include_usage_is_a_switch() -> None:
    assert "stream_options" not in sent(request(), include_usage=False)


def test_15_reasoning_models_get_their_own_field_and_no_temperature() -> None:
    body = sent(
        request(user("hi"), system="s", temperature=0.5),
        max_tokens_field="max_completion_tokens", send_temperature=False, system_role="developer",
    )  # fmt: skip
    assert body["max_completion_tokens"] == MODEL.max_output_tokens
    assert not {"max_tokens", "temperature"} & set(body)
    assert body["messages"][0]["role"] == "developer"


def test_19_extra_fields_go_along_and_more_of_them_where_nothing_is_streamed() -> None:
    profile = {"extra_body": {"top_k": 3}, "extra_body_unstreamed": {"enable_thinking": False}}
    streamed = sent(request(), **profile)
    assert (streamed["stream"], streamed["top_k"], "enable_thinking" in streamed) == (True, 3, False)
    whole = sent(request(model=NO_TOOLS.__class__("m", "p", "n", abilities=frozenset())), **profile)
    assert (whole["stream"], whole["top_k"], whole["enable_thinking"]) == (False, 3, False)
    assert "stream_options" not in whole


@pytest.mark.parametrize(
    ("echo", "expected"),
    [("off", [None, None]), ("tool_loop", [None, "why 2"]), ("always", ["why 1", "why 2"])],
)
def test_20_reasoning_goes_back_as_the_profile_says(echo: str, expected: list[str | None]) -> None:
    history = (
        user("one"), asked(call("c1"), reasoning="why 1"), result("c1"), asked(text="done"),
        user("two"), asked(call("c2"), reasoning="why 2"), result("c2"),
    )  # fmt: skip
    body = sent(request(*history, tools=[SEARCH]), reasoning_echo=echo)
    found = [message.get("reasoning_content") for message in body["messages"] if message.get("tool_calls")]
    assert found == expected


def test_20_a_call_without_reasoning_still_has_the_field_where_it_is_wanted() -> None:
    body = sent(request(user("x"), asked(call("c1")), result("c1")), reasoning_echo="tool_loop")
    assert body["messages"][1]["reasoning_content"] == ""


def test_21_ids_become_nine_letters_or_digits_alike_for_call_and_result() -> None:
    calls = [call(f"call_{number}") for number in range(300)]
    body = sent(
        request(user("x"), asked(*calls), *(result(item.call_id) for item in calls)), tool_id_format="alnum9"
    )
    ids = [entry["id"] for entry in body["messages"][1]["tool_calls"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", id) for id in ids)
    assert [message["tool_call_id"] for message in body["messages"][2:]] == ids
    again = sent(request(user("x"), asked(*calls[:1]), result("call_0")), tool_id_format="alnum9")
    assert again["messages"][1]["tool_calls"][0]["id"] == ids[0], "the same in a later request"


def test_21_an_id_of_the_same_provider_is_sent_back_and_one_of_another_is_not() -> None:
    here, there = call("c1", wire_id="g6fVbXS8K"), call("c2", wire_id="toolu_1")
    body = sent(request(user("x"), asked(here), result("c1"), asked(there, provider="other"), result("c2")))
    ids = [message["tool_calls"][0]["id"] for message in body["messages"] if "tool_calls" in message]
    assert ids == ["g6fVbXS8K", "c2"]
    assert [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"] == ids


def test_21_two_calls_with_one_wire_id_get_two() -> None:
    body = sent(
        request(
            user("x"), asked(call("c1", wire_id="0"), call("c2", wire_id="0")), result("c1"), result("c2")
        )
    )
    ids = [entry["id"] for entry in body["messages"][1]["tool_calls"]]
    assert ids[0] == "0"
    assert ids[1] != "0"
    assert [message["tool_call_id"] for message in body["messages"][2:]] == ids


def test_22_names_fit_the_wire_are_unique_and_come_back() -> None:
    wanted = ["mistakes::add", "mistakes  add", "mistakes__add", "x" * 80, "x" * 81, "", "9lives", "搜索"]
    made = request(user("x"), tools=[ToolSpec(name, "", SCHEMA) for name in wanted])
    wire = build_chat_request(made, Profile(), "p")
    names = [item["function"]["name"] for item in wire.body["tools"]]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_-]{0,63}", name) for name in names)
    assert names[2] == "mistakes__add", "a valid name keeps its spelling"
    assert [wire.names.from_wire(name) for name in names] == wanted


def test_22_a_name_that_the_model_made_up_is_mapped_in_the_history_too() -> None:
    body = sent(
        request(user("x"), asked(call("c1", name="mistakes::add now!")), result("c1"), tools=[SEARCH])
    )
    assert body["messages"][1]["tool_calls"][0]["function"]["name"] == "mistakes__add_now_"


def test_23_strict_is_only_sent_with_a_schema_rewritten_for_it() -> None:
    optional = {
        "type": "object",
        "properties": {"q": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["q"],
    }
    free = {
        "type": "object",
        "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}},
    }
    tools = [ToolSpec("a", "", optional), ToolSpec("b", "", free)]
    one, two = (item["function"] for item in sent(request(tools=tools), strict_tools=True)["tools"])
    assert one["strict"] is True
    assert one["parameters"]["required"] == ["q", "n"]
    assert one["parameters"]["properties"]["n"]["type"] == ["integer", "null"]
    assert one["parameters"]["additionalProperties"] is False
    assert "strict" not in two
    assert two["parameters"] == free
    assert all("strict" not in item["function"] for item in sent(request(tools=tools))["tools"])


def test_results_follow_their_calls_and_lost_ones_are_filled_in() -> None:
    history = (
        result("orphan"), user("x"), asked(call("c1"), call("c2"), call("c3")), user("meanwhile"), result("c2"), result("c1", " "),
        asked(text="done"),
    )  # fmt: skip
    body = sent(request(*history))
    assert roles(body) == ["user", "assistant", "tool", "tool", "tool", "user", "assistant"]
    assert [(item["tool_call_id"], item["content"]) for item in body["messages"][2:5]] == [
        ("c1", "{}"),
        ("c2", '{"ok":1}'),
        ("c3", NEVER_RAN),
    ]


def test_empty_messages_are_left_out() -> None:
    body = sent(
        request(user(" "), UserMessage(()), user("a"), asked(text=" \n"), asked(reasoning="why"), user("b"))
    )
    assert body["messages"] == [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]


def test_images_are_sent_to_models_that_see_and_named_to_others() -> None:
    parts = (TextPart("look"), ImagePart("image/png", b"\x89PNG", "file_1"))
    (message,) = sent(request(UserMessage(parts)))["messages"]
    assert message["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
    ]
    (message,) = sent(request(UserMessage(parts), model=NO_TOOLS))["messages"]
    assert message["content"] == f"look\n\n{UNSEEN_IMAGE}"


def test_a_model_without_tools_is_sent_none_and_told_of_earlier_calls() -> None:
    body = sent(
        request(
            user("x"), asked(call("c1"), text="I look."), result("c1", "42"), tools=[SEARCH], model=NO_TOOLS
        )
    )
    assert "tools" not in body
    assert roles(body) == ["user", "assistant"]
    assert "web_search" in body["messages"][1]["content"]
    assert "42" in body["messages"][1]["content"]


def test_sealed_state_goes_back_to_its_provider_only() -> None:
    opaque = {
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "S"}],
        "call_extras": {"w1": {"google": {"s": "T"}}},
    }
    mine = asked(call("c1", wire_id="w1"), opaque=opaque)
    body = sent(request(user("x"), mine, result("c1")))
    assert body["messages"][1]["reasoning_details"] == opaque["reasoning_details"]
    assert body["messages"][1]["tool_calls"][0]["extra_content"] == {"google": {"s": "T"}}
    body = sent(request(user("x"), replace(mine, provider_id="other"), result("c1")))
    assert "reasoning_details" not in body["messages"][1]
    assert "extra_content" not in body["messages"][1]["tool_calls"][0]


def test_a_lone_surrogate_in_the_history_does_not_stop_the_session() -> None:
    body = sent(request(user("a\ud83d"), asked(call("c1", arguments={"q": "\ude00"})), result("c1")))
    assert body["messages"][0]["content"] == "a\ufffd"
    assert json.loads(body["messages"][1]["tool_calls"][0]["function"]["arguments"]) == {"q": "\ufffd"}
