"""Named points at which a test kills the process, to see what survives (P7)."""

from __future__ import annotations

import os
from collections.abc import Callable

CrashHook = Callable[[str], None]

_ARMED, _, _TIMES = os.environ.get("DESKMATE_CRASH_AT", "").partition(":")
_left = int(_TIMES or 1)


def _pass(name: str) -> None:
    """Nothing is armed."""


def _die(name: str) -> None:
    global _left  # noqa: PLW0603 - a test's countdown, in a process that is about to die
    if name != _ARMED:
        return
    _left -= 1
    if _left == 0:
        os._exit(137)  # as SIGKILL would: no `finally`, no flush, no commit


crash_point: CrashHook = _die if _ARMED else _pass
"""`crash_point("in_effect_before_commit")` ends the process there if DESKMATE_CRASH_AT names it.

`after_event_commit:3` waits for the third time that the point is passed."""
