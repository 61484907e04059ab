"""What the Host and the services are in a package's tests: real classes behind the same ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from app.errors import IdentityLost, PackageDisabled, RunLost
from app.protocol.definitions import CapabilityDefinition
from app.protocol.ids import new_id
from app.protocol.ports import AuditEntry, Invocation
from app.sdk import Fact, NotFoundHere, ReadTx, SessionFacts, WriteTx


@dataclass(slots=True)
class OpenAuthority:
    """Lets everything through but what a test switched off."""

    disabled: set[str] = field(default_factory=set[str])
    """Package ids."""
    lost_runs: set[str] = field(default_factory=set[str])
    lost_users: set[str] = field(default_factory=set[str])
    checks: list[tuple[Any, str]] = field(default_factory=list[tuple[Any, str]])
    """Each unit it was asked in, with the capability."""

    async def check(self, tx: Any, invocation: Invocation, definition: CapabilityDefinition) -> None:
        self.checks.append((tx, definition.id))
        if invocation.run is not None and invocation.run.run_id in self.lost_runs:
            raise RunLost("The run has ended.")
        if invocation.principal.user_id in self.lost_users:
            raise IdentityLost("This account has been disabled.")
        if definition.package in self.disabled:
            raise PackageDisabled(f"The package {definition.package} is switched off.")


@dataclass(slots=True)
class HeldConfirmations:
    """Keeps what waits for the user; one for each owner, session, capability and arguments."""

    pending: dict[str, Invocation] = field(default_factory=dict[str, Invocation])

    async def pend(self, invocation: Invocation, definition: CapabilityDefinition) -> str:
        for known, other in self.pending.items():
            same = (other.name, other.arguments, other.principal.user_id, other.session_id)
            if same == (
                invocation.name,
                invocation.arguments,
                invocation.principal.user_id,
                invocation.session_id,
            ):
                return known
        made = new_id("cnf")
        self.pending[made] = invocation
        return made


@dataclass(slots=True)
class AuditList:
    entries: list[AuditEntry] = field(default_factory=list[AuditEntry])
    in_effect: list[bool] = field(default_factory=list[bool])
    """Whether the entry of the same place came inside an effect's transaction."""

    async def record(self, tx: Any, entry: AuditEntry) -> None:
        self.entries.append(entry)
        self.in_effect.append(tx is not None)


@dataclass(slots=True)
class FactsInMemory:
    """A MemoryHandle without a database."""

    facts: dict[tuple[str, str], Fact] = field(default_factory=dict[tuple[str, str], Fact])
    """By owner and id."""

    async def search(self, tx: ReadTx, query: str, *, limit: int = 20) -> Sequence[Fact]:
        mine = [fact for (owner, _), fact in self.facts.items() if owner == _owner(tx)]
        words = query.casefold().split()
        found = [fact for fact in mine if all(word in fact.content.casefold() for word in words)]
        return sorted(found, key=lambda fact: fact.updated_at, reverse=True)[:limit]

    async def save(
        self, tx: WriteTx, content: str, *, id: str | None = None, tags: Sequence[str] = ()
    ) -> Fact:
        now = datetime.now(UTC)
        key = (_owner(tx), id or new_id("mem"))
        known = self.facts.get(key)
        fact = Fact(
            id=key[1],
            content=content,
            namespace="global",
            tags=tuple(tags),
            source="user",
            created_at=known.created_at if known else now,
            updated_at=now,
        )
        self.facts[key] = fact
        return fact

    async def remove(self, tx: WriteTx, id: str) -> bool:
        return self.facts.pop((_owner(tx), id), None) is not None


@dataclass(slots=True)
class SessionsInMemory:
    """A SessionsHandle without a database."""

    sessions: dict[tuple[str, str], SessionFacts] = field(default_factory=dict[tuple[str, str], SessionFacts])
    """By owner and id."""

    def put(self, owner: str, id: str, title: str) -> None:
        now = datetime.now(UTC)
        self.sessions[owner, id] = SessionFacts(id, title, now, now, 0, False)

    async def list(self, tx: ReadTx, *, query: str = "", limit: int = 20) -> Sequence[SessionFacts]:
        mine = [facts for (owner, _), facts in self.sessions.items() if owner == _owner(tx)]
        return [facts for facts in mine if query.casefold() in facts.title.casefold()][:limit]

    async def find(self, tx: ReadTx, id_prefix_or_title: str) -> Sequence[SessionFacts]:
        wanted = id_prefix_or_title.casefold()
        mine = [facts for (owner, _), facts in self.sessions.items() if owner == _owner(tx)]
        return [facts for facts in mine if facts.id.startswith(wanted) or wanted in facts.title.casefold()]

    async def rename(self, tx: WriteTx, session_id: str, title: str) -> SessionFacts:
        key = (_owner(tx), session_id)
        if key not in self.sessions:
            raise NotFoundHere("There is no such conversation.")
        self.sessions[key] = replace(self.sessions[key], title=title, updated_at=datetime.now(UTC))
        return self.sessions[key]


def _owner(tx: Any) -> str:
    return str(tx.principal.user_id)
