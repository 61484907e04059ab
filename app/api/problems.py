"""Every error answer: problem details (RFC 9457) with our `code` and the request's id.

One shape for our own errors, for the framework's (no route, wrong method, bad parameter) and for
faults nobody foresaw. A hidden and a missing object give the same bytes apart from `request_id`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from app.errors import (
    DeskmateError,
    InsufficientScope,
    InvalidParams,
    NotFound,
    RequestTimeout,
    StorageUnavailable,
    Unauthenticated,
)

PROBLEM_JSON = "application/problem+json"
REQUEST_ID = "deskmate.request_id"
"""Key of the request's id in the ASGI scope; set by `edge`."""
RESERVED = frozenset({"type", "title", "status", "detail", "code", "request_id", "retryable"})

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_CODES = {
    400: "MALFORMED_REQUEST",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    422: "INVALID_PARAMS",
}

_DOORS = ("/api/v1", "/bff")
"""Where the same routes are included."""

log = structlog.get_logger(__name__)


class Problem(BaseModel):
    """The body of every answer of 400 and above. Some codes add members, such as `errors` or `scope`."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="Stable name of the kind of problem, a URN that ends in the code.")
    title: str
    status: int
    detail: str = Field(description="What is wrong and what to do, for a person.")
    code: str = Field(description="Stable name for programs, such as SESSION_BUSY.")
    retryable: bool = Field(description="Whether the same request may simply be sent again.")
    request_id: str = Field(description="Quote it when you report the problem; also in X-Request-Id.")


def problem(
    scope: Scope,
    *,
    status: int,
    code: str,
    detail: str,
    retryable: bool = False,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    body: dict[str, Any] = {
        "type": f"urn:deskmate:problem:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        "retryable": retryable,
        "request_id": scope.get(REQUEST_ID, ""),
    }
    body.update({name: value for name, value in (details or {}).items() if name not in RESERVED})
    return Response(
        orjson.dumps(body, default=str),
        status_code=status,
        headers=dict(headers or {}),
        media_type=PROBLEM_JSON,
    )


def problem_of(scope: Scope, error: DeskmateError) -> Response:
    """The answer to one of our own errors, with the headers that its status calls for."""
    headers: dict[str, str] = {}
    detail = error.message
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = _challenge(scope)
    elif isinstance(error, InsufficientScope) and "scope" in error.details:
        # RFC 6750 section 3.1
        headers["WWW-Authenticate"] = (
            f'Bearer realm="deskmate", error="insufficient_scope", scope="{error.details["scope"]}"'
        )
    elif isinstance(error, RequestTimeout):
        headers["Connection"] = "close"  # what is left of the body is not waited for
    elif isinstance(error, NotFound):
        detail = NotFound().message  # one text, whatever the service knew
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    elif isinstance(error, StorageUnavailable):
        headers["Retry-After"] = "1"
    return problem(
        scope,
        status=error.status,
        code=error.code,
        detail=detail,
        retryable=error.retryable,
        details=error.details,
        headers=headers,
    )


def unforeseen(scope: Scope, error: Exception) -> Response:
    """The answer to a fault of ours: logged whole, told as an id only."""
    log.error("unhandled_error", route=route_of(scope), exc_info=error)
    return problem(
        scope,
        status=500,
        code="INTERNAL_ERROR",
        detail="Something went wrong on our side. Quote the request id when you report it.",
    )


def route_of(scope: Scope) -> str:
    """The template of the route that answers, such as `/api/v1/runs/{run_id}`; one word for all else.

    For log lines and metrics: there are only so many of them, and they hold nothing of a caller's.
    """
    template: str = getattr(scope.get("route"), "path", "")
    if not template:
        return "(none)"
    for prefix in _DOORS:
        # FastAPI does not put the prefix of an including router before a route's own path
        if scope["path"].startswith(prefix + "/") and not template.startswith(prefix + "/"):
            return prefix + template
    return template


def invalid_fields(errors: Iterable[Mapping[str, Any]]) -> InvalidParams:
    """One sentence and one entry a field, from Pydantic's list; the values are never repeated."""
    fields: list[dict[str, str]] = []
    for error in errors:
        name = ".".join(str(part) for part in error["loc"])
        text = "this field is not known here" if error["type"] == "extra_forbidden" else str(error["msg"])
        fields.append({"field": name, "message": text})
    told = "; ".join(f"{field['field'] or 'body'}: {field['message']}" for field in fields[:5])
    return InvalidParams(f"Some fields are wrong: {told}.", details={"errors": fields[:50]})


def install(app: FastAPI) -> None:
    """Makes the app answer every error as problem details."""

    async def on_ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, DeskmateError)
        if error.status >= 500 and error.code == "INTERNAL_ERROR":
            return unforeseen(request.scope, error)
        return problem_of(request.scope, error)

    async def on_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem_of(request.scope, invalid_fields(error.errors()))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _framework_problem(request.scope, error, app.routes)

    app.add_exception_handler(DeskmateError, on_ours)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)


def _framework_problem(scope: Scope, error: HTTPException, routes: Iterable[BaseRoute]) -> Response:
    status = error.status_code
    headers = dict(error.headers or {})
    detail = str(error.detail)
    if status == 404:
        detail = "There is nothing at this address."
    elif status == 405:
        headers["Allow"] = ", ".join(_allowed(scope, routes))
        detail = f"{scope['method']} is not possible here; {headers['Allow']} is."
    code = _CODES.get(status) or HTTPStatus(status).name
    return problem(scope, status=status, code=code, detail=detail, headers=headers)


def _allowed(scope: Scope, routes: Iterable[BaseRoute]) -> list[str]:
    """All methods of this address. Starlette names only those of the first route that matches."""
    found: list[str] = []
    for method in _METHODS:
        asked = {**scope, "method": method}
        if any(route.matches(asked)[0] is Match.FULL for route in routes):
            found.append(method)
    return found


def _challenge(scope: Scope) -> str:
    """RFC 6750 section 3: no error code where the request had no credentials."""
    sent = any(name == b"authorization" for name, _ in scope["headers"])
    return 'Bearer realm="deskmate"' + (', error="invalid_token"' if sent else "")
