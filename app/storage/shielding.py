"""Work that a cancelled caller must not leave half done: commit, rollback, giving a connection back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` to its end even if the caller is cancelled meanwhile; the cancel is raised afterwards.

    `asyncio.shield` alone would let the caller go on (and release locks) while the work still runs.
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
        if not task.cancelled():
            task.exception()  # taken, so that asyncio does not report it: the cancel is what the caller sees
        raise
