"""The outermost layer, pure ASGI: request id, trace, size and time limits of bodies, security headers, the
last catch, one log line and one measurement a request.

Pure ASGI because Starlette's `BaseHTTPMiddleware` puts a queue and a task between a stream and its
reader, which costs time on every chunk and hides disconnects.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Mapping

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import REQUEST_ID, problem_of, route_of, unforeseen
from app.errors import DeskmateError, InvalidParams, NotFound, PayloadTooLarge, RequestTimeout
from app.protocol.trace import TraceParent, current_trace, parse_traceparent

_log = structlog.get_logger(__name__)

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_DEFAULTS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Sent where the answer does not say otherwise."""

BODY_IDLE_S = 30.0
"""Longest silence within a body."""
BODY_SLACK_S = 60.0
BODY_BYTES_A_SECOND = 16 * 1024
"""Slowest sender that is waited for: a body's whole time is the slack and its limit at this speed."""

_CALLERS_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


Measure = Callable[[str, str, int, float], None]
"""Told of each answered request: method, route template, status, seconds to the answer's first byte."""


class Edge:
    """Wraps the app.

    Args:
        app: what answers.
        body_limit_bytes: largest body of an ordinary request.
        upload_limit_bytes: largest body at one of `upload_paths`; the frame around the file is added.
        upload_paths: addresses that take files.
        https: whether the public address is https, so that browsers should insist on it.
        measure: told of each answered request.
        body_idle_s: longest silence within a body.
    """

    FRAME_BYTES = 65_536
    """What multipart boundaries, part headers and small fields may add to a file."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        body_limit_bytes: int,
        upload_limit_bytes: int,
        upload_paths: frozenset[str] = frozenset(),
        https: bool = False,
        measure: Measure = lambda method, route, status, first_byte_s: None,
        body_idle_s: float = BODY_IDLE_S,
    ) -> None:
        self._app = app
        self._limit = body_limit_bytes
        self._limits: Mapping[str, int] = dict.fromkeys(upload_paths, upload_limit_bytes + self.FRAME_BYTES)
        self._headers = _HEADERS + (((b"strict-transport-security", b"max-age=31536000"),) if https else ())
        self._measure = measure
        self._body_idle_s = body_idle_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        request_id = "req_" + secrets.token_hex(10)
        scope[REQUEST_ID] = request_id
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id, **_told_by_caller(scope))
        status = 0
        first_byte_s = 0.0

        async def send_with_headers(message: Message) -> None:
            nonlocal status, first_byte_s
            if message["type"] == "http.response.start":
                status = message["status"]
                first_byte_s = time.perf_counter() - began
                self._add_headers(message, request_id)
            await send(message)

        limit = self._limits.get(scope["path"], self._limit)
        body = _LimitedBody(receive, scope, limit, idle_s=self._body_idle_s)
        try:
            _refuse_nul(scope)
            await self._app(scope, body, send_with_headers)
        except ClientDisconnect:
            _log.info("client_gone_within_body")  # nobody is left to be answered
        except DeskmateError as error:
            if status:
                raise
            await problem_of(scope, error)(scope, receive, send_with_headers)
        except Exception as error:
            if status:
                # There is no status left to change: the server closes the connection, the client sees a cut.
                raise
            await unforeseen(scope, error)(scope, receive, send_with_headers)
        finally:
            if status:
                method, route = scope["method"], route_of(scope)
                self._measure(method, route, status, first_byte_s)
                took_ms = round((time.perf_counter() - began) * 1000, 1)
                _log.info("request", method=method, route=route, status=status, duration_ms=took_ms)

    def _add_headers(self, message: Message, request_id: str) -> None:
        headers = list(message.get("headers", ()))
        present = {name.lower() for name, _ in headers}
        headers.append((b"x-request-id", request_id.encode()))
        headers.extend(self._headers)
        headers.extend(pair for pair in _DEFAULTS if pair[0] not in present)
        message["headers"] = headers


class _LimitedBody:
    """Counts what is read, and how long it takes.

    Says no to a size at the first read, so that a refused caller is told that instead of being cut.
    """

    __slots__ = ("_deadline", "_declared", "_idle_s", "_limit", "_open", "_read", "_receive")

    def __init__(self, receive: Receive, scope: Scope, limit: int, *, idle_s: float) -> None:
        self._receive = receive
        self._limit = limit
        self._idle_s = idle_s
        self._read = 0
        self._declared = 0
        self._open = False
        self._deadline = 0.0
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit():
                self._declared = int(value)
                self._open = self._declared > 0
            elif name == b"transfer-encoding":
                self._open = True

    async def __call__(self) -> Message:
        if self._declared > self._limit:
            raise self._too_large()
        if not self._open:  # no body, or all of it is read: what comes is the client's leaving
            return await self._receive()
        message = await self._in_time()
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            self._open = message.get("more_body", False)
            if self._read > self._limit:
                raise self._too_large()
        return message

    async def _in_time(self) -> Message:
        loop = asyncio.get_running_loop()
        if not self._deadline:
            self._deadline = loop.time() + BODY_SLACK_S + self._limit / BODY_BYTES_A_SECOND
        limit = asyncio.timeout_at(min(loop.time() + self._idle_s, self._deadline))
        try:
            async with limit:
                return await self._receive()
        except TimeoutError:
            if not limit.expired():
                raise
            raise RequestTimeout(
                "The rest of the body did not come in time; send the request again."
            ) from None

    def _too_large(self) -> PayloadTooLarge:
        return PayloadTooLarge(
            f"The body is larger than {self._limit} bytes.", details={"limit_bytes": self._limit}
        )


def _told_by_caller(scope: Scope) -> dict[str, str]:
    """What a caller says for the log: its own id where that fits a short pattern, and its trace.

    Sets the trace of all that this request causes. Two `traceparent` headers are as good as none.
    """
    told: dict[str, str] = {}
    traces: list[bytes] = []
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            callers_id = value.decode("latin-1")
            if _CALLERS_ID.fullmatch(callers_id):
                told["caller_request_id"] = callers_id
        elif name == b"traceparent":
            traces.append(value)
    trace: TraceParent | None = None
    if len(traces) == 1:
        trace = parse_traceparent(traces[0].decode("latin-1"))
    current_trace.set(trace)
    if trace is not None:
        told["trace_id"] = trace.trace_id
    return told


def _refuse_nul(scope: Scope) -> None:
    """No id and no parameter holds a NUL, and PostgreSQL would refuse it with a fault."""
    if "\x00" in scope["path"]:
        raise NotFound
    if b"%00" in scope["query_string"]:
        raise InvalidParams(
            "The query holds a NUL character (U+0000), which cannot be stored or searched for."
        )
