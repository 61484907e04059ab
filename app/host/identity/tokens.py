"""Bearer tokens: `deskmate_u_` (user) or `deskmate_o_` (operator), 30 random and 6 check characters.

The check part lets a mistyped or made-up token be refused without asking the database. The random
part has 178 bits, so a plain SHA-256 of the whole is enough to keep (ASVS 6.5.2).
"""

from __future__ import annotations

import re
import secrets
import zlib
from hashlib import sha256
from typing import Literal

TokenKind = Literal["user", "operator"]

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_CHARACTERS = 30
_CHECK_CHARACTERS = 6
_SHAPE = re.compile(r"deskmate_([uo])_([0-9A-Za-z]{30})([0-9A-Za-z]{6})")
HINT_CHARACTERS = 15
"""How much of a token a list may show: the prefix and four characters."""


def _check(random_part: str) -> str:
    value = zlib.crc32(random_part.encode())
    digits: list[str] = []
    for _ in range(_CHECK_CHARACTERS):
        value, digit = divmod(value, 62)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def make_token(kind: TokenKind) -> str:
    random_part = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_CHARACTERS))
    return f"deskmate_{kind[0]}_{random_part}{_check(random_part)}"


def token_kind(token: str) -> TokenKind | None:
    """The kind that a well-formed token says of itself; None for anything that cannot be ours."""
    match = _SHAPE.fullmatch(token)
    if match is None or _check(match[2]) != match[3]:
        return None
    return "user" if match[1] == "u" else "operator"


def token_hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()
