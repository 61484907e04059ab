"""Log lines go to standard error, so that what a command prints can be piped."""

from __future__ import annotations

import logging
import os
import sys

import structlog

LEVEL_VARIABLE = "DESKMATE_LOG"


def configure_logging() -> None:
    """Warnings and faults; `DESKMATE_LOG=debug` (or info) for more.

    Tracebacks show code and never the values of local variables, which structlog's own default does:
    they hold what people wrote, and tokens.
    """
    levels = logging.getLevelNamesMapping()
    level = levels.get(os.environ.get(LEVEL_VARIABLE, "warning").upper(), logging.WARNING)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ],
    )


def configure_logging_once() -> None:
    """Where nobody has: `uvicorn --factory app.main:create_app` has no command before it."""
    if not structlog.is_configured():
        configure_logging()
