"""What one live run has said: pending in memory, sealed for a flush, committed for its readers."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.agent.items import assistant_data, note_data, tool_data
from app.errors import DeskmateError, RunLost
from app.host.event_log.batch import Finish, ItemRow, LineRow
from app.protocol.conversation import AssistantMessage
from app.protocol.events import ActivityKind, ActivityStatus, Channel, encode_line
from app.protocol.ids import new_id
from app.protocol.jsontext import clean_text, dump_text
from app.protocol.ports import CallRecord

TAIL_LINES = 128
"""Committed lines kept in memory for readers; who is further behind reads the table."""
ROOM_BYTES = 64 * 1024
"""Uncommitted text at which a run's provider reader is made to wait."""

_ENDS_ELSEWHERE: frozenset[str] = frozenset({"job", "confirmation"})
"""Activities that outlive the run that started them: their end is told by the run that takes it up."""
_ENDS: frozenset[str] = frozenset({"succeeded", "failed", "skipped", "degraded", "awaiting_confirmation"})


@dataclass(slots=True)
class _Text:
    channel: Channel
    deltas: list[str]


@dataclass(slots=True)
class _Item:
    type: str
    status: str
    body: dict[str, Any]


@dataclass(slots=True)
class Sealed:
    """Rows of one run in one flush. Never changed again: a retry sends the same bytes."""

    lines: list[LineRow] = field(default_factory=list[LineRow])
    items: list[ItemRow] = field(default_factory=list[ItemRow])
    finish: Finish | None = None


def rfc3339(at_ms: int) -> str:
    seconds, ms = divmod(at_ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{ms:03d}Z"


class RunLog:
    """Implements `protocol.ports.RunRecord` for one run, and is what its readers wait on.

    Deltas of one channel that come before the next flush are one line: `text` appends to a list and
    marks the run dirty once; sequence numbers and encoding happen at the flush.
    """

    def __init__(
        self,
        *,
        run_id: str,
        session_id: str,
        owner_id: str,
        turn: int,
        fence: int,
        mark_dirty: Callable[[RunLog], None],
        hurry: Callable[[], None] = lambda: None,
        app_id: str | None = None,
        next_seq: int = 1,
        next_ordinal: int = 1,
    ) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.owner_id = owner_id
        self.app_id = app_id
        self.turn = turn
        self.fence = fence
        self.lost: DeskmateError | None = None
        self.ended = False
        """True once the `done` line is committed."""
        self.committed_seq = next_seq - 1
        self.messages = 0
        self.dirty = False
        self._mark_dirty = mark_dirty
        self._hurry = hurry
        self._silent = True
        self._pending: list[dict[str, Any] | _Text | _Item] = []
        self._pending_bytes = 0
        self._finish: Callable[[], Finish] | None = None
        self._next_seq = next_seq
        self._next_ordinal = next_ordinal
        self._open_activities: dict[str, int] = {}
        self._tail: deque[bytes] = deque(maxlen=TAIL_LINES)
        self._readers: list[asyncio.Future[None]] = []
        self._put_count = 0
        self._sealed_count = 0
        self._committed_count = 0
        self._commit_waiters: list[tuple[int, asyncio.Future[None]]] = []

    # --- RunRecord: what the loop calls -------------------------------------------------------

    def text(self, channel: Channel, delta: str) -> None:
        if not delta:
            return
        self._pending_bytes += len(delta)
        pending = self._pending
        if pending:
            last = pending[-1]
            if type(last) is _Text and last.channel == channel:
                last.deltas.append(delta)
                return
        self._put(_Text(channel, [delta]))
        if self._silent:
            self._silent = False
            self._hurry()  # the first words: somebody looks at an empty screen

    def activity(
        self,
        kind: ActivityKind,
        id: str,
        name: str,
        title: str,
        status: ActivityStatus,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        self._put(
            {
                "type": "activity",
                "kind": kind,
                "id": id,
                "name": name,
                "title": title,
                "status": status,
                "detail": dict(detail or {}),
            }
        )

    def assistant_item(self, message: AssistantMessage, *, complete: bool) -> None:
        self.messages += 1
        self._put_item(assistant_data(message, complete=complete))

    def tool_item(self, call: CallRecord) -> None:
        data = tool_data(call)
        data["status"] = "failed" if call.outcome.status in ("failed", "skipped") else "completed"
        self._put_item(data)

    def note_item(self, text: str, *, facts: Mapping[str, Any] | None = None) -> None:
        data = note_data(text)
        if facts:
            data["facts"] = dict(facts)
        self._put_item(data)

    def _put_item(self, data: dict[str, Any]) -> None:
        self._put(_Item(data.pop("type"), data.pop("status", "completed"), data))

    async def room(self) -> None:
        if self.lost is not None:
            raise self.lost
        if self._pending_bytes > ROOM_BYTES:
            await self.committed()

    async def committed(self) -> None:
        if self.lost is not None:
            raise self.lost
        if self._committed_count >= self._put_count:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._commit_waiters.append((self._put_count, future))
        self._hurry()
        await future

    # --- the end ------------------------------------------------------------------------------

    def finish(
        self,
        *,
        status: str,
        usage: Mapping[str, Any],
        steps: int,
        error: DeskmateError | None,
        loaded_domains: list[str],
    ) -> None:
        """The error line (if failed), the `done` line, and the run's terminal state: one commit."""
        if error is not None:
            self._put({"type": "error", **error.as_dict()})
        self._finish = lambda: Finish(
            run_id=self.run_id,
            session_id=self.session_id,
            status=status,
            ended_at_ms=time.time_ns() // 1_000_000,
            usage=dump_text(dict(usage)),
            steps=steps,
            error=None if error is None else dump_text(error.as_dict()),
            loaded_domains=dump_text(loaded_domains),
            messages=self.messages,
        )
        self._put({"type": "done", "status": status, "usage": dict(usage), "steps": steps})

    # --- the writer's side --------------------------------------------------------------------

    def seal(self) -> Sealed:
        """Gives sequence numbers and bytes to all that is pending. Called by the writer alone."""
        sealed = Sealed()
        pending, self._pending = self._pending, []
        self._pending_bytes = 0
        self._sealed_count = self._put_count
        self.dirty = False
        at_ms = time.time_ns() // 1_000_000
        at = rfc3339(at_ms)
        for entry in pending:
            if type(entry) is _Item:
                sealed.items.append(self._item_row(entry, at_ms))
                continue
            if type(entry) is _Text:
                fields: dict[str, Any] = {
                    "type": "text",
                    "channel": entry.channel,
                    "delta": clean_text("".join(entry.deltas)),
                }
            else:
                assert isinstance(entry, dict)
                fields = entry
                self._track(fields)
            line = encode_line(
                fields, seq=self._next_seq, run_id=self.run_id, session_id=self.session_id, at=at
            )
            sealed.lines.append(LineRow(self.run_id, self._next_seq, self.owner_id, line.decode()))
            self._next_seq += 1
        if self._finish is not None:
            sealed.finish = self._finish()
        return sealed

    def _item_row(self, item: _Item, at_ms: int) -> ItemRow:
        # Lines from an open activity on are not covered yet: a reader that begins after this item
        # must still see that activity's start.
        open_from = min(self._open_activities.values(), default=self._next_seq)
        row = ItemRow(
            session_id=self.session_id,
            turn=self.turn,
            ordinal=self._next_ordinal,
            id=new_id("item"),
            owner_id=self.owner_id,
            run_id=self.run_id,
            type=item.type,
            status=item.status,
            at_ms=at_ms,
            seq=open_from - 1,
            body=dump_text(item.body),
        )
        self._next_ordinal += 1
        return row

    def _track(self, fields: dict[str, Any]) -> None:
        if fields["type"] != "activity" or fields["kind"] in _ENDS_ELSEWHERE:
            return
        if fields["status"] == "started":
            self._open_activities[fields["id"]] = self._next_seq
        elif fields["status"] in _ENDS:
            self._open_activities.pop(fields["id"], None)

    def publish(self, sealed: Sealed) -> None:
        """Called by the writer after the commit, never before: releases lines to readers."""
        for row in sealed.lines:
            self._tail.append(row.line.encode())
        self.committed_seq += len(sealed.lines)
        self._committed_count = self._sealed_count
        if sealed.finish is not None:
            self.ended = True
        self._wake_readers()
        if self._commit_waiters:
            waiting = self._commit_waiters
            self._commit_waiters = [w for w in waiting if w[0] > self._committed_count]
            for count, future in waiting:
                if count <= self._committed_count and not future.done():
                    future.set_result(None)

    def lose(self, error: DeskmateError | None = None) -> None:
        """This process no longer owns the run: nothing more of it is written here."""
        self.lost = error or RunLost("Another process has taken this run over, or it has ended.")
        waiters, self._commit_waiters = self._commit_waiters, []
        for _, future in waiters:
            if not future.done():
                future.set_exception(self.lost)
        self._wake_readers()

    # --- the readers' side --------------------------------------------------------------------

    def tail_after(self, seq: int) -> list[bytes] | None:
        """Committed lines after `seq`, or None where memory does not reach back that far."""
        behind = self.committed_seq - seq
        if behind <= 0:
            return []
        if behind > len(self._tail):
            return None
        tail = self._tail
        return [tail[i] for i in range(len(tail) - behind, len(tail))]

    def next_commit(self) -> asyncio.Future[None]:
        """Done at the next commit or loss of this run. One future a waiting reader."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._readers.append(future)
        return future

    def _wake_readers(self) -> None:
        readers, self._readers = self._readers, []
        for future in readers:
            if not future.done():
                future.set_result(None)

    def _put(self, entry: dict[str, Any] | _Text | _Item) -> None:
        if self.lost is not None:
            return
        self._put_count += 1
        self._pending.append(entry)
        if not self.dirty:
            self.dirty = True
            self._mark_dirty(self)
