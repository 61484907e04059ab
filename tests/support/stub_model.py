"""A real HTTP server that speaks OpenAI's Chat Completions, obeys a script, and keeps what it was sent.

In a test: `async with StubModel([call("mistakes_add", "{}"), say("Done.")]) as stub: …stub.base_url`.
As a process: `python -m tests.support.stub_model --port 0 --script FILE.json` prints its port.
A `bench …` line in the newest user message goes before the script (see `directives`).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from tests.support.chat_wire import ReplyStream, StreamCut, whole_answer
from tests.support.directives import newest_user_text, obey, read_order
from tests.support.http_server import HttpConnection, HttpRequest, HttpServer
from tests.support.replies import SCRIPT_ADAPTER, Reply, refuse, say
from tests.support.strict import find_fault

_JSON = {"content-type": "application/json"}
_SSE = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


@dataclass(slots=True)
class RequestRecord:
    """One model call as the server saw it. Times are `time.monotonic()`."""

    number: int
    headers: dict[str, str]
    body: Any
    received_at: float
    fault: str | None = None
    """Why strict mode refused it."""
    finished_at: float | None = None
    """When the whole answer was handed to the socket; None if that never happened."""
    closed_at: float | None = None
    """When the socket of this request closed."""

    @property
    def abandoned(self) -> bool:
        """The socket closed before the answer was whole."""
        return self.closed_at is not None and self.finished_at is None


class StubModel:
    """The stub; see the module's text.

    Attributes:
        script: replies still to be given; may be added to at any time.
        requests: model calls in order of arrival, the newest `keep`.
        counters: requests, refused, streamed, unscripted, cut.
    """

    def __init__(
        self,
        script: Iterable[Reply] = (),
        *,
        strict: bool = True,
        fallback: Reply | None = None,
        keep: int = 10_000,
    ) -> None:
        self.script: list[Reply] = list(script)
        self.requests: deque[RequestRecord] = deque(maxlen=keep)
        self.counters: Counter[str] = Counter()
        self._strict = strict
        self._fallback = fallback or say("Okay.")
        self._server = HttpServer(self._handle)
        self._arrived = asyncio.Condition()

    # --- life ---

    async def start(self, port: int = 0) -> None:
        self.port = await self._server.start(port)

    async def stop(self) -> None:
        await self._server.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def open_connections(self) -> int:
        return self._server.open_connections

    # --- what a test asks ---

    def add(self, *replies: Reply) -> None:
        self.script.extend(replies)

    async def wait_for_requests(self, count: int, timeout: float = 10) -> list[RequestRecord]:
        """The first `count` model calls, once they have arrived."""
        async with asyncio.timeout(timeout), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return list(self.requests)[:count]

    async def wait_until_closed(self, record: RequestRecord, timeout: float = 10) -> float:
        """When the record's socket closed, once it has."""
        async with asyncio.timeout(timeout):
            while record.closed_at is None:  # noqa: ASYNC110 - a record is plain data
                await asyncio.sleep(0.005)
        return record.closed_at

    # --- requests ---

    async def _handle(self, request: HttpRequest, connection: HttpConnection) -> None:
        match request.method, request.path.partition("?")[0]:
            case "POST", "/v1/chat/completions":
                await self._complete(request, connection)
            case "GET", "/__requests":
                connection.send_whole(200, _JSON, self._report())
            case "POST", "/__script":
                self.add(*SCRIPT_ADAPTER.validate_json(request.body))
                connection.send_whole(200, _JSON, b"{}")
            case "POST", "/__reset":
                self.script.clear()
                self.requests.clear()
                self.counters.clear()
                connection.send_whole(200, _JSON, b"{}")
            case "GET", "/v1/models":
                connection.send_whole(200, _JSON, b'{"object":"list","data":[]}')
            case _:
                _send_refusal(connection, refuse(404, f"no such path: {request.method} {request.path}"))

    def _report(self) -> bytes:
        return orjson.dumps(
            {
                "counters": dict(self.counters),
                "open_connections": self.open_connections,
                "script_left": len(self.script),
                "now": time.monotonic(),
                "requests": [asdict(record) | {"abandoned": record.abandoned} for record in self.requests],
            }
        )

    async def _complete(self, request: HttpRequest, connection: HttpConnection) -> None:
        record = await self._record(request, connection)
        if record.fault is not None:
            self.counters["refused"] += 1
            _send_refusal(connection, refuse(400, record.fault, type="invalid_request_error"))
        else:
            try:
                await self._reply(self._choose(record.body), record.body, connection)
            except StreamCut:
                self.counters["cut"] += 1
                return
        record.finished_at = time.monotonic()

    async def _record(self, request: HttpRequest, connection: HttpConnection) -> RequestRecord:
        self.counters["requests"] += 1
        record = RequestRecord(
            number=self.counters["requests"],
            headers=dict(request.headers),
            body=None,
            received_at=time.monotonic(),
        )
        try:
            record.body = orjson.loads(request.body)
            record.fault = find_fault(record.body) if self._strict else None
        except orjson.JSONDecodeError as error:
            record.fault = f"the body is not JSON: {error}"

        def note_close() -> None:
            record.closed_at = time.monotonic()

        # A kept-alive connection serves many requests: only the last one's callback is of use.
        connection.on_close[:] = [note_close]
        async with self._arrived:
            self.requests.append(record)
            self._arrived.notify_all()
        return record

    def _choose(self, body: dict[str, Any]) -> Reply:
        text, results = newest_user_text(body["messages"])
        if order := read_order(text):
            return obey(order, results)
        for at, reply in enumerate(self.script):
            if reply.model not in {None, body["model"]} or (reply.contains or "") not in text:
                continue
            if reply.times == 1:
                del self.script[at]
            elif reply.times:
                self.script[at] = reply.model_copy(update={"times": reply.times - 1})
            return reply
        self.counters["unscripted"] += 1
        return self._fallback

    async def _reply(self, reply: Reply, body: dict[str, Any], connection: HttpConnection) -> None:
        if reply.wait_before_headers is None:
            await connection.wait_closed()
        elif reply.wait_before_headers:
            await asyncio.sleep(reply.wait_before_headers)
        if reply.status != 200 or reply.body is not None:
            _send_refusal(connection, reply)
        elif not body.get("stream"):
            connection.send_whole(200, _JSON, orjson.dumps(whole_answer(reply, body["model"])))
        else:
            await self._stream(reply, body, connection)

    async def _stream(self, reply: Reply, body: dict[str, Any], connection: HttpConnection) -> None:
        connection.start_chunked(200, _SSE)
        stream = ReplyStream(request=body, connection=connection, bytewise=reply.bytewise)
        await stream.send(reply)
        connection.end_chunked()
        self.counters["streamed"] += 1


def _send_refusal(connection: HttpConnection, reply: Reply) -> None:
    body = reply.body if isinstance(reply.body, str) else orjson.dumps(reply.body).decode()
    connection.send_whole(reply.status, {**_JSON, **reply.headers}, body.encode())


async def _serve(options: argparse.Namespace, script: list[Reply]) -> None:
    stopped = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    stub = StubModel(script, strict=not options.lenient, keep=options.keep)
    await stub.start(options.port)
    print(stub.port, flush=True)
    await stopped.wait()
    await stub.stop()


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="Stub of a Chat Completions server; prints its port.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", help="JSON file: a list of replies")
    parser.add_argument("--lenient", action="store_true", help="take what a strict server would refuse")
    parser.add_argument("--keep", type=int, default=10_000, help="how many requests to remember")
    options = parser.parse_args()
    with contextlib.suppress(ImportError):
        import uvloop

        uvloop.install()
    script = SCRIPT_ADAPTER.validate_json(Path(options.script).read_bytes()) if options.script else []
    asyncio.run(_serve(options, script))


if __name__ == "__main__":
    main()
