"""Strict reading of JSON bodies: one reader for all routes, so that each refuses the same things.

FastAPI's own reader answers malformed JSON with 422 and guesses at media types; ours keeps apart
what is not JSON (400), not declared as JSON (415), too large (413) and wrong in its fields (422).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import orjson
from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError

from app.api.problems import invalid_fields
from app.errors import InvalidParams, MalformedRequest, UnsupportedMediaType
from app.protocol.digests import digest

MAX_DEPTH = 64
"""Nesting of arrays and objects: more than any form needs, less than any validator chokes on."""


class Payload(BaseModel):
    """Base of request bodies: an unknown field is refused by name, and no type is coerced (H5)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


M = TypeVar("M", bound=Payload)


@dataclass(frozen=True, slots=True)
class Body(Generic[M]):
    """A checked body and the value it came from."""

    fields: M
    value: Any

    @property
    def digest(self) -> str:
        """For Idempotency-Key: the same value in another spelling is the same body."""
        return digest(self.value)


async def read_body(request: Request, model: type[M]) -> Body[M]:
    """The JSON body as `model`.

    Raises:
        UnsupportedMediaType: the content type is not `application/json`.
        PayloadTooLarge: more bytes than allowed.
        MalformedRequest: not JSON in UTF-8.
        InvalidParams: unknown or wrong fields, NUL characters, or nested too deep.
    """
    _check_media_type(request)
    raw = await request.body()
    try:
        # Also refuses lone surrogates, NaN, and nesting deeper than its own limit of 1024.
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise MalformedRequest(
            f"The body is not JSON in UTF-8: {error.msg} at character {error.pos}."
        ) from None
    _check_text(raw, value)
    try:
        return Body(model.model_validate(value), value)
    except ValidationError as error:
        raise invalid_fields(cast("list[dict[str, Any]]", error.errors(include_url=False))) from None


def request_body(model: type[Payload]) -> dict[str, Any]:
    """`openapi_extra` of a route that uses `read_body`; `openapi` adds the schema it points to."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _check_media_type(request: Request) -> None:
    sent = request.headers.get("content-type", "")
    media_type, _, parameters = sent.partition(";")
    charset = parameters.strip().lower()
    if media_type.strip().lower() != "application/json" or charset not in {
        "",
        "charset=utf-8",
        'charset="utf-8"',
    }:
        raise UnsupportedMediaType("Send the body as `Content-Type: application/json`, in UTF-8.")


def _check_text(raw: bytes, value: Any) -> None:
    """Looks into the value only where the bytes give reason to: bodies are on the path of every run."""
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise InvalidParams(f"The body is nested deeper than {MAX_DEPTH} levels.")
    if b"\\u0000" in raw:
        for path, text in _strings(value, ()):
            if "\x00" in text:
                name = ".".join(path) or "body"
                raise InvalidParams(
                    f"{name} holds a NUL character (U+0000), which cannot be stored: remove it.",
                    details={"errors": [{"field": name, "message": "holds a NUL character"}]},
                )


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        level = [child for parent in level for child in _children(parent)]
        deepest += 1
    return deepest - 1


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from cast("dict[str, Any]", value).values()
    elif isinstance(value, list):
        yield from cast("list[Any]", value)


def _strings(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """All strings with where they are; called only on values that passed the depth check."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, child in cast("dict[str, Any]", value).items():
            yield path, key
            yield from _strings(child, (*path, key.replace("\x00", "?")))
    elif isinstance(value, list):
        for index, child in enumerate(cast("list[Any]", value)):
            yield from _strings(child, (*path, str(index)))
