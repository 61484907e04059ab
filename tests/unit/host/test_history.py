"""The window of turns that a run reads: bounded, and its beginning stands still for many turns."""

from __future__ import annotations

from app.host.runs.history import BLOCK_TURNS, KEPT_TURNS, first_turn


def test_a_short_session_is_read_whole() -> None:
    assert {first_turn(turn) for turn in range(1, KEPT_TURNS + 1)} == {1}


def test_a_long_session_is_read_in_part_and_never_more_than_the_limit() -> None:
    for turn in range(KEPT_TURNS + 1, 6000):
        read = turn - first_turn(turn)
        assert KEPT_TURNS - BLOCK_TURNS <= read < KEPT_TURNS


def test_the_beginning_moves_in_blocks() -> None:
    beginnings = [first_turn(turn) for turn in range(1000, 1000 + 10 * BLOCK_TURNS)]
    assert len(set(beginnings)) <= 11
    assert beginnings == sorted(beginnings)
