"""Work that a cancelled caller must not leave half done: commit, rollback, giving a connection back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(
    work: Coroutine[Any, Any, T], *, undo: Callable[[T], Coroutine[Any, Any, None]] | None = None
) -> T:
    """Runs `work` to its end even if the caller is cancelled meanwhile; the cancel is raised afterwards.

    `asyncio.shield` alone would let the caller go on (and release locks) while the work still runs.

    Args:
        work: what must not stop half way.
        undo: gives back what `work` returned when a cancelled caller will never see it.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue
        # the exception is taken, so that asyncio does not report it: the cancel is what the caller sees
        if not task.cancelled() and task.exception() is None and undo is not None:
            await to_the_end(undo(task.result()))
        raise
