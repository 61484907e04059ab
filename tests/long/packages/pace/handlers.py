"""Binds pace's tools."""

import asyncio

from app.sdk import Bind, Call, Recorded, Services

from .contract import Nap, Slept, Stamp, Stamped


def register(bind: Bind, services: Services) -> None:
    @bind.tool("nap")
    async def nap(call: Call, params: Nap) -> Slept:
        await asyncio.sleep(params.seconds)
        return Slept(seconds=params.seconds)

    @bind.tool("stamp")
    async def stamp(call: Call, params: Stamp) -> Recorded:
        await asyncio.sleep(params.before)
        async with call.effect() as tx:
            recorded = tx.record(Stamped(word=params.word))
        await asyncio.sleep(params.after)
        return recorded
