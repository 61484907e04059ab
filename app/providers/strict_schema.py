"""JSON Schema rewritten for `strict: true`, and the arguments that come back put right again.

Strict wants `additionalProperties: false` and each property in `required`, at every level; optional
properties become nullable instead (https://platform.openai.com/docs/guides/structured-outputs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.providers.wire_text import as_dict, as_list

_SCHEMA_MAPS = ("properties", "$defs", "definitions")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_DROPPED = ("default", "examples")


class _NotStrict(Exception):
    """The schema has a shape that strict cannot say, such as a free map."""


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A copy fit for `strict: true`, or None where it must be sent without."""
    try:
        return _rewrite(dict(schema))
    except _NotStrict:
        return None


def _rewrite(schema: dict[str, Any]) -> dict[str, Any]:
    out = {key: value for key, value in schema.items() if key not in _DROPPED}
    if schema.get("additionalProperties") not in (None, False) or "patternProperties" in schema:
        raise _NotStrict
    for key in _SCHEMA_MAPS:
        if (part := as_dict(schema.get(key))) is not None:
            out[key] = {name: _rewrite(as_dict(item) or {}) for name, item in part.items()}
    for key in _SCHEMA_LISTS:
        if key in schema:
            out[key] = [_rewrite(as_dict(item) or {}) for item in as_list(schema[key])]
    if (items := as_dict(schema.get("items"))) is not None:
        out["items"] = _rewrite(items)
    if schema.get("type") == "object" or "properties" in schema:
        properties = as_dict(out.get("properties"))
        if properties is None:
            if schema.get("additionalProperties") is not False:
                raise _NotStrict  # any object: a free map
            properties = {}
        required = as_list(schema.get("required"))
        out["properties"] = {
            name: item if name in required else _nullable(item) for name, item in properties.items()
        }
        out["required"] = list(properties)
        out["additionalProperties"] = False
    return out


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if _takes_null(schema):
        return schema
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _takes_null(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    if kind == "null" or "null" in as_list(kind) or None in as_list(schema.get("enum")):
        return True
    return any(
        _takes_null(as_dict(item) or {}) for key in ("anyOf", "oneOf") for item in as_list(schema.get(key))
    )


def without_added_nulls(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Takes out the nulls that only the rewriting allowed: for the tool they mean "left out"."""
    return _strip(dict(arguments), dict(schema), dict(schema))


def _strip(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    schema = _resolve(schema, root)
    properties, items = as_dict(schema.get("properties")), as_dict(schema.get("items"))
    whole = as_dict(value)
    if whole is not None and properties is not None:
        required = as_list(schema.get("required"))
        out: dict[str, Any] = {}
        for name, item in whole.items():
            part = _resolve(as_dict(properties.get(name)) or {}, root)
            if item is None and name in properties and name not in required and not _takes_null(part):
                continue
            out[name] = _strip(item, part, root)
        return out
    if items is not None and (listed := as_list(value)):
        return [_strip(item, items, root) for item in listed]
    return value


def _resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    for _ in range(8):  # a chain of references; a ring of them ends here too
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        target: Any = root
        for step in reference[2:].split("/"):
            target = (as_dict(target) or {}).get(step.replace("~1", "/").replace("~0", "~"))
        schema = as_dict(target) or {}
    return schema
