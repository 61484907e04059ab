"""Every route as nobody, with a wrong scope, with an operator's token; and every bad input there is."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.api.agent.router import router
from tests.integration.api.conftest import Api, say

ROUTES: dict[tuple[str, str], str | None] = {
    ("GET", "/me"): None,
    ("POST", "/sessions"): "sessions:write",
    ("GET", "/sessions"): "sessions:read",
    ("GET", "/sessions/{session_id}"): "sessions:read",
    ("PATCH", "/sessions/{session_id}"): "sessions:write",
    ("DELETE", "/sessions/{session_id}"): "sessions:write",
    ("GET", "/sessions/{session_id}/items"): "sessions:read",
    ("GET", "/sessions/{session_id}/feed"): "sessions:read",
    ("GET", "/sessions/{session_id}/export"): "sessions:read",
    ("POST", "/sessions/{session_id}/runs"): "runs:write",
    ("GET", "/sessions/{session_id}/runs"): "runs:read",
    ("GET", "/runs/{run_id}"): "runs:read",
    ("GET", "/runs/{run_id}/events"): "runs:read",
    ("POST", "/runs/{run_id}/cancel"): "runs:write",
    ("GET", "/capabilities"): None,
    ("POST", "/capabilities/{capability}/invoke"): None,
    ("GET", "/confirmations/{confirmation_id}"): None,
    ("POST", "/files"): "files:write",
    ("GET", "/files/{file_id}"): "files:read",
    ("GET", "/audit"): "runs:read",
}
"""Each route with the scope it needs; None: any token, and the service looks closer."""
FOR_OPERATORS = {("GET", "/me"), ("GET", "/audit")}
ALL = sorted(ROUTES, key=str)


def address(path: str) -> str:
    for name in ("session_id", "run_id", "capability", "confirmation_id", "file_id"):
        path = path.replace(f"{{{name}}}", "nothing")
    return path


def check_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert body["status"] == status
    assert body["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text
    return body


async def test_no_route_is_missing_from_this_list(api: Api) -> None:
    described = (await api.http.get("/api/v1/openapi.json")).json()["paths"]
    found = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, operations in described.items()
        for method in operations
        if path != "/api/v1/manifest.json"
    }
    assert found == set(ROUTES)
    assert router.prefix == "/api/v1"


async def test_nobody_gets_nothing(api: Api) -> None:
    for method, path in ALL:
        for header in ({}, {"Authorization": "Bearer deskmate_u_made_up"}, {"Cookie": "sid=x"}):
            answer = await api.call(None, method, address(path), headers=header)
            check_problem(answer, 401, "UNAUTHENTICATED")
            error = 'error="invalid_token"' in answer.headers["www-authenticate"]
            assert error == ("Authorization" in header)


async def test_a_token_in_the_address_is_none(api: Api) -> None:
    me = await api.someone()
    for name in ("token", "access_token"):
        check_problem(await api.call(None, "GET", "/me", params={name: me.token}), 401, "UNAUTHENTICATED")


async def test_a_missing_scope_is_named(api: Api) -> None:
    narrow = await api.someone("jobs:read")
    for method, path in ALL:
        scope = ROUTES[method, path]
        if scope is not None:
            answer = await api.call(narrow, method, address(path))
            assert check_problem(answer, 403, "INSUFFICIENT_SCOPE")["scope"] == scope
            assert f'scope="{scope}"' in answer.headers["www-authenticate"]


async def test_read_does_not_allow_writing_and_writing_allows_reading(api: Api) -> None:
    reader = await api.someone("sessions:read")
    check_problem(await api.call(reader, "POST", "/sessions", {}), 403, "INSUFFICIENT_SCOPE")
    writer = await api.someone("sessions:write")
    assert (await api.call(writer, "GET", "/sessions")).status_code == 200


async def test_an_operator_s_token_never_acts_as_a_user(api: Api) -> None:
    operator = await api.someone(operator=True)
    for method, path in ALL:
        answer = await api.call(operator, method, address(path))
        if (method, path) in FOR_OPERATORS:
            assert answer.status_code == 200
        else:
            check_problem(answer, 403, "INSUFFICIENT_SCOPE")


async def test_operators_read_all_of_the_audit_and_users_their_own(api: Api) -> None:
    operator, one, other = await api.someone(operator=True), await api.someone(), await api.someone()
    everybody = (await api.call(operator, "GET", "/audit", params={"limit": 200})).json()["entries"]
    assert {one.user_id, other.user_id} <= {entry["actor_id"] for entry in everybody}
    mine = (await api.call(one, "GET", "/audit")).json()["entries"]
    assert {entry["actor_id"] for entry in mine} == {one.user_id}


async def test_unknown_ids_are_not_found(api: Api) -> None:
    me = await api.someone()
    for method, path in ALL:
        if "{" in path and "capability" not in path:
            body = say("hi") if path.endswith("/runs") and method == "POST" else None
            body = {"title": "x"} if method == "PATCH" else body
            check_problem(await api.call(me, method, address(path), body), 404, "NOT_FOUND")


@pytest.mark.parametrize("odd", ["%00", "%2e%2e%2f", "' OR 1=1 --", "x" * 5000, "%ff%fe", "ses_%F0%9F%98%80"])
async def test_odd_ids_are_not_found(api: Api, odd: str) -> None:
    me = await api.someone()
    check_problem(await api.call(me, "GET", f"/sessions/{odd}"), 404, "NOT_FOUND")


async def test_wrong_methods_name_the_right_ones(api: Api) -> None:
    me = await api.someone()
    answer = await api.call(me, "PUT", "/sessions")
    check_problem(answer, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET, POST"
    answer = await api.call(me, "PUT", "/sessions/x")
    assert answer.headers["allow"] == "GET, PATCH, DELETE"


JSON_POSTS = [
    ("POST", "/sessions"),
    ("PATCH", "/sessions/{id}"),
    ("POST", "/sessions/{id}/runs"),
    ("POST", "/capabilities/mistakes::add/invoke"),
]


async def test_bodies_that_are_no_json_are_refused_everywhere(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    for method, path in JSON_POSTS:
        url = path.replace("{id}", session_id)

        async def send(
            content: bytes, media_type: str, method: str = method, url: str = url
        ) -> httpx.Response:
            return await api.call(me, method, url, content=content, headers={"Content-Type": media_type})

        for broken in (b"", b"{", b"\xff", b'{"a": "\\ud800"}', b"[" * 100_000):
            check_problem(await send(broken, "application/json"), 400, "MALFORMED_REQUEST")
        for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            check_problem(await send(b"{}", media_type), 415, "UNSUPPORTED_MEDIA_TYPE")
        large = b'{"title": "' + b"x" * 1_048_576 + b'"}'
        check_problem(await send(large, "application/json"), 413, "PAYLOAD_TOO_LARGE")
        for value in (b"[]", b"null", b'"x"', b"7"):
            check_problem(await send(value, "application/json"), 422, "INVALID_PARAMS")
        deep = b'{"x": ' + b"[" * 100 + b"]" * 100 + b"}"
        check_problem(await send(deep, "application/json"), 422, "INVALID_PARAMS")
        check_problem(await send(b'{"title": "a\\u0000"}', "application/json"), 422, "INVALID_PARAMS")


@pytest.mark.parametrize(
    "field",
    [
        "id",
        "owner",
        "owner_id",
        "user_id",
        "history",
        "messages",
        "tool_results",
        "capabilities",
        "scopes",
        "app_id",
    ],
)
async def test_what_a_client_may_not_decide_is_refused_everywhere(api: Api, field: str) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    for method, path in JSON_POSTS:
        body: dict[str, Any] = say("hi") if path.endswith("/runs") else {}
        answer = await api.call(me, method, path.replace("{id}", session_id), {**body, field: "x"})
        problem = check_problem(answer, 422, "INVALID_PARAMS")
        assert [error["field"] for error in problem["errors"]] == [field]
    assert (await api.call(me, "GET", f"/sessions/{session_id}/runs")).json()["runs"] == []


@pytest.mark.parametrize("cursor", ["x", "é", "AAAA", "a" * 400, "../..", "%00"])
async def test_a_cursor_of_another_s_or_of_nobody_s_is_refused(api: Api, cursor: str) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    for path, name in (
        ("/sessions", "cursor"),
        ("/audit", "cursor"),
        (f"/sessions/{session_id}/runs", "cursor"),
        (f"/sessions/{session_id}/items", "before"),
    ):
        check_problem(await api.call(me, "GET", path, params={name: cursor}), 400, "INVALID_CURSOR")


async def test_another_user_s_cursor_is_refused(api: Api) -> None:
    owner, other = await api.someone(), await api.someone()
    for _ in range(2):
        await api.session(owner)
    cursor = (await api.call(owner, "GET", "/sessions", params={"limit": 1})).json()["next"]
    assert cursor
    answer = await api.call(other, "GET", "/sessions", params={"cursor": cursor})
    check_problem(answer, 400, "INVALID_CURSOR")


@pytest.mark.parametrize("limit", ["0", "-1", "201", "x", "1e3", ""])
async def test_a_wrong_page_size_is_refused(api: Api, limit: str) -> None:
    me = await api.someone()
    answer = await api.call(me, "GET", "/sessions", params={"limit": limit})
    assert check_problem(answer, 422, "INVALID_PARAMS")["errors"][0]["field"] == "query.limit"


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"])
async def test_a_malformed_key_is_refused(api: Api, key: str) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    for path, body in (("/sessions", {}), (f"/sessions/{session_id}/runs", say("hi"))):
        answer = await api.call(me, "POST", path, body, {"Idempotency-Key": key})
        check_problem(answer, 422, "INVALID_PARAMS")


async def test_a_revoked_token_is_out_at_once(api: Api) -> None:
    me = await api.someone()
    row = (await api.host.identity.list_tokens(me.user_id))[0]
    assert (await api.call(me, "GET", "/me")).status_code == 200
    await api.host.identity.revoke_token(me.user_id, row.id)
    check_problem(await api.call(me, "GET", "/me"), 401, "UNAUTHENTICATED")
