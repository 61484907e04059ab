"""Trace context (W3C, https://www.w3.org/TR/trace-context/): read strictly, carried from request to run to job.

Works without any tracing library: who calls us finds the trace id in our log lines, and a job that a run
submits keeps it, whether or not spans are exported. Where they are, `telemetry` sets the span of the
moment here.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class TraceParent:
    trace_id: str
    """32 lower-case hexadecimal digits, not all zero."""
    span_id: str
    """16 of them: the span that calls."""
    flags: int
    """Bit 0: the caller records this trace."""

    @property
    def sampled(self) -> bool:
        return bool(self.flags & 1)

    def __str__(self) -> str:
        """The header's value. Only the flag that version 00 knows is passed on."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags & 1:02x}"


def parse_traceparent(value: str) -> TraceParent | None:
    """None for anything but a valid value: the standard wants such a header ignored, not refused.

    A version above 00 may have more fields behind a dash; version 00 may not, and ff is never valid.
    """
    found = _FORM.fullmatch(value)
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more is not None):
        return None
    if not trace_id.strip("0") or not span_id.strip("0"):
        return None
    return TraceParent(trace_id, span_id, int(flags, 16))


current_trace: ContextVar[TraceParent | None] = ContextVar("current_trace", default=None)
"""The span that causes what happens now. Set where work begins; tasks inherit it."""


def outgoing_traceparent() -> str | None:
    """What a row keeps whose work goes on elsewhere, such as a job's."""
    trace = current_trace.get()
    return None if trace is None else str(trace)
