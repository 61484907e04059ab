"""Log lines go to standard error, so that what a command prints can be piped.

One pipe for all: our own lines, uvicorn's and the libraries'. Who is at a terminal reads columns, anybody
else JSON, one object a line. Lines of a request carry `request_id`, lines of a run `run_id` and
`session_id`; they are bound as context variables where the work begins and travel with its tasks.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

LEVEL_VARIABLE = "DESKMATE_LOG"
FORMAT_VARIABLE = "DESKMATE_LOG_FORMAT"
OURS = ("app", "capabilities", "workers", "uvicorn")
"""Loggers that follow the level; of any other library only warnings are told. Some of them write the
parameters of statements at `debug`, which are what people wrote."""
NOISY = {"python_multipart": logging.ERROR}
"""Told for what is a caller's fault and gets its answer."""

_SECRETS = re.compile(
    r"(?P<token>deskmate_[uo]_)[0-9A-Za-z]+|(?P<scheme>\b[Bb]earer\s+)[^\s\"']+|(?P<login>://[^\s/:@]*:)[^\s/@]+(?=@)"
)


def configure_logging(environment: Mapping[str, str] | None = None) -> None:
    """Warnings and faults; `DESKMATE_LOG=info` also one line a request and run, `debug` for more.

    `DESKMATE_LOG_FORMAT` is console, json, or auto: columns where standard error is a terminal, else
    JSON. Values that are neither count as unset here; `load_settings` refuses them by name.

    Tracebacks show code and never the values of local variables, which structlog's own default does:
    they hold what people wrote, and tokens.
    """
    environment = os.environ if environment is None else environment
    levels = logging.getLevelNamesMapping()
    level = levels.get(environment.get(LEVEL_VARIABLE, "").strip().upper() or "WARNING", logging.WARNING)
    wanted = environment.get(FORMAT_VARIABLE, "").strip().lower()
    as_json = wanted == "json" or (wanted != "console" and not sys.stderr.isatty())
    chain: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        hide_secrets,
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer(serializer=_dump)
        if as_json
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        processors=[*chain, renderer],
    )
    _take_in_libraries(level, chain, renderer)


def configure_logging_once() -> None:
    """Where nobody has: `uvicorn --factory app.main:create_app` has no command before it."""
    if not structlog.is_configured():
        configure_logging()


def hide_secrets(_logger: WrappedLogger, _name: str, line: EventDict) -> EventDict:
    """A second net: tokens and passwords in addresses, wherever they stand, also in an error's text."""
    for key, value in line.items():
        if isinstance(value, str) and ("://" in value or "deskmate_" in value or "earer" in value):
            line[key] = _SECRETS.sub(_covered, value)
    return line


def _covered(found: re.Match[str]) -> str:
    return f"{found['token'] or found['scheme'] or found['login']}…"


def _dump(line: Any, **_: Any) -> str:
    return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


class _CutRequests(logging.Filter):
    """A reader that is still there when the process must go is cut. That is no fault to trace."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
            record.msg, record.args, record.exc_info = "request_cut_at_shutdown", None, None
            record.levelno, record.levelname = logging.INFO, "INFO"
            return logging.getLogger(record.name).isEnabledFor(logging.INFO)
        return True


class _Handler(logging.StreamHandler[Any]):
    """Ours, so that another call finds it and leaves the handlers of others alone (pytest has some)."""


def _take_in_libraries(level: int, chain: list[Processor], renderer: Processor) -> None:
    handler = _Handler(sys.stderr)
    handler.addFilter(_CutRequests())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *chain],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [*(old for old in root.handlers if not isinstance(old, _Handler)), handler]
    root.setLevel(max(level, logging.WARNING))
    for name in OURS:
        logging.getLogger(name).setLevel(level)
    for name, least in NOISY.items():
        logging.getLogger(name).setLevel(least)
    uvicorn = logging.getLogger("uvicorn")
    uvicorn.handlers, uvicorn.propagate = [], True
