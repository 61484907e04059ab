"""The Agent API as a test uses it: few words, real HTTP, nothing hidden."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self

import httpx
import orjson

API = "/api/v1"


class RunStream:
    """An open run stream. Iterate over `lines` (raw, keep-alives too) or `events` (parsed), once."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.seen: list[dict[str, Any]] = []
        """Events read so far."""
        self.keepalives = 0

    @property
    def run_id(self) -> str:
        return self.response.headers["deskmate-run-id"]

    @property
    def last_seq(self) -> int:
        return self.seen[-1]["seq"] if self.seen else 0

    async def lines(self) -> AsyncIterator[bytes]:
        rest = b""
        async for data in self.response.aiter_bytes():
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield line + b"\n"
        assert not rest, f"the stream ends within a line: {rest!r}"

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        async for line in self.lines():
            if line.strip():
                self.seen.append(orjson.loads(line))
                yield self.seen[-1]
            else:
                self.keepalives += 1

    async def read_all(self) -> list[dict[str, Any]]:
        """Every event to the end of the stream."""
        async for _ in self.events():
            pass
        return self.seen

    async def read_until(self, **members: Any) -> dict[str, Any]:
        """The next event with these members, such as `type="activity", status="started"`."""
        async for event in self.events():
            if all(event.get(name) == value for name, value in members.items()):
                return event
        raise AssertionError(f"the stream ended without {members}; it had {self.seen[-3:]}")


class AgentClient:
    """One token at one server. Methods that return JSON raise AssertionError on any but 2xx."""

    def __init__(self, base_url: str, token: str, *, timeout: float = 30) -> None:
        self.token = token
        self.http = httpx.AsyncClient(
            base_url=base_url,
            headers={"authorization": f"Bearer {token}"},
            timeout=timeout,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self.http.aclose()

    async def call(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        """Any request, answer unjudged; `path` from `/api/v1` on."""
        if body is not None:
            more["json"] = body
        return await self.http.request(method, API + path, **more)

    async def json(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        answer = await self.call(method, path, body, **more)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    # --- sessions ---

    async def create_session(self, **fields: Any) -> str:
        session = await self.json("POST", "/sessions", fields)
        return session["id"]

    async def items(self, session_id: str, **query: Any) -> dict[str, Any]:
        return await self.json("GET", f"/sessions/{session_id}/items", params=query)

    async def all_items(self, session_id: str) -> list[dict[str, Any]]:
        """The whole history, oldest first, over as many pages as it takes."""
        found: list[dict[str, Any]] = []
        query: dict[str, Any] = {"limit": 200}
        while True:
            page = await self.items(session_id, **query)
            found = page["items"] + found
            if page["next_before"] is None:
                return found
            query["before"] = page["next_before"]

    # --- runs ---

    @contextlib.asynccontextmanager
    async def run(
        self,
        session_id: str,
        text: str,
        *,
        references: list[Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[RunStream]:
        """Starts a run and holds its stream; leaving early drops the connection, not the run."""
        body: dict[str, Any] = {"input": [{"type": "text", "text": text}]}
        if references is not None:
            body["references"] = references
        request = self.http.stream("POST", f"{API}/sessions/{session_id}/runs", json=body, headers=headers)
        async with _opened(request) as stream:
            yield stream

    async def ask(self, session_id: str, text: str, **more: Any) -> list[dict[str, Any]]:
        """A run to its end; all its events."""
        async with self.run(session_id, text, **more) as stream:
            return await stream.read_all()

    async def start_run(self, session_id: str, text: str) -> str:
        """A run that nobody listens to; its id."""
        body = {"input": [{"type": "text", "text": text}]}
        headers = {"prefer": "respond-async"}
        started = await self.json("POST", f"/sessions/{session_id}/runs", body, headers=headers)
        return started["run_id"]

    @contextlib.asynccontextmanager
    async def events(self, run_id: str, after: int = 0) -> AsyncGenerator[RunStream]:
        request = self.http.stream("GET", f"{API}/runs/{run_id}/events", params={"after": after})
        async with _opened(request) as stream:
            yield stream

    async def events_after(self, run_id: str, after: int = 0) -> list[dict[str, Any]]:
        async with self.events(run_id, after) as stream:
            return await stream.read_all()

    async def get_run(self, run_id: str) -> dict[str, Any]:
        return await self.json("GET", f"/runs/{run_id}")

    async def wait_for_end(self, run_id: str, timeout: float = 20) -> dict[str, Any]:
        """The run, once it is terminal."""
        async with asyncio.timeout(timeout):
            while True:
                run = await self.get_run(run_id)
                if run["status"] in {"completed", "cancelled", "failed"}:
                    return run
                await asyncio.sleep(0.02)

    async def cancel(self, run_id: str) -> None:
        answer = await self.call("POST", f"/runs/{run_id}/cancel")
        assert answer.status_code == 202, answer.text

    async def invoke(
        self, capability: str, params: Mapping[str, Any], *, key: str | None = None
    ) -> httpx.Response:
        headers = {"idempotency-key": key} if key else {}
        return await self.call(
            "POST", f"/capabilities/{capability}/invoke", {"params": dict(params)}, headers=headers
        )


@contextlib.asynccontextmanager
async def _opened(
    request: contextlib.AbstractAsyncContextManager[httpx.Response],
) -> AsyncGenerator[RunStream]:
    async with request as response:
        if response.status_code != 200:
            await response.aread()
            raise AssertionError(f"{response.request.url.path}: {response.status_code} {response.text}")
        yield RunStream(response)


def answer_text(events: list[dict[str, Any]], channel: str = "answer") -> str:
    """What the events say, joined."""
    return "".join(e["delta"] for e in events if e["type"] == "text" and e["channel"] == channel)
