"""Arguments of a call, checked against the entry's model before anything else sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson
from pydantic import BaseModel, ValidationError

from app.errors import ToolInvalidParams

_SHOWN_PROBLEMS = 20
_SHOWN_NAME = 64


class ArgumentProblems(ToolInvalidParams):
    """`details["fields"]` lists `{path, problem}`. Values are never repeated: they may be secrets."""

    def __init__(self, fields: list[dict[str, str]]) -> None:
        told = "; ".join(f"{field['path']}: {field['problem']}" for field in fields)
        super().__init__(f"The arguments do not fit. {told}", details={"fields": fields})


def read_arguments(model: type[BaseModel], arguments: Mapping[str, Any] | None) -> BaseModel:
    """The parameters as a model instance.

    Checked as JSON in strict mode, so that the schema that clients see is what holds: "5" is no
    integer. NUL is refused here because PostgreSQL cannot store it, in any text of any tool.

    Raises:
        ArgumentProblems: naming each field that is missing, unknown or wrong.
    """
    if arguments is None:
        raise ArgumentProblems([{"path": "arguments", "problem": "must be one JSON object"}])
    try:
        text = orjson.dumps(dict(arguments))
    except TypeError:
        problem = "hold something that JSON cannot: a broken character, or a number above 64 bits"
        raise ArgumentProblems([{"path": "arguments", "problem": problem}]) from None
    if b"\\u0000" in text and (where := _nul_path(arguments, "arguments")):
        raise ArgumentProblems(
            [{"path": where, "problem": "holds the character NUL, which cannot be stored"}]
        )
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        raise ArgumentProblems([_problem(one) for one in problems[:_SHOWN_PROBLEMS]]) from None


def _problem(one: Any) -> dict[str, str]:
    path = ".".join(str(part)[:_SHOWN_NAME] for part in one["loc"]) or "arguments"
    match one["type"]:
        case "missing":
            problem = "is required"
        case "extra_forbidden":
            problem = "is not a known field"
        case "union_tag_invalid" | "union_tag_not_found":
            problem = "is of no known kind"  # pydantic's own sentence repeats the value
        case _:
            problem = str(one["msg"]).removeprefix("Value error, ")
    return {"path": path, "problem": problem}


def _nul_path(value: Any, path: str) -> str | None:
    if isinstance(value, str):
        return path if "\0" in value else None
    if isinstance(value, Mapping):
        pairs = list(cast("Mapping[str, Any]", value).items())
        if any("\0" in key for key, _ in pairs):
            return path
        children = [(child, f"{path}.{key[:_SHOWN_NAME]}") for key, child in pairs]
    elif isinstance(value, list | tuple):
        children = [(child, path) for child in cast("list[Any]", value)]
    else:
        return None
    return next((found for child, where in children if (found := _nul_path(child, where))), None)
