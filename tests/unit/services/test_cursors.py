"""A cursor is good for its owner and list alone."""

from __future__ import annotations

import pytest

from app.errors import InvalidCursor
from app.services.cursors import Cursors

CURSORS = Cursors(secret=b"secret")


def test_a_cursor_gives_back_its_position() -> None:
    made = CURSORS.make((1700000000000, "ses_1"), owner_id="usr_1", purpose="sessions::")
    assert CURSORS.read(made, owner_id="usr_1", purpose="sessions::") == (1700000000000, "ses_1")


@pytest.mark.parametrize(
    ("owner", "purpose"), [("usr_2", "sessions::"), ("usr_1", "sessions::tea"), ("", "")]
)
def test_another_owner_or_list_is_refused(owner: str, purpose: str) -> None:
    made = CURSORS.make((1,), owner_id="usr_1", purpose="sessions::")
    with pytest.raises(InvalidCursor):
        CURSORS.read(made, owner_id=owner, purpose=purpose)


def test_another_key_is_refused() -> None:
    made = Cursors(secret=b"other").make((1,), owner_id="u", purpose="p")
    with pytest.raises(InvalidCursor):
        CURSORS.read(made, owner_id="u", purpose="p")


@pytest.mark.parametrize("text", ["", "x", "=", "é", "A" * 40, "A" * 10_000, "..", "\0"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursor):
        CURSORS.read(text, owner_id="u", purpose="p")


def test_a_changed_character_is_refused() -> None:
    made = CURSORS.make((1, "a"), owner_id="u", purpose="p")
    for place in range(len(made) - 1):
        other = made[:place] + ("A" if made[place] != "A" else "B") + made[place + 1 :]
        with pytest.raises(InvalidCursor):
            CURSORS.read(other, owner_id="u", purpose="p")
