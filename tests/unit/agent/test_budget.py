"""Usage, cost and the limits of a run."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from app.agent import AgentConfig, Limits
from app.agent.budget import Budget, UsageTotals, cost_of, decimal_text
from app.protocol.conversation import ModelPrice, UsageReport
from tests.unit.agent.fakes import HandClock


def test_defaults_are_those_of_the_source() -> None:
    config = AgentConfig()
    assert (config.tool_timeout_ms, config.compact_threshold, config.max_tool_calls_per_turn) == (
        120_000,
        0.8,
        50,
    )
    assert (config.memory_checkpoint_interval, config.memory_max_items) == (10, 20)
    assert (config.default_model, config.compact_model, config.compact_prompt, config.memory_model) == (
        None,
    ) * 4
    assert (config.system_instructions, config.personality, config.memory_namespace) == ((), "", "")
    assert Limits() == Limits(wall_time=timedelta(minutes=10), max_tokens=None, max_cost=None, max_steps=None)


def test_cached_tokens_cost_their_own_price_or_that_of_input() -> None:
    report = UsageReport(input=1_000_000, output=100_000, cached=400_000)
    assert cost_of(report, ModelPrice(input=2, output=10, cached_input=0.5)) == Decimal("2.4")
    assert cost_of(report, ModelPrice(input=2, output=10)) == Decimal(3)


@pytest.mark.parametrize(
    ("amount", "text"), [("0", "0"), ("0.0012000", "0.0012"), ("1E-7", "0.0000001"), ("100", "100")]
)
def test_money_is_a_plain_decimal_string(amount: str, text: str) -> None:
    assert decimal_text(Decimal(amount)) == text


def test_floats_of_a_price_do_not_leak_into_the_sum() -> None:
    totals = UsageTotals()
    for _ in range(3):
        totals.add(UsageReport(1, 0), ModelPrice(input=0.1, per=1))
    assert totals.as_usage().cost == "0.3"


def test_wall_time_counts_from_the_making() -> None:
    clock = HandClock()
    budget = Budget(Limits(wall_time=timedelta(seconds=5)), clock)
    clock.now += 4
    assert (budget.fault(), budget.seconds_left) == (None, 1)
    clock.now += 1
    fault = budget.fault()
    assert fault is not None
    assert (fault.code, fault.retryable, budget.seconds_left) == ("RUN_TIMEOUT", True, 0)
