"""Who is calling, as a dependency of routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from fastapi import Request
from fastapi.openapi.models import HTTPBearer
from fastapi.params import Security
from fastapi.security.base import SecurityBase

from app.errors import InsufficientScope
from app.host.identity.devices import SignedIn
from app.protocol.identity import Principal

if TYPE_CHECKING:
    from app.host.host import Host


SIGNED_IN = "deskmate.signed_in"
"""Key in the ASGI scope: the SignedIn of a request that came through the browser's door."""


def host_of(request: Request) -> Host:
    return cast("Host", request.app.state.host)


class BearerToken(SecurityBase):
    """Resolves the caller and checks the route's scope. A cookie means nothing here.

    Args:
        scope: what the token must allow; None where any token may ask.
        operators: whether an operator's token may ask too. Elsewhere it is refused: it never acts
            as a user.
    """

    def __init__(self, scope: str | None, *, operators: bool = False) -> None:
        self.model = HTTPBearer(
            bearerFormat="deskmate_u_…", description="A token made with `deskmate token create`."
        )
        self.scheme_name = "token"
        self._scope = scope
        self._operators = operators

    async def __call__(self, request: Request) -> Principal:
        signed: SignedIn | None = request.scope.get(SIGNED_IN)
        if signed is not None:  # behind the browser's door, which has checked the cookie
            return signed.principal
        principal = await host_of(request).identity.authenticate(request.headers.get("authorization"))
        if principal.is_operator:
            if self._operators:
                return principal
            raise InsufficientScope(
                "This address takes a user's token; an operator's token never acts as a user."
            )
        if self._scope is not None and not principal.allows(self._scope):
            raise InsufficientScope(
                f"This needs the scope {self._scope}, which the token does not have.",
                details={"scope": self._scope},
            )
        return principal


def needs(scope: str | None, *, operators: bool = False) -> Any:
    """Marks a route's caller: `caller: Annotated[Principal, needs("runs:read")]`."""
    return Security(BearerToken(scope, operators=operators), scopes=[scope] if scope else [])
