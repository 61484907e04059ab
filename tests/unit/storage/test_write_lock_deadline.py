"""A writer that waits behind a stuck one gets an answer."""

from __future__ import annotations

import pytest

from app.errors import StorageUnavailable
from app.storage.write_lock import WriteLock


async def test_a_write_unit_does_not_queue_for_ever() -> None:
    lock = WriteLock(wait_s=0.05)
    async with lock.hold():
        with pytest.raises(StorageUnavailable):
            await lock.acquire()
    async with lock.hold():  # the one who gave up left nothing behind in the queue
        pass
    assert not lock.held
