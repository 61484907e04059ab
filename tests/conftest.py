"""What holds for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def own_log_configuration() -> Iterator[None]:
    """Logging is set up for the whole process; what one test sets up must not filter another's lines."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
