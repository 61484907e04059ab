"""The Chat Completions wire: a reply's steps as SSE bytes, or joined as one JSON answer.

Format: https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, assert_never

import orjson

from tests.support.http_server import HttpConnection
from tests.support.replies import (
    AskTools,
    Cut,
    Fail,
    Finish,
    Reply,
    ReportUsage,
    Say,
    SendChunk,
    SendRaw,
    Wait,
)

_numbers = itertools.count(1)


class StreamCut(Exception):
    """The reply broke its own connection; nothing more can be sent."""


class ReplyStream:
    """Sends one reply over one connection, in the shape of one request."""

    def __init__(self, *, request: dict[str, Any], connection: HttpConnection, bytewise: bool) -> None:
        self._connection = connection
        self._bytewise = bytewise
        options: dict[str, Any] = request.get("stream_options") or {}
        self._usage_wanted = bool(options.get("include_usage"))
        head = {
            "id": f"chatcmpl-{next(_numbers)}",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": request["model"],
        }
        self._head = orjson.dumps(head)[:-1]

    async def send(self, reply: Reply) -> None:
        """Raises StreamCut where the reply says so."""
        await self._send_choice({"role": "assistant", "content": ""})
        for step in reply.steps:
            match step:
                case Say():
                    await self._say(step)
                case AskTools():
                    await self._ask_tools(step)
                case ReportUsage():
                    await self._send_usage(step)
                case Finish():
                    await self._send_choice({}, step.reason)
                case SendChunk():
                    await self._put(b"data: %b\n\n" % orjson.dumps(step.body))
                case SendRaw():
                    await self._put(step.text.encode())
                case Fail():
                    error = {"message": step.message, "type": step.type, "param": None, "code": step.code}
                    await self._put(b"data: %b\n\n" % orjson.dumps({"error": error}))
                case Wait():
                    await self._wait(step.seconds)
                case Cut():
                    self._cut(step)
                case _:
                    assert_never(step)
        if reply.complete:
            await self._complete(reply)

    async def _complete(self, reply: Reply) -> None:
        kinds = {type(step) for step in reply.steps}
        if Finish not in kinds:
            await self._send_choice({}, "tool_calls" if AskTools in kinds else "stop")
        if self._usage_wanted and ReportUsage not in kinds:
            await self._send_usage(ReportUsage())
        await self._put(b"data: [DONE]\n\n")

    async def _say(self, step: Say) -> None:
        before = self._head + b',"choices":[{"index":0,"delta":{"%b":' % step.member.encode()
        after = b'},"logprobs":null,"finish_reason":null}]}\n\n'
        gap = step.gap_ms / 1000
        loop = asyncio.get_running_loop()
        due = loop.time()
        for at, delta in enumerate(step.deltas):
            if gap and at:
                # By the clock, not by the sleep: a late delta does not push back all others.
                due += gap
                await asyncio.sleep(max(0, due - loop.time()))
            await self._put(b"data: %b%b%b" % (before, orjson.dumps(delta), after))

    async def _ask_tools(self, step: AskTools) -> None:
        heads: list[dict[str, Any]] = []
        pieces: list[list[dict[str, Any]]] = []
        for at, asked in enumerate(step.calls):
            index = at if asked.index is None else asked.index
            text = asked.arguments
            split = step.fragments > 0 and text is not None
            function = {"name": asked.name, "arguments": "" if split else text}
            call_id = asked.id or f"call_stub{next(_numbers)}"
            heads.append({"index": index, "id": call_id, "type": "function", "function": function})
            cuts = split_text(text, step.fragments) if split and text else []
            pieces.append([{"index": index, "function": {"arguments": piece}} for piece in cuts])
        if step.interleaved:
            rounds = itertools.chain.from_iterable(itertools.zip_longest(*pieces))
            order = [*heads, *(piece for piece in rounds if piece is not None)]
        else:
            order = [entry for head, own in zip(heads, pieces, strict=True) for entry in (head, *own)]
        for at, entry in enumerate(order):
            if step.gap_ms and at:
                await asyncio.sleep(step.gap_ms / 1000)
            await self._send_choice({"tool_calls": [entry]})

    async def _send_usage(self, step: ReportUsage) -> None:
        body = b',"choices":[],"usage":%b}\n\n' % orjson.dumps(usage_body(step))
        await self._put(b"data: %b%b" % (self._head, body))

    async def _send_choice(self, delta: dict[str, Any], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        await self._put(b'data: %b,"choices":[%b]}\n\n' % (self._head, orjson.dumps(choice)))

    async def _wait(self, seconds: float | None) -> None:
        if seconds is None:
            await self._connection.wait_closed()
        else:
            await asyncio.sleep(seconds)

    def _cut(self, step: Cut) -> None:
        if step.reset:
            self._connection.transport.abort()
        else:
            self._connection.transport.close()
        raise StreamCut

    async def _put(self, data: bytes) -> None:
        """Each event is a write of its own, as from a model; the loop turns so that it leaves at once."""
        if self._bytewise:
            for at in range(len(data)):
                self._connection.send_chunk(data[at : at + 1])
                await asyncio.sleep(0)
        else:
            self._connection.send_chunk(data)
            await asyncio.sleep(0)
        await self._connection.drain()


def split_text(text: str, count: int) -> list[str]:
    """`text` in at most `count` pieces, none empty."""
    size = max(1, -(-len(text) // count))
    return [text[at : at + size] for at in range(0, len(text), size)]


def usage_body(step: ReportUsage) -> dict[str, Any]:
    return {
        "prompt_tokens": step.input,
        "completion_tokens": step.output,
        "total_tokens": step.input + step.output,
        "prompt_tokens_details": {"cached_tokens": step.cached},
        "completion_tokens_details": {"reasoning_tokens": step.reasoning},
    }


def whole_answer(reply: Reply, model: str) -> dict[str, Any]:
    """The same reply for a request without `stream`; steps that only a stream knows are left out."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    reason, usage = "stop", ReportUsage()
    for step in reply.steps:
        if isinstance(step, Say):
            message[step.member] = (message.get(step.member) or "") + "".join(step.deltas)
        elif isinstance(step, AskTools):
            reason = "tool_calls"
            message["tool_calls"] = [
                {
                    "id": asked.id or f"call_stub{next(_numbers)}",
                    "type": "function",
                    "function": {"name": asked.name, "arguments": asked.arguments},
                }
                for asked in step.calls
            ]
        elif isinstance(step, Finish):
            reason = step.reason
        elif isinstance(step, ReportUsage):
            usage = step
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return {
        "id": f"chatcmpl-{next(_numbers)}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [choice],
        "usage": usage_body(usage),
    }
