from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.host.identity.tokens import make_token, token_hash, token_kind


def test_each_kind_says_what_it_is() -> None:
    assert make_token("user").startswith("deskmate_u_")
    assert token_kind(make_token("user")) == "user"
    assert token_kind(make_token("operator")) == "operator"


def test_a_token_has_thirty_random_and_six_check_characters() -> None:
    body = make_token("user").removeprefix("deskmate_u_")
    assert len(body) == 36
    assert set(body) <= set(string.ascii_letters + string.digits)


def test_tokens_and_their_hashes_differ() -> None:
    many = {make_token("user") for _ in range(200)}
    assert len({token_hash(token) for token in many}) == 200


@given(
    place=st.integers(min_value=len("deskmate_u_"), max_value=len("deskmate_u_") + 35),
    other=st.sampled_from(string.ascii_letters + string.digits),
)
def test_any_one_wrong_character_is_noticed_without_a_query(place: int, other: str) -> None:
    token = make_token("user")
    mistyped = token[:place] + other + token[place + 1 :]
    assert (token_kind(mistyped) == "user") == (mistyped == token)


@pytest.mark.parametrize(
    "junk", ["", "deskmate_u_", "deskmate_x_" + "a" * 36, "Bearer", "é" * 47, "a" * 10_000]
)
def test_what_cannot_be_ours_is_refused(junk: str) -> None:
    assert token_kind(junk) is None


def test_a_line_break_after_a_token_is_not_part_of_one() -> None:
    assert token_kind(make_token("user") + "\n") is None
