"""The model of a fresh installation: no AI, no key, and it says so.

It shows a newcomer one real use of a tool and asks for a real model. It never loops: in one turn
it loads at most one domain, calls at most one tool of it, then answers in text.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.protocol.conversation import (
    Done,
    ModelEvent,
    ModelRequest,
    ModelSpec,
    TextDelta,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from app.providers.scripted import call, last_user_text
from app.providers.wire_text import as_dict, as_list, as_text

DEMO_PROVIDER_ID = "demo"
DEMO_MODEL = ModelSpec(id="demo", provider_id=DEMO_PROVIDER_ID, name="demo")
LOADER_TOOL = "catalog_load_domain"
BATCH_PAUSE_S = 0.02
QUOTE_LIMIT = 400

_HOST_NOTE = re.compile(r"<note>.*?</note>", re.DOTALL)
"""What the host adds to a message is not the user's: neither their language nor their question."""
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]")
_PIECE = re.compile(r"[\u3400-\u9fff，。：；！？]{1,3}|\s*[^\s\u3400-\u9fff，。：；！？]+|\s+")


@dataclass(frozen=True, slots=True)
class _Plan:
    domain: str
    tool: str


_HELLO = _Plan("demo", "demo_hello")
_MISTAKE = _Plan("mistakes", "mistakes_add")


class DemoProvider:
    """A `ModelProvider` without a model."""

    def __init__(
        self, *, id: str = DEMO_PROVIDER_ID, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._id = id
        self._sleep = sleep

    @property
    def id(self) -> str:
        return self._id

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[ModelEvent]]:
        text = _HOST_NOTE.sub("", last_user_text(request)).strip()
        results = _results_of_turn(request)
        plan = _plan(request, text)
        action = _next_call(request, plan, results, text)
        if action is not None:
            yield [call(*action), Done("tool_use")]
            return
        quoted = next(
            (result for result in reversed(results) if plan is not None and result.wire_name == plan.tool),
            None,
        )
        words = _answer_zh(quoted) if _CJK.search(text) else _answer_en(quoted)
        for number, piece in enumerate(_pieces(words)):
            if number:
                await self._sleep(BATCH_PAUSE_S)
            yield [TextDelta(piece)]
        yield [Done("end")]

    async def aclose(self) -> None:
        return


def _plan(request: ModelRequest, text: str) -> _Plan | None:
    if "错题" in text or "mistake" in text.lower():
        return _MISTAKE
    first = sum(isinstance(item, UserMessage) for item in request.messages) == 1
    return _HELLO if first else None


def _results_of_turn(request: ModelRequest) -> list[ToolResultMessage]:
    found: list[ToolResultMessage] = []
    for item in reversed(request.messages):
        if isinstance(item, UserMessage):
            break
        if isinstance(item, ToolResultMessage):
            found.append(item)
    return found[::-1]


def _next_call(
    request: ModelRequest, plan: _Plan | None, results: Sequence[ToolResultMessage], text: str
) -> tuple[str, dict[str, Any]] | None:
    if plan is None:
        return None
    done = {result.wire_name for result in results}
    visible = {tool.wire_name: tool for tool in request.tools}
    if plan.tool in done:
        return None
    if plan.tool in visible:
        return plan.tool, _arguments(visible[plan.tool], text)
    if LOADER_TOOL in visible and LOADER_TOOL not in done:
        return LOADER_TOOL, {"name": plan.domain}
    return None


def _arguments(tool: ToolSpec, text: str) -> dict[str, Any]:
    """Something valid for each required field, and the user's text as the question."""
    properties = as_dict(tool.parameters.get("properties")) or {}
    names = [name for name in as_list(tool.parameters.get("required")) if isinstance(name, str)]
    out = {name: _value(as_dict(properties.get(name)) or {}, tool.parameters, text) for name in names}
    if "question" in properties:
        out["question"] = text
    return out


def _value(schema: dict[str, Any], root: Mapping[str, Any], text: str) -> Any:
    if options := as_list(schema.get("anyOf")):
        schema = as_dict(options[0]) or {}
    if (reference := as_text(schema.get("$ref"))).startswith("#/$defs/"):
        schema = as_dict((as_dict(root.get("$defs")) or {}).get(reference.removeprefix("#/$defs/"))) or {}
    if "default" in schema or "const" in schema:
        return schema.get("default", schema.get("const"))
    if choices := as_list(schema.get("enum")):
        return choices[0]
    if schema.get("type") == "string":
        return text[: schema.get("maxLength", len(text))] if schema.get("minLength", 0) > 0 else ""
    if schema.get("type") in ("integer", "number"):
        return schema.get("minimum", 0)
    empty: dict[str, Any] = {"boolean": False, "array": [], "object": {}}
    return empty.get(as_text(schema.get("type")))


def _answer_en(result: ToolResultMessage | None) -> str:
    words = (
        "I am Deskmate's demo model: no AI, only a few fixed sentences, so that you can see how things work."
    )
    if result is not None:
        outcome = "failed" if result.is_error else "answered"
        words += f" I just used the tool {result.wire_name}, and it {outcome}: {_quote(result)}"
    return (
        words
        + "\n\nTo talk with a real model, name one in models.toml and set its key; the README shows how."
    )


def _answer_zh(result: ToolResultMessage | None) -> str:
    words = "我是 Deskmate 的演示模型：不是人工智能，只会说几句固定的话，好让你看看它是怎样工作的。"
    if result is not None:
        outcome = "失败了" if result.is_error else "的结果是"
        words += f"我刚刚使用了工具 {result.wire_name}，它{outcome}：{_quote(result)}"
    return words + "\n\n要和真正的模型对话，请在 models.toml 里写上一个模型并设置它的密钥，做法见 README。"


def _quote(result: ToolResultMessage) -> str:
    text = result.content
    return text if len(text) <= QUOTE_LIMIT else text[:QUOTE_LIMIT] + "…"


def _pieces(text: str) -> Iterator[str]:
    """Word by word; Chinese by a few characters."""
    return (match.group() for match in _PIECE.finditer(text))
