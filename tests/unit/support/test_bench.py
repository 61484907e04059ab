"""The bench's own parts: what is counted must be right before it is fast."""

from __future__ import annotations

import asyncio

import httpx
import orjson
import pytest

from bench.load import Generator, Load, find_service_fault
from bench.model_calls import first_body, second_body
from bench.proxy import create_proxy
from bench.report import GOALS, Results, ratio, table, verdict
from bench.wire_client import Exchange, WireConnection, request_bytes
from tests.support.directives import MARK
from tests.support.stub_model import StubModel

ORDER = 'bench deltas=7 gap_ms=0 tool=mistakes_add args={"question":"7 x 8"}'


async def test_raw_client_makes_two_strictly_valid_calls_on_one_connection() -> None:
    async with StubModel() as stub:
        load = Load(mode="raw", port=stub.port, text=ORDER, deltas=7, at_once=2, runs=6)
        generator = Generator(load)
        await generator.set_up()
        outcome = await generator.measure()
        assert outcome.faults == []
        assert len(outcome.first_text_ms) == 6
        assert stub.counters == {"requests": 12, "streamed": 12}
        assert stub.open_connections == 2


async def test_proxy_relays_both_answers_and_a_valid_second_call() -> None:
    async with StubModel() as stub:
        app = create_proxy(stub.base_url)
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://proxy") as http,
        ):
            answer = await http.post("/run", json={"text": ORDER})
        assert answer.text.count(MARK) == 7
        assert answer.text.count("[DONE]") == 2
        assert [record.fault for record in stub.requests] == [None, None]
        asked = stub.requests[1].body["messages"][2]["tool_calls"][0]["function"]
        assert orjson.loads(asked["arguments"]) == {"question": "7 x 8"}


async def test_missing_deltas_are_a_fault_and_not_a_fast_run() -> None:
    async with StubModel() as stub:
        generator = Generator(Load(mode="raw", port=stub.port, text=ORDER, deltas=8, at_once=1, runs=1))
        await generator.set_up()
        outcome = await generator.measure()
    assert outcome.faults == ["7 deltas came, not 8"]
    assert outcome.duration_ms == []


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_chunked_answer_ends_where_it_ends_however_it_is_split(size: int) -> None:
    answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n\n\r\n9\r\n word~0\r\n\r\n0\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            await reader.readuntil(b"\r\n\r\n")
            for at in range(0, len(answer), size):
                writer.write(answer[at : at + size])
                await asyncio.sleep(0)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        connection = await WireConnection.open(server.sockets[0].getsockname()[1])
        for _ in range(2):
            exchange = await connection.exchange(request_bytes("GET", "/"))
            assert (exchange.status, exchange.deltas) == (200, 1)
        connection.close()


async def test_answer_with_a_length_ends_there() -> None:
    async with StubModel() as stub:
        connection = await WireConnection.open(stub.port)
        exchange = await connection.exchange(request_bytes("GET", "/v1/models"))
        connection.close()
    assert exchange.body.endswith(b'"data":[]}')


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"type":"done","status":"failed"}', "did not complete"),
        (b'{"type":"activity","status":"failed"}{"type":"done","status":"completed"}', "tool failed"),
        (b"", "did not complete"),
    ],
)
def test_run_that_did_not_do_its_work_does_not_count(body: bytes, said: str) -> None:
    fault = find_service_fault(Exchange(sent_at=0, status=200, body=body))
    assert fault is not None
    assert said in fault


def test_second_call_needs_a_tool_call() -> None:
    with pytest.raises(ValueError, match="no tool call"):
        second_body("x", b"data: nothing")
    assert first_body("x")["messages"][1]["content"] == "x"


def test_ratio_takes_the_models_own_time_off_and_the_verdict_knows_its_direction() -> None:
    results = Results()
    for name, first_text, runs in (("model alone", 5, 500), ("proxy", 15, 100), ("postgresql", 17, 130)):
        results.add(name, {"first_text_ms": first_text, "runs_per_second": runs})
    throughput, _, first_text_goal, *_ = GOALS
    assert ratio(results, first_text_goal, "postgresql") == pytest.approx(1.2)
    assert verdict(first_text_goal, "postgresql", 1.2) == "aim"
    assert verdict(throughput, "postgresql", 1.3) == "met"
    assert verdict(throughput, "postgresql", 1.1) == "MISSED"
    assert ratio(results, throughput, "sqlite") is None
    assert "| 130 /s | 100 /s | 500 /s | 1.3 x |" in table(results, ["postgresql"])
