"""How servers cut up tool calls in a Chat Completions stream, one test a quirk.

Rows 1 to 8 of the project's list of known quirks, numbered as there.
"""

from __future__ import annotations

import json

import pytest

from tests.contract.providers.chunks import DONE, calls, chunk, read, tool, tools

A = '{"a": 1}'
B = '{"b": 2}'
END = chunk(finish="tool_calls") + DONE


def test_01_deltas_without_index_are_joined_by_id_and_name() -> None:
    stream = tools(tool("", id="c1", name="f")) + tools(tool('{"a":')) + tools(tool(" 1}")) + END
    assert calls(stream) == [("f", {"a": 1})]


def test_01_a_new_id_without_index_opens_a_call() -> None:
    stream = (
        tools(tool('{"a"', id="c1", name="f")) + tools(tool(": 1}")) + tools(tool(B, id="c2", name="g")) + END
    )
    assert calls(stream) == [("f", {"a": 1}), ("g", {"b": 2})]


@pytest.mark.parametrize("id", [None, "", "same"])
def test_01_whole_calls_without_index_in_one_delta_are_separate(id: str | None) -> None:
    stream = tools(tool(A, id=id, name="f"), tool(B, id=id, name="f")) + END
    assert calls(stream) == [("f", {"a": 1}), ("f", {"b": 2})]


@pytest.mark.parametrize("id", [None, "same"])
@pytest.mark.parametrize("arguments", [A, ""])
def test_01_two_equal_calls_in_one_delta_are_two(id: str | None, arguments: str) -> None:
    if id and not arguments:
        return  # nothing tells these apart from one call whose id is repeated
    got = read(tools(tool(arguments, id=id, name="f"), tool(arguments, id=id, name="f")) + END)
    assert [(call.name, call.wire_id) for call in got.calls] == [("f", id), ("f", id)]


def test_01_whole_calls_without_index_and_id_in_two_deltas_are_separate() -> None:
    assert calls(tools(tool(A, name="f")) + tools(tool(B, name="f")) + END) == [
        ("f", {"a": 1}),
        ("f", {"b": 2}),
    ]


def test_01_an_id_that_comes_late_belongs_to_the_open_call() -> None:
    got = read(tools(tool('{"a"', name="f")) + tools(tool(": 1}", id="late")) + END)
    assert [(call.wire_id, call.arguments) for call in got.calls] == [("late", {"a": 1})]


def test_02_the_id_only_in_the_first_delta_is_kept() -> None:
    stream = (
        tools(tool("", index=0, id="c1", name="f"))
        + tools(tool('{"a":', index=0))
        + tools(tool("1}", index=0))
        + END
    )
    (call,) = read(stream).calls
    assert (call.wire_id, call.arguments) == ("c1", {"a": 1})


def test_02_fragments_of_two_calls_may_come_interleaved() -> None:
    stream = (
        tools(tool("", index=0, id="c1", name="f"), tool("", index=1, id="c2", name="g"))
        + tools(tool('{"a"', index=0), tool('{"b"', index=1))
        + tools(tool(": 2}", index=1), tool(": 1}", index=0))
        + END
    )
    assert calls(stream) == [("f", {"a": 1}), ("g", {"b": 2})]


def test_03_empty_id_and_name_are_absent() -> None:
    stream = tools(tool("", index=0, id="c1", name="f")) + tools(tool('{"a":', index=0, id="", name="")) + tools(
        {"index": 0, "id": None, "function": {"name": None, "arguments": " 1}"}}
    ) + END  # fmt: skip
    (call,) = read(stream).calls
    assert (call.wire_id, call.name, call.arguments) == ("c1", "f", {"a": 1})


@pytest.mark.parametrize("index", [0, None])
def test_04_the_id_repeated_in_each_delta_is_one_call(index: int | None) -> None:
    stream = (
        tools(tool('{"a"', index=index, id="c1", name="f")) + tools(tool(": 1}", index=index, id="c1")) + END
    )
    assert calls(stream) == [("f", {"a": 1})]


def test_04_another_id_and_name_on_the_same_index_is_another_call() -> None:
    got = read(tools(tool(A, index=0, id="c1", name="f")) + tools(tool(A, index=0, id="c2", name="f")) + END)
    assert [(call.wire_id, call.arguments) for call in got.calls] == [("c1", {"a": 1}), ("c2", {"a": 1})]


def test_04_a_fresh_id_for_each_fragment_is_still_one_call() -> None:
    stream = tools(tool('{"a"', index=0, id="x1", name="f")) + tools(tool(": 1}", index=0, id="x2")) + END
    assert calls(stream) == [("f", {"a": 1})]


def test_04_all_calls_on_index_zero_without_ids_are_told_apart_by_name() -> None:
    stream = tools(tool(A, index=0, name="f")) + tools(tool(B, index=0, name="g")) + END
    assert calls(stream) == [("f", {"a": 1}), ("g", {"b": 2})]


@pytest.mark.parametrize(("index", "id"), [(0, "c1"), (None, "c1"), (None, None)])
def test_05_a_repeated_name_is_not_appended(index: int | None, id: str | None) -> None:
    stream = tools(tool('{"a"', index=index, id=id, name="get_x")) + tools(
        tool(": 1}", index=index, id=id, name="get_x")
    )
    assert calls(stream + END) == [("get_x", {"a": 1})]


def test_05_a_name_in_pieces_is_joined() -> None:
    stream = tools(tool("", index=0, id="c1", name="get_")) + tools(tool(A, index=0, name="x")) + END
    assert calls(stream) == [("get_x", {"a": 1})]


def test_06_arguments_as_an_object_are_taken() -> None:
    (call,) = read(tools(tool({"a": 1}, index=0, id="c1", name="f")) + END).calls
    assert call.arguments == {"a": 1}
    assert json.loads(call.raw_arguments) == {"a": 1}


@pytest.mark.parametrize("value", [[1], 5, True, "[1]", '"text"', "5"])
def test_06_arguments_that_are_a_list_or_scalar_are_no_arguments(value: object) -> None:
    (call,) = read(tools(tool(value, index=0, id="c1", name="f")) + END).calls
    assert call.arguments is None
    assert call.raw_arguments


def test_07_null_arguments_mean_nothing_yet() -> None:
    stream = (
        tools({"index": 0, "id": "c1", "function": {"name": "f", "arguments": None}})
        + tools(tool(A, index=0))
        + END
    )
    assert calls(stream) == [("f", {"a": 1})]


@pytest.mark.parametrize("value", ["", "  \n", "null", "{}", None])
def test_07_empty_arguments_are_an_empty_object(value: str | None) -> None:
    assert calls(tools(tool(value, index=0, id="c1", name="f")) + END) == [("f", {})]


def test_08_glued_objects_are_separate_calls() -> None:
    got = read(tools(tool(A + B, index=0, id="c1", name="f")) + END)
    assert [(call.name, call.arguments, call.wire_id) for call in got.calls] == [
        ("f", {"a": 1}, "c1"),
        ("f", {"b": 2}, None),
    ]
    assert [json.loads(call.raw_arguments) for call in got.calls] == [{"a": 1}, {"b": 2}]
    assert len({call.index for call in got.calls}) == 2


def test_08_an_exact_repeat_is_dropped() -> None:
    assert calls(tools(tool(A + " " + A, index=0, id="c1", name="f")) + END) == [("f", {"a": 1})]


@pytest.mark.parametrize(
    "raw", [A + '{"b"', A + "[1]", A + "x", '{"a": 1', "{'a': 1}", '{"a": NaN}', "[" * 3000, '{"a":' * 3000]
)
def test_08_what_is_not_objects_throughout_is_never_run(raw: str) -> None:
    (call,) = read(tools(tool(raw, index=0, id="c1", name="f")) + END).calls
    assert (call.arguments, call.raw_arguments) == (None, raw)


def test_08_objects_nested_too_deeply_are_never_run() -> None:
    raw = '{"a":' * 200 + "1" + "}" * 200
    (call,) = read(tools(tool(raw, index=0, id="c1", name="f")) + END).calls
    assert call.arguments is None
