"""Conversations: make, list, look at, rename, archive, delete (H8)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.api.answers import etag, problems, reply, reply_with
from app.api.bodies import Payload, read_body, request_body
from app.api.dependencies import host_of, needs
from app.host.idempotency import Answer
from app.protocol.identity import Principal

router = APIRouter(prefix="/sessions", tags=["sessions"])


class SessionCreate(Payload):
    title: str | None = Field(default=None, max_length=200)
    profile: str | None = Field(default=None, max_length=64)
    model: str | None = Field(default=None, max_length=128)


class SessionUpdate(Payload):
    """Only what is to change; the defaults are never used."""

    title: str = Field(default="", max_length=200, description="At least one visible character.")
    archived: bool = False
    model: str | None = Field(default=None, max_length=128, description="null: the default model.")


class Session(BaseModel):
    id: str
    title: str
    profile: str | None
    model: str | None
    created_at: datetime
    updated_at: datetime
    archived: bool
    message_count: int
    live_run_id: str | None
    version: int = Field(description="Rises with title, model and archived; the ETag.")


class SessionPage(BaseModel):
    sessions: list[Session]
    next: str | None


@router.post(
    "",
    status_code=201,
    response_model=Session,
    responses=problems(400, 401, 403, 405, 409, 413, 415, 422),
    openapi_extra=request_body(SessionCreate),
)
async def create_session(
    request: Request,
    caller: Annotated[Principal, needs("sessions:write")],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """A new conversation."""
    host = host_of(request)
    body = await read_body(request, SessionCreate)

    async def act() -> Answer:
        fields = body.fields
        session = await host.sessions.create(
            caller, title=fields.title, profile=fields.profile, model=fields.model
        )
        headers = {"Location": f"/api/v1/sessions/{session['id']}", "ETag": etag(session["version"])}
        return Answer(201, session, headers)

    digest = body.digest if idempotency_key is not None else ""
    return reply_with(await host.idempotency.run(caller, "POST /sessions", idempotency_key, digest, act))


@router.get("", response_model=SessionPage, responses=problems(400, 401, 403, 405, 422))
async def list_sessions(
    request: Request,
    caller: Annotated[Principal, needs("sessions:read")],
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
    q: Annotated[
        str | None, Query(max_length=200, description="Part of a title, or how an id begins.")
    ] = None,
) -> Response:
    """Your conversations, the latest used first."""
    return reply(await host_of(request).sessions.list(caller, limit=limit, cursor=cursor, q=q))


@router.get("/{session_id}", response_model=Session, responses=problems(401, 403, 404, 405))
async def read_session(
    request: Request, session_id: str, caller: Annotated[Principal, needs("sessions:read")]
) -> Response:
    """One conversation."""
    session = await host_of(request).sessions.get(caller, session_id)
    return reply(session, headers={"ETag": etag(session["version"])})


@router.patch(
    "/{session_id}",
    response_model=Session,
    responses=problems(400, 401, 403, 404, 405, 412, 413, 415, 422),
    openapi_extra=request_body(SessionUpdate),
)
async def update_session(
    request: Request,
    session_id: str,
    caller: Annotated[Principal, needs("sessions:write")],
    if_match: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Renames, archives or sets the model; with If-Match only if nobody has changed it since."""
    body = await read_body(request, SessionUpdate)
    session = await host_of(request).sessions.update(
        caller, session_id, body.fields.model_dump(exclude_unset=True), if_match=if_match
    )
    return reply(session, headers={"ETag": etag(session["version"])})


@router.delete("/{session_id}", status_code=204, responses=problems(401, 403, 404, 405, 409))
async def delete_session(
    request: Request, session_id: str, caller: Annotated[Principal, needs("sessions:write")]
) -> Response:
    """Cancels a live run, then removes the conversation with all that belongs to it."""
    await host_of(request).sessions.delete(caller, session_id)
    return Response(status_code=204)
