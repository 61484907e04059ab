"""`python -m bench.extras`: what the table of `bench.run` does not show; the service alone, with bounds.

A session with 5,000 turns answers as fast as an empty one; 500 live streams on a database pool of 5
leave other requests quick; text that comes letter by letter is not committed letter by letter.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.load import find_service_fault
from bench.scenarios import Plan
from bench.targets import Target, drive, run_service, run_stub
from bench.wire_client import Exchange, WireConnection, request_bytes
from tests.support.databases import KINDS, Kind

PLAIN = Plan(tool="", args="{}", domain="")
"""No tool step: these scenarios are about the text."""


@dataclass(frozen=True, slots=True)
class Finding:
    title: str
    value: float
    bound: float
    unit: str

    @property
    def kept(self) -> bool:
        return self.value <= self.bound

    def __str__(self) -> str:
        word = "kept" if self.kept else "BROKEN"
        return f"{self.title}: {self.value:.3g} {self.unit} (at most {self.bound:g}) {word}"


class Caller:
    """One connection to the service under its token."""

    def __init__(self, target: Target, connection: WireConnection) -> None:
        self._target = target
        self._connection = connection

    @classmethod
    async def open(cls, target: Target) -> Caller:
        return cls(target, await WireConnection.open(target.port))

    async def get(self, path: str) -> Exchange:
        answer = await self._connection.exchange(request_bytes("GET", path, token=self._target.token))
        if answer.status != 200:
            raise SystemExit(f"GET {path}: {answer.status} {answer.body[:300]!r}")
        return answer

    async def create_session(self) -> str:
        request = request_bytes("POST", "/api/v1/sessions", b"{}", self._target.token)
        answer = await self._connection.exchange(request)
        return orjson.loads(answer.body)["id"]

    async def ask(self, session: str, text: str) -> Exchange:
        body = orjson.dumps({"input": [{"type": "text", "text": text}]})
        path = f"/api/v1/sessions/{session}/runs"
        answer = await self._connection.exchange(request_bytes("POST", path, body, self._target.token))
        if fault := find_service_fault(answer):
            raise SystemExit(fault)
        return answer


async def long_session(target: Target, turns: int) -> list[Finding]:
    """Time to first text after so many turns, against that of a new session, in turn."""
    caller = await Caller.open(target)
    session = await caller.create_session()
    for at in range(turns):
        await caller.ask(session, "bench deltas=1")
        if at % 1000 == 999:
            print(f"  {at + 1} turns", flush=True)
    empty: list[float] = []
    filled: list[float] = []
    for _ in range(30):
        for times, asked in ((empty, await caller.create_session()), (filled, session)):
            answer = await caller.ask(asked, "bench deltas=1")
            times.append(answer.first_text_at - answer.sent_at)
    ratio = statistics.median(filled) / statistics.median(empty)
    return [Finding(f"first text after {turns} turns, against an empty session", ratio, 1.3, "x")]


async def full_house(target: Target, streams: int) -> list[Finding]:
    """The slowest /healthz and history read while so many runs stream."""
    caller = await Caller.open(target)
    session = await caller.create_session()
    await caller.ask(session, "bench deltas=20")
    slowest: dict[str, float] = {}

    async def read_meanwhile() -> None:
        for _ in range(30):
            for name, path in (("/healthz", "/healthz"), ("history", f"/api/v1/sessions/{session}/items")):
                started = time.perf_counter()
                await caller.get(path)
                slowest[name] = max(slowest.get(name, 0), (time.perf_counter() - started) * 1000)
            await asyncio.sleep(0.1)

    load = PLAIN.load(target, deltas=8, gap_ms=1000, at_once=streams, runs=streams)
    outcome = await drive(load, on_ready=lambda: None, on_live=read_meanwhile)
    found = [Finding(f"slowest {name}, {streams} live", took, 200, "ms") for name, took in slowest.items()]
    return [*found, Finding(f"of {streams} runs, failed", len(outcome.faults), 0, "runs")]


async def letter_by_letter(target: Target, letters: int) -> list[Finding]:
    """A lone run's text lines are its commits: each flush merges what waits into one line."""
    caller = await Caller.open(target)
    session = await caller.create_session()
    answer = await caller.ask(session, f"bench deltas={letters} letters=1")
    if answer.deltas != letters:
        raise SystemExit(f"{answer.deltas} of {letters} letters came")
    lines = answer.body.count(b'"type":"text"')
    return [Finding(f"commits a letter, {letters} letters without a gap", lines / letters, 0.5, "")]


async def measure(kind: Kind, turns: int, streams: int) -> list[Finding]:
    with tempfile.TemporaryDirectory(prefix="deskmate-bench-") as name:
        folder = Path(name)
        async with run_stub(folder) as stub:
            model_url = f"http://127.0.0.1:{stub.port}/v1"
            async with run_service(folder, model_url, kind, {"DESKMATE_POOL_SIZE": "5"}) as target:
                return [
                    *await letter_by_letter(target, 2000),
                    *await full_house(target, streams),
                    *await long_session(target, turns),
                ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=[*KINDS], default="postgresql")
    parser.add_argument("--turns", type=int, default=5000)
    parser.add_argument("--streams", type=int, default=500)
    options = parser.parse_args()
    findings = asyncio.run(measure(options.database, options.turns, options.streams))
    for finding in findings:
        print(finding)
    return 0 if all(finding.kept for finding in findings) else 1


if __name__ == "__main__":
    raise SystemExit(main())
