"""The neutral conversation: what the loop sends to a provider and what comes back.

Frozen, and free of any provider's wire names. `providers/` turns it into a wire format and back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from app.errors import ProviderError

# --- what goes to the model -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    media_type: str
    """image/png, image/jpeg, image/gif or image/webp."""
    data: bytes
    file_id: str


Part = TextPart | ImagePart


@dataclass(frozen=True, slots=True)
class UserMessage:
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A whole call that the model asked for, after joining its fragments."""

    call_id: str
    """Host-made id; the only id that is stored, shown and used as effect key."""
    wire_name: str
    """The name on the wire, `[a-zA-Z0-9_-]{1,64}`."""
    arguments: Mapping[str, Any] | None
    """Parsed arguments; None where the text is not one JSON object: such a call is never run."""
    raw_arguments: str = ""
    """The text as it came, for the record and for the error that the model gets."""
    wire_id: str | None = None
    """The provider's id, where it sent one; sent back to the same provider."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    """Visible reasoning; only sent back where the model profile asks for it."""
    opaque: Mapping[str, Any] | None = None
    """Provider state to be sent back unchanged (signatures, encrypted reasoning), with `provider_id`."""
    provider_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResultMessage:
    call_id: str
    wire_name: str
    content: str
    """JSON text of the result or of the error object."""
    is_error: bool = False
    wire_id: str | None = None


Message = UserMessage | AssistantMessage | ToolResultMessage


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    wire_name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema 2020-12, root `object`, `additionalProperties: false`."""


@dataclass(frozen=True, slots=True)
class ModelPrice:
    input: float = 0.0
    output: float = 0.0
    cached_input: float = 0.0
    currency: str = "USD"
    per: int = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One declared model (M3). `id` is unique over all providers; `name` is the provider's own."""

    id: str
    provider_id: str
    name: str
    context_window_tokens: int = 32_768
    max_output_tokens: int = 4_096
    abilities: frozenset[str] = frozenset({"tools", "streaming"})
    price: ModelPrice = ModelPrice()
    profile: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What differs between compatible servers, as data; see `providers/profiles.py`."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    model: ModelSpec
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None


# --- what comes back --------------------------------------------------------------------------

StopReason = Literal["end", "tool_use", "max_tokens", "content_filter", "refusal", "error"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallFragment:
    """Progress of a call whose arguments still arrive; for display only, nothing is run from it."""

    index: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallReady:
    """A call whose arguments are complete, in the order the model gave. `arguments` as in ToolCall."""

    index: int
    name: str
    arguments: Mapping[str, Any] | None
    raw_arguments: str
    wire_id: str | None


@dataclass(frozen=True, slots=True)
class OpaqueState:
    """Provider state that must go back with this assistant message."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Once a call, before its end. `input` counts cached tokens in, `output` reasoning tokens in."""

    input: int
    output: int
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """Normal end. Exactly one of Done and Failed comes, last."""

    stop: StopReason
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The call ended in an error, before or after text came."""

    error: ProviderError


ModelEvent = (
    TextDelta | ReasoningDelta | ToolCallFragment | ToolCallReady | OpaqueState | UsageReport | Done | Failed
)
