from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.testkit import PackageHarness, open_harness, user

LAB = Path(__file__).parent / "lab_packages" / "lab"


@pytest.fixture
async def lab(empty_url: str) -> AsyncIterator[PackageHarness]:
    """The lab package behind the gate, on each kind of database; a module shares the database."""
    async with open_harness(LAB, url=empty_url) as harness:
        yield harness


@pytest.fixture
def me() -> Principal:
    """A user whom no other test knows."""
    return user(new_id("u"))
