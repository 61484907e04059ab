"""What of the conversation goes to the model: never more than its window (L6, L7).

Pure functions over messages; the record itself is never changed. Cuts move in blocks, so that the
head of the request stays the same for several steps and the provider's cache still hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.agent.items import json_text, messages_from_items, note_text
from app.errors import ContextTooLong
from app.protocol.conversation import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelSpec,
    Part,
    TextPart,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)

__all__ = [
    "Assembled",
    "assemble",
    "context_budget",
    "estimate_message",
    "estimate_request_head",
    "estimate_tokens",
    "fit",
    "messages_from_items",
    "without_images",
]

KEPT_MESSAGES = 10
"""The newest messages, this turn's included, are left whole as long as anything else can give way."""
BLOCK = 4
"""Turns are dropped and results shrunk in multiples of this."""
LEFT_OUT = "Earlier parts of this conversation are left out here because they no longer fit."
PLACEHOLDER = '"[result left out to save room; call the tool again if you need it]"'
IMAGE_TOKENS = 1_200
MESSAGE_TOKENS = 4
"""What role and separators cost."""
_SMALLEST_RESULT_TOKENS = 50


# --- estimates --------------------------------------------------------------------------------


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` is: 4 Latin letters or 1.5 Chinese characters a token.

    Counts by the length in UTF-8, since that is one pass in C however long the text: a Chinese
    character takes 3 bytes there, so every 2 bytes beyond the first of a character tell of one.
    """
    if not text:
        return 0
    chars = len(text)
    wide = 0 if text.isascii() else (len(text.encode("utf-8", "surrogatepass")) - chars) / 2
    return max(1, round(wide / 1.5 + max(0.0, chars - wide) / 4))


def estimate_message(message: Message) -> int:
    match message:
        case UserMessage(parts=parts):
            tokens = sum(
                IMAGE_TOKENS if isinstance(part, ImagePart) else estimate_tokens(part.text) for part in parts
            )
        case AssistantMessage(text=text, tool_calls=calls):
            tokens = estimate_tokens(text)
            tokens += sum(
                estimate_tokens(call.wire_name) + estimate_tokens(call.raw_arguments) for call in calls
            )
        case ToolResultMessage(content=content):
            tokens = estimate_tokens(content)
    return tokens + MESSAGE_TOKENS


def estimate_request_head(system: str, tools: Sequence[ToolSpec]) -> int:
    """What system prompt and tool list take from the window."""
    return estimate_tokens(system) + sum(_estimate_tool(tool) for tool in tools)


_known_tools: dict[int, tuple[ToolSpec, int]] = {}
_KNOWN_TOOLS = 1_000


def _estimate_tool(tool: ToolSpec) -> int:
    """Remembered by identity, since the gate hands out the same specs for as long as a package is loaded;
    the spec is kept beside its estimate, so that its id is not given to another."""
    known = _known_tools.get(id(tool))
    if known is None:
        if len(_known_tools) >= _KNOWN_TOOLS:
            _known_tools.clear()
        known = (tool, estimate_tokens(tool.description) + estimate_tokens(str(tool.parameters)))
        _known_tools[id(tool)] = known
    return known[1]


def context_budget(model: ModelSpec, threshold: float, head_tokens: int) -> int:
    """Tokens left for messages: the threshold's share of the window, with room for the answer."""
    window = model.context_window_tokens
    answer = min(model.max_output_tokens, window // 4)
    return max(1, min(int(window * threshold), window - answer) - head_tokens)


# --- fitting ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assembled:
    """The messages to send, and what had to give way for them."""

    messages: list[Message]
    tokens: int
    """Estimate of the messages alone."""
    shrunk: int = 0
    """Tool results replaced by a placeholder or cut."""
    dropped: int = 0
    """Messages left out."""


def assemble(history: Sequence[Message], user: UserMessage, budget_tokens: int) -> list[Message]:
    """History and the new input within `budget_tokens`. Raises ContextTooLong."""
    return fit(history, user, (), budget_tokens).messages


def fit(
    history: Sequence[Message], user: UserMessage, turn: Sequence[Message], budget_tokens: int
) -> Assembled:
    """History, the input and what this turn added so far, within `budget_tokens`.

    What gives way, in this order and only as far as needed: older tool results become placeholders;
    oldest whole turns go; results among the newest messages are cut; the rest of history goes. A call
    never loses its result. Raises ContextTooLong where the input alone is too much.
    """
    messages, at = _joined(history, user, turn)
    costs = [estimate_message(message) for message in messages]
    if sum(costs) <= budget_tokens:
        return Assembled(messages, sum(costs))
    cut = _Cut(messages, costs, at)
    kept_from = max(0, len(messages) - KEPT_MESSAGES)
    for step in (
        lambda: cut.shrink_older(kept_from, budget_tokens),
        lambda: cut.drop_turns(kept_from, budget_tokens),
        lambda: cut.trim_results(budget_tokens),
        lambda: cut.drop_turns(at, budget_tokens),
    ):
        step()
        if cut.tokens <= budget_tokens:
            return cut.assembled()
    raise ContextTooLong(
        "The message does not fit into the model's context window. Shorten it, or choose a model with a larger window."
    )


def _joined(
    history: Sequence[Message], user: UserMessage, turn: Sequence[Message]
) -> tuple[list[Message], int]:
    """All messages and the input's place; notes at the end of history become part of the input."""
    if history and isinstance(last := history[-1], UserMessage):
        history = history[:-1]
        user = UserMessage((*last.parts, *user.parts))
    return [*history, user, *turn], len(history)


class _Cut:
    """Messages that are being made smaller, with their costs kept in step."""

    def __init__(self, messages: list[Message], costs: list[int], input_at: int) -> None:
        self._messages = messages
        self._costs = costs
        self._input_at = input_at
        self._start = 0
        self._shrunk: set[int] = set()
        self._note_tokens = estimate_tokens(LEFT_OUT) + MESSAGE_TOKENS

    @property
    def tokens(self) -> int:
        return sum(self._costs[self._start :]) + (self._note_tokens if self._start else 0)

    def assembled(self) -> Assembled:
        messages = self._messages[self._start :]
        if self._start and isinstance(first := messages[0], UserMessage):
            messages[0] = UserMessage((TextPart(note_text(LEFT_OUT)), *first.parts))
        return Assembled(messages, self.tokens, len(self._shrunk), self._start)

    def shrink_older(self, before: int, budget: int) -> None:
        results = [at for at in range(before) if isinstance(self._messages[at], ToolResultMessage)]
        for block in range(0, len(results), BLOCK):
            if self.tokens <= budget:
                return
            for at in results[block : block + BLOCK]:
                self._set_content(at, PLACEHOLDER)

    def drop_turns(self, before: int, budget: int) -> None:
        """Moves the start to a later turn, `before` or the input at most."""
        last = min(before, self._input_at)
        starts = [at for at in range(1, last + 1) if isinstance(self._messages[at], UserMessage)]
        for number, at in enumerate(starts, start=1):
            if self.tokens <= budget:
                return
            if at > self._start and (number % BLOCK == 0 or number == len(starts)):
                self._start = at

    def trim_results(self, budget: int) -> None:
        """Cuts the longest results of what is left, each time to half the length, until all fits."""
        results = [
            at
            for at in range(self._start, len(self._messages))
            if isinstance(self._messages[at], ToolResultMessage)
        ]
        cap = budget // 2
        while results and self.tokens > budget and cap >= _SMALLEST_RESULT_TOKENS:
            for at in results:
                if self._costs[at] > cap:
                    self._trim(at, cap)
            cap //= 2

    def _trim(self, at: int, cap: int) -> None:
        message = self._messages[at]
        if isinstance(message, ToolResultMessage):
            chars = len(message.content)
            kept = message.content[: int(chars * cap / self._costs[at])]
            self._set_content(at, json_text({"shortened_result": kept, "characters_in_all": chars}))

    def _set_content(self, at: int, content: str) -> None:
        message = self._messages[at]
        if isinstance(message, ToolResultMessage) and len(content) < len(message.content):
            self._messages[at] = replace(message, content=content)
            self._costs[at] = estimate_message(self._messages[at])
            self._shrunk.add(at)


def without_images(messages: Sequence[Message]) -> list[Message]:
    """The same for a model that cannot see: it is told that a picture was there (L8)."""
    return [
        UserMessage(tuple(map(_described, message.parts))) if isinstance(message, UserMessage) else message
        for message in messages
    ]


def _described(part: Part) -> Part:
    if isinstance(part, ImagePart):
        return TextPart(
            f"[image {part.file_id}: this model cannot see images; say so if the answer depends on it]"
        )
    return part
