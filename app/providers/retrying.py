"""Another try where the first gave nothing out yet (M4).

Once a delta has been streamed a second try would repeat or contradict it, so then the failure
goes on to the loop, which keeps the partial text.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import cast

from app.protocol.conversation import Failed, ModelEvent, ModelRequest, UsageReport
from app.protocol.ports import ModelProvider


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    max_retries: int = 2
    base_s: float = 0.5
    """Wait before the first retry; doubles with each."""
    cap_s: float = 8.0
    retry_after_cap_s: float = 20.0
    """A provider that asks for a longer wait is believed: no retry, the failure goes out at once."""


class RetryingProvider:
    """A `ModelProvider` around another."""

    def __init__(
        self,
        inner: ModelProvider,
        policy: RetryPolicy | None = None,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._inner = inner
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._chance = chance

    def __repr__(self) -> str:
        return f"RetryingProvider({self._inner!r})"

    @property
    def id(self) -> str:
        return self._inner.id

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[ModelEvent]]:
        spent: list[UsageReport] = []
        for attempt in range(self._policy.max_retries + 1):
            wait: float | None = None
            given = False
            async with aclosing(_closable(self._inner.stream(request))) as batches:
                async for batch in batches:
                    wait = None if given else self._wait_before_retry(batch, attempt)
                    if wait is not None:
                        spent += [event for event in batch if isinstance(event, UsageReport)]
                        break
                    given = True
                    yield _with_spent(batch, spent)
            if wait is None:
                return
            await self._sleep(wait)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _wait_before_retry(self, batch: Sequence[ModelEvent], attempt: int) -> float | None:
        """Seconds to wait where `batch` is a retryable failure and nothing else; else None."""
        policy = self._policy
        last = batch[-1] if batch else None
        if not isinstance(last, Failed) or not last.error.retryable or attempt >= policy.max_retries:
            return None
        if any(not isinstance(event, UsageReport | Failed) for event in batch):
            return None
        asked = last.error.retry_after_s or 0.0
        if asked > policy.retry_after_cap_s:
            return None
        # Half fixed, half by chance: many runs that failed together must not come back together.
        backoff = min(policy.cap_s, policy.base_s * 2**attempt) * (0.5 + self._chance() / 2)
        return max(asked, backoff)


def _with_spent(batch: Sequence[ModelEvent], spent: list[UsageReport]) -> Sequence[ModelEvent]:
    """Adds what failed tries cost to the report of the one that went through."""
    if not spent or not any(isinstance(event, UsageReport) for event in batch):
        return batch
    return [_sum(event, spent) if isinstance(event, UsageReport) else event for event in batch]


def _sum(report: UsageReport, spent: list[UsageReport]) -> UsageReport:
    for other in spent:
        report = replace(
            report,
            input=report.input + other.input,
            output=report.output + other.output,
            cached=report.cached + other.cached,
            cache_write=report.cache_write + other.cache_write,
            reasoning=report.reasoning + other.reasoning,
        )
    return report


def _closable(
    batches: AsyncIterator[Sequence[ModelEvent]],
) -> AsyncGenerator[Sequence[ModelEvent], None]:
    """The port promises that closing the iterator closes the socket, so it is a generator."""
    return cast("AsyncGenerator[Sequence[ModelEvent], None]", batches)
