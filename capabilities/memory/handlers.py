"""Binds the memory tools to the memory handle."""

from app.sdk import Bind, Call, Fact, NotFoundHere, Recorded, Services

from .contract import FactList, FactView, Removed, RemoveParams, SaveParams, SearchParams


def register(bind: Bind, services: Services) -> None:
    memory = services.memory

    @bind.tool("save")
    async def save(call: Call, params: SaveParams) -> Recorded:
        async with call.effect() as tx:
            return tx.record(_view(await memory.save(tx, params.content, id=params.id, tags=params.tags)))

    @bind.tool("search")
    async def search(call: Call, params: SearchParams) -> FactList:
        async with call.read() as tx:
            found = await memory.search(tx, params.query, limit=params.limit)
        return FactList(facts=[_view(fact) for fact in found])

    @bind.tool("remove")
    async def remove(call: Call, params: RemoveParams) -> Recorded:
        async with call.effect() as tx:
            if not await memory.remove(tx, params.id):
                raise NotFoundHere("There is no such memory.")
            return tx.record(Removed(id=params.id, removed=True))


def _view(fact: Fact) -> FactView:
    return FactView(
        id=fact.id,
        content=fact.content,
        namespace=fact.namespace,
        tags=list(fact.tags),
        source=fact.source,
        created_at=fact.created_at,
        updated_at=fact.updated_at,
    )
