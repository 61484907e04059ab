"""What a handler returned, made into the JSON that is recorded, shown and sent (L3)."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from app.protocol.definitions import TOOL_OUTPUT_LIMIT_BYTES


class HandlerFault(Exception):
    """A handler broke its contract. Logged for the operator; the caller hears a general sentence."""


def pack_result(model: type[BaseModel], value: Any, *, limit: int = TOOL_OUTPUT_LIMIT_BYTES) -> Any:
    """The result as a JSON value that fits the declared model, cut with a note above `limit` bytes.

    Raises:
        HandlerFault: it is not what the contract promises.
    """
    try:
        result = value if isinstance(value, model) else model.model_validate(value)
        text = result.model_dump_json().encode()
    except (ValidationError, PydanticSerializationError, UnicodeEncodeError) as error:
        # No `from`: a validation error's text repeats the user's data, which logs must not.
        raise HandlerFault(f"the result is not a {model.__name__} ({type(error).__name__})") from None
    return orjson.loads(text) if len(text) <= limit else _cut(text, limit)


def _cut(text: bytes, limit: int) -> dict[str, Any]:
    """The beginning of an oversized result as text; as JSON inside JSON it grows, hence the loop."""
    note = f"The result was {len(text)} bytes; only its beginning is here. Ask for less at a time."
    keep = limit - 512
    while True:
        cut = {"truncated": True, "note": note, "text": text[:keep].decode("utf-8", "ignore")}
        size = len(orjson.dumps(cut))
        if size <= limit:
            return cut
        keep = keep * (limit - 512) // size
