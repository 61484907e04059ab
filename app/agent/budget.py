"""What a run has used and how much it may still use (H7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from app.agent.config import Limits
from app.errors import BudgetExceeded, RunExpired, RunFatal
from app.protocol.conversation import ModelPrice, UsageReport
from app.protocol.events import Usage

Clock = Callable[[], float]
"""Seconds that only ever rise, as `time.monotonic`."""


def cost_of(report: UsageReport, price: ModelPrice) -> Decimal:
    """The price of one model call.

    Cached tokens are part of `report.input`. Without a price of their own they cost as much as any
    input: a limit on money had better be reached too early than too late.
    """
    cached_price = price.cached_input or price.input
    total = (
        (report.input - report.cached) * Decimal(str(price.input))
        + report.cached * Decimal(str(cached_price))
        + report.output * Decimal(str(price.output))
    )
    return total / price.per


def decimal_text(amount: Decimal) -> str:
    """A plain decimal string: `0.0012`, never `1.2E-3`, and `0` for nothing."""
    return format(amount.normalize(), "f") if amount else "0"


@dataclass(slots=True)
class UsageTotals:
    """The sums over all steps of a run."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cost: Decimal = Decimal(0)

    def add(self, report: UsageReport, price: ModelPrice) -> None:
        self.input_tokens += report.input
        self.output_tokens += report.output
        self.cached_input_tokens += report.cached
        self.cost += cost_of(report, price)

    def as_usage(self) -> Usage:
        """The form that `done` carries."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_input_tokens=self.cached_input_tokens,
            cost=decimal_text(self.cost),
        )


class Budget:
    """One run's limits against its clock and its totals."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self.used = UsageTotals()
        self.steps = 0
        self._limits = limits
        self._clock = clock
        self._deadline = clock() + limits.wall_time.total_seconds()

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._deadline - self._clock())

    def time_fault(self) -> RunExpired | None:
        """The error to end with once the wall time is used up."""
        return None if self._clock() < self._deadline else self.expired()

    def expired(self) -> RunExpired:
        seconds = self._limits.wall_time.total_seconds()
        return RunExpired(f"The run reached its time limit of {seconds:g} seconds. Ask again to go on.")

    def fault(self) -> RunFatal | None:
        """The limit that forbids another model call, if one does."""
        limits, used = self._limits, self.used
        if expired := self.time_fault():
            return expired
        if limits.max_tokens is not None and used.input_tokens + used.output_tokens >= limits.max_tokens:
            return BudgetExceeded(f"The run used up its {limits.max_tokens} tokens.")
        if limits.max_cost is not None and used.cost >= limits.max_cost:
            return BudgetExceeded(f"The run used up its budget of {decimal_text(limits.max_cost)}.")
        if limits.max_steps is not None and self.steps >= limits.max_steps:
            return BudgetExceeded(f"The run used up its {limits.max_steps} steps.")
        return None
