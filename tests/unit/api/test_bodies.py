from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from fastapi import Request

from app.api.agent.runs import RunCreate
from app.api.agent.sessions import SessionCreate
from app.api.bodies import MAX_DEPTH, Payload, read_body
from app.errors import InvalidParams, MalformedRequest, UnsupportedMediaType


class Anything(Payload):
    value: Any


def request(body: bytes, media_type: str | None = "application/json") -> Request:
    headers = [] if media_type is None else [(b"content-type", media_type.encode())]

    async def receive() -> Mapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"nonsense", b'{"title": NaN}', b'{"title": "\\ud800"}', b'{"title": "\xff"}', b"[" * 2000],
)
async def test_what_is_not_json_in_utf8_is_malformed(raw: bytes) -> None:
    with pytest.raises(MalformedRequest):
        await read_body(request(raw), SessionCreate)


@pytest.mark.parametrize(
    "media_type", [None, "", "text/plain", "application/jsonp", "application/json; charset=latin-1"]
)
async def test_another_media_type_is_refused(media_type: str | None) -> None:
    with pytest.raises(UnsupportedMediaType):
        await read_body(request(b"{}", media_type), SessionCreate)


async def test_utf8_may_be_said() -> None:
    body = await read_body(request(b"{}", "application/json; charset=UTF-8"), SessionCreate)
    assert body.fields.title is None


@pytest.mark.parametrize(
    "field", ["owner", "owner_id", "user_id", "id", "history", "tool_results", "capabilities"]
)
async def test_what_a_client_may_not_decide_is_an_unknown_field(field: str) -> None:
    raw = orjson.dumps({"input": [{"type": "text", "text": "hi"}], field: "x"})
    with pytest.raises(InvalidParams) as caught:
        await read_body(request(raw), RunCreate)
    assert caught.value.details["errors"] == [{"field": field, "message": "this field is not known here"}]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"input": []},
        {"input": "hi"},
        {"input": [{"type": "text"}]},
        {"input": [{"type": "text", "text": ""}]},
        {"input": [{"type": "text", "text": 7}]},
        {"input": [{"type": "tool_result", "text": "x"}]},
        {"input": [{"type": "text", "text": "x", "role": "system"}]},
        {"input": [{"type": "text", "text": "x"}], "references": [{"id": "x"}]},
        [],
        None,
        "text",
    ],
)
async def test_wrong_fields_are_listed(value: Any) -> None:
    with pytest.raises(InvalidParams) as caught:
        await read_body(request(orjson.dumps(value)), RunCreate)
    assert caught.value.details["errors"]


async def test_numbers_are_not_turned_into_text() -> None:
    with pytest.raises(InvalidParams):
        await read_body(request(b'{"title": 7}'), SessionCreate)


async def test_a_nul_is_refused_where_it_is() -> None:
    raw = orjson.dumps({"input": [{"type": "text", "text": "a\x00b"}]})
    with pytest.raises(InvalidParams, match=r"input\.0\.text.*NUL"):
        await read_body(request(raw), RunCreate)


async def test_an_escaped_backslash_before_u0000_is_no_nul() -> None:
    body = await read_body(request(b'{"value": "\\\\u0000"}'), Anything)
    assert body.fields.value == "\\u0000"


async def test_a_nul_in_a_key_is_refused() -> None:
    with pytest.raises(InvalidParams, match="NUL"):
        await read_body(request(b'{"value": {"a\\u0000": 1}}'), Anything)


async def test_deep_nesting_is_refused_and_wide_is_not() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    with pytest.raises(InvalidParams, match="nested"):
        await read_body(request(orjson.dumps({"value": deep})), Anything)
    await read_body(request(orjson.dumps({"value": [[] for _ in range(1000)]})), Anything)


async def test_the_same_value_in_another_spelling_has_the_same_digest() -> None:
    one = await read_body(request(b'{"value": {"a": 1, "b": "\\u4f60"}}'), Anything)
    other = await read_body(request('{"value":{"b":"你","a":1}}'.encode()), Anything)
    assert one.digest == other.digest
