"""Every recorded reply reaches the outcome written beside it, however it is cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

import pytest

from app.protocol.conversation import Failed, ModelEvent
from app.providers.anthropic import AnthropicReplyReader
from app.providers.chat_stream import ChatReplyReader
from app.providers.faults import fault_of_response
from app.providers.gemini import GeminiReplyReader
from app.providers.openai_responses import ResponsesReplyReader
from app.providers.reply_reader import ReplyReader
from tests.contract.providers.outcome import Outcome, outcome
from tests.contract.providers.recordings import Recording, load_all

READERS: dict[str, Callable[[], ReplyReader]] = {
    "anthropic": AnthropicReplyReader,
    "gemini": GeminiReplyReader,
    "openai-chat": ChatReplyReader,
    "openai-responses": ResponsesReplyReader,
}
COUNTS = {"anthropic": 24, "gemini": 23, "openai-chat": 59, "openai-responses": 21}
END_MARKS = {
    "anthropic": b'"stop_reason":"',
    "gemini": b'"finishReason"',
    "openai-chat": b'"finish_reason"',
    "openai-responses": b"response.completed",
}
"""No call may come out of a prefix that does not hold this."""
RECORDINGS = [recording for api in READERS for recording in load_all(api)]

pytestmark = pytest.mark.skipif(
    not RECORDINGS, reason="NO RECORDED PROVIDER STREAMS: set DESKMATE_SHARED to the folder that holds them"
)


def read(recording: Recording, pieces: Iterable[bytes]) -> Outcome:
    if recording.status != 200:
        return outcome([[Failed(fault_of_response(recording.status, recording.headers, b"".join(pieces)))]])
    reader = READERS[recording.api]()
    batches: list[list[ModelEvent]] = [batch for piece in pieces if (batch := reader.feed(piece))]
    if tail := reader.close():
        batches.append(tail)
    return outcome(batches)


def cut(body: bytes, chance: random.Random) -> Iterator[bytes]:
    at = 0
    while at < len(body):
        size = chance.choice((1, 2, 3, 7, 40, 200, 1500))
        yield body[at : at + size]
        at += size


def check(recording: Recording, got: Outcome) -> None:
    expected = recording.expected
    assert got.text in (expected["text"], expected["text"] + (expected.get("refusal_text") or ""))
    assert len(got.reasoning) == expected["reasoning_chars"]
    # A call that comes with an error is never to be run, so it does not come out at all.
    wanted_calls: list[dict[str, Any]] = [] if expected["stop"] == "error" else expected["tool_calls"]
    assert [(call.name, call.arguments) for call in got.calls] == [
        (call["name"], call["arguments"]) for call in wanted_calls
    ]
    for call, wanted in zip(got.calls, wanted_calls, strict=True):
        assert call.wire_id == wanted.get("wire_id")
    if expected["usage"] is None:
        assert got.usage is None
    else:
        assert got.usage is not None
        usage = asdict(got.usage)
        assert {name: usage[name] for name in expected["usage"]} == expected["usage"]
        assert all(value == 0 for name, value in usage.items() if name not in expected["usage"])
    assert got.stop in (expected["stop"], *(expected.get("alt_stop") or ()))
    if got.stop != "error":
        # The standard field of the reply is kept; "" and absent are alike.
        assert (got.raw or "") == (expected.get("stop_raw") or "")
        assert (got.opaque is not None) == bool(expected.get("opaque_reasoning_state"))
    error = expected["error"]
    if error is not None:
        assert got.error is not None
        assert got.error.kind == error["kind"]
        assert got.error.retryable == error["retryable"]
        assert (got.error.kind == "context_length") == error["context_length_exceeded"]
        assert got.error.retry_after_s == error.get("retry_after_s")
    else:
        assert got.error is None


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda item: f"{item.api}-{item.name}")
class TestRecording:
    def test_fed_whole(self, recording: Recording) -> None:
        check(recording, read(recording, [recording.body]))

    def test_fed_byte_by_byte(self, recording: Recording) -> None:
        check(recording, read(recording, (recording.body[at : at + 1] for at in range(len(recording.body)))))

    def test_cut_at_random(self, recording: Recording) -> None:
        chance = random.Random(recording.name)
        for _ in range(5):
            check(recording, read(recording, cut(recording.body, chance)))

    def test_cut_off_is_never_taken_for_a_whole_answer_with_calls(self, recording: Recording) -> None:
        """Whatever prefix arrives, calls come out only where the reply had come to its end."""
        if recording.status != 200 or not recording.body.startswith((b"data:", b":")):
            return
        chance = random.Random(recording.name)
        for _ in range(10):
            prefix = recording.body[: chance.randrange(len(recording.body))]
            got = read(recording, [prefix])
            if got.calls:
                assert END_MARKS[recording.api] in prefix
                check_calls = [(call["name"], call["arguments"]) for call in recording.expected["tool_calls"]]
                assert [(call.name, call.arguments) for call in got.calls] == check_calls


def test_all_recordings_are_there() -> None:
    found = {api: sum(recording.api == api for recording in RECORDINGS) for api in READERS}
    assert found == COUNTS
