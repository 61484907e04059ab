"""Packages on and off, and tokens for one's own agents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.api.answers import problems, reply
from app.api.bff.door import client_of, signed_in
from app.api.bodies import Payload, read_body, request_body
from app.api.dependencies import host_of, needs
from app.errors import NotFound
from app.host.identity.service import TokenRow
from app.protocol.identity import Principal

router = APIRouter(tags=["settings"])


class PackageState(BaseModel):
    id: str
    title: str
    description: str
    version: str
    enabled: bool
    status: str = Field(description="on, off, or why it is left out, such as NEEDS_MIGRATION.")


class PackageList(BaseModel):
    packages: list[PackageState]


class PackageSwitch(Payload):
    enabled: bool


class ScopeList(BaseModel):
    scopes: list[str]


class TokenView(BaseModel):
    id: str
    name: str
    hint: str = Field(description="How the token begins.")
    scopes: list[str]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


class TokenList(BaseModel):
    tokens: list[TokenView]


class TokenCreate(Payload):
    name: str = Field(min_length=1, max_length=120)
    scopes: list[str] = Field(min_length=1, max_length=100)
    expires_days: int = Field(ge=1, le=365)
    password: str = Field(min_length=1, max_length=2000, description="Yours, once more.")


class TokenMade(TokenView):
    token: str = Field(description="Shown this once.")


def _view(row: TokenRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "hint": row.hint,
        "scopes": list(row.scopes),
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "last_used_at": row.last_used_at,
    }


@router.get("/packages", response_model=PackageList, responses=problems(401, 405))
async def list_packages(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """The packages there are, and which are on for you."""
    return reply({"packages": await host_of(request).packages.list(caller)})


@router.patch(
    "/packages/{package_id}",
    response_model=PackageState,
    responses=problems(400, 401, 403, 404, 405, 413, 415, 422),
    openapi_extra=request_body(PackageSwitch),
)
async def switch_package(
    request: Request, package_id: str, caller: Annotated[Principal, needs(None)]
) -> Response:
    """Switches a package on or off for you; from the next call on, also in a run under way."""
    enabled = (await read_body(request, PackageSwitch)).fields.enabled
    return reply(await host_of(request).packages.switch(caller, package_id, enabled=enabled))


@router.get("/scopes", response_model=ScopeList, responses=problems(401, 405))
async def list_scopes(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """What a token may be given."""
    return reply({"scopes": list(host_of(request).identity.valid_scopes())})


@router.get("/tokens", response_model=TokenList, responses=problems(401, 405))
async def list_tokens(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """Your tokens that are not revoked, without the tokens themselves."""
    rows = await host_of(request).identity.list_tokens(caller.user_id)
    return reply({"tokens": [_view(row) for row in rows if row.revoked_at is None]})


@router.post(
    "/tokens",
    status_code=201,
    response_model=TokenMade,
    responses=problems(400, 401, 403, 405, 413, 415, 422, 429),
    openapi_extra=request_body(TokenCreate),
)
async def create_token(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """A token for a program of yours. Asks for your password, as it outlives this session."""
    fields = (await read_body(request, TokenCreate)).fields
    host = host_of(request)
    await host.devices.confirm_password(signed_in(request), fields.password, client_of(request))
    token, row = await host.identity.create_token(
        caller.email, fields.scopes, expires_days=fields.expires_days, name=fields.name
    )
    return reply({**_view(row), "token": token}, 201)


@router.delete(
    "/tokens/{token_id}", status_code=204, response_class=Response, responses=problems(401, 403, 404, 405)
)
async def revoke_token(
    request: Request, token_id: str, caller: Annotated[Principal, needs(None)]
) -> Response:
    """Revokes a token at once."""
    host = host_of(request)
    rows = await host.identity.list_tokens(caller.user_id)
    if not any(row.id == token_id for row in rows):
        raise NotFound
    await host.identity.revoke_token(caller.user_id, token_id)
    return Response(status_code=204)
