"""The SSE reader against the standard and against every way to cut a stream (quirk rows 39-42)."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.sse import EventTooLong, SSEEvent, SSEReader


def read(*pieces: bytes) -> list[SSEEvent]:
    reader = SSEReader()
    out = [event for piece in pieces for event in reader.feed(piece)]
    return out + reader.close()


def data(*pieces: bytes) -> list[bytes]:
    return [event.data for event in read(*pieces)]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data\n\ndata:\n\n", [b"", b""]),
        (b": comment\n\n:\n\ndata: a\n\n", [b"a"]),
        (b"id: 1\nretry: 5\nunknown: x\ndata: a\n\n", [b"a"]),
        (b"database: no\n\n", []),
        (b"event: x\n\ndata: a\n\n", [b"a"]),
    ],
)
def test_fields_are_read_as_the_standard_says(stream: bytes, expected: list[bytes]) -> None:
    assert data(stream) == expected


def test_the_event_name_is_kept_for_its_event_only() -> None:
    assert read(b"event: error\ndata: a\n\ndata: b\n\n") == [SSEEvent(b"error", b"a"), SSEEvent(b"", b"b")]


def test_39_a_character_cut_between_two_reads_is_whole() -> None:
    stream = "data: 汉字 😀\n\n".encode()
    for at in range(len(stream)):
        assert data(stream[:at], stream[at:]) == ["汉字 😀".encode()]


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c"])
def test_40_only_cr_and_lf_end_a_line(mark: str) -> None:
    assert data(f"data: a{mark}b\n\n".encode()) == [f"a{mark}b".encode()]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_40_all_three_line_ends_work_and_may_be_cut_anywhere(end: bytes) -> None:
    stream = end.join([b"event: x", b"data: a", b"data: b", b"", b"data: c", b"", b""])
    for at in range(len(stream)):
        assert read(stream[:at], stream[at:]) == [SSEEvent(b"x", b"a\nb"), SSEEvent(b"", b"c")]


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2), (3,)])
def test_41_one_leading_bom_is_dropped_however_it_is_cut(cuts: tuple[int, ...]) -> None:
    stream = b"\xef\xbb\xbfdata: a\n\n"
    edges = [0, *cuts, len(stream)]
    assert data(*(stream[a:b] for a, b in zip(edges, edges[1:], strict=False))) == [b"a"]  # noqa: RUF007
    assert data(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n") == [], "only one"


def test_42_a_line_of_many_megabytes_is_read_in_linear_time() -> None:
    line = b"x" * (8 * 1024 * 1024)
    stream = b"data: " + line + b"\n\n"
    started = time.perf_counter()
    assert data(*(stream[at : at + 16384] for at in range(0, len(stream), 16384))) == [line]
    assert time.perf_counter() - started < 2


def test_42_past_the_cap_is_a_clear_fault() -> None:
    reader = SSEReader(max_event_bytes=100)
    reader.feed(b"data: " + b"x" * 90)
    with pytest.raises(EventTooLong):
        reader.feed(b"0123456789")
    reader = SSEReader(max_event_bytes=100)
    with pytest.raises(EventTooLong):
        reader.feed(b"data: 0123456789\n" * 20)


@pytest.mark.parametrize(
    "stream", [b"data: a\n\ndata: b", b"data: a\n\ndata: b\n", b"data: a\r\n\r\ndata: b\r"]
)
def test_a_last_event_without_blank_line_is_delivered(stream: bytes) -> None:
    assert data(stream) == [b"a", b"b"]


LINES = st.lists(
    st.sampled_from(
        [b"", b"data: a", b"data:", b": c", b"event: e", "data: 汉😀\u2028".encode(), b"data", b"x" * 40]
    ),
    max_size=12,
)


@given(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"]), st.integers())
def test_any_split_of_a_byte_stream_gives_the_same_events(lines: list[bytes], end: bytes, seed: int) -> None:
    """Law: `read(a + b) == read(a, b)` for all a, b."""
    stream = end.join(lines)
    chance = random.Random(seed)
    pieces: list[bytes] = []
    at = 0
    while at < len(stream):
        size = chance.randint(1, 6)
        pieces.append(stream[at : at + size])
        at += size
    assert read(*pieces) == read(stream)
