"""The command palette, and deciding what a destructive call asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.api.answers import problems, reply, reply_with
from app.api.bodies import Payload, read_body, request_body
from app.api.dependencies import host_of, needs
from app.host.idempotency import Answer, check_key
from app.protocol.identity import Principal

router = APIRouter(tags=["commands"])


class PaletteEntry(BaseModel):
    id: str
    kind: Literal["tool", "command"]
    title: str
    description: str
    icon: str
    group: str
    package: str
    effect: str
    destructive: bool
    input_schema: dict[str, Any]


class Palette(BaseModel):
    commands: list[PaletteEntry]


class Trigger(Payload):
    params: dict[str, Any] = Field(default_factory=dict[str, Any])
    session_id: str | None = Field(default=None, max_length=64)


class TriggerResult(BaseModel):
    result: Any


class Confirmation(BaseModel):
    id: str
    status: Literal["pending", "approved", "declined", "expired"]
    capability: str
    title: str
    description: str
    arguments: dict[str, Any] = Field(description="Exactly what will be done, from the stored row.")
    session_id: str | None
    created_at: datetime
    expires_at: datetime
    result: Any = None
    error: dict[str, Any] | None = None


class ConfirmationList(BaseModel):
    confirmations: list[Confirmation]


class Decision(Payload):
    decision: Literal["approve", "decline"]


@router.get("/commands", response_model=Palette, responses=problems(401, 405))
async def list_commands(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """What you can do by hand, from the one definition of each entry."""
    host = host_of(request)
    enabled = await host.snapshots.enabled_packages(caller)
    shown: list[dict[str, Any]] = [
        {
            "id": entry.id,
            "kind": entry.kind,
            "title": entry.title,
            "description": entry.description,
            "icon": entry.icon,
            "group": entry.group,
            "package": entry.package,
            "effect": entry.effect,
            "destructive": entry.destructive,
            "input_schema": dict(entry.input_schema),
        }
        for entry in host.catalog.definitions()
        if entry.user_visible and enabled.get(entry.package, True)
    ]
    return reply({"commands": sorted(shown, key=lambda entry: entry["id"])})


@router.post(
    "/commands/{entry}",
    response_model=TriggerResult,
    responses=problems(400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 502, 504),
    openapi_extra=request_body(Trigger),
)
async def trigger_command(
    request: Request,
    entry: str,
    caller: Annotated[Principal, needs(None)],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Runs a command, or the tool of that name, as your own act.

    A destructive one answers 409 CONFIRMATION_REQUIRED: show what `/confirmations/{id}` says, then decide.
    """
    host = host_of(request)
    check_key(idempotency_key)
    body = await read_body(request, Trigger)

    async def act() -> Answer:
        params = body.fields.params
        return Answer(200, await host.invocations.invoke(caller, entry, params, idempotency_key))

    digest = body.digest if idempotency_key is not None else ""
    route = f"POST /commands/{entry[:128]}"
    return reply_with(await host.idempotency.run(caller, route, idempotency_key, digest, act))


@router.get("/confirmations", response_model=ConfirmationList, responses=problems(401, 405, 422))
async def list_confirmations(
    request: Request,
    caller: Annotated[Principal, needs(None)],
    status: Annotated[Literal["pending"], Query()] = "pending",
    session_id: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """What waits for your decision, newest first."""
    return reply({"confirmations": await host_of(request).approvals.pending(caller, session_id)})


@router.get(
    "/confirmations/{confirmation_id}", response_model=Confirmation, responses=problems(401, 404, 405)
)
async def read_confirmation(
    request: Request, confirmation_id: str, caller: Annotated[Principal, needs(None)]
) -> Response:
    """What exactly is asked for, and what became of it."""
    return reply(await host_of(request).approvals.get(caller, confirmation_id))


@router.post(
    "/confirmations/{confirmation_id}",
    response_model=Confirmation,
    responses=problems(400, 401, 403, 404, 405, 409, 413, 415, 422),
    openapi_extra=request_body(Decision),
)
async def decide_confirmation(
    request: Request, confirmation_id: str, caller: Annotated[Principal, needs(None)]
) -> Response:
    """Your decision. Approving runs the stored arguments once."""
    approve = (await read_body(request, Decision)).fields.decision == "approve"
    return reply(await host_of(request).approvals.decide(caller, confirmation_id, approve=approve))
