from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.api.ndjson import NdjsonResponse


class Lines:
    """Chunks given by hand; knows whether it was closed."""

    def __init__(self, *chunks: bytes, for_ever: bool = False) -> None:
        self._chunks = chunks
        self._for_ever = for_ever
        self.closed = False

    async def read(self) -> AsyncIterator[bytes]:
        try:
            for chunk in self._chunks:
                yield chunk
            if self._for_ever:
                await asyncio.sleep(60)
        finally:
            self.closed = True


async def answer(response: NdjsonResponse, gone: asyncio.Event) -> list[Any]:
    sent: list[Any] = []

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)
        await asyncio.sleep(0)

    await response({"type": "http"}, receive, send)
    return sent


async def test_chunks_are_sent_as_they_come_and_the_end_is_said() -> None:
    lines = Lines(b"1\n", b"2\n")
    sent = await answer(NdjsonResponse(lines.read(), {"X-Y": "z"}), asyncio.Event())
    assert [message.get("body") for message in sent[1:]] == [b"1\n", b"2\n", b""]
    assert sent[-1]["more_body"] is False
    assert (b"x-y", b"z") in sent[0]["headers"]
    assert lines.closed


async def test_a_reader_that_goes_away_ends_the_answer_and_nothing_else() -> None:
    lines, gone = Lines(b"1\n", for_ever=True), asyncio.Event()
    task = asyncio.create_task(answer(NdjsonResponse(lines.read()), gone))
    await asyncio.sleep(0.01)
    gone.set()
    async with asyncio.timeout(1):
        sent = await task
    assert len(sent) == 2
    assert lines.closed
    assert task.cancelling() == 0


async def test_a_server_that_ends_the_task_is_obeyed() -> None:
    lines = Lines(for_ever=True)
    task = asyncio.create_task(answer(NdjsonResponse(lines.read()), asyncio.Event()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lines.closed
