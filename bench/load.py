"""The load generator, a process of its own: `python -m bench.load '{"mode": "raw", …}'`.

Prints `ready` when sessions and connections stand, starts at a line on stdin, prints `live` when
as many runs as are asked for at once have had their first text, and at the end one JSON result.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import orjson
import uvloop

from bench.model_calls import first_body, second_body
from bench.wire_client import Exchange, WireConnection, request_bytes

Mode = Literal["raw", "proxy", "service"]


@dataclass(frozen=True, slots=True)
class Load:
    mode: Mode
    port: int
    text: str
    """The user's message, an order to the stub."""
    deltas: int
    """How many a run must bring."""
    at_once: int
    runs: int
    token: str = ""
    warm_text: str = ""
    """A first run of each session, outside the measure, so that its tool is loaded."""
    runs_per_session: int = 4
    """Kept small: a longer history would make the service's model requests larger than the proxy's."""
    preconnect: bool = True
    set_up_at_once: int = 8


@dataclass(slots=True)
class Outcome:
    seconds: float = 0
    """Wall time from the first request to the last answer's end."""
    first_text_ms: list[float] = field(default_factory=list[float])
    duration_ms: list[float] = field(default_factory=list[float])
    faults: list[str] = field(default_factory=list[str])
    cpu_seconds: float = 0
    """Of the generator itself; near `seconds`, it was what limited the measure."""


class Generator:
    def __init__(self, load: Load) -> None:
        self._load = load
        self._outcome = Outcome()
        self._first_texts = 0

    async def set_up(self) -> None:
        load = self._load
        self._connections: list[WireConnection] = []
        if load.preconnect:
            self._connections = [await self._connect() for _ in range(load.at_once)]
        self._sessions: list[str] = []
        if load.mode == "service":
            count = max(load.at_once, -(-load.runs // load.runs_per_session))
            makers = min(load.set_up_at_once, count)
            shares = [count // makers + (at < count % makers) for at in range(makers)]
            made = await asyncio.gather(*(self._make_sessions(share) for share in shares))
            self._sessions = [session for share in made for session in share]

    async def _connect(self) -> WireConnection:
        return await WireConnection.open(self._load.port, self._note_first_text)

    async def _make_sessions(self, count: int) -> list[str]:
        connection = await WireConnection.open(self._load.port)
        made: list[str] = []
        for _ in range(count):
            request = request_bytes("POST", "/api/v1/sessions", b"{}", self._load.token)
            answer = await connection.exchange(request)
            if answer.status != 201:
                raise SystemExit(f"POST /sessions: {answer.status} {answer.body!r}")
            made.append(orjson.loads(answer.body)["id"])
            if self._load.warm_text:
                warmed = await connection.exchange(self._run_request(self._load.warm_text, made[-1]))
                if fault := find_service_fault(warmed):
                    raise SystemExit(f"warm-up run: {fault}")
        connection.close()
        return made

    def _note_first_text(self) -> None:
        self._first_texts += 1
        if self._first_texts == self._load.at_once:
            print("live", flush=True)

    async def measure(self) -> Outcome:
        load = self._load
        if not self._connections:
            self._connections = [await self._connect() for _ in range(load.at_once)]
        shares = [load.runs // load.at_once + (at < load.runs % load.at_once) for at in range(load.at_once)]
        started, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(self._work(at, share) for at, share in enumerate(shares)))
        self._outcome.seconds = time.perf_counter() - started
        self._outcome.cpu_seconds = time.process_time() - cpu
        return self._outcome

    async def _work(self, worker: int, share: int) -> None:
        sessions = self._sessions[worker :: self._load.at_once]
        connection = self._connections[worker]
        for at in range(share):
            session = sessions[at % len(sessions)] if sessions else ""
            try:
                await self._one_run(connection, session)
            except (OSError, ValueError) as error:
                self._outcome.faults.append(repr(error))
                connection = self._connections[worker] = await self._connect()

    async def _one_run(self, connection: WireConnection, session: str) -> None:
        load = self._load
        if load.mode == "raw":
            answer = await self._two_calls(connection)
            fault = None if answer.status == 200 else f"model: {answer.status}"
        else:
            answer = await connection.exchange(self._run_request(load.text, session))
            if load.mode == "service":
                fault = find_service_fault(answer)
            else:
                fault = None if answer.status == 200 else f"proxy: {answer.status}"
        if fault is None and answer.deltas != load.deltas:
            fault = f"{answer.deltas} deltas came, not {load.deltas}"
        if fault is not None:
            self._outcome.faults.append(fault)
            return
        self._outcome.first_text_ms.append((answer.first_text_at - answer.sent_at) * 1000)
        self._outcome.duration_ms.append((answer.ended_at - answer.sent_at) * 1000)

    async def _two_calls(self, connection: WireConnection) -> Exchange:
        """The raw client: what the model takes by itself."""
        path = "/v1/chat/completions"
        text = self._load.text
        first = await connection.exchange(request_bytes("POST", path, orjson.dumps(first_body(text))))
        body = orjson.dumps(second_body(text, first.body))
        second = await connection.exchange(request_bytes("POST", path, body))
        second.sent_at = first.sent_at
        return second

    def _run_request(self, text: str, session: str) -> bytes:
        if self._load.mode == "proxy":
            return request_bytes("POST", "/run", orjson.dumps({"text": text}))
        body = orjson.dumps({"input": [{"type": "text", "text": text}]})
        return request_bytes("POST", f"/api/v1/sessions/{session}/runs", body, self._load.token)


def find_service_fault(answer: Exchange) -> str | None:
    """Why a run of the service does not count: not taken, not completed, or a tool of it failed."""
    if answer.status != 200:
        return f"service: {answer.status} {answer.body[:300]!r}"
    if b'"type":"done"' not in answer.body or b'"status":"completed"' not in answer.body:
        return f"run did not complete: {answer.body[-500:]!r}"
    if b'"status":"failed"' in answer.body:
        return f"a tool failed: {answer.body[:1500]!r}"
    return None


async def _main(spec: dict[str, Any]) -> Outcome:
    generator = Generator(Load(**spec))
    await generator.set_up()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    return await generator.measure()


if __name__ == "__main__":
    uvloop.install()
    print(json.dumps(asdict(asyncio.run(_main(json.loads(sys.argv[1]))))), flush=True)
