"""Log lines as a process of ours writes them: one pipe, JSON where no terminal is, no secrets."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import Any

import pytest

SPEAK = """
import asyncio, logging, structlog
from app.logs import configure_logging
configure_logging()
structlog.contextvars.bind_contextvars(request_id="req_1")
ours = structlog.get_logger("app.x")
ours.info("quiet")
ours.warning("ours", url="postgresql://me:hunter2@db/x", token="deskmate_u_abc123")
logging.getLogger("app.agent.step").error("by %s", "stdlib")
logging.getLogger("uvicorn.error").warning("from uvicorn")
logging.getLogger("aiosqlite").debug("insert 'what somebody wrote'")
logging.getLogger("elsewhere").warning("library")
def fails(words):
    raise ValueError("Authorization: Bearer abc.def")
try:
    fails("what somebody wrote")
except ValueError:
    ours.exception("failed")
logging.getLogger("uvicorn.error").error("Exception in ASGI", exc_info=asyncio.CancelledError())
"""


def speak(**settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SPEAK],
        env={k: v for k, v in os.environ.items() if not k.startswith("DESKMATE_")} | settings,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout == ""
    return done.stderr


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_all_lines_are_json_where_no_terminal_is() -> None:
    told = lines(speak())
    assert [line["event"] for line in told] == ["ours", "by stdlib", "from uvicorn", "library", "failed"]
    for line in told:
        assert line["request_id"] == "req_1"
        assert line["timestamp"].endswith("Z")
        assert line["level"] in {"warning", "error"}
    assert told[1]["logger"] == "app.agent.step"


def test_a_traceback_is_a_member_and_shows_no_values_of_variables() -> None:
    trace = lines(speak())[-1]["exception"]
    assert "in fails" in trace
    assert "what somebody wrote" not in trace.replace('fails("what somebody wrote")', "")


@pytest.mark.parametrize("form", ["json", "console"])
def test_tokens_and_passwords_are_covered_up(form: str) -> None:
    text = speak(DESKMATE_LOG_FORMAT=form, DESKMATE_LOG="debug")
    for secret in ("hunter2", "abc123", "abc.def"):
        assert secret not in text
    assert "postgresql://me:…@db/x" in text


def test_what_people_wrote_is_in_no_line_at_debug() -> None:
    text = speak(DESKMATE_LOG="debug").replace('fails(\\"what somebody wrote\\")', "")
    assert '"quiet"' in text
    assert "what somebody wrote" not in text


def test_a_request_cut_at_shutdown_is_one_quiet_line() -> None:
    assert "request_cut" not in speak()
    assert lines(speak(DESKMATE_LOG="info"))[-1]["event"] == "request_cut_at_shutdown"


def test_columns_are_for_people() -> None:
    text = speak(DESKMATE_LOG_FORMAT="console")
    assert "[warning  ] ours" in text


def test_a_terminal_gets_columns() -> None:
    ours, theirs = pty.openpty()
    child = subprocess.Popen([sys.executable, "-c", SPEAK], stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
    except OSError:
        pass  # Linux says so when the other end is closed
    finally:
        os.close(ours)
        child.wait(timeout=30)
    assert b"ours" in seen
    assert not seen.lstrip().startswith(b"{")
