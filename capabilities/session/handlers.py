"""Binds the session tools to the sessions handle."""

from app.sdk import Bind, Call, Recorded, Services, SessionFacts

from .contract import ListParams, RenameParams, SessionList, SessionView, SwitchParams, SwitchRequest
from .service import own_session, the_one


def register(bind: Bind, services: Services) -> None:
    sessions = services.sessions

    @bind.tool("list")
    async def list_sessions(call: Call, params: ListParams) -> SessionList:
        async with call.read() as tx:
            found = await sessions.list(tx, query=params.query, limit=params.limit)
        return SessionList(sessions=[_view(facts) for facts in found])

    @bind.tool("rename")
    async def rename(call: Call, params: RenameParams) -> Recorded:
        wanted = own_session(params.session_id, call.session_id)
        async with call.effect() as tx:
            return tx.record(_view(await sessions.rename(tx, wanted, params.title)))

    @bind.tool("switch")
    async def switch(call: Call, params: SwitchParams) -> SwitchRequest:
        async with call.read() as tx:
            found = await the_one(sessions, tx, params.session)
        return SwitchRequest(switch_to=found.id, title=found.title)


def _view(facts: SessionFacts) -> SessionView:
    return SessionView(
        id=facts.id,
        title=facts.title,
        created_at=facts.created_at,
        updated_at=facts.updated_at,
        message_count=facts.message_count,
        archived=facts.archived,
    )
