"""Schemas for strict tools, and the arguments that come back for them (quirk row 23)."""

from __future__ import annotations

from typing import Any

import pytest

from app.providers.strict_schema import strict_schema, without_added_nulls
from app.providers.wire_text import as_dict, as_list

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "n": {"type": "integer", "default": 3},
        "kind": {"enum": ["a", "b"]},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "inner": {"$ref": "#/$defs/Inner"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/Inner"}},
    },
    "required": ["q"],
    "$defs": {"Inner": {"type": "object", "properties": {"x": {"type": "number"}}}},
}


def objects(schema: Any) -> list[dict[str, Any]]:
    whole = as_dict(schema)
    below = list(whole.values()) if whole is not None else as_list(schema)
    found = [whole] if whole is not None and "properties" in whole else []
    return found + [item for value in below for item in objects(value)]


def test_every_object_is_closed_and_every_property_required_at_every_level() -> None:
    strict = strict_schema(SCHEMA)
    assert strict is not None
    assert len(objects(strict)) == 2
    for item in objects(strict):
        assert item["additionalProperties"] is False
        assert item["required"] == list(item["properties"])
    assert strict["properties"]["n"] == {"type": ["integer", "null"]}
    assert strict["properties"]["kind"] == {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}
    assert strict["properties"]["maybe"] == SCHEMA["properties"]["maybe"]
    assert strict["properties"]["q"] == {"type": "string"}
    assert SCHEMA["properties"]["n"] == {"type": "integer", "default": 3}, "the original is untouched"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"m": {"type": "object"}}},
        {
            "type": "object",
            "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}},
        },
        {"type": "object", "properties": {}, "additionalProperties": True},
    ],
)
def test_free_maps_cannot_be_strict(schema: dict[str, Any]) -> None:
    assert strict_schema(schema) is None


def test_nulls_that_only_strict_allowed_are_taken_out_again() -> None:
    given = {
        "q": "x",
        "n": None,
        "kind": None,
        "maybe": None,
        "inner": {"x": None},
        "list": [{"x": None}, {"x": 1}],
    }
    assert without_added_nulls(given, SCHEMA) == {
        "q": "x",
        "maybe": None,
        "inner": {},
        "list": [{}, {"x": 1}],
    }


def test_a_null_that_is_wrong_anyway_stays_wrong() -> None:
    assert without_added_nulls({"q": None, "unknown": None}, SCHEMA) == {"q": None, "unknown": None}
