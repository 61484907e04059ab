"""What goes into one turn and what comes out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.agent.config import AgentConfig, Limits, Sampling
from app.agent.prompt import PromptInputs
from app.errors import DeskmateError
from app.protocol.conversation import Message, UserMessage
from app.protocol.events import DoneStatus, Usage
from app.protocol.ports import RunScope


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn, complete: the loop looks nothing up."""

    run: RunScope
    history: Sequence[Message]
    """As `messages_from_items` gives it, newest last, without this turn's input."""
    user: UserMessage
    """This turn's input, made by `items.user_message`, or the event of a finished job."""
    model_id: str | None = None
    """None takes the configured default, then the catalog's."""
    prompt: PromptInputs = field(default_factory=PromptInputs)
    config: AgentConfig = field(default_factory=AgentConfig)
    limits: Limits = field(default_factory=Limits)
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended; the Host makes the `error` and `done` events of it."""

    status: DoneStatus
    usage: Usage
    steps: int
    """Model calls, a repeated one not counted again."""
    error: DeskmateError | None = None
    """Set exactly when status is failed."""
