"""JSON Schema cut down to what Gemini's `parameters` takes.

One unknown keyword at any depth refuses the whole request. Source of the subset:
https://ai.google.dev/api/caching#Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.providers.wire_text import as_dict, as_list

_KEPT = (
    "description",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "title",
    "type",
)
_FORMATS = {"string": ("enum", "date-time"), "number": ("float", "double"), "integer": ("int32", "int64")}
MOST_LEVELS = 12
"""A schema that refers to itself ends here."""


def gemini_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    root = dict(schema)
    return _write(root, root, 0)


def _write(schema: dict[str, Any], root: dict[str, Any], level: int) -> dict[str, Any]:
    schema = _inlined(schema, root)
    if level > MOST_LEVELS:
        return {"type": "object"}
    out = {key: schema[key] for key in _KEPT if key in schema}
    _set_type(out, schema)
    _set_choices(out, schema, root, level)
    if (properties := as_dict(schema.get("properties"))) and "anyOf" not in out:
        out["properties"] = {
            name: _write(as_dict(item) or {}, root, level + 1) for name, item in properties.items()
        }
        required = [name for name in as_list(schema.get("required")) if name in properties]
        if required:
            out["required"] = required
    if "type" not in out and "anyOf" not in out:
        out["type"] = "string"  # anything: a type is required here
    if out.get("type") == "array":
        items = as_dict(schema.get("items"))
        out["items"] = {"type": "string"} if not items else _write(items, root, level + 1)
    return out


def _inlined(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    for _ in range(MOST_LEVELS):  # a chain of references; a ring of them ends here too
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: Any = root
        for step in reference[2:].split("/"):
            target = (as_dict(target) or {}).get(step.replace("~1", "/").replace("~0", "~"))
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**(as_dict(target) or {}), **rest}
    merged = dict(schema)
    for part in as_list(schema.get("allOf")):
        merged = {**_inlined(as_dict(part) or {}, root), **merged}
    return merged


def _set_type(out: dict[str, Any], schema: dict[str, Any]) -> None:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        named = [kind for kind in as_list(kinds) if kind != "null"]
        out["type"] = named[0] if named else "string"
        if "null" in kinds:
            out["nullable"] = True
    elif kinds is None and "properties" in schema:
        out["type"] = "object"
    kind = out.get("type")
    if out.get("format") not in _FORMATS.get(kind if isinstance(kind, str) else "", ()):
        out.pop("format", None)


def _set_choices(out: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], level: int) -> None:
    values = as_list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
    if texts := [value for value in values if isinstance(value, str)]:
        out["type"], out["enum"] = "string", texts  # enums of other types are refused
    elif values and "type" not in out:
        out["type"] = "boolean" if isinstance(values[0], bool) else "number"
    if None in values:
        out["nullable"] = True
    branches = [as_dict(item) or {} for key in ("anyOf", "oneOf") for item in as_list(schema.get(key))]
    if not branches:
        return
    solid = [branch for branch in branches if branch.get("type") != "null"]
    if len(solid) < len(branches):
        out["nullable"] = True
    written = [_write(branch, root, level + 1) for branch in solid]
    if len(written) == 1:
        out.update({key: value for key, value in written[0].items() if key not in out})
    elif written:
        out["anyOf"] = written
        out.pop("type", None)
