"""What a package declares: pure data, readable without importing a handler (C2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import BaseModel, ConfigDict

from app.protocol.definitions import TOOL_TIMEOUT, CallerPolicy, EffectKind


class Params(BaseModel):
    """Base of parameter models: unknown fields are refused, values are not coerced silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Result(BaseModel):
    """Base of result models."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoParams(Params):
    """For entries that take nothing."""


NO_PARAMS = NoParams


@dataclass(frozen=True, slots=True)
class Domain:
    """Related operations that are loaded together (C9)."""

    name: str
    title: str
    description: str
    """What the model reads before it loads the domain: what it is for and when to load it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One complete business action in one domain. The full name is `namespace::name`."""

    name: str
    domain: str
    title: str
    description: str
    params: type[Params]
    result: type[BaseModel]
    effect: EffectKind
    destructive: bool = False
    """Needs the user's confirmation unless the user runs it with their own hand in the browser."""
    idempotent: bool = False
    open_world: bool = False
    policy: CallerPolicy = "user_and_model"
    user_visible: bool = True
    version: int = 1
    """Rises when the input schema changes."""
    scopes: tuple[str, ...] | None = None
    """None: `NAMESPACE:read` for reads, `NAMESPACE:write` for the rest."""
    icon: str = ""
    group: str = ""
    timeout: timedelta = TOOL_TIMEOUT
    control_fact: str = ""
    """For control tools: the sentence that stands in the context instead of the call (L9), with the
    result's members in braces, such as `The browser was asked to show session {switch_to}.`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A user's own action; never offered to a model. Always `user_only`."""

    name: str
    title: str
    description: str
    params: type[Params]
    result: type[BaseModel]
    effect: EffectKind
    destructive: bool = False
    idempotent: bool = False
    user_visible: bool = True
    version: int = 1
    scopes: tuple[str, ...] | None = None
    icon: str = ""
    group: str = ""
    timeout: timedelta = TOOL_TIMEOUT


@dataclass(frozen=True, slots=True)
class EventDeclaration:
    """An internal event the package listens to, such as `memory_changed` (C8)."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The `CONTRACT` of a package's contract.py."""

    domains: tuple[Domain, ...] = ()
    tools: tuple[Tool, ...] = ()
    commands: tuple[Command, ...] = ()
    events: tuple[EventDeclaration, ...] = field(default=())
