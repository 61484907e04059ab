"""What a strict Gemini server refuses, said in one sentence; close to what the Gemini API answers 400 to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

WIRE_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}\Z")
KNOWN_FIELDS = frozenset(
    [
        "contents",
        "tools",
        "toolConfig",
        "systemInstruction",
        "generationConfig",
        "safetySettings",
        "cachedContent",
    ]
)
SCHEMA_FIELDS = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "anyOf",
        "propertyOrdering",
        "default",
        "items",
        "minimum",
        "maximum",
    ]
)
PART_FIELDS = frozenset(
    ["text", "inlineData", "functionCall", "functionResponse", "thoughtSignature", "thought", "executableCode",
     "codeExecutionResult"]
)  # fmt: skip


def find_fault(request: Any) -> str | None:
    """The first fault in a request body, or None."""
    return next(_faults(_object(request)), None)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _faults(body: dict[str, Any]) -> Iterator[str]:
    for name in body:
        if name not in KNOWN_FIELDS:
            yield f"Unknown name {name!r}: Cannot find field."
    for tool in map(_object, _list(body.get("tools"))):
        for declared in map(_object, _list(tool.get("functionDeclarations"))):
            if not WIRE_NAME.match(str(declared.get("name"))):
                yield f"Invalid function name {declared.get('name')!r}"
            if "parameters" in declared:
                yield from schema_faults(str(declared.get("name")), _object(declared["parameters"]))
    contents = [_object(content) for content in _list(body.get("contents"))]
    if not contents:
        yield "contents is not specified"
    yield from _content_faults(contents)


def schema_faults(where: str, schema: dict[str, Any]) -> Iterator[str]:
    if unknown := set(schema) - SCHEMA_FIELDS:
        yield f"{where}: Cannot find field {sorted(unknown)}"
    kind = schema.get("type")
    if "anyOf" not in schema and kind not in ("string", "number", "integer", "boolean", "array", "object"):
        yield f"{where}: type {kind!r}"
    if "enum" in schema and (kind != "string" or not all(isinstance(v, str) for v in _list(schema["enum"]))):
        yield f"{where}: only allowed for STRING type: enum"
    if kind == "array":
        if not _object(schema.get("items")):
            yield f"{where}.items: missing field"
        yield from schema_faults(f"{where}.items", _object(schema.get("items")))
    properties = _object(schema.get("properties"))
    for name in _list(schema.get("required")):
        if name not in properties:
            yield f"{where}.required: property {name!r} is not defined"
    for name, item in properties.items():
        yield from schema_faults(f"{where}.{name}", _object(item))
    for item in _list(schema.get("anyOf")):
        yield from schema_faults(f"{where}.anyOf", _object(item))


def _content_faults(contents: list[dict[str, Any]]) -> Iterator[str]:
    if contents and contents[0].get("role") != "user":
        yield "the conversation must begin with user"
    waiting: list[str] = []
    for at, content in enumerate(contents):
        role, parts = content.get("role"), [_object(part) for part in _list(content.get("parts"))]
        if role not in ("user", "model") or not parts:
            yield f"contents[{at}]: role {role!r} with {len(parts)} parts"
        for part in parts:
            if not part or set(part) - PART_FIELDS:
                yield f"contents[{at}]: part {sorted(part)}"
            if set(part) == {"text"} and not str(part["text"]).strip():
                yield f"contents[{at}]: empty text parameter"
        calls = [str(_object(part["functionCall"]).get("name")) for part in parts if "functionCall" in part]
        answers = [_object(part["functionResponse"]) for part in parts if "functionResponse" in part]
        if [str(answer.get("name")) for answer in answers] != waiting:
            yield f"contents[{at}]: the number of function response parts must equal the function calls before"
        if answers and (role != "user" or len(answers) != len(parts)):
            yield f"contents[{at}]: function responses must stand alone, with role user"
        if not all(isinstance(answer.get("response"), dict) for answer in answers):
            yield f"contents[{at}]: functionResponse.response must be an object"
        if calls and (role != "model" or at == 0):
            yield f"contents[{at}]: a function call must come directly after a user turn or a function response"
        waiting = calls
    if waiting:
        yield f"function calls {waiting} without responses"
