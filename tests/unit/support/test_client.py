"""The test client splits the stream as it must, whatever the reads are."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.support.client import RunStream, answer_text


def stream_of(*reads: bytes) -> RunStream:
    async def body() -> AsyncIterator[bytes]:
        for read in reads:
            yield read

    return RunStream(httpx.Response(200, headers={"deskmate-run-id": "run_1"}, content=body()))


async def test_lines_split_over_reads_join_and_keepalives_are_counted() -> None:
    line = b'{"type":"text","seq":1,"channel":"answer","delta":"\xc3\xa9"}\n'
    stream = stream_of(line[:30], line[30:55], line[55:] + b"\n\n", line.replace(b":1,", b":2,"))
    events = await stream.read_all()
    assert [event["seq"] for event in events] == [1, 2]
    assert answer_text(events) == "éé"
    assert (stream.keepalives, stream.last_seq, stream.run_id) == (2, 2, "run_1")


async def test_stream_that_ends_within_a_line_fails() -> None:
    with pytest.raises(AssertionError, match="within a line"):
        await stream_of(b'{"type":"te').read_all()


async def test_reading_until_an_event_that_never_comes_fails() -> None:
    with pytest.raises(AssertionError, match="ended without"):
        await stream_of(b'{"type":"text","seq":1}\n').read_until(type="done")
