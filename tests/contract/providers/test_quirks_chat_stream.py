"""What servers do to the Chat Completions stream, one test a quirk.

The numbers are the rows of the project's list of known quirks; each row's public thread tells the
story. A recording shows most of them too, but these say what exactly is at stake.
"""

from __future__ import annotations

import json

import pytest

from app.protocol.conversation import TextDelta, ToolCallFragment
from tests.contract.providers.chunks import DONE, batches, calls, chunk, event, read, text, tool, tools

A = '{"a": 1}'
B = '{"b": 2}'
END = chunk(finish="tool_calls") + DONE


# --- rows 9-13: chunks and ends --------------------------------------------------------------


def test_09_null_equals_absent_everywhere() -> None:
    nulls = {"role": None, "content": None, "tool_calls": None, "function_call": None, "refusal": None,
             "reasoning": None, "reasoning_content": None, "reasoning_details": None}  # fmt: skip
    stream = (
        chunk(nulls, usage=None, error=None)
        + event({"choices": None})
        + event({"choices": [{"delta": None}]})
    )
    got = read(stream + text("hi") + chunk(nulls, "stop") + DONE)
    assert (got.text, got.stop, got.calls) == ("hi", "end", [])


def test_10_chunks_without_choices_give_their_usage() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    got = read(
        event({"choices": []})
        + text("hi")
        + chunk(finish="stop")
        + event({"choices": [], "usage": usage})
        + DONE
    )
    assert got.text == "hi"
    assert got.usage is not None
    assert (got.usage.input, got.usage.output) == (3, 4)


@pytest.mark.parametrize("finish", ["stop", "end", "eos", "", None])
def test_11_tool_calls_with_a_normal_end_are_tool_use(finish: str | None) -> None:
    got = read(tools(tool(A, index=0, id="c1", name="f"), finish=finish) + DONE)
    assert (got.stop, len(got.calls)) == ("tool_use", 1)


def test_11_finish_reason_tool_calls_without_a_call_is_an_end() -> None:
    assert read(text("hi") + END).stop == "end"


def test_12_without_finish_reason_and_done_the_reply_is_incomplete() -> None:
    got = read(text("half"))
    assert got.text == "half"
    assert got.error is not None
    assert (got.error.kind, got.error.retryable) == ("incomplete_stream", True)


def test_12_an_open_call_of_an_incomplete_reply_never_becomes_ready() -> None:
    got = read(tools(tool(A, index=0, id="c1", name="f")))
    assert (got.stop, got.calls) == ("error", [])


def test_12_an_empty_body_is_incomplete() -> None:
    assert read(b"").stop == "error"


@pytest.mark.parametrize("stream", [text("hi") + DONE, text("hi") + chunk(finish="stop")])
def test_12_done_alone_or_finish_reason_alone_is_an_end(stream: bytes) -> None:
    assert (read(stream).stop, read(stream).text) == ("end", "hi")


def test_12_insufficient_system_resource_is_overload() -> None:
    got = read(text("hi") + chunk(finish="insufficient_system_resource") + DONE)
    assert got.error is not None
    assert (got.error.kind, got.error.retryable) == ("overloaded", True)


def test_12_calls_of_a_reply_cut_by_length_are_not_run_unless_whole() -> None:
    got = read(
        tools(tool(A, index=0, id="c1", name="f"), tool('{"b"', index=1, id="c2", name="g"), finish="length")
        + DONE
    )
    assert got.stop == "max_tokens"
    assert [call.arguments for call in got.calls] == [{"a": 1}, None]
    (unborn,) = read(tools(tool("", index=0, id="c1", name="f"), finish="length") + DONE).calls
    assert unborn.arguments is None, "arguments not yet written are not 'no arguments'"


def test_12_calls_of_a_filtered_reply_are_not_handed_out() -> None:
    got = read(tools(tool(A, index=0, id="c1", name="f"), finish="content_filter") + DONE)
    assert (got.stop, got.calls) == ("content_filter", [])


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"code": 400, "message": "bad"}, "invalid_request", False),
        ({"code": 429, "message": "slow down"}, "rate_limit", True),
        ({"code": "503", "message": "busy"}, "overloaded", True),
        ({"code": 502, "message": "bad gateway"}, "server", True),
        ({"code": 400, "message": "maximum context length is 8192 tokens"}, "context_length", False),
        ({"code": "insufficient_quota", "message": "You exceeded your current quota"}, "quota", False),
        ({"message": "something"}, "server", True),
        ("just words", "server", True),
    ],
)
@pytest.mark.parametrize("place", ["chunk", "choice", "event"])
def test_13_an_error_under_http_200_ends_the_stream(
    place: str, error: object, kind: str, retryable: bool
) -> None:
    body = {
        "chunk": event({"error": error, "choices": []}),
        "choice": event(
            {"choices": [{"index": 0, "delta": {"content": ""}, "error": error, "finish_reason": "error"}]}
        ),
        "event": b"event: error\n" + event(error),
    }[place]
    if place == "event" and isinstance(error, str):
        body = b"event: error\ndata: just words\n\n"
    got = read(text("hi") + body + text("never") + DONE)
    assert got.text == "hi"
    assert got.error is not None
    assert (got.error.kind, got.error.retryable) == (kind, retryable)


def test_13_a_json_body_with_an_error_under_http_200_is_an_error() -> None:
    got = read(b'{"error": {"message": "nope", "code": 401}}')
    assert got.error is not None
    assert got.error.kind == "auth"


# --- rows 16-18: usage, reasoning -------------------------------------------------------------


def test_16_usage_of_several_chunks_is_the_last_of_each_field_and_comes_once() -> None:
    one = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}
    two = {"prompt_tokens": 9, "completion_tokens": 7, "prompt_tokens_details": None}
    got = read(chunk({"content": "a"}, usage=one) + chunk({"content": "b"}, "stop", usage=two) + DONE)
    assert got.usage is not None
    assert (got.usage.input, got.usage.output, got.usage.cached) == (9, 7, 4)


def test_17_reasoning_left_out_of_completion_tokens_is_added() -> None:
    details = {"completion_tokens_details": {"reasoning_tokens": 20}}
    outside = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 35, **details}
    inside = {"prompt_tokens": 10, "completion_tokens": 25, "total_tokens": 35, **details}
    for usage in (outside, inside):
        got = read(text("hi") + chunk(finish="stop", usage=usage) + DONE)
        assert got.usage is not None
        assert (got.usage.output, got.usage.reasoning) == (25, 20)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_18_think_tags_are_split_out_over_chunk_borders_when_asked_for(size: int) -> None:
    whole = "a<think>why</think>b < c"
    stream = b"".join(text(whole[at : at + size]) for at in range(0, len(whole), size)) + DONE
    got = read(stream, think_tags="tagged")
    assert (got.text, got.reasoning) == ("ab < c", "why")
    assert read(stream).text == whole, "off by default: text about tags is a fair answer"


def test_18_a_prefilled_reply_begins_inside_the_tag() -> None:
    got = read(text("why</thi") + text("nk>b<") + DONE, think_tags="prefilled")
    assert (got.text, got.reasoning) == ("b<", "why")


# --- what the recordings showed ---------------------------------------------------------------


def test_the_same_reasoning_in_two_fields_counts_once() -> None:
    delta = {
        "reasoning_content": "why",
        "reasoning": "why",
        "reasoning_details": [{"type": "reasoning.text", "text": "why"}],
    }
    assert read(chunk(delta) + text("hi") + DONE).reasoning == "why"


def test_reasoning_told_again_in_another_field_later_counts_once() -> None:
    again = chunk({"reasoning_details": [{"type": "reasoning.text", "text": "why"}]})
    assert read(chunk({"reasoning_content": "why"}) + again + text("hi") + DONE).reasoning == "why"


def test_sealed_reasoning_is_kept_to_be_sent_back() -> None:
    details = [
        {"type": "reasoning.text", "index": 0, "text": "wh"},
        {"type": "reasoning.text", "index": 0, "text": "y", "signature": "S"},
    ]
    got = read(*(chunk({"reasoning_details": [item]}) for item in details), chunk(finish="stop"), DONE)
    assert got.reasoning == "why"
    assert got.opaque is not None
    assert got.opaque.data == {
        "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "why", "signature": "S"}]
    }


def test_a_signature_beside_a_call_is_kept_to_be_sent_back() -> None:
    entry = {**tool(A, index=0, id="c1", name="f"), "extra_content": {"google": {"thought_signature": "S"}}}
    got = read(tools(entry) + END)
    assert got.opaque is not None
    assert got.opaque.data == {"call_extras": {"c1": {"google": {"thought_signature": "S"}}}}


@pytest.mark.parametrize("arguments", ["", None, {}])
def test_an_empty_legacy_function_call_is_no_call(arguments: object) -> None:
    delta = {"content": "hi", "function_call": {"name": "", "arguments": arguments}}
    assert calls(chunk(delta, "stop") + DONE) == []


def test_a_legacy_function_call_is_a_call_unless_real_ones_stand_beside_it() -> None:
    old = {"function_call": {"name": "f", "arguments": A}}
    assert calls(chunk(old, "function_call") + DONE) == [("f", {"a": 1})]
    assert calls(chunk({**old, "tool_calls": [tool(B, index=0, id="c1", name="g")]}) + END) == [
        ("g", {"b": 2})
    ]


@pytest.mark.parametrize("place", ["x_groq", "choice"])
def test_16_usage_is_found_where_some_servers_hide_it(place: str) -> None:
    usage = {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    hidden = (
        {"choices": [{"delta": {}, "finish_reason": "stop", **usage}]}
        if place == "choice"
        else {"x_groq": usage}
    )
    got = read(text("hi") + event(hidden) + DONE)
    assert got.usage is not None
    assert (got.usage.input, got.usage.output) == (3, 4)


def test_a_json_body_is_read_though_a_stream_was_asked_for() -> None:
    body = {
        "choices": [{"message": {"content": "hi", "tool_calls": [tool(A, id="c1", name="f")]}}],
        "usage": {"prompt_tokens": 1},
    }
    raw = json.dumps(body).encode()
    for pieces in ([raw], [b"\n ", raw], [raw[:9], raw[9:]], [b"\xef", b"\xbb\xbf" + raw]):
        got = read(*pieces)
        assert (got.text, got.stop, len(got.calls)) == ("hi", "tool_use", 1)


@pytest.mark.parametrize("body", [b"{", b'{"choices": []}', b"[]", b"{}", b"[1]", b'{"choices": [{"mess'])
def test_a_json_body_without_an_answer_is_an_error(body: bytes) -> None:
    assert read(body).stop == "error"


def test_other_choices_are_other_answers() -> None:
    other = event({"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": None}]})
    assert read(text("a") + other + DONE).text == "a"


@pytest.mark.parametrize(
    "data", [b"data: ping\n\n", b"data:\n\n", b": hello\n\n", b"data: 5\n\n", b"id: 7\nretry: 100\n\n"]
)
def test_noise_between_events_is_ignored(data: bytes) -> None:
    got = read(text("a") + data + text("b") + DONE)
    assert (got.text, got.stop) == ("ab", "end")


def test_a_broken_event_is_not_passed_over() -> None:
    got = read(text("a") + b'data: {"choices": [{"delta": {"content": "lost\n\n' + text("b") + DONE)
    assert (got.text, got.stop) == ("a", "error")


def test_nothing_comes_after_the_end() -> None:
    assert read(text("a") + DONE, text("b"), chunk(finish="stop") + DONE).text == "a"


# --- batches and text -------------------------------------------------------------------------


def test_one_read_is_one_batch_with_adjoining_deltas_merged() -> None:
    (batch, _) = batches(
        text("a") + text("b") + tools(tool("{", index=0, id="c", name="f")) + tools(tool("}", index=0)), DONE
    )
    assert batch == [TextDelta("ab"), ToolCallFragment(0, "f", "{}")]


def test_a_surrogate_pair_cut_between_two_deltas_is_joined() -> None:
    stream = b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude00b"}}]}\n\n'
    for pieces in ([stream + DONE], [stream[at : at + 1] for at in range(len(stream))] + [DONE]):
        assert read(*pieces).text == "a\U0001f600b"


@pytest.mark.parametrize(
    "delta", ['{"content":"a\\ud83d"}', '{"content":"a\\ude00"}', '{"content":"a\\u0000"}']
)
def test_lone_halves_and_nul_become_replacement_characters(delta: str) -> None:
    assert read(f'data: {{"choices":[{{"delta":{delta}}}]}}\n\n'.encode() + DONE).text == "a\ufffd"


def test_arguments_ids_and_names_are_cleaned_too() -> None:
    raw = json.dumps({"k\0": ["\ud83d", {"x": "\0"}], "pair": "\U0001f600"})
    got = read(tools(tool(raw, index=0, id="c\0", name="f\0")) + END)
    (call,) = got.calls
    assert call.arguments == {"k\ufffd": ["\ufffd", {"x": "\ufffd"}], "pair": "\U0001f600"}
    assert (call.wire_id, call.name) == ("c\ufffd", "f\ufffd")


def test_broken_utf8_costs_one_character_not_the_answer() -> None:
    assert read(b'data: {"choices":[{"delta":{"content":"a\xffb"}}]}\n\n' + DONE).text == "a\ufffdb"
