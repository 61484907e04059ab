"""What the stub model says: a reply is a list of steps, written in Python or JSON.

Steps are frozen Pydantic models told apart by `do`, so that a script file and a test say the same.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Say(_Value):
    """Text deltas, `gap_ms` apart."""

    do: Literal["say"] = "say"
    deltas: tuple[str, ...]
    gap_ms: float = 0
    member: Literal["content", "reasoning_content", "reasoning"] = "content"
    """The delta's member: answer, or reasoning as DashScope and DeepSeek or as OpenRouter name it."""


class Call(_Value):
    name: str
    arguments: str | None = "{}"
    """Raw text, sent as it is (also when it is no JSON); None sends a JSON null."""
    id: str | None = None
    """None makes a fresh one."""
    index: int | None = None
    """None counts up from 0; the same index twice glues two calls, as some servers do."""


class AskTools(_Value):
    """Tool calls, each in a head chunk and then `fragments` pieces of its arguments."""

    do: Literal["ask_tools"] = "ask_tools"
    calls: tuple[Call, ...]
    fragments: int = 1
    """0 puts the whole arguments into the head chunk."""
    interleaved: bool = False
    """Heads of all calls first, then their pieces in turn."""
    gap_ms: float = 0


class ReportUsage(_Value):
    do: Literal["report_usage"] = "report_usage"
    input: int = 10
    output: int = 5
    cached: int = 0
    reasoning: int = 0


class Finish(_Value):
    do: Literal["finish"] = "finish"
    reason: str = "stop"


class SendChunk(_Value):
    """One chunk with this body, for shapes that no other step makes."""

    do: Literal["send_chunk"] = "send_chunk"
    body: dict[str, Any]


class SendRaw(_Value):
    """Text put on the wire as it is: comments, broken JSON, odd line ends."""

    do: Literal["send_raw"] = "send_raw"
    text: str


class Fail(_Value):
    """An error object in mid-stream, in the shape of OpenAI's."""

    do: Literal["fail"] = "fail"
    message: str = "The server had an error while processing your request"
    type: str = "server_error"
    code: str | None = None


class Wait(_Value):
    """Silence; None lasts until the client hangs up."""

    do: Literal["wait"] = "wait"
    seconds: float | None = None


class Cut(_Value):
    """End of the connection without the end of the body: reset, or a plain close."""

    do: Literal["cut"] = "cut"
    reset: bool = True


Step = Annotated[
    Say | AskTools | ReportUsage | Finish | SendChunk | SendRaw | Fail | Wait | Cut,
    Field(discriminator="do"),
]


class Reply(_Value):
    """One answer. Consumed by the first request that it matches."""

    steps: tuple[Step, ...] = ()
    status: int = 200
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None
    """JSON body of an answer that is no stream (any status but 200)."""
    wait_before_headers: float | None = 0
    """Seconds of silence before the status line; None hangs until the client goes."""
    bytewise: bool = False
    """Every byte of the stream in a write of its own, the event loop turning between."""
    complete: bool = True
    """Adds what is missing for a normal end: finish reason, usage where asked for, [DONE]."""
    times: int = 1
    """How many requests it answers; 0 is no limit."""
    contains: str | None = None
    """Answers only requests whose newest user message holds this text."""
    model: str | None = None


SCRIPT_ADAPTER = TypeAdapter(list[Reply])


def say(*deltas: str, gap_ms: float = 0) -> Reply:
    """An answer of text deltas."""
    return Reply(steps=(Say(deltas=deltas, gap_ms=gap_ms),))


def think(*deltas: str, then: str = "") -> Reply:
    """Reasoning deltas, then the answer."""
    return Reply(steps=(Say(deltas=deltas, member="reasoning_content"), Say(deltas=(then,))))


def call(name: str, arguments: str | None = "{}", *, id: str | None = None) -> Reply:
    """One tool call with raw argument text."""
    return Reply(steps=(AskTools(calls=(Call(name=name, arguments=arguments, id=id),)),))


def calls(*asked: Call, fragments: int = 1, interleaved: bool = False) -> Reply:
    return Reply(steps=(AskTools(calls=asked, fragments=fragments, interleaved=interleaved),))


def refuse(
    status: int,
    message: str = "no",
    *,
    type: str = "error",
    code: str | None = None,
    headers: dict[str, str] | None = None,
) -> Reply:
    """An HTTP error in the shape of OpenAI's."""
    body = {"error": {"message": message, "type": type, "param": None, "code": code}}
    return Reply(status=status, headers=headers or {}, body=body)


def hang(*deltas: str) -> Reply:
    """Silence for ever: after these deltas, or before the first where there are none."""
    return Reply(steps=(Say(deltas=deltas), Wait()))


def hang_before_headers() -> Reply:
    return Reply(wait_before_headers=None)


def cut(*deltas: str, reset: bool = True) -> Reply:
    """Some text, then the connection breaks."""
    return Reply(steps=(Say(deltas=deltas), Cut(reset=reset)))


def fail_midway(*deltas: str, message: str = "The server had an error") -> Reply:
    return Reply(steps=(Say(deltas=deltas), Fail(message=message)), complete=False)
