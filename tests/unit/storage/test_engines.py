"""Which database URLs are taken."""

from __future__ import annotations

import pytest

from app.errors import SettingsInvalid
from app.storage.engines import parse_url


@pytest.mark.parametrize(
    ("url", "dialect", "driver"),
    [
        ("sqlite:///data/deskmate.db", "sqlite", "sqlite+aiosqlite"),
        ("sqlite+aiosqlite:////var/lib/x.db", "sqlite", "sqlite+aiosqlite"),
        ("postgresql://u:p@db/desk", "postgresql", "postgresql+asyncpg"),
        ("postgresql+asyncpg://db/desk", "postgresql", "postgresql+asyncpg"),
    ],
)
def test_both_databases_are_read_with_or_without_a_driver(url: str, dialect: str, driver: str) -> None:
    found, parsed = parse_url(url)
    assert (found, parsed.drivername) == (dialect, driver)


@pytest.mark.parametrize("url", ["mysql://db/x", "nonsense", "", "sqlite://", "sqlite:///:memory:"])
def test_others_are_refused(url: str) -> None:
    with pytest.raises(SettingsInvalid):
        parse_url(url)
