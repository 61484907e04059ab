"""Runs: start one, follow it, look at it, cancel it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.api.answers import problems, reply
from app.api.bodies import Payload, read_body, request_body
from app.api.dependencies import host_of, needs
from app.api.ndjson import NdjsonResponse
from app.host.idempotency import check_key
from app.protocol.events import RunStatus
from app.protocol.identity import Principal

router = APIRouter(tags=["runs"])

MAX_SEQ = 2**31 - 1


class TextInput(Payload):
    type: Literal["text"]
    text: str = Field(min_length=1)


class ImageInput(Payload):
    type: Literal["image"]
    file_id: str = Field(min_length=1, max_length=64, description="From POST /api/v1/files.")


class FileInput(Payload):
    type: Literal["file"]
    file_id: str = Field(min_length=1, max_length=64, description="From POST /api/v1/files.")


class RunCreate(Payload):
    """This turn's input and nothing else: history, owner, tool results and rights are the Host's (H5)."""

    input: list[Annotated[TextInput | ImageInput | FileInput, Field(discriminator="type")]] = Field(
        min_length=1, max_length=64
    )
    references: list[dict[str, Any]] = Field(
        default_factory=list[dict[str, Any]], max_length=0, description="None are served yet."
    )


class Run(BaseModel):
    id: str
    session_id: str
    status: RunStatus
    started_at: datetime
    ended_at: datetime | None
    usage: dict[str, Any] | None
    error: dict[str, Any] | None


class RunPage(BaseModel):
    runs: list[Run]
    next: str | None


class RunAccepted(BaseModel):
    run_id: str


_LINES: dict[str, Any] = {
    "description": "One event a line, in the order of `seq`; a blank line is a keep-alive; `done` is the last.",
    "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    "headers": {"Deskmate-Run-Id": {"schema": {"type": "string"}}},
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
}
_PREFER = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "`respond-async` answers 202 with the run's id at once.",
}


@router.post(
    "/sessions/{session_id}/runs",
    responses={
        **problems(400, 401, 403, 404, 405, 409, 413, 415, 422, 429),
        200: _LINES,
        202: {"model": RunAccepted, "description": "Only with `Prefer: respond-async`."},
    },
    status_code=200,
    response_class=NdjsonResponse,
    openapi_extra={**request_body(RunCreate), "parameters": [_IDEMPOTENCY_KEY, _PREFER]},
)
async def start_run(
    request: Request, session_id: str, caller: Annotated[Principal, needs("runs:write")]
) -> Response:
    """Says something to the agent and streams what happens.

    The run goes on if you go away: come back with `/runs/{id}/events?after=SEQ`. The same
    Idempotency-Key and body give the same run, from its first line.
    """
    host = host_of(request)
    key = check_key(request.headers.get("idempotency-key"))
    body = await read_body(request, RunCreate)
    started = await host.runs.start(
        caller,
        session_id,
        body.value["input"],
        idempotency_key=key,
        body_digest=body.digest if key is not None else "",
    )
    headers = {"Deskmate-Run-Id": started.run_id}
    if "respond-async" in request.headers.get("prefer", "").lower():
        headers["Location"] = f"/api/v1/runs/{started.run_id}"
        headers["Preference-Applied"] = "respond-async"
        return reply({"run_id": started.run_id}, 202, headers)
    return NdjsonResponse(await host.runs.open_stream(caller, started.run_id, 0), headers)


@router.get(
    "/sessions/{session_id}/runs",
    response_model=RunPage,
    responses=problems(400, 401, 403, 404, 405, 422),
)
async def list_runs(
    request: Request,
    session_id: str,
    caller: Annotated[Principal, needs("runs:read")],
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
) -> Response:
    """The runs of one session, newest first."""
    return reply(await host_of(request).runs.list(caller, session_id, limit, cursor))


@router.get("/runs/{run_id}", response_model=Run, responses=problems(401, 403, 404, 405))
async def read_run(
    request: Request, run_id: str, caller: Annotated[Principal, needs("runs:read")]
) -> Response:
    """State, times, usage and error of one run."""
    return reply(await host_of(request).runs.get(caller, run_id))


@router.get(
    "/runs/{run_id}/events",
    responses={**problems(401, 403, 404, 405, 410, 422), 200: _LINES},
    status_code=200,
    response_class=NdjsonResponse,
)
async def follow_run(
    request: Request,
    run_id: str,
    caller: Annotated[Principal, needs("runs:read")],
    after: Annotated[int, Query(ge=0, le=MAX_SEQ, description="The last `seq` you have.")] = 0,
) -> Response:
    """The lines after `after`, then what still happens, to the end of the run."""
    chunks = await host_of(request).runs.open_stream(caller, run_id, after)
    return NdjsonResponse(chunks, {"Deskmate-Run-Id": run_id})


@router.post(
    "/runs/{run_id}/cancel",
    status_code=202,
    response_model=RunAccepted,
    responses=problems(401, 403, 404, 405),
)
async def cancel_run(
    request: Request, run_id: str, caller: Annotated[Principal, needs("runs:write")]
) -> Response:
    """Asks the run to end. Running tools finish; a finished run stays as it is."""
    await host_of(request).runs.cancel(caller, run_id)
    return reply({"run_id": run_id}, 202)
