"""The bare proxy: the same two model calls, relayed with httpx and uvicorn, storing nothing.

It relays bytes as they come and parses only what it must, the tool call of the first answer; a proxy
that read every event would be slower. So it is the harder of the two to be measured against.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import httpx
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from bench.model_calls import first_body, second_body


def create_proxy(model_url: str) -> Starlette:
    """POST /run with `{text}` answers with the bytes of both model answers."""
    http = httpx.AsyncClient(
        base_url=model_url,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
        timeout=120,
        trust_env=False,
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        yield
        await http.aclose()

    async def relay(body: dict[str, Any], kept: list[bytes] | None = None) -> AsyncIterator[bytes]:
        async with http.stream("POST", "/chat/completions", json=body) as answer:
            answer.raise_for_status()
            async for data in answer.aiter_bytes():
                if kept is not None:
                    kept.append(data)
                yield data

    async def two_calls(text: str) -> AsyncIterator[bytes]:
        kept: list[bytes] = []
        async for data in relay(first_body(text), kept):
            yield data
        async for data in relay(second_body(text, b"".join(kept))):
            yield data

    async def run(request: Request) -> Response:
        order: dict[str, str] = orjson.loads(await request.body())
        return StreamingResponse(two_calls(order["text"]), media_type="application/x-ndjson")

    async def ready(request: Request) -> Response:
        return PlainTextResponse("ok")

    routes = [Route("/run", run, methods=["POST"]), Route("/readyz", ready)]
    return Starlette(routes=routes, lifespan=lifespan)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model-url", required=True)
    options = parser.parse_args()
    uvicorn.run(
        create_proxy(options.model_url),
        host="127.0.0.1",
        port=options.port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
