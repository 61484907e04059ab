"""One reader of server-sent events for all providers, fed with bytes as they come.

Source: WHATWG HTML, 9.2 "Server-sent events" (https://html.spec.whatwg.org/multipage/server-sent-events.html).

A parser of ours instead of httpx-sse's decoder, because that one takes decoded lines and so leaves
the hard part to the caller (a character or CRLF cut between two reads), drops a last event that no
blank line closes, and costs a `str` and a decode per line. Here the lines stay bytes: only CR and
LF can end one, so U+2028 and its kin cannot, a cut UTF-8 character is never decoded alone, and the
JSON parser gets the bytes as they are.

On purpose unlike the standard: an unfinished last event is handed out by `close`, because real
servers leave out the last blank line; `id` and `retry` are ignored, because no provider resumes.
"""

from __future__ import annotations

from typing import NamedTuple

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Images and encrypted reasoning come as one line of many hundred KB; beyond this it is a fault."""

_BOM = b"\xef\xbb\xbf"


class EventTooLong(Exception):
    """A line or an event passed the cap; the stream cannot be read on."""


class SSEEvent(NamedTuple):
    """A tuple because it is made for every delta, and a frozen dataclass costs four times as much."""

    event: bytes
    """The `event` field; empty where there was none (which means `message`)."""
    data: bytes
    """The data lines, joined by LF; not decoded and not checked."""


class SSEReader:
    """Push bytes with `feed`, end with `close`; both give the events that became complete."""

    __slots__ = (
        "_after_cr",
        "_at_start",
        "_data",
        "_data_bytes",
        "_event",
        "_limit",
        "_partial",
        "_partial_bytes",
    )

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._at_start = True
        self._after_cr = False
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._event = b""

    def feed(self, data: bytes) -> list[SSEEvent]:
        """Raises EventTooLong."""
        if self._at_start:
            # A BOM may come byte by byte: hold back while what came could still be one.
            data = b"".join(self._partial) + data
            self._partial, self._partial_bytes = [], 0
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._partial, self._partial_bytes = [data], len(data)
                return []
            self._at_start = False
            data = data.removeprefix(_BOM)
        if self._after_cr and data:
            data = data.removeprefix(b"\n")  # the other half of a CRLF cut between two reads
            self._after_cr = False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = data.rfind(b"\n")
        if end < 0:
            if data:
                self._hold(data)
            return []
        block = data[:end]
        if self._partial:
            # Kept in pieces until here: joining at each read would be quadratic for a long line.
            self._partial.append(block)
            block = b"".join(self._partial)
            self._partial, self._partial_bytes = [], 0
        out: list[SSEEvent] = []
        for line in block.split(b"\n"):
            self._line(line, out)
        if end + 1 < len(data):
            self._hold(data[end + 1 :])
        return out

    def close(self) -> list[SSEEvent]:
        """The stream ended: what is left counts as a whole line and a whole event."""
        out: list[SSEEvent] = []
        if self._partial:
            line = b"".join(self._partial)
            self._partial, self._partial_bytes = [], 0
            self._line(line, out)
        self._dispatch(out)
        return out

    def _hold(self, piece: bytes) -> None:
        self._partial.append(piece)
        self._partial_bytes += len(piece)
        if self._partial_bytes > self._limit:
            raise EventTooLong

    def _line(self, line: bytes, out: list[SSEEvent]) -> None:
        if not line:
            self._dispatch(out)
        elif line.startswith(b"data:"):
            self._add(line[6:] if line[5:6] == b" " else line[5:])
        elif line.startswith(b"event:"):
            self._event = line[7:] if line[6:7] == b" " else line[6:]
        elif line == b"data":
            self._add(b"")
        # Comments (": keep-alive"), id, retry and unknown fields end here.

    def _add(self, value: bytes) -> None:
        self._data.append(value)
        self._data_bytes += len(value) + 1
        if self._data_bytes > self._limit:
            raise EventTooLong

    def _dispatch(self, out: list[SSEEvent]) -> None:
        if self._data:
            out.append(
                SSEEvent(self._event, self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
            )
            self._data, self._data_bytes = [], 0
        self._event = b""
