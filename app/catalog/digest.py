"""Digests over canonical JSON: the same value gives the same text on every replica."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson


def canonical_digest(value: Any) -> str:
    """SHA-256 (hex) over JSON with sorted keys and no spaces."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def arguments_digest(arguments: Any, raw: str = "") -> str:
    """What binds a confirmation, an effect and an audit row to exact arguments.

    Arguments that are not one JSON object are known by their text; a value that JSON cannot hold
    (a lone surrogate, a number above 64 bits) is refused later, but is audited all the same.
    """
    if arguments is None:
        return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()
    try:
        return canonical_digest(dict(arguments))
    except TypeError:
        return hashlib.sha256(repr(arguments).encode("utf-8", "surrogatepass")).hexdigest()
