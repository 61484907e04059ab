"""Named points at which a test kills the process, to see what survives (P7)."""

from __future__ import annotations

import os
from collections.abc import Callable

CrashHook = Callable[[str], None]

_ARMED = os.environ.get("DESKMATE_CRASH_AT", "")


def _pass(name: str) -> None:
    """Nothing is armed."""


def _die(name: str) -> None:
    if name == _ARMED:
        os._exit(137)  # as SIGKILL would: no `finally`, no flush, no commit


crash_point: CrashHook = _die if _ARMED else _pass
"""`crash_point("in_effect_before_commit")` ends the process there if DESKMATE_CRASH_AT names it."""
