"""Limits of the HTTP reader itself, below any application: how long and how slow a request's head may be,
and what becomes of a request that is no HTTP.

httptools sets no limit of its own, and joins the pieces of a header that never ends in quadratic time, so
one connection without a token could hold up the whole process.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.api.problems import PROBLEM_JSON

HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 30.0
REST_SECONDS = 30.0
"""How long the rest of a body may go on coming after its request is answered."""


def _answer(status: HTTPStatus, code: str, detail: str) -> bytes:
    """A whole answer with problem details, for requests that never reach the application and its ids."""
    body = orjson.dumps(
        {
            "type": f"urn:deskmate:problem:{code}",
            "title": code.replace("_", " ").capitalize(),
            "status": status.value,
            "detail": detail,
            "code": code,
            "retryable": False,
        }
    )
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {PROBLEM_JSON}\r\n"
        f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body


_TOO_LARGE = _answer(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "HEAD_TOO_LARGE",
    "The request line and headers together may have 64 KiB.",
)
_TOO_SLOW = _answer(
    HTTPStatus.REQUEST_TIMEOUT, "REQUEST_TIMEOUT", "The request line and headers did not come in time."
)
_NOT_HTTP = _answer(
    HTTPStatus.BAD_REQUEST, "MALFORMED_REQUEST", "This is not a request in HTTP/1.1 that can be read."
)


class LimitedHttp(HttpToolsProtocol):
    """uvicorn's own protocol, which ends a connection whose request head is too long or too slow."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_bytes = 0
        self._head_open = False
        self._body_open = False
        self._timer: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._head_open:
            self._head_bytes = 0
            return
        # what came with the end of an earlier request is counted too: the limit is no exact figure
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self._end(_TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_open = self._body_open = True
        self._end_after(HEAD_SECONDS, _TOO_SLOW)

    def on_headers_complete(self) -> None:
        self._head_open = False
        self._drop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._body_open = False
        self._drop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._body_open and not self._head_open and not self.transport.is_closing():
            # An answer before the end of the body, such as a refusal: nobody reads the rest, which is let
            # through so that the client gets to see the answer, but not for ever.
            self._end_after(REST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """In place of uvicorn's plain text."""
        self._end(_NOT_HTTP)

    def _end_after(self, seconds: float, answer: bytes = b"") -> None:
        self._drop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._end, answer)

    def _end(self, answer: bytes) -> None:
        self._drop_timer()
        if not self.transport.is_closing():
            if answer and not self._owes_another():
                self.transport.write(answer)
            self.transport.close()

    def _owes_another(self) -> bool:
        """Whether what we wrote now would be taken for a part of another answer: one that has begun, or
        that of an earlier request on this connection."""
        cycle: Any = self.cycle  # None before the first request, which its stub does not say
        if cycle is None or cycle.response_complete:
            return False
        return cycle.response_started or self._head_open

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
