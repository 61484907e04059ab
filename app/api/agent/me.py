"""Who this token is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.api.answers import problems, reply
from app.api.dependencies import needs
from app.protocol.identity import Principal

router = APIRouter(tags=["me"])


class Me(BaseModel):
    user_id: str
    email: str
    kind: str = Field(description="api, app or operator.")
    scopes: list[str] = Field(description="As granted; `*` stands for all user scopes.")
    app_id: str | None
    is_operator: bool


@router.get("/me", response_model=Me, responses=problems(401, 405))
async def read_me(caller: Annotated[Principal, needs(None, operators=True)]) -> Response:
    """Who this token is and what it allows."""
    return reply(
        {
            "user_id": caller.user_id,
            "email": caller.email,
            "kind": caller.kind,
            "scopes": sorted(caller.scopes),
            "app_id": caller.app_id,
            "is_operator": caller.is_operator,
        }
    )
