from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import structlog
from fastapi import FastAPI, Request
from starlette.responses import Response

from app.api import edge, problems
from app.api.edge import Edge
from app.errors import LimitReached, NotFound

Told = tuple[str, str, int, float]


@pytest.fixture
def measured() -> list[Told]:
    """What the edge told of each request."""
    return []


@pytest.fixture
async def http(measured: list[Told]) -> AsyncIterator[httpx.AsyncClient]:
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

    app.add_middleware(Edge, body_limit_bytes=10, upload_limit_bytes=20, upload_paths=frozenset({"/upload"}),
        body_idle_s=0.1, measure=lambda method, route, status, s: measured.append((method, route, status, s)))  # fmt: skip
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


async def test_a_body_that_stops_coming_is_answered_408(http: httpx.AsyncClient) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(1)

    answer = await http.post("/echo", content=half(), headers={"content-length": "10"})
    assert (answer.status_code, answer.json()["code"]) == (408, "REQUEST_TIMEOUT")
    assert answer.json()["retryable"]
    assert answer.headers["connection"] == "close"


async def test_a_body_that_drips_has_an_end_too(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "BODY_SLACK_S", 0.1)

    async def drops() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b"x"
            await asyncio.sleep(0.05)

    answer = await http.post("/echo", content=drops())
    assert answer.status_code == 408


async def test_each_request_is_measured_by_its_route(http: httpx.AsyncClient, measured: list[Told]) -> None:
    await http.get("/missing/one")
    await http.get("/nowhere/at/all")
    assert [told[:3] for told in measured] == [("GET", "/missing/{name}", 404), ("GET", "(none)", 404)]
    assert all(0 < told[3] < 5 for told in measured)


async def test_log_lines_carry_our_id_the_trace_and_a_caller_s_id_that_fits(http: httpx.AsyncClient) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        answer = await http.get("/echo?q=words", headers={"X-Request-Id": "mine-1", "traceparent": trace})
        await http.get("/echo", headers={"X-Request-Id": "a b\x7f", "traceparent": trace + "x"})
    one, other = (line for line in lines if line["event"] == "request")
    assert one["request_id"] == answer.headers["x-request-id"]
    assert (one["caller_request_id"], one["trace_id"]) == ("mine-1", "0af7651916cd43dd8448eb211c80319c")
    assert (one["route"], one["status"], one["method"]) == ("/echo", 200, "GET")
    assert "words" not in str(one)
    assert not {"caller_request_id", "trace_id"} & set(other)
