"""Retries only where nothing was given out yet (M4)."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import ProviderError
from app.protocol.conversation import (
    Done,
    Failed,
    ModelRequest,
    ModelSpec,
    OpaqueState,
    ReasoningDelta,
    TextDelta,
    ToolCallFragment,
    UsageReport,
)
from app.providers.retrying import RetryingProvider, RetryPolicy
from app.providers.scripted import Pause, ScriptedProvider, Step
from tests.contract.providers.outcome import Outcome, outcome

REQUEST = ModelRequest(model=ModelSpec("m", "p", "m"), system="", messages=())
OK: Step = [TextDelta("hi")]


def failure(*, retryable: bool = True, after: float | None = None) -> Failed:
    return Failed(ProviderError("down", kind="overloaded", retryable=retryable, retry_after_s=after))


async def run(*steps: Step, policy: RetryPolicy | None = None) -> tuple[Outcome, list[float], int]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    inner = ScriptedProvider(steps)
    provider = RetryingProvider(inner, policy, sleep=sleep, chance=lambda: 0.0)
    got = outcome([batch async for batch in provider.stream(REQUEST)])
    return got, waits, len(inner.requests)


async def test_a_retryable_failure_before_any_output_is_tried_again_with_growing_waits() -> None:
    got, waits, tries = await run([failure()], [failure()], OK)
    assert (got.text, got.stop, waits, tries) == ("hi", "end", [0.25, 0.5], 3)


async def test_tries_are_bounded() -> None:
    got, waits, tries = await run([failure()], [failure()], [failure()], OK)
    assert (got.stop, len(waits), tries) == ("error", 2, 3)


async def test_what_cannot_be_mended_is_not_tried_again() -> None:
    got, waits, tries = await run([failure(retryable=False)], OK)
    assert (got.stop, waits, tries) == ("error", [], 1)


@pytest.mark.parametrize(
    "event", [TextDelta("a"), ReasoningDelta("a"), ToolCallFragment(0, "f", ""), OpaqueState({"a": 1})]
)
@pytest.mark.parametrize("together", [True, False])
async def test_after_any_output_the_failure_goes_on(event: Any, together: bool) -> None:
    step: Step = [[event, failure()]] if together else [event, failure()]
    got, waits, tries = await run(step, OK)
    assert (got.stop, waits, tries) == ("error", [], 1)


async def test_retry_after_is_honoured_up_to_its_cap() -> None:
    assert (await run([failure(after=7)], OK))[1] == [7]
    got, waits, _ = await run([failure(after=60)], OK)
    assert (got.stop, waits) == ("error", []), "coming back too early would only be refused again"
    assert got.error is not None
    assert got.error.retry_after_s == 60


async def test_waits_are_spread_by_chance_and_capped() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    policy = RetryPolicy(max_retries=6, base_s=1, cap_s=4)
    provider = RetryingProvider(ScriptedProvider([[failure()]] * 7), policy, sleep=sleep, chance=lambda: 1.0)
    assert outcome([batch async for batch in provider.stream(REQUEST)]).stop == "error"
    assert waits == [1, 2, 4, 4, 4, 4]


async def test_what_a_failed_try_cost_is_added_up() -> None:
    got, _, _ = await run([[UsageReport(5, 1), failure()]], [TextDelta("hi"), UsageReport(5, 7), Done("end")])
    assert got.usage == UsageReport(10, 8)


async def test_closing_it_closes_the_provider_s_stream() -> None:
    inner = ScriptedProvider([[TextDelta("a"), Pause()]])
    batches: Any = RetryingProvider(inner).stream(REQUEST)
    await anext(batches)
    await batches.aclose()
    assert (inner.open, inner.cut_short) == (0, 1)
