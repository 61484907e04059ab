"""Laws of the model's view of a conversation."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.context import assemble, estimate_message
from app.agent.items import messages_from_items
from app.errors import ContextTooLong
from app.protocol.conversation import TextPart, UserMessage
from tests.unit.agent.valid import check_conversation

Strategy = st.SearchStrategy[Any]

ids = st.sampled_from(["c1", "c2", "c3", "c4", ""])
texts = st.sampled_from(["", " ", "Hello", "你好，世界", "</note>", "word " * 200])
json_values: Strategy = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
raw_texts = st.sampled_from(["", "null", "{}", '{"a": 1', "[1]", "x"])
parts: Strategy = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "reasoning", "image", "file", "later"]), "text": texts},
        optional={"file_id": texts, "name": texts},
    ),
    max_size=3,
)


@st.composite
def asked_calls(draw: st.DrawFn) -> dict[str, Any]:
    """A call as the writer stores it: parsed arguments have the text they were parsed from."""
    arguments = draw(st.sampled_from([{}, {"a": 1}, None, [1], "x"]))
    raw = {"{}": "{}", "{'a': 1}": '{"a": 1}'}.get(str(arguments)) or draw(raw_texts)
    wire_name = draw(st.sampled_from(["math_add", "no such!", "", "工具"]))
    return {
        "id": draw(ids),
        "wire_name": wire_name,
        "raw_arguments": raw,
        "arguments": arguments,
        "wire_id": None,
    }


results: Strategy = st.fixed_dictionaries(
    {"id": ids, "name": texts, "result": json_values, "error": st.none() | json_values, "status": texts},
    optional={"control_fact": st.none() | texts, "degraded": st.none() | texts, "arguments": json_values},
)
statuses = st.sampled_from(["completed", "incomplete", "cancelled", "failed"])
item_kinds: Strategy = (
    st.fixed_dictionaries({"type": st.just("user"), "parts": parts})
    | st.fixed_dictionaries(
        {
            "type": st.just("assistant"),
            "status": statuses,
            "parts": parts,
            "calls": st.lists(asked_calls(), max_size=3),
        },
        optional={"opaque": json_values, "provider_id": st.none() | texts},
    )
    | st.fixed_dictionaries({"type": st.just("tool"), "call": results})
    | st.fixed_dictionaries({"type": st.just("note"), "parts": parts})
    | st.dictionaries(st.sampled_from(["type", "parts", "calls", "call"]), json_values, max_size=3)
)
sequences: Strategy = st.lists(item_kinds, max_size=14)


@given(sequences)
@settings(max_examples=400, deadline=None)
def test_any_items_give_a_valid_conversation(items: list[dict[str, Any]]) -> None:
    """Law: whatever is stored, what is sent starts with a user and pairs every call with its result."""
    check_conversation(messages_from_items(items))


@given(sequences, st.integers(min_value=30, max_value=3_000), texts.filter(str.strip))
@settings(max_examples=400, deadline=None)
def test_assembled_context_is_valid_and_never_more_than_its_budget(
    items: list[dict[str, Any]], budget: int, text: str
) -> None:
    """Law: assembling keeps the conversation valid and inside the budget, or refuses."""
    user = UserMessage((TextPart(text),))
    try:
        messages = assemble(messages_from_items(items), user, budget)
    except ContextTooLong:
        return
    check_conversation(messages)
    assert sum(map(estimate_message, messages)) <= budget
    last = next(message for message in reversed(messages) if isinstance(message, UserMessage))
    assert last.parts[-1] == TextPart(text)
