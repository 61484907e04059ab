"""What one flush writes: plain rows, ready for a statement."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RunStart:
    """A run that wants to begin: taken in one statement with the session's one-live-run check (H4)."""

    run_id: str
    session_id: str
    owner_id: str
    app_id: str | None
    process_id: str
    snapshot_digest: str
    snapshot_body: str | None
    """JSON; None where this process knows that the digest is stored."""
    principal: str
    """JSON."""
    model: str | None
    at_ms: int
    item_id: str
    item_body: str
    title: str
    """Used where the session has none yet; \"\" leaves it."""
    max_live_runs: int
    route: str
    idempotency_key: str | None
    body_digest: str
    item_type: str = "user"
    """`note` where the run takes up what ended elsewhere; a note is not counted as a message."""
    inbox_id: str | None = None
    """The inbox row that this run takes up: marked as consumed in the same transaction."""
    expected_turn: int | None = None
    """Turns that the session had when the inbox was read. Each consumption is a turn, so a session that
    still has as many has not taken the row up: of two processes that read it, one starts."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """What the session said when the run was taken."""

    run_id: str
    turn: int
    model: str | None
    profile: str | None
    loaded_domains: str
    """JSON list."""


@dataclass(frozen=True, slots=True)
class LineRow:
    run_id: str
    seq: int
    owner_id: str
    line: str


@dataclass(frozen=True, slots=True)
class ItemRow:
    session_id: str
    turn: int
    ordinal: int
    id: str
    owner_id: str
    run_id: str
    type: str
    status: str
    at_ms: int
    seq: int
    body: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The terminal state of a run; frees its session."""

    run_id: str
    session_id: str
    status: str
    ended_at_ms: int
    usage: str
    steps: int
    error: str | None
    loaded_domains: str
    messages: int
    """How many messages the turn added, its input not counted (that one was counted at the start)."""


@dataclass(slots=True)
class Batch:
    fences: dict[str, int] = field(default_factory=dict[str, int])
    """Run id to the fence that must still hold for its rows to be written."""
    lines: list[LineRow] = field(default_factory=list[LineRow])
    items: list[ItemRow] = field(default_factory=list[ItemRow])
    finishes: list[Finish] = field(default_factory=list[Finish])
