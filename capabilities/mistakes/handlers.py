"""Binds the notebook's tools to its service."""

from app.sdk import Bind, Call, Recorded, Services

from . import service
from .contract import AddParams, EntryPage, EntryParams, EntryView, Removed, SearchParams, UpdateParams
from .tables import Entry


def register(bind: Bind, services: Services) -> None:
    @bind.tool("add")
    async def add(call: Call, params: AddParams) -> Recorded:
        async with call.effect() as tx:
            return tx.record(_view(await service.add(tx, params, call.now)))

    @bind.tool("search")
    async def search(call: Call, params: SearchParams) -> EntryPage:
        async with call.read() as tx:
            found, following = await service.search(tx, params)
        return EntryPage(entries=[_view(entry) for entry in found], next=following)

    @bind.tool("update")
    async def update(call: Call, params: UpdateParams) -> Recorded:
        async with call.effect() as tx:
            return tx.record(_view(await service.update(tx, params, call.now)))

    @bind.tool("archive")
    async def archive(call: Call, params: EntryParams) -> Recorded:
        async with call.effect() as tx:
            return tx.record(_view(await service.archive(tx, params.id, call.now)))

    @bind.tool("remove")
    async def remove(call: Call, params: EntryParams) -> Recorded:
        async with call.effect() as tx:
            await service.remove(tx, params.id)
            return tx.record(Removed(id=params.id, removed=True))


def _view(entry: Entry) -> EntryView:
    return EntryView(
        id=entry.id,
        question=entry.question,
        answer=entry.answer,
        correct_answer=entry.correct_answer,
        cause=entry.cause,
        subject=entry.subject,
        tags=service.split_tags(entry.tags),
        source_file_id=entry.source_file_id,
        archived_at=entry.archived_at,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        version=entry.version,
    )
