"""What differs between compatible servers and models, as data.

Set in models.toml as a `profile = {…}` table on a provider, on a model, or both (the model's wins
field by field). No code asks for a model's name: a new oddity becomes a field here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast, get_args

from app.errors import SettingsInvalid

MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
SystemRole = Literal["system", "developer"]
ReasoningEcho = Literal["off", "tool_loop", "always"]
ToolIdFormat = Literal["any", "alnum9"]
ThinkTags = Literal["off", "tagged", "prefilled"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "max_tokens_field": get_args(MaxTokensField),
    "system_role": get_args(SystemRole),
    "reasoning_echo": get_args(ReasoningEcho),
    "tool_id_format": get_args(ToolIdFormat),
    "think_tags": get_args(ThinkTags),
}
_OURS = ("messages", "model", "stream", "tools", "n")
"""Body fields that the adapter owns; extra fields must not replace them."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One server's or model's ways. The defaults suit most Chat Completions servers."""

    max_tokens_field: MaxTokensField = "max_tokens"
    """OpenAI's reasoning models take only `max_completion_tokens`."""
    send_temperature: bool = True
    """False for models that reject any temperature but 1."""
    send_reasoning_effort: bool = True
    """False for servers that reject `reasoning_effort` though the model reasons."""
    system_role: SystemRole = "system"
    strict_tools: bool = False
    """Send `strict: true` with each tool schema that can be rewritten for it."""
    reasoning_echo: ReasoningEcho = "off"
    """Send `reasoning_content` back: never, since the last user message, or always (DeepSeek asks
    for it in a tool loop, its older models refuse it)."""
    tool_id_format: ToolIdFormat = "any"
    """alnum9: exactly nine letters or digits (Mistral)."""
    include_usage: bool = True
    """Send `stream_options.include_usage`; some servers reject it."""
    think_tags: ThinkTags = "off"
    """Split `<think>…</think>` out of the text; prefilled: the reply begins inside the tag."""
    extra_body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More body fields, such as `enable_thinking`."""
    extra_body_unstreamed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More body fields where the reply is not streamed; DashScope then wants enable_thinking false."""

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any], *, where: str = "profile") -> Profile:
        """Raises SettingsInvalid, naming `where`, the key and what may stand there."""
        known = {item.name: item for item in fields(cls)}
        for key, value in data.items():
            if key not in known:
                raise SettingsInvalid(
                    f"{where}: unknown key {key!r}; known keys are {', '.join(sorted(known))}."
                )
            _check(where, key, value)
        return cls(**data)


def _check(where: str, key: str, value: Any) -> None:
    if key in _CHOICES:
        if value not in _CHOICES[key]:
            raise SettingsInvalid(f"{where}: {key} must be one of {', '.join(_CHOICES[key])}, not {value!r}.")
    elif key.startswith("extra_body"):
        if not isinstance(value, Mapping):
            raise SettingsInvalid(f"{where}: {key} must be a table of body fields.")
        taken = [name for name in cast("Mapping[str, Any]", value) if name in _OURS]
        if taken:
            raise SettingsInvalid(
                f"{where}: {key} may not set {', '.join(taken)}; the adapter fills that in."
            )
    elif not isinstance(value, bool):
        raise SettingsInvalid(f"{where}: {key} must be true or false, not {value!r}.")
