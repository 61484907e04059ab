"""The Agent API as the terminal needs it: sessions, and a run's events across cut connections."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx

from app import __version__

RETRY_DELAYS_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits between tries to read on; about a quarter of a minute in all."""
API = "/api/v1"


class ServerRefused(Exception):
    """The server answered with a problem; the text is its own, fit for a person."""


class ServerAbsent(Exception):
    """Nothing answers at the address."""


class StreamLost(Exception):
    """A run's stream was cut and could not be opened again; the run itself goes on."""


class AgentClient:
    """Talks to one server as one user.

    Args:
        base_url: where the server is.
        token: a user's token.
        transport: another way to the server, for tests.
        retry_delays_s: waits between tries to read on.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        retry_delays_s: tuple[float, ...] = RETRY_DELAYS_S,
    ) -> None:
        self.base_url = base_url
        self._retry_delays_s = retry_delays_s
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers={"Authorization": f"Bearer {token}", "User-Agent": f"deskmate-chat/{__version__}"},
            # The server sends a blank line every ten seconds: a longer silence is a dead connection.
            timeout=httpx.Timeout(10.0, read=60.0),
            transport=transport,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def me(self) -> dict[str, Any]:
        return await self._json("GET", "/me")

    async def new_session(self) -> str:
        session = await self._json("POST", "/sessions", json={})
        return str(session["id"])

    async def sessions(self) -> list[dict[str, Any]]:
        page = await self._json("GET", "/sessions", params={"limit": 20})
        return list(page["sessions"])

    async def cancel(self, run_id: str) -> None:
        await self._json("POST", f"/runs/{run_id}/cancel")

    async def say(self, session_id: str, text: str) -> AsyncIterator[dict[str, Any]]:
        """Starts a run and yields its events to the end, each once, whatever happens to connections.

        Between two connections it yields `{"type": "cut"}`. The Idempotency-Key makes it safe to
        send the start again when its answer got lost.

        Raises:
            ServerRefused, ServerAbsent: the run did not start.
            StreamLost: it started, and could not be followed to its end.
        """
        start = self._http.build_request(
            "POST",
            f"{API}/sessions/{session_id}/runs",
            json={"input": [{"type": "text", "text": text}]},
            headers={"Idempotency-Key": str(uuid.uuid4())},
        )
        run_id, seq, tries = "", 0, 0
        while True:
            request = start
            if run_id:
                request = self._http.build_request(
                    "GET", f"{API}/runs/{run_id}/events", params={"after": seq}
                )
            try:
                async for event in self._events(request):
                    run_id = run_id or event["run_id"]
                    if event["type"] != "run":
                        if event["seq"] <= seq:
                            continue
                        seq, tries = event["seq"], 0
                    yield event
                    if event["type"] == "done":
                        return
            except httpx.TransportError as error:
                if not run_id and not await self._answers():
                    raise ServerAbsent(self.base_url) from error
            if tries >= len(self._retry_delays_s):
                raise StreamLost(run_id)
            yield {"type": "cut"}
            await asyncio.sleep(self._retry_delays_s[tries])
            tries += 1

    async def _events(self, request: httpx.Request) -> AsyncIterator[dict[str, Any]]:
        """The events of one connection, after a first one that names the run."""
        response = await self._http.send(request, stream=True)
        try:
            await _check(response)
            if "deskmate-run-id" in response.headers:
                yield {"type": "run", "run_id": response.headers["deskmate-run-id"]}
            async for line in response.aiter_lines():
                if line.strip():
                    yield json.loads(line)
        finally:
            await response.aclose()

    async def _answers(self) -> bool:
        try:
            await self._http.get("/healthz")
        except httpx.TransportError:
            return False
        return True

    async def _json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            response = await self._http.request(method, API + path, **options)
        except httpx.TransportError as error:
            raise ServerAbsent(self.base_url) from error
        await _check(response)
        return response.json()


async def _check(response: httpx.Response) -> None:
    if response.status_code < 400:
        return
    await response.aread()
    try:
        problem: dict[str, Any] = response.json()
        text = f"{problem['detail']} ({problem['code']})"
    except (ValueError, KeyError, TypeError):
        text = f"The server answered {response.status_code}."
    raise ServerRefused(text)
