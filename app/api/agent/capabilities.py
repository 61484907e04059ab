"""What this token may call, and the one door to call it (C8)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.api.answers import problems, reply, reply_with
from app.api.bodies import Payload, read_body, request_body
from app.api.dependencies import host_of, needs
from app.api.discovery.describe import Capability, describe
from app.host.idempotency import Answer, check_key
from app.protocol.identity import Principal

router = APIRouter(tags=["capabilities"])


class CapabilityList(BaseModel):
    capabilities: list[Capability]


class Invoke(Payload):
    params: dict[str, Any] = Field(
        default_factory=dict[str, Any], description="As the entry's input schema says."
    )


class InvokeResult(BaseModel):
    result: Any = Field(description="As the entry's output schema says.")
    degraded: str | None = Field(
        default=None, description="Set where another way than the usual one gave it."
    )


@router.get("/capabilities", response_model=CapabilityList, responses=problems(401, 403, 405))
async def list_capabilities(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """The tools and commands whose scopes this token has, and whose packages are on for you."""
    host = host_of(request)
    enabled = await host.snapshots.enabled_packages(caller)
    shown = [
        describe(definition)
        for definition in host.catalog.definitions()
        if enabled.get(definition.package, True) and all(map(caller.allows, definition.scopes))
    ]
    return reply({"capabilities": sorted(shown, key=lambda entry: entry["id"])})


@router.post(
    "/capabilities/{capability}/invoke",
    response_model=InvokeResult,
    responses=problems(400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 502, 504),
    openapi_extra=request_body(Invoke),
)
async def invoke_capability(
    request: Request,
    capability: str,
    caller: Annotated[Principal, needs(None)],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Runs one tool or command as your own act. The token needs the entry's scopes.

    A destructive entry answers 409 CONFIRMATION_REQUIRED with the link where its user decides.
    """
    host = host_of(request)
    check_key(idempotency_key)
    body = await read_body(request, Invoke)

    async def act() -> Answer:
        return Answer(
            200, await host.invocations.invoke(caller, capability, body.fields.params, idempotency_key)
        )

    route = f"POST /capabilities/{capability[:128]}/invoke"
    digest = body.digest if idempotency_key is not None else ""
    return reply_with(await host.idempotency.run(caller, route, idempotency_key, digest, act))
