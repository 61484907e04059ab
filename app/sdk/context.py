"""The call that the current task or thread works for (C16): follows `create_task` and `to_thread`."""

from __future__ import annotations

from contextvars import ContextVar, Token

from app.sdk.handles import Call

_current: ContextVar[Call | None] = ContextVar("deskmate_call", default=None)


def current_call() -> Call:
    """The call under way. Raises LookupError outside a handler."""
    call = _current.get()
    if call is None:
        raise LookupError("no call is under way here")
    return call


def enter(call: Call) -> Token[Call | None]:
    """For the gate."""
    return _current.set(call)


def leave(token: Token[Call | None]) -> None:
    """For the gate."""
    _current.reset(token)
