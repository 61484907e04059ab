"""What differs between servers and models of one wire format, as data.

Set in models.toml as a `profile = {…}` table on a provider, on a model, or both (the model's wins
field by field). No code asks for a model's name: a new oddity becomes a field here, or in the profile
of its own wire format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, cast, get_args, get_type_hints

from app.errors import SettingsInvalid
from app.protocol.conversation import ModelSpec

MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
SystemRole = Literal["system", "developer"]
ReasoningEcho = Literal["off", "tool_loop", "always"]
ToolIdFormat = Literal["any", "word", "alnum9"]
ThinkTags = Literal["off", "tagged", "prefilled"]


@dataclass(frozen=True, slots=True)
class WireProfile:
    """Base of the profiles: fields are true or false, one of a few words, or a table of body fields."""

    OURS: ClassVar[tuple[str, ...]] = ()
    """Body fields that the adapter owns; extra fields must not replace them."""

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any], *, where: str = "profile") -> Self:
        """Raises SettingsInvalid, naming `where`, the key and what may stand there."""
        hints = get_type_hints(cls)
        known = [item.name for item in fields(cls)]
        for key, value in data.items():
            if key not in known:
                raise SettingsInvalid(
                    f"{where}: unknown key {key!r}; known keys are {', '.join(sorted(known))}."
                )
            _check(where, key, value, get_args(hints[key]), cls.OURS)
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Profile(WireProfile):
    """One server's or model's ways. The defaults suit most Chat Completions servers."""

    OURS: ClassVar[tuple[str, ...]] = ("messages", "model", "stream", "tools", "n")

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
    """word: letters, digits, _ and - only; alnum9: exactly nine letters or digits (Mistral)."""
    include_usage: bool = True
    """Send `stream_options.include_usage`; some servers reject it."""
    think_tags: ThinkTags = "off"
    """Split `<think>…</think>` out of the text; prefilled: the reply begins inside the tag."""
    extra_body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More body fields, such as `enable_thinking`."""
    extra_body_unstreamed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More body fields where the reply is not streamed; DashScope then wants enable_thinking false."""


P = TypeVar("P", bound=WireProfile)


class ProfileOfModel(Generic[P]):
    """Reads each model's profile once."""

    def __init__(self, kind: type[P]) -> None:
        self._kind = kind
        self._held: dict[str, tuple[Mapping[str, Any], P]] = {}

    def of(self, model: ModelSpec) -> P:
        held = self._held.get(model.id)
        if held is None or held[0] is not model.profile:
            profile = self._kind.from_mapping(model.profile, where=f"profile of model {model.id}")
            held = self._held[model.id] = (model.profile, profile)
        return held[1]


def _check(where: str, key: str, value: Any, choices: tuple[Any, ...], ours: tuple[str, ...]) -> None:
    if key.startswith("extra_body"):
        if not isinstance(value, Mapping):
            raise SettingsInvalid(f"{where}: {key} must be a table of body fields.")
        taken = [name for name in cast("Mapping[str, Any]", value) if name in ours]
        if taken:
            raise SettingsInvalid(
                f"{where}: {key} may not set {', '.join(taken)}; the adapter fills that in."
            )
    elif choices:
        if value not in choices:
            raise SettingsInvalid(f"{where}: {key} must be one of {', '.join(choices)}, not {value!r}.")
    elif not isinstance(value, bool):
        raise SettingsInvalid(f"{where}: {key} must be true or false, not {value!r}.")
