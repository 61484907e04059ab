"""JSON text that can always be stored: whatever a handler or model put into a value.

orjson is strict (64-bit integers, string keys, no lone surrogates). A run must not die, and the
group writer must not stop, because one tool returned an odd value; so the odd parts are repaired.
"""

from __future__ import annotations

import json
from typing import Any

import orjson


def clean_text(text: str) -> str:
    """NUL cannot be stored in PostgreSQL's text, and a lone surrogate cannot be encoded: both become U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def dump_bytes(value: Any, *, option: int = 0) -> bytes:
    try:
        return orjson.dumps(value, option=option)
    except TypeError:  # orjson.JSONEncodeError is one
        return orjson.dumps(_repaired(value), option=option)


def dump_text(value: Any) -> str:
    return dump_bytes(value).decode()


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, dict):
        return {clean_text(str(k)): _repaired(v) for k, v in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list | tuple | set | frozenset):
        return [_repaired(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return clean_text(str(value))
