"""Ids: a short prefix that names the kind, then 26 characters that sort by time of making.

The body is a 48-bit millisecond clock and 80 random bits in Crockford base 32, the layout of a
ULID (https://github.com/ulid/spec), in lower case. Ids are made by the host, never by a client.
"""

from __future__ import annotations

import secrets
import time
from typing import NewType

UserId = NewType("UserId", str)
SessionId = NewType("SessionId", str)
RunId = NewType("RunId", str)
ItemId = NewType("ItemId", str)
CallId = NewType("CallId", str)
TokenId = NewType("TokenId", str)
ConfirmationId = NewType("ConfirmationId", str)
FileId = NewType("FileId", str)

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]


def new_id(prefix: str) -> str:
    """A fresh id such as `run_01kc3v…`: sortable by millisecond, 80 bits of chance."""
    value = (time.time_ns() // 1_000_000 << 80) | secrets.randbits(80)
    pairs = _PAIRS
    body = "".join([pairs[(value >> shift) & 1023] for shift in range(120, -1, -10)])
    return f"{prefix}_{body}"
