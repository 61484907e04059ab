"""Calls from one package's handler to an entry of another (C16).

Declared in the caller's manifest as `call:namespace::tool`; through the same gate, under the initiator of
the outer call, so a model gains nothing by a detour. No cycle runs on: the depth is limited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from app.catalog.results import HandlerFault
from app.errors import ToolError, ToolExecutionError
from app.protocol.ports import CallOutcome, Invocation

DEPTH_LIMIT = 10

NestedCall = Callable[[Invocation], Awaitable[CallOutcome]]

_depth: ContextVar[int] = ContextVar("deskmate_call_depth", default=0)


class NestedFailed(ToolError):
    """The inner call's error, as the outer handler sees it and, unless it acts on it, passes it on."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error["message"]), retryable=bool(error["retryable"]), source=error["source"])
        self._code = str(error["code"])

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), "code": self._code}


class NestedCalls:
    """The calls that one handler makes. Their ids follow from the outer one, so that a retry meets them."""

    def __init__(self, call: NestedCall, outer: Invocation, permissions: tuple[str, ...]) -> None:
        self._call = call
        self._outer = outer
        self._permissions = permissions
        self._made = 0

    async def make(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The inner result. Raises ToolError for what the inner call failed with, RunFatal as it comes."""
        if f"call:{name}" not in self._permissions:
            raise HandlerFault(f'calls {name} without "call:{name}" among its permissions')
        if _depth.get() >= DEPTH_LIMIT:
            raise ToolExecutionError(f"Tools called one another more than {DEPTH_LIMIT} deep.")
        token = _depth.set(_depth.get() + 1)
        try:
            outcome = await self._call(self._inner(name, arguments))
        finally:
            _depth.reset(token)
        if outcome.status == "awaiting_confirmation":
            raise ToolExecutionError(
                f"{name} needs the user's own confirmation; it cannot run inside a tool."
            )
        if outcome.error is not None:
            raise NestedFailed(outcome.error)
        return outcome.result

    def _inner(self, name: str, arguments: Mapping[str, Any]) -> Invocation:
        self._made += 1
        outer = self._outer
        key = outer.idempotency_key
        return replace(
            outer,
            call_id=f"{outer.call_id}.{self._made}",
            name=name,
            arguments=arguments,
            raw_arguments="",
            idempotency_key=None if key is None else f"{key}.{self._made}",
            confirmed=False,
        )
