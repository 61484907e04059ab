"""Set-up, sign-in, who I am, devices, password."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app import __version__
from app.api.answers import problems, reply
from app.api.bff.door import client_of, set_cookie, signed_in
from app.api.bodies import Payload, read_body, request_body
from app.api.dependencies import host_of, needs
from app.host.identity.devices import SignedIn
from app.protocol.identity import Principal

router = APIRouter(tags=["account"])


class SetupState(BaseModel):
    needed: bool


class SetUp(Payload):
    token: str = Field(min_length=1, max_length=200)
    email: str = Field(min_length=3, max_length=320)
    password: str = Field(min_length=1, max_length=2000)


class Login(Payload):
    email: str = Field(min_length=1, max_length=320)
    password: str = Field(min_length=1, max_length=2000)


class PasswordChange(Payload):
    current: str = Field(min_length=1, max_length=2000)
    new: str = Field(min_length=1, max_length=2000)


class Account(BaseModel):
    id: str
    email: str
    is_operator: bool


class ThisDevice(BaseModel):
    id: str
    created_at: datetime
    expires_at: datetime


class Model(BaseModel):
    id: str
    provider: str
    abilities: list[str]
    context_window: int


class BrowserMe(BaseModel):
    user: Account
    device: ThisDevice
    version: str
    is_trial: bool = Field(description="No model is declared: the demo answers.")
    default_model: str
    models: list[Model]


class Device(BaseModel):
    id: str
    created_at: datetime
    last_seen_at: datetime
    user_agent: str
    address: str
    current: bool


class DeviceList(BaseModel):
    devices: list[Device]


def _me(request: Request, signed: SignedIn) -> dict[str, Any]:
    models = host_of(request).models
    default = models.resolve(None)[0]
    return {
        "user": {
            "id": signed.principal.user_id,
            "email": signed.principal.email,
            "is_operator": signed.is_operator,
        },
        "device": {
            "id": signed.device_id,
            "created_at": signed.created_at,
            "expires_at": signed.expires_at,
        },
        "version": __version__,
        "is_trial": default.provider_id == "demo",
        "default_model": default.id,
        "models": [
            {
                "id": model.id,
                "provider": model.provider_id,
                "abilities": sorted(model.abilities),
                "context_window": model.context_window_tokens,
            }
            for model in models.list()
        ],
    }


@router.get("/setup", response_model=SetupState, responses=problems(405))
async def read_setup(request: Request) -> Response:
    """Whether the first account is still to be made."""
    return reply({"needed": await host_of(request).devices.setup_needed()})


@router.post(
    "/setup",
    status_code=201,
    response_model=BrowserMe,
    responses=problems(400, 403, 405, 413, 415, 422),
    openapi_extra=request_body(SetUp),
)
async def set_up(request: Request) -> Response:
    """Makes the first account with the link that the server printed, and signs it in."""
    fields = (await read_body(request, SetUp)).fields
    devices = host_of(request).devices
    signed = await devices.set_up(fields.token, fields.email, fields.password, client_of(request))
    set_cookie(request, signed.new_cookie or "")
    return reply(_me(request, signed), 201)


@router.post(
    "/login",
    response_model=BrowserMe,
    responses=problems(400, 401, 403, 405, 413, 415, 422, 429),
    openapi_extra=request_body(Login),
)
async def log_in(request: Request) -> Response:
    """Signs in. Unknown address and wrong password get the same answer in the same time."""
    fields = (await read_body(request, Login)).fields
    signed = await host_of(request).devices.sign_in(fields.email, fields.password, client_of(request))
    set_cookie(request, signed.new_cookie or "")
    return reply(_me(request, signed))


@router.post("/logout", status_code=204, response_class=Response, responses=problems(401, 403, 405))
async def log_out(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """Ends this device's session."""
    await host_of(request).devices.sign_out(signed_in(request))
    set_cookie(request, "")
    return Response(status_code=204)


@router.post(
    "/logout-everywhere", status_code=204, response_class=Response, responses=problems(401, 403, 405)
)
async def log_out_everywhere(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """Ends all of your devices' sessions, this one too. Tokens stay."""
    await host_of(request).devices.end_all(caller)
    set_cookie(request, "")
    return Response(status_code=204)


@router.get("/me", response_model=BrowserMe, responses=problems(401, 405))
async def read_me(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """Who is signed in here, and which models answer."""
    return reply(_me(request, signed_in(request)))


@router.get("/devices", response_model=DeviceList, responses=problems(401, 405))
async def list_devices(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """Where you are signed in, last used first."""
    here = signed_in(request).device_id
    found = await host_of(request).devices.list(caller)
    return reply({"devices": [{**device, "current": device["id"] == here} for device in found]})


@router.delete(
    "/devices/{device_id}", status_code=204, response_class=Response, responses=problems(401, 403, 404, 405)
)
async def end_device(request: Request, device_id: str, caller: Annotated[Principal, needs(None)]) -> Response:
    """Signs one device out."""
    await host_of(request).devices.end(caller, device_id)
    if device_id == signed_in(request).device_id:
        set_cookie(request, "")
    return Response(status_code=204)


@router.post(
    "/password",
    status_code=204,
    response_class=Response,
    responses=problems(400, 401, 403, 405, 413, 415, 422, 429),
    openapi_extra=request_body(PasswordChange),
)
async def change_password(request: Request, caller: Annotated[Principal, needs(None)]) -> Response:
    """Changes the password and signs all other devices out."""
    fields = (await read_body(request, PasswordChange)).fields
    signed = await host_of(request).devices.change_password(
        signed_in(request), fields.current, fields.new, client_of(request)
    )
    set_cookie(request, signed.new_cookie or "")
    return Response(status_code=204)
