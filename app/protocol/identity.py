"""Who is acting (H1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from app.protocol.ids import TokenId, UserId

CallerKind = Literal["browser", "api", "app", "worker", "operator"]
Initiator = Literal["user", "model"]

CORE_SCOPES: tuple[str, ...] = (
    "sessions:read",
    "sessions:write",
    "runs:read",
    "runs:write",
    "files:read",
    "files:write",
    "jobs:read",
    "memory:global",
)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is acting, resolved by the Host. Nothing below the Host reads a cookie or a header."""

    user_id: UserId
    kind: CallerKind
    scopes: frozenset[str]
    """Granted scopes as stored; `*` stands for all user scopes. Ask `allows`."""
    email: str
    token_id: TokenId | None = None
    app_id: str | None = None
    is_operator: bool = False
    switched_off: frozenset[str] = frozenset()
    """Packages that the user had switched off when the Host resolved them."""

    def allows(self, scope: str) -> bool:
        """Whether `scope` is granted; each `X:write` implies `X:read`, `*` implies all."""
        if "*" in self.scopes or scope in self.scopes:
            return True
        noun, _, verb = scope.partition(":")
        return verb == "read" and f"{noun}:write" in self.scopes

    def facts(self) -> dict[str, Any]:
        """What is stored with a run or job. No authority: who acts on it later is checked again then."""
        return {
            "kind": self.kind,
            "scopes": sorted(self.scopes),
            "token_id": self.token_id,
            "app_id": self.app_id,
        }
