"""JSON and text as they come from a wire: read what can be read, emit only what can be stored.

Everything emitted is encodable as UTF-8 and free of NUL: PostgreSQL refuses both lone surrogates
and `\\0`, and one such character must not cost the learner the whole answer.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, cast

import orjson

REPLACEMENT = "\ufffd"
MAX_DEPTH = 100
"""Deeper JSON is refused: encoders further down stop at 254 levels, and no tool needs it."""

_DIRTY = re.compile("[\x00\ud800-\udfff]")
_HIGH_AT_END = re.compile("[\ud800-\udbff]$")


def clean_text(text: str) -> str:
    """Joins surrogate pairs, replaces lone halves and NUL by U+FFFD."""
    if not _DIRTY.search(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", REPLACEMENT)


def clean_value(value: Any) -> Any:
    """`clean_text` for each string and key of a JSON value."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): clean_value(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [clean_value(item) for item in cast("list[Any]", value)]
    return value


def depth_of(value: Any, limit: int = MAX_DEPTH) -> int:
    """Nesting of a JSON value, counted no further than `limit` + 1 (so without deep recursion)."""
    level, layer = 0, [value]
    while layer and level <= limit:
        below: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                below.extend(cast("dict[str, Any]", item).values())
            elif isinstance(item, list):
                below.extend(cast("list[Any]", item))
            else:
                continue
        if not any(isinstance(item, dict | list) for item in layer):
            break
        layer, level = below, level + 1
    return level


class PairJoiner:
    """Cleans one channel of deltas; a surrogate pair may be cut between two of them.

    Some servers cut a reply by UTF-16 units, so one delta ends in `"\\ud83d"` and the next begins
    with `"\\ude00"`. The first half waits here for its second.
    """

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def push(self, text: str) -> str:
        if self._half:
            text, self._half = self._half + text, ""
        elif not _DIRTY.search(text):
            return text
        if _HIGH_AT_END.search(text):
            text, self._half = text[:-1], text[-1]
        return clean_text(text)

    def flush(self) -> str:
        half, self._half = self._half, ""
        return REPLACEMENT if half else ""


def load_json(data: bytes | str) -> Any:
    """Parses JSON from a wire. Raises ValueError.

    orjson first, for speed. It refuses lone surrogates and broken UTF-8, which real servers send;
    for those the standard parser takes over and the caller cleans what it uses.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        try:
            return json.loads(
                text, strict=False, parse_constant=_no_constant, parse_float=_finite, parse_int=_int_or_float
            )
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is past the range of a number")
    return value


def _int_or_float(digits: str) -> int | float:
    """As orjson does: past 64 bits a float, because such an integer could not be encoded again."""
    value = int(digits)
    return value if -(2**63) <= value < 2**64 else _finite(digits)


def dump_json(value: Any) -> str:
    """Compact JSON text, whatever strings and integers are in it; null where it is too deep."""
    if depth_of(value) > MAX_DEPTH:
        return "null"
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # lone surrogates, integers past 64 bits
        return json.dumps(clean_value(value), ensure_ascii=False, separators=(",", ":"), default=str)


# Called many times an event; `cast` would be a call more each time.


def as_dict(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def as_text(value: Any) -> str:
    """The string, or "" for anything else: absent, null and "" mean the same on these wires."""
    return value if isinstance(value, str) else ""
