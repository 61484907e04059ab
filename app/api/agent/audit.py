"""The audit trail, read only."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from app.api.answers import problems, reply
from app.api.dependencies import host_of, needs
from app.protocol.identity import Principal

router = APIRouter(tags=["audit"])


class AuditRecord(BaseModel):
    id: str
    actor_id: str | None
    at: datetime
    caller_kind: str
    initiator: str
    action: str
    target: str
    version: str
    outcome: str
    error_code: str | None
    run_id: str | None
    session_id: str | None
    call_id: str | None
    token_id: str | None
    arguments_digest: str | None
    duration_ms: int
    usage: dict[str, Any] | None


class AuditPage(BaseModel):
    entries: list[AuditRecord]
    next: str | None


@router.get("/audit", response_model=AuditPage, responses=problems(400, 401, 403, 405, 422))
async def list_audit(
    request: Request,
    caller: Annotated[Principal, needs("runs:read", operators=True)],
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
) -> Response:
    """What was done in your name, newest first; an operator's token reads everybody's entries."""
    return reply(await host_of(request).audit.list(caller, limit=limit, cursor=cursor))
