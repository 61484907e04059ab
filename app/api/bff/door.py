"""Who may come in by cookie: the CSRF check, the session behind the cookie, its rotation.

A bearer token means nothing here, as a cookie means nothing at the Agent API. Sources of the rules:
RFC 10017 (BCP 212), Fetch Metadata (https://developer.mozilla.org/en-US/docs/Web/HTTP/Guides/Fetch_metadata).
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import cast
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.dependencies import SIGNED_IN
from app.errors import CrossSiteRefused
from app.host.identity.devices import ABSOLUTE_LIMIT, Client, Devices, SignedIn

NEW_COOKIE = "deskmate.new_cookie"
"""Key in the ASGI scope: the cookie to set with the answer; "" takes it away."""
HEADER = "x-deskmate"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN = frozenset({"/bff/setup", "/bff/login"})


class BrowserDoor:
    """Wraps the browser's application."""

    def __init__(self, app: ASGIApp, *, base_url: str) -> None:
        self._app = app
        parts = urlsplit(base_url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self.cookie = cookie_name(base_url)
        self._secure = parts.scheme == "https"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["method"] not in _SAFE:
            self._refuse_cross_site(headers)
        if scope["path"] not in _OPEN:
            devices: Devices = scope["app"].state.host.devices
            signed = await devices.authenticate(self._cookie_of(headers))
            scope[SIGNED_IN] = signed
            if signed.new_cookie is not None:
                scope[NEW_COOKIE] = signed.new_cookie

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and NEW_COOKIE in scope:
                value = self._set_cookie(scope[NEW_COOKIE])
                message["headers"] = [*message.get("headers", ()), (b"set-cookie", value.encode())]
            await send(message)

        await self._app(scope, receive, send_with_cookie)

    def _refuse_cross_site(self, headers: Headers) -> None:
        """Two proofs: where the browser says the request comes from, and a header no form can send."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        same = site == "same-origin" if site is not None else origin == self._origin
        if not same or headers.get(HEADER) != "1":
            raise CrossSiteRefused(
                "This request did not come from a page of this server. Reload the page and try again; "
                "programs use the Agent API with a token."
            )

    def _cookie_of(self, headers: Headers) -> str | None:
        jar = SimpleCookie()
        try:
            jar.load(headers.get("cookie", ""))
        except CookieError:
            return None
        found = jar.get(self.cookie)
        return None if found is None else found.value

    def _set_cookie(self, value: str) -> str:
        age = int(ABSOLUTE_LIMIT.total_seconds()) if value else 0
        secure = "; Secure" if self._secure else ""
        return f"{self.cookie}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"


def cookie_name(base_url: str) -> str:
    """Prefixed names need `Secure`, which plain http (this machine, or a declared LAN) does not have."""
    return "__Host-Http-sid" if base_url.startswith("https://") else "deskmate-sid"


def signed_in(request: Request) -> SignedIn:
    """Of a route behind the door."""
    return cast("SignedIn", request.scope[SIGNED_IN])


def client_of(request: Request) -> Client:
    address = request.client.host if request.client is not None else ""
    return Client(request.headers.get("user-agent", ""), address)


def set_cookie(request: Request, value: str) -> None:
    """With this answer; "" takes the cookie away."""
    request.scope[NEW_COOKIE] = value
