"""What became of a call that its user must approve. Approving is only possible in the browser."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from app.api.answers import problems, reply
from app.api.dependencies import host_of, needs
from app.protocol.identity import Principal

router = APIRouter(tags=["confirmations"])


class ConfirmationState(BaseModel):
    id: str
    status: Literal["pending", "approved", "declined", "expired"]
    capability: str
    session_id: str | None
    created_at: datetime
    expires_at: datetime
    url: str
    result: Any = None
    error: dict[str, Any] | None = None


@router.get(
    "/confirmations/{confirmation_id}",
    response_model=ConfirmationState,
    responses=problems(401, 403, 404, 405),
)
async def read_confirmation(
    request: Request, confirmation_id: str, caller: Annotated[Principal, needs(None)]
) -> Response:
    """Status of one of your approvals, with the call's result once it ran.

    Needs `runs:read` or the read scope of the capability's namespace.
    """
    return reply(await host_of(request).confirmations.get(caller, confirmation_id))
