"""Medians over the rounds, ratios to the proxy, and whether a target is met; as Markdown."""

from __future__ import annotations

import platform
import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from bench.scenarios import Figures


@dataclass(frozen=True, slots=True)
class Goal:
    """One row of the table: a figure, and the ratio or value that is asked of the service."""

    title: str
    figure: str
    unit: str
    compared: str
    """To what the service is compared: `proxy`, `model` (raw client) or `none` (the value itself)."""
    at_least: dict[str, float]
    aim: dict[str, float]
    more_is_better: bool = False
    beyond_model: bool = False
    """The model's own share is taken off first."""


def _both(value: float) -> dict[str, float]:
    return {"postgresql": value, "sqlite": value}


GOALS = (
    Goal(
        "runs per second, 32 at once, 50 deltas, gap 0",
        "runs_per_second",
        "/s",
        "proxy",
        {"postgresql": 1.2, "sqlite": 1.0},
        {"postgresql": 2.5, "sqlite": 1.8},
        more_is_better=True,
    ),
    Goal(
        "CPU of the server process per run",
        "cpu_ms_per_run",
        "ms",
        "proxy",
        {"postgresql": 0.85, "sqlite": 1.0},
        {"postgresql": 0.4, "sqlite": 0.5},
    ),
    Goal(
        "added time to first text, 10 at once, gap 20 ms (p50)",
        "first_text_ms",
        "ms",
        "proxy",
        _both(2.0),
        _both(1.2),
        beyond_model=True,
    ),
    Goal("memory per live run, 200 live, gap 1 s", "kib_per_live_run", "KiB", "none", _both(80), _both(50)),
    Goal(
        "200 at once, 200 deltas, gap 10 ms, until all have finished",
        "crowd_seconds",
        "s",
        "model",
        _both(float("inf")),
        _both(1.2),
    ),
)


class Results:
    """Figures of all blocks, by target and figure."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], list[float]] = defaultdict(list)

    def add(self, target: str, figures: Figures) -> None:
        for figure, value in figures.items():
            self._values[target, figure].append(value)

    def median(self, target: str, figure: str) -> float | None:
        values = self._values.get((target, figure))
        return statistics.median(values) if values else None

    def spread(self, target: str, figure: str) -> str:
        values = self._values.get((target, figure))
        return f"{_short(min(values))} to {_short(max(values))}" if values else ""


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _own(results: Results, goal: Goal, target: str) -> float | None:
    """The figure itself, less the model's share where the goal says so."""
    value = results.median(target, goal.figure)
    if value is None or not goal.beyond_model:
        return value
    model = results.median("model alone", goal.figure)
    return None if model is None else value - model


def ratio(results: Results, goal: Goal, target: str) -> float | None:
    """What is held against the goal; None where a block is missing."""
    value = _own(results, goal, target)
    if value is None or goal.compared == "none":
        return value
    base = _own(results, goal, "model alone" if goal.compared == "model" else "proxy")
    return value / base if base else None


def verdict(goal: Goal, target: str, reached: float) -> str:
    good: Callable[[float], bool] = (
        (lambda bound: reached >= bound) if goal.more_is_better else (lambda bound: reached <= bound)
    )
    if good(goal.aim[target]):
        return "aim"
    return "met" if good(goal.at_least[target]) else "MISSED"


def table(results: Results, targets: list[str]) -> str:
    """One row for each goal and database."""
    lines = [
        "| what | database | service | proxy | model alone | ratio | at least | aim | |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for goal in GOALS:
        for target in targets:
            lines.append(_row(results, goal, target))
    return "\n".join(lines)


def _row(results: Results, goal: Goal, target: str) -> str:
    own = [_own(results, goal, name) for name in (target, "proxy")]
    model = results.median("model alone", goal.figure)
    cells = ["" if value is None else f"{_short(value)} {goal.unit}" for value in (*own, model)]
    reached = ratio(results, goal, target)
    sign = "" if goal.compared == "none" else " x"
    bounds = [
        "finish" if bound == float("inf") else f"{bound:g}{sign}"
        for bound in (goal.at_least[target], goal.aim[target])
    ]
    share = "" if reached is None else f"{_short(reached)}{sign}"
    said = "" if reached is None else verdict(goal, target, reached)
    return f"| {goal.title} | {target} | {' | '.join(cells)} | {share} | {' | '.join(bounds)} | {said} |"


def spreads(results: Results, targets: list[str]) -> str:
    lines = [
        f"- {goal.figure}, {name}: {results.spread(name, goal.figure)} {goal.unit}"
        for goal in GOALS
        for name in ("model alone", "proxy", *targets)
        if results.spread(name, goal.figure)
    ]
    return "\n".join(lines)


def machine() -> str:
    memory_gib = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores, {memory_gib:.0f} GiB, Python {platform.python_version()}"
