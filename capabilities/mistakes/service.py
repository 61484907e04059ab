"""The notebook's rules. Takes a unit of work, never commits; foreign rows do not exist in it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select

from app.sdk import Conflict, InvalidInput, NotFoundHere, ReadTx, WriteTx, new_id

from .contract import AddParams, SearchParams, UpdateParams
from .tables import Entry

_TEXTS = ("question", "answer", "correct_answer", "cause", "subject")
_WORDS_AT_MOST = 8


async def add(tx: WriteTx, params: AddParams, now: datetime) -> Entry:
    entry = Entry(
        id=new_id("mis"),
        question=params.question,
        answer=params.answer,
        correct_answer=params.correct_answer,
        cause=params.cause,
        subject=params.subject,
        tags=join_tags(params.tags),
        source_file_id=params.source_file_id,
        created_at=now,
        updated_at=now,
        version=1,
    )
    entry.search_text = _search_text(entry)
    await tx.add(entry)
    return entry


async def search(tx: ReadTx, params: SearchParams) -> tuple[Sequence[Entry], str | None]:
    """One page, newest first, and the cursor of the next."""
    words = fold(params.query).split()
    if len(words) > _WORDS_AT_MOST:
        raise InvalidInput(f"Search for at most {_WORDS_AT_MOST} words at once.")
    statement = select(Entry).order_by(Entry.id.desc()).limit(params.limit + 1)
    is_archived = Entry.archived_at.is_not(None)
    statement = statement.where(is_archived if params.archived else Entry.archived_at.is_(None))
    for word in words:
        statement = statement.where(Entry.search_text.like(f"%{_escaped(word)}%", escape="\\"))
    if params.subject:
        statement = statement.where(Entry.subject == params.subject)
    if params.tag:
        statement = statement.where(Entry.tags.like(f"%\n{_escaped(params.tag)}\n%", escape="\\"))
    if params.cursor:
        statement = statement.where(Entry.id < params.cursor)
    found = await tx.select(statement)
    page = found[: params.limit]
    return page, page[-1].id if len(found) > params.limit else None


async def update(tx: WriteTx, params: UpdateParams, now: datetime) -> Entry:
    """Raises Conflict unless `params.version` is the newest; the check is part of the UPDATE itself."""
    entry = await _get(tx, params.id)
    given: dict[str, Any] = params.model_dump(exclude={"id", "version"}, exclude_none=True)
    if not given:
        raise InvalidInput("Nothing to change: give at least one field.")
    if "tags" in given:
        given["tags"] = join_tags(given["tags"])
    texts = {name: given.get(name, getattr(entry, name)) for name in (*_TEXTS, "tags")}
    values = {
        **given,
        "search_text": fold("\n".join(texts.values())),
        "updated_at": now,
        "version": params.version + 1,
    }
    changed = await tx.update(Entry, Entry.id == params.id, Entry.version == params.version, values=values)
    if changed == 0:
        raise Conflict(f"The entry is at version {entry.version} by now. Read it again before changing it.")
    return await _get(tx, params.id)


async def archive(tx: WriteTx, entry_id: str, now: datetime) -> Entry:
    """Archiving what is archived changes nothing."""
    entry = await _get(tx, entry_id)
    if entry.archived_at is None:
        values = {"archived_at": now, "updated_at": now, "version": entry.version + 1}
        await tx.update(Entry, Entry.id == entry_id, values=values)
        entry = await _get(tx, entry_id)
    return entry


async def remove(tx: WriteTx, entry_id: str) -> None:
    if await tx.delete_where(Entry, Entry.id == entry_id) == 0:
        raise NotFoundHere("There is no such entry in the notebook.")


async def _get(tx: ReadTx, entry_id: str) -> Entry:
    entry = await tx.get(Entry, entry_id)
    if entry is None:
        raise NotFoundHere("There is no such entry in the notebook.")
    return entry


# --- text -------------------------------------------------------------------------------------


def fold(text: str) -> str:
    """One form for comparing: full-width and half-width, capital and small letters alike."""
    return unicodedata.normalize("NFKC", text).casefold()


def join_tags(tags: Sequence[str]) -> str:
    kept = dict.fromkeys(" ".join(tag.split()) for tag in tags)
    return "\n" + "".join(f"{tag}\n" for tag in kept if tag)


def split_tags(tags: str) -> list[str]:
    return [tag for tag in tags.split("\n") if tag]


def _search_text(entry: Entry) -> str:
    return fold("\n".join(getattr(entry, name) for name in (*_TEXTS, "tags")))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
