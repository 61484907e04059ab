from __future__ import annotations

import pytest

from app.errors import InvalidParams
from app.host.identity.passwords import MAX_CHARACTERS, Passwords, check_strength


async def test_a_hash_is_argon2id_with_the_floor_of_parameters() -> None:
    stored = await Passwords().hash("correct horse battery")
    assert stored.startswith("$argon2id$")
    assert "m=19456,t=2,p=1" in stored


async def test_only_the_right_password_fits() -> None:
    passwords = Passwords()
    stored = await passwords.hash("correct horse battery")
    assert await passwords.verify(stored, "correct horse battery")
    assert not await passwords.verify(stored, "correct horse batterx")


async def test_an_account_without_password_never_fits() -> None:
    assert not await Passwords().verify(None, "nobody has this password")


async def test_a_damaged_hash_is_a_no_and_not_a_fault() -> None:
    assert not await Passwords().verify("not a hash", "whatever it is")


@pytest.mark.parametrize(
    "bad", ["short", "password", "PassWord", "x" * (MAX_CHARACTERS + 1), "long enough\x00"]
)
def test_weak_passwords_are_refused(bad: str) -> None:
    with pytest.raises(InvalidParams):
        check_strength(bad)


def test_long_pass_phrases_in_any_script_are_fine() -> None:
    check_strength("正确的马电池订书钉" * 10)
