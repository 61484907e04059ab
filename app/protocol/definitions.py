"""One definition of a capability (C18): it feeds the model tool, palette, Agent API and manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

EntryKind = Literal["tool", "command"]
CallerPolicy = Literal["user_and_model", "user_only"]
EffectKind = Literal["read", "create", "update", "delete", "external"]

TOOL_TIMEOUT = timedelta(seconds=120)
"""Default time limit of one tool call (L3)."""
TOOL_OUTPUT_LIMIT_BYTES = 1_048_576
"""Size at which a tool's output is cut, with a note (L3)."""


@dataclass(frozen=True, slots=True)
class CapabilityDefinition:
    """A tool or command of one package, complete enough to be listed, checked, called and audited."""

    id: str
    """Canonical `namespace::tool`."""
    wire_name: str
    """`namespace_tool`, for models; unique among all entries."""
    kind: EntryKind
    package: str
    package_version: str
    domain: str
    version: int
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    scopes: tuple[str, ...]
    effect: EffectKind
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    policy: CallerPolicy = "user_and_model"
    user_visible: bool = True
    """False hides an internal entry from panels (not from the API or the manifest's rules)."""
    icon: str = ""
    group: str = ""
    timeout: timedelta = TOOL_TIMEOUT

    @property
    def mutating(self) -> bool:
        return self.effect != "read"


@dataclass(frozen=True, slots=True)
class DomainDefinition:
    name: str
    package: str
    title: str
    description: str
    tools: tuple[str, ...]
    """Canonical ids."""


@dataclass(frozen=True, slots=True)
class SkillDefinition:
    name: str
    package: str
    description: str
    body: str
    domains: tuple[str, ...] = ()
    listed: bool = True
    """Whether the model sees name and description; an unlisted skill is the user's alone."""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The capabilities that one run may use, frozen at its start (H2). Stored with the run."""

    digest: str
    """SHA-256 over the canonical JSON of the rest."""
    packages: Mapping[str, str]
    """Package id to version."""
    tools: tuple[str, ...]
    """Canonical ids that scope, profile and switches allow; user-only entries are not among them."""
    domains: tuple[str, ...]
    skills: tuple[str, ...]
    preloaded: tuple[str, ...] = field(default=())
    """Domains whose tools are visible from the first step."""
