"""What the operator, a profile and the Host may set for a turn. Values only, each with its default."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """The parameters of source E section 4, under its names and with its defaults (L12)."""

    default_model: str | None = None
    """Model of sessions that name none; None leaves the choice to the model catalog."""
    system_instructions: tuple[str, ...] = ()
    """Texts put one after the other at the head of the system prompt; none means our own default."""
    personality: str = ""
    """Persona text; a profile's own persona goes before it."""
    tool_timeout_ms: int = 120_000
    """Time limit of one tool call; the gate holds it."""
    compact_threshold: float = 0.8
    """Share of the model's window (0.0 to 1.0) beyond which the context is made smaller."""
    compact_model: str | None = None
    """Model that writes summaries; None means the conversation's own."""
    compact_prompt: str | None = None
    """Prompt of the summary; None means our own."""
    max_tool_calls_per_turn: int | None = 50
    """Tool calls of one turn, over all its steps; None switches the limit off."""
    memory_model: str | None = None
    """Model that extracts memories; None means the conversation's own."""
    memory_checkpoint_interval: int = 10
    """Turns between two extractions."""
    memory_max_items: int = 20
    """Most memories put into one system prompt."""
    memory_namespace: str = ""
    """Which memories belong to this session; the caller decides how it is made."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Where one run ends whatever the model wants (H7). None means no limit."""

    wall_time: timedelta = timedelta(seconds=600)
    """From the start of the turn; a running tool may finish within its own limit."""
    max_tokens: int | None = None
    """Input and output tokens of all steps together, looked at between steps."""
    max_cost: Decimal | None = None
    """Money in the model's currency, looked at between steps."""
    max_steps: int | None = None
    """Model calls; a safety net, off by default since calls, tokens and time are limited already."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the model is asked; a profile sets it (H9). None leaves it to the provider."""

    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
