"""A signed-in browser, as far as the server sees it: a cookie and where requests come from."""

from __future__ import annotations

import secrets
from http.cookies import SimpleCookie
from typing import Any

import httpx

from tests.integration.api.conftest import Api

PASSWORD = "correct horse battery"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin", "X-Deskmate": "1"}
COOKIE = "__Host-Http-sid"


class Browser:
    def __init__(self, api: Api, email: str = "", user_id: str = "") -> None:
        self.api = api
        self.email = email
        self.user_id = user_id
        self.cookie = ""

    async def send(
        self, method: str, path: str, json: Any = None, headers: dict[str, str] | None = None, **options: Any
    ) -> httpx.Response:
        sent = {**SAME_ORIGIN, **(headers or {})}
        if self.cookie:
            sent.setdefault("Cookie", f"{COOKIE}={self.cookie}")
        if json is not None:
            options["json"] = json
        answer = await self.api.http.request(method, f"/bff{path}", headers=sent, **options)
        self.take_cookie(answer)
        return answer

    def take_cookie(self, answer: httpx.Response) -> None:
        if header := answer.headers.get("set-cookie"):
            self.cookie = SimpleCookie(header)[COOKIE].value

    async def sign_in(self, password: str = PASSWORD) -> httpx.Response:
        return await self.send("POST", "/login", {"email": self.email, "password": password})


async def new_account(api: Api) -> Browser:
    """Of a user who can sign in, not signed in."""
    email = f"{secrets.token_hex(6)}@example.org"
    user = await api.host.identity.add_user(email, PASSWORD)
    return Browser(api, email, user.id)


async def signed_in(api: Api) -> Browser:
    browser = await new_account(api)
    answer = await browser.sign_in()
    assert answer.status_code == 200, answer.text
    return browser
