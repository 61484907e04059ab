"""Passwords of local accounts: argon2id, off the event loop, two at a time.

Parameters are the floor of ASVS 5.0 appendix C (t=2, m=19 MiB, p=1). A hash takes a core for tens
of milliseconds, so more than two at once would starve the streams of everybody else.
"""

from __future__ import annotations

import asyncio

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from app.errors import InvalidParams

MIN_CHARACTERS = 8
MAX_CHARACTERS = 1024
"""Long enough for every pass phrase; a limit because hashing reads all of it."""

_COMMON = frozenset(
    """
    password password1 password12 password123 password1234 passw0rd p@ssw0rd p@ssword 12345678 123456789
    1234567890 87654321 987654321 11111111 00000000 88888888 66666666 12341234 123123123 11223344 123321123
    qwertyui qwertyuiop qwerty12 qwerty123 1qaz2wsx 1q2w3e4r 1q2w3e4r5t q1w2e3r4 qazwsxedc zaq12wsx asdfghjk
    asdfghjkl abcd1234 abc12345 abcdefgh a1234567 a12345678 iloveyou iloveyou1 iloveyou2 sunshine princess
    football baseball superman trustno1 welcome1 welcome123 letmein1 changeme changeme1 changeme123 starwars
    whatever computer internet michelle jennifer administrator admin123 admin1234 administrator1 root1234
    dearbook woaini1314 5201314520 woaini520 test1234 testtest default1 deskmate deskmate1 deskmate123
    """.split()  # noqa: SIM905 -- seventy quoted words would be harder to read
)

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)


def check_strength(password: str) -> None:
    """Length and the commonest choices; no rules of composition (ASVS 6.2).

    Raises:
        InvalidParams: saying what to change.
    """
    if len(password) < MIN_CHARACTERS:
        raise InvalidParams(f"The password must have at least {MIN_CHARACTERS} characters.")
    if len(password) > MAX_CHARACTERS:
        raise InvalidParams(f"The password must have at most {MAX_CHARACTERS} characters.")
    if "\x00" in password:
        raise InvalidParams("The password must not hold a NUL character.")
    if password.lower() in _COMMON:
        raise InvalidParams("The password is one of the most common ones: choose another.")


class Passwords:
    """Hashing and checking in threads."""

    def __init__(self) -> None:
        self._two_at_once = asyncio.Semaphore(2)
        self._dummy: str | None = None

    async def hash(self, password: str) -> str:
        async with self._two_at_once:
            return await asyncio.to_thread(_hasher.hash, password)

    async def verify(self, stored: str | None, password: str) -> bool:
        """Whether `password` is right. With None it takes as long as with a hash, and says no."""
        if stored is None and self._dummy is None:
            self._dummy = await self.hash("nobody has this password")
        async with self._two_at_once:
            right = await asyncio.to_thread(_verify, stored or self._dummy or "", password)
        return right and stored is not None


def _verify(stored: str, password: str) -> bool:
    try:
        return _hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
