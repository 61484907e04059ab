"""JSON answers, and how they are documented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from app.api.problems import PROBLEM_JSON
from app.host.idempotency import Answer
from app.host.jsonform import json_bytes

_MEANINGS = {
    400: "Malformed JSON or cursor.",
    401: "No token, or one that is not valid.",
    403: "The token lacks the scope.",
    404: "No such object, or not yours.",
    405: "This method is not possible here.",
    408: "The body stopped coming, or came too slowly.",
    409: "Busy, or the request conflicts with the state of things.",
    410: "The lines of this run are no longer kept; read the items.",
    412: "The object has changed: read it again.",
    413: "The body is too large.",
    415: "Wrong media type.",
    422: "An unknown or wrong field.",
    429: "One of the user's limits is reached.",
    500: "A fault on our side.",
    502: "Something behind us failed.",
    503: "The database is not there; try again.",
    504: "It took too long.",
}


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        json_bytes(value), status_code=status, headers=dict(headers or {}), media_type="application/json"
    )


def reply_with(answer: Answer) -> Response:
    if answer.body is None:
        return Response(status_code=answer.status, headers=dict(answer.headers))
    return reply(answer.body, answer.status, answer.headers)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route: the error answers it may give. A body that may be too large may be late."""
    schema = {"$ref": "#/components/schemas/Problem"}
    late = {408} if 413 in statuses else set[int]()
    return {
        status: {"description": _MEANINGS[status], "content": {PROBLEM_JSON: {"schema": schema}}}
        for status in sorted({*statuses, *late, 500, 503})
    }


def etag(version: int | str) -> str:
    """A strong entity tag."""
    return f'"{version}"'
