"""The browser's door: who comes in by cookie, from where, and what never stands in for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from app.api.bff.browser import create_browser_app
from app.host.identity.devices import Client
from tests.integration.api.browser import COOKIE, PASSWORD, SAME_ORIGIN, Browser, new_account, signed_in
from tests.integration.api.conftest import Api, say, without_id
from tests.integration.api.test_access import address, check_problem

OPEN = {("GET", "/setup"), ("POST", "/setup"), ("POST", "/login")}


def routes() -> list[tuple[str, str]]:
    app = create_browser_app(base_url="https://deskmate.example.org")
    found = {
        (method.upper(), path) for path, operations in app.openapi()["paths"].items() for method in operations
    }
    return sorted(found)


ALL = [route for route in routes() if route not in OPEN]
UNSAFE = [route for route in routes() if route[0] != "GET"]


def place(path: str) -> str:
    for name in ("device_id", "package_id", "token_id", "entry", "job_id"):
        path = path.replace(f"{{{name}}}", "nothing")
    return address(path)


def test_the_list_of_routes_is_not_empty() -> None:
    assert {("GET", "/me"), ("POST", "/sessions/{session_id}/runs"), ("POST", "/tokens")} <= set(ALL)
    assert not any("{" in place(path) for _, path in ALL)


async def test_nobody_gets_nothing(api: Api) -> None:
    me = await api.someone()
    for method, path in ALL:
        for cookie in ("", "made-up", "x" * 5000, '"'):
            headers = {"Cookie": f"{COOKIE}={cookie}"} if cookie else {}
            answer = await Browser(api).send(method, place(path), headers=headers)
            check_problem(answer, 401, "UNAUTHENTICATED")
        # a bearer token never stands in for the cookie
        answer = await Browser(api).send(method, place(path), headers=me.headers)
        check_problem(answer, 401, "UNAUTHENTICATED")


async def test_unsafe_requests_come_from_our_own_pages_only(api: Api) -> None:
    browser = await signed_in(api)
    cookie = {"Cookie": f"{COOKIE}={browser.cookie}"}
    for method, path in UNSAFE:
        for headers in (
            {"Sec-Fetch-Site": "cross-site", "X-Deskmate": "1"},
            {"Sec-Fetch-Site": "same-site", "X-Deskmate": "1"},
            {"Sec-Fetch-Site": "none", "X-Deskmate": "1"},
            {"Sec-Fetch-Site": "same-origin"},
            {"X-Deskmate": "1"},
            {"Origin": "https://evil.example.org", "X-Deskmate": "1"},
            {"Origin": "null", "X-Deskmate": "1"},
            {"Sec-Fetch-Site": "cross-site", "Origin": "https://deskmate.example.org", "X-Deskmate": "1"},
        ):
            answer = await api.http.request(method, f"/bff{place(path)}", headers={**cookie, **headers})
            check_problem(answer, 403, "CROSS_SITE_REFUSED")


async def test_an_old_browser_is_known_by_its_origin(api: Api) -> None:
    browser = await new_account(api)
    headers = {"Origin": "https://deskmate.example.org", "X-Deskmate": "1"}
    body = {"email": browser.email, "password": PASSWORD}
    answer = await api.http.post("/bff/login", headers=headers, json=body)
    assert answer.status_code == 200


async def test_a_cookie_never_stands_in_for_a_token(api: Api) -> None:
    browser = await signed_in(api)
    headers = {**SAME_ORIGIN, "Cookie": f"{COOKIE}={browser.cookie}"}
    check_problem(await api.http.get("/api/v1/me", headers=headers), 401, "UNAUTHENTICATED")
    check_problem(await api.http.post("/api/v1/sessions", headers=headers, json={}), 401, "UNAUTHENTICATED")


async def test_signing_in_sets_a_strict_cookie_and_a_new_one_each_time(api: Api) -> None:
    browser = await new_account(api)
    browser.cookie = "planted-by-somebody"
    first = await browser.sign_in()
    header = first.headers["set-cookie"]
    for part in (f"{COOKIE}=", "Secure", "HttpOnly", "SameSite=Strict", "Path=/"):
        assert part in header
    assert "Domain" not in header
    assert browser.cookie != "planted-by-somebody"
    before = browser.cookie
    await browser.sign_in()
    assert browser.cookie != before
    me = (await browser.send("GET", "/me")).json()
    assert me["user"]["email"] == browser.email
    assert me["models"][0]["id"] == "scripted"
    assert me["is_trial"] is False


async def test_wrong_password_and_unknown_account_get_the_same_answer(api: Api) -> None:
    browser, nobody = await new_account(api), Browser(api, "nobody@example.org")
    wrong, unknown = await browser.sign_in("wrong"), await nobody.sign_in("wrong")
    check_problem(wrong, 401, "LOGIN_FAILED")
    assert without_id(wrong) == without_id(unknown)
    await api.host.identity.set_status(browser.user_id, active=False)
    assert without_id(await browser.sign_in()) == without_id(unknown)


async def test_guessing_is_limited_and_nobody_is_locked_out(api: Api) -> None:
    browser = await new_account(api)
    for _ in range(8):
        check_problem(await browser.sign_in("wrong"), 401, "LOGIN_FAILED")
    refused = await browser.sign_in()
    check_problem(refused, 429, "LIMIT_REACHED")
    assert int(refused.headers["retry-after"]) > 0
    # the same account from another address is not touched
    client = api.host.devices

    signed = await client.sign_in(browser.email, PASSWORD, Client("other", "10.0.0.2"))
    assert signed.principal.user_id == browser.user_id


async def age(api: Api, browser: Browser, column: str, minutes: int) -> None:
    async with api.host.devices._database.system_write() as unit:  # pyright: ignore[reportPrivateUsage]
        await unit.connection.execute(
            text(f"UPDATE devices SET {column} = {column} - :by WHERE owner_id = :owner"),
            {"by": minutes * 60_000, "owner": browser.user_id},
        )


async def test_the_cookie_rotates_and_parallel_requests_survive_it(api: Api) -> None:
    browser = await signed_in(api)
    old = browser.cookie
    await age(api, browser, "rotated_at", 20)
    tabs = [Browser(api) for _ in range(6)]
    for tab in tabs:
        tab.cookie = old
    answers = await asyncio.gather(*(tab.send("GET", "/me") for tab in tabs))
    assert {answer.status_code for answer in answers} == {200}
    changed = {tab.cookie for tab in tabs} - {old}
    assert len(changed) == 1, "one of them got the new cookie"
    browser.cookie = changed.pop()
    assert (await browser.send("GET", "/me")).status_code == 200
    await age(api, browser, "taken_up_at", 2)
    stale = Browser(api)
    stale.cookie = old
    check_problem(await stale.send("GET", "/me"), 401, "UNAUTHENTICATED")


async def test_a_lost_new_cookie_does_not_sign_out(api: Api) -> None:
    browser = await signed_in(api)
    old = browser.cookie
    await age(api, browser, "rotated_at", 20)
    assert (await browser.send("GET", "/me")).status_code == 200
    assert browser.cookie != old
    await age(api, browser, "rotated_at", 5)
    again = Browser(api)
    again.cookie = old
    assert (await again.send("GET", "/me")).status_code == 200
    assert again.cookie != old
    assert (await again.send("GET", "/me")).status_code == 200


@pytest.mark.parametrize(("column", "minutes"), [("last_seen_at", 8 * 24 * 60), ("expires_at", 31 * 24 * 60)])
async def test_sessions_end_when_idle_or_old(api: Api, column: str, minutes: int) -> None:
    browser = await signed_in(api)
    await age(api, browser, column, minutes)
    check_problem(await browser.send("GET", "/me"), 401, "UNAUTHENTICATED")


async def test_signing_out_kills_the_row_and_everywhere_all_of_them(api: Api) -> None:
    browser = await signed_in(api)
    cookie = browser.cookie
    answer = await browser.send("POST", "/logout")
    assert answer.status_code == 204
    assert "Max-Age=0" in answer.headers["set-cookie"]
    browser.cookie = cookie
    check_problem(await browser.send("GET", "/me"), 401, "UNAUTHENTICATED")
    await browser.sign_in()
    other = Browser(api, browser.email, browser.user_id)
    await other.sign_in()
    devices = (await browser.send("GET", "/devices")).json()["devices"]
    assert sum(device["current"] for device in devices) == 1
    elsewhere = next(device["id"] for device in devices if not device["current"])
    stranger = await signed_in(api)
    check_problem(await stranger.send("DELETE", f"/devices/{elsewhere}"), 404, "NOT_FOUND")
    assert (await browser.send("DELETE", f"/devices/{elsewhere}")).status_code == 204
    check_problem(await other.send("GET", "/me"), 401, "UNAUTHENTICATED")
    await other.sign_in()
    assert (await other.send("POST", "/logout-everywhere")).status_code == 204
    check_problem(await browser.send("GET", "/me"), 401, "UNAUTHENTICATED")


async def test_a_disabled_account_is_out_at_once(api: Api) -> None:
    browser = await signed_in(api)
    await api.host.identity.set_status(browser.user_id, active=False)
    check_problem(await browser.send("GET", "/me"), 401, "UNAUTHENTICATED")


async def test_a_new_password_ends_the_other_devices(api: Api) -> None:
    browser, other = await signed_in(api), Browser(api)
    other.email, other.user_id = browser.email, browser.user_id
    await other.sign_in()
    wrong = await browser.send("POST", "/password", {"current": "wrong", "new": "a new long password"})
    check_problem(wrong, 401, "LOGIN_FAILED")
    weak = await browser.send("POST", "/password", {"current": PASSWORD, "new": "short"})
    check_problem(weak, 422, "INVALID_PARAMS")
    done = await browser.send("POST", "/password", {"current": PASSWORD, "new": "a new long password"})
    assert done.status_code == 204
    assert (await browser.send("GET", "/me")).status_code == 200
    check_problem(await other.send("GET", "/me"), 401, "UNAUTHENTICATED")
    check_problem(await other.sign_in(), 401, "LOGIN_FAILED")


async def test_tokens_are_made_with_the_password_shown_once_and_revoked(api: Api) -> None:
    browser = await signed_in(api)
    body: dict[str, Any] = {"name": "laptop", "scopes": ["runs:read"], "expires_days": 30, "password": "no"}
    check_problem(await browser.send("POST", "/tokens", body), 401, "LOGIN_FAILED")
    made = await browser.send("POST", "/tokens", {**body, "password": PASSWORD})
    assert made.status_code == 201
    token = made.json()["token"]
    listed = (await browser.send("GET", "/tokens")).json()["tokens"]
    assert [row["name"] for row in listed] == ["laptop"]
    assert token not in str(listed)
    bearer = {"Authorization": f"Bearer {token}"}
    assert (await api.http.get("/api/v1/me", headers=bearer)).status_code == 200
    stranger = await signed_in(api)
    check_problem(await stranger.send("DELETE", f"/tokens/{made.json()['id']}"), 404, "NOT_FOUND")
    assert (await browser.send("DELETE", f"/tokens/{made.json()['id']}")).status_code == 204
    check_problem(await api.http.get("/api/v1/me", headers=bearer), 401, "UNAUTHENTICATED")


async def test_a_package_switched_off_is_gone_for_this_user_alone(api: Api) -> None:
    browser, other = await signed_in(api), await signed_in(api)
    off = await browser.send("PATCH", "/packages/mistakes", {"enabled": False})
    assert off.json()["enabled"] is False
    check_problem(await browser.send("PATCH", "/packages/none", {"enabled": False}), 404, "NOT_FOUND")
    call = {"params": {"question": "1+1"}}
    check_problem(await browser.send("POST", "/commands/mistakes::add", call), 403, "PACKAGE_DISABLED")
    assert (await other.send("POST", "/commands/mistakes::add", call)).status_code == 200
    shown = {entry["id"] for entry in (await browser.send("GET", "/commands")).json()["commands"]}
    assert "mistakes::add" not in shown
    assert "hello" not in shown
    on = await browser.send("PATCH", "/packages/mistakes", {"enabled": True})
    assert on.json()["enabled"] is True
    assert (await browser.send("POST", "/commands/mistakes::add", call)).status_code == 200


async def test_the_same_services_stand_behind_both_doors(api: Api) -> None:
    browser = await signed_in(api)
    session = (await browser.send("POST", "/sessions", {"title": "Algebra"})).json()["id"]
    run = await browser.send("POST", f"/sessions/{session}/runs", say("hi"))
    assert run.status_code == 200
    assert '"type":"done"' in run.text
    items = (await browser.send("GET", f"/sessions/{session}/items")).json()["items"]
    assert [item["type"] for item in items] == ["user", "assistant"]
    me = await api.someone()
    for path in (f"/sessions/{session}", f"/runs/{run.headers['deskmate-run-id']}/events"):
        assert (await (await signed_in(api)).send("GET", path)).status_code == 404
        check_problem(await api.call(me, "GET", path), 404, "NOT_FOUND")


async def test_the_setup_link_works_once_and_only_while_nobody_can_sign_in(api: Api) -> None:
    async with api.host.devices._database.system_write() as unit:  # pyright: ignore[reportPrivateUsage]
        await unit.connection.execute(text("UPDATE users SET password_hash = NULL"))
    browser = Browser(api)
    assert (await browser.send("GET", "/setup")).json() == {"needed": True}
    first = await api.host.devices.make_setup_link("https://deskmate.example.org")
    link = await api.host.devices.make_setup_link("https://deskmate.example.org")
    assert first is not None
    assert link is not None
    spent, token = (address.partition("#token=")[2] for address in (first, link))
    body = {"email": "First@Example.org", "password": PASSWORD}
    for wrong in ("made-up", spent):
        answer = await browser.send("POST", "/setup", {**body, "token": wrong})
        check_problem(answer, 403, "SETUP_LINK_INVALID")
    check_problem(
        await browser.send("POST", "/setup", {**body, "token": token, "password": "short"}),
        422,
        "INVALID_PARAMS",
    )
    both = await asyncio.gather(
        *(Browser(api).send("POST", "/setup", {**body, "token": token}) for _ in range(4))
    )
    assert sorted(answer.status_code for answer in both) == [201, 403, 403, 403]
    assert (await browser.send("GET", "/setup")).json() == {"needed": False}
    assert await api.host.devices.make_setup_link("https://deskmate.example.org") is None
    browser.email = "first@example.org"
    assert (await browser.sign_in()).json()["user"]["is_operator"] is True


async def test_sign_ins_and_their_failures_are_in_the_trail(api: Api) -> None:
    browser = await signed_in(api)
    await browser.send(
        "POST", "/tokens", {"name": "x", "scopes": ["*"], "expires_days": 1, "password": PASSWORD}
    )
    entries = (await browser.send("GET", "/audit")).json()["entries"]
    assert {"login", "token.create"} <= {entry["action"] for entry in entries}
