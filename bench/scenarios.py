"""One function a scenario: put a load on one target, give the figures of that block."""

from __future__ import annotations

import asyncio
import statistics
from dataclasses import dataclass, field, replace

from bench.load import Load, Outcome
from bench.targets import Target, drive

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """The tool step and the sizes, the same for all targets."""

    tool: str = "mistakes_add"
    """Wire name; empty goes without a tool step, which proxy and raw client cannot."""
    args: str = '{"question":"7 x 8","subject":"math","answer":"56"}'
    domain: str = "mistakes"
    """Loaded in each session by a warm-up run, so that the tool is there from the first step; may be empty."""
    throughput_runs: int = 320
    first_text_runs: int = 100
    live_runs: int = 200
    crowd_runs: int = 200
    faults: list[str] = field(default_factory=list[str])
    """Runs that did not count, over all blocks; a figure with faults is no figure."""

    def order(self, deltas: int, gap_ms: float = 0) -> str:
        text = f"bench deltas={deltas} gap_ms={gap_ms:g}"
        return f"{text} tool={self.tool} args={self.args}" if self.tool else text

    def load(self, target: Target, *, deltas: int, gap_ms: float = 0, at_once: int, runs: int) -> Load:
        return Load(
            mode=target.mode,
            port=target.port,
            token=target.token,
            text=self.order(deltas, gap_ms),
            warm_text=f"bench after_load={self.domain}" if self.domain else "",
            deltas=deltas,
            at_once=at_once,
            runs=runs,
        )

    def check(self, target: Target, outcome: Outcome) -> Outcome:
        self.faults.extend(f"{target.name}: {fault}" for fault in outcome.faults)
        return outcome


async def throughput(plan: Plan, target: Target) -> Figures:
    """32 at once, 50 deltas, gap 0."""
    runs = plan.throughput_runs
    cpu = 0.0

    def note_cpu() -> None:
        nonlocal cpu
        cpu = target.cpu_seconds()

    load = plan.load(target, deltas=50, at_once=32, runs=runs)
    outcome = plan.check(target, await drive(load, on_ready=note_cpu))
    figures = {
        "runs_per_second": runs / outcome.seconds,
        "generator_share": outcome.cpu_seconds / outcome.seconds,
    }
    if target.mode != "raw":
        # The raw client's only server is the stub, whose cost is nobody's figure.
        figures["cpu_ms_per_run"] = (target.cpu_seconds() - cpu) * 1000 / runs
    return figures


async def first_text(plan: Plan, target: Target) -> Figures:
    """10 at once, gap 20 ms: the time to the first text, the model's own included."""
    load = plan.load(target, deltas=10, gap_ms=20, at_once=10, runs=plan.first_text_runs)
    outcome = plan.check(target, await drive(load, on_ready=_nothing))
    return {"first_text_ms": _median(outcome.first_text_ms)}


async def memory(plan: Plan, target: Target) -> Figures:
    """200 live, gap 1 s; for a process that has done little before, or freed memory hides the growth."""
    load = plan.load(target, deltas=4, gap_ms=1000, at_once=plan.live_runs, runs=plan.live_runs)
    before = peak = 0

    def note_before() -> None:
        nonlocal before
        before = target.rss_bytes()

    async def note_live() -> None:
        nonlocal peak
        await asyncio.sleep(0.5)
        peak = target.rss_bytes()

    # No connection beforehand: a live run's connection is part of what it costs.
    load = replace(load, preconnect=False, set_up_at_once=2)
    plan.check(target, await drive(load, on_ready=note_before, on_live=note_live))
    return {"kib_per_live_run": (peak - before) / 1024 / plan.live_runs}


async def crowd(plan: Plan, target: Target) -> Figures:
    """200 at once, 200 deltas, gap 10 ms: how long until the last has finished."""
    load = plan.load(target, deltas=200, gap_ms=10, at_once=plan.crowd_runs, runs=plan.crowd_runs)
    outcome = plan.check(target, await drive(load, on_ready=_nothing))
    return {
        "crowd_seconds": outcome.seconds,
        "crowd_p50_seconds": _median(outcome.duration_ms) / 1000,
        "crowd_finished": len(outcome.duration_ms),
    }


def _nothing() -> None:
    pass


def _median(values: list[float]) -> float:
    return statistics.median(values) if values else float("nan")
