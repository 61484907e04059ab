from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.responses import Response

from app.api import problems
from app.api.edge import Edge
from app.errors import LimitReached, NotFound


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    problems.install(app)

    @app.post("/echo")
    async def echo(request: Request) -> Response:
        return Response(await request.body())

    @app.get("/echo")
    async def look() -> Response:
        return Response(headers={"Cache-Control": "public"})

    @app.get("/fault")
    async def fault() -> Response:
        raise RuntimeError("secret words")

    @app.get("/missing/{name}")
    async def missing(name: str) -> Response:
        raise NotFound(f"what the service knows of {name}")

    @app.get("/busy")
    async def busy() -> Response:
        raise LimitReached("Too many.", retry_after_s=1.2, details={"status": 1, "limit": 8})

    app.add_middleware(Edge, body_limit_bytes=10, upload_limit_bytes=20, upload_paths=frozenset({"/upload"}))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


async def test_every_answer_has_an_id_of_ours_and_the_headers(http: httpx.AsyncClient) -> None:
    answer = await http.get("/echo", headers={"X-Request-Id": "mine"})
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "public"
    assert (await http.get("/nowhere")).headers["cache-control"] == "no-store"


async def test_a_fault_is_told_by_id_only(http: httpx.AsyncClient) -> None:
    answer = await http.get("/fault")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


async def test_unknown_and_foreign_look_alike(http: httpx.AsyncClient) -> None:
    one, other = (await http.get("/missing/one")).json(), (await http.get("/missing/other")).json()
    assert one.pop("request_id") != other.pop("request_id")
    assert one == other


async def test_the_framework_s_own_refusals_are_problems_too(http: httpx.AsyncClient) -> None:
    answer = await http.get("/nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    answer = await http.delete("/echo")
    assert (answer.status_code, answer.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET, POST"


async def test_details_are_added_and_never_replace_members(http: httpx.AsyncClient) -> None:
    answer = await http.get("/busy")
    assert answer.json()["status"] == 429
    assert answer.json()["limit"] == 8
    assert answer.headers["retry-after"] == "2"


async def test_a_body_is_limited_by_what_it_says(http: httpx.AsyncClient) -> None:
    assert (await http.post("/echo", content=b"x" * 10)).status_code == 200
    answer = await http.post("/echo", content=b"x" * 11)
    assert (answer.status_code, answer.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")


async def test_a_body_is_limited_by_what_it_is(http: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 5

    assert (await http.post("/echo", content=chunks())).status_code == 413


async def test_a_nul_in_the_address_reaches_no_query(http: httpx.AsyncClient) -> None:
    assert (await http.get("/missing/a%00b")).status_code == 404
    assert (await http.get("/echo?q=a%00b")).status_code == 422
