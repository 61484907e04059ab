"""Orders to the stub in the user's own words, so that load needs no script.

`bench deltas=50 gap_ms=0 tool=mistakes_add after_load=mistakes args={"question":"…"}` as a line of
the newest user message. Each tool named is asked for in a model call of its own, then comes the text.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from typing import Any

from tests.support.replies import AskTools, Call, Reply, Say, Wait

_LINE = re.compile(r"^bench\b(?P<options>.*)$", re.MULTILINE)
_ARGUMENTS = re.compile(r"\bargs=(?P<json>\{.*)$")
_OPTION = re.compile(r"\b(?P<name>[a-z_]+)=(?P<value>\S+)")

MARK = "~"
"""Stands once in every delta, so that a reader can count deltas however they are merged."""


@dataclass(frozen=True, slots=True)
class Order:
    deltas: int = 1
    gap_ms: float = 0
    first_ms: float = 0
    """Silence before the first delta."""
    tool: str | None = None
    args: str = "{}"
    after_load: str | None = None
    """A domain to load, by `catalog_load_domain`, before the tool is called."""
    bytewise: bool = False
    """Every byte on the wire in a write of its own."""
    letters: bool = False
    """Every delta is a single character."""

    def tool_calls(self) -> tuple[tuple[str, str], ...]:
        load = (("catalog_load_domain", json.dumps({"name": self.after_load})),) if self.after_load else ()
        return (*load, (self.tool, self.args)) if self.tool else load


def newest_user_text(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """The newest user message's text and the number of tool messages after it."""
    results = 0
    for message in reversed(messages):
        if message["role"] == "tool":
            results += 1
        elif message["role"] == "user":
            content = message["content"]
            if isinstance(content, str):
                return content, results
            return "\n".join(part["text"] for part in content if part["type"] == "text"), results
    return "", results


@functools.lru_cache(maxsize=512)
def read_order(text: str) -> Order | None:
    found = _LINE.search(text)
    if found is None:
        return None
    options = found["options"]
    values: dict[str, Any] = {}
    if arguments := _ARGUMENTS.search(options):
        values["args"] = arguments["json"].strip()
        options = options[: arguments.start()]
    for option in _OPTION.finditer(options):
        name, value = option["name"], option["value"]
        if name == "deltas":
            values[name] = int(value)
        elif name in {"gap_ms", "first_ms"}:
            values[name] = float(value)
        elif name in {"bytewise", "letters"}:
            values[name] = value == "1"
        else:
            values[name] = value
    return Order(**values)


@functools.lru_cache(maxsize=512)
def obey(order: Order, results: int) -> Reply:
    """The reply to the request that holds `results` tool messages after the user's."""
    asked = order.tool_calls()
    if results < len(asked):
        name, arguments = asked[results]
        return Reply(steps=(AskTools(calls=(Call(name=name, arguments=arguments),)),))
    deltas = tuple(MARK if order.letters else f" word{MARK}{at}" for at in range(order.deltas))
    text = Say(deltas=deltas, gap_ms=order.gap_ms)
    steps = (Wait(seconds=order.first_ms / 1000), text) if order.first_ms else (text,)
    return Reply(steps=steps, bytewise=order.bytewise)
