"""One canonical form of a JSON value, so that equal arguments have equal digests everywhere (C19).

Sorted keys, no spaces, UTF-8: what RFC 8785 (JCS) gives for values without floats at the edges of
their range. The form is ours on both sides, so only its stability matters.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson

from app.protocol.jsontext import dump_bytes


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of a JSON value; keys must be strings."""
    return dump_bytes(value, option=orjson.OPT_SORT_KEYS)


def digest(value: Any) -> str:
    """SHA-256 over the canonical form, in hex."""
    return sha256(canonical_json(value)).hexdigest()
