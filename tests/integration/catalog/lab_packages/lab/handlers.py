"""Handlers that keep the contract, and handlers that break it in every way."""

import asyncio
from typing import Any

from sqlalchemy import select

from app.sdk import (
    Bind,
    Call,
    NoParams,
    ReadTx,
    Recorded,
    Services,
    ToolFailed,
    WriteTx,
    current_call,
    new_id,
)

from .contract import Amount, Mode, Size, Text, Total
from .tables import Count


async def _total(tx: ReadTx) -> Total:
    return Total(total=sum(count.amount for count in await tx.select(select(Count))))


async def _count(tx: WriteTx, amount: int) -> Total:
    await tx.add(Count(id=new_id("cnt"), amount=amount))
    return await _total(tx)


def register(bind: Bind, services: Services) -> None:
    @bind.tool("count")
    async def count(call: Call, params: Amount) -> Recorded:
        async with call.effect() as tx:
            return tx.record(await _count(tx, params.amount))

    @bind.tool("wipe")
    @bind.tool("clear")
    async def wipe(call: Call, params: Amount) -> Recorded:
        async with call.effect() as tx:
            await tx.delete_where(Count)
            return tx.record(Total(total=0))

    @bind.tool("slow")
    async def slow(call: Call, params: Mode) -> Any:
        if params.mode == "before":
            await asyncio.sleep(5)
        async with call.effect() as tx:
            recorded = tx.record(await _count(tx, 1))
            if params.mode == "inside":
                await asyncio.sleep(5)
        if params.mode == "after":
            await asyncio.sleep(5)
        return recorded

    @bind.tool("broken")
    async def broken(call: Call, params: Mode) -> Any:
        match params.mode:
            case "raises":
                raise ValueError("password hunter2")
            case "declared":
                raise ToolFailed("The scale is out of order.", retryable=True)
            case "own timeout":
                raise TimeoutError
            case "no effect":
                return Total(total=1)
            case "not recorded":
                async with call.effect() as tx:
                    return await _count(tx, 1)
            case "twice":
                async with call.effect() as tx:
                    first = tx.record(await _count(tx, 1))
                async with call.effect() as tx:
                    tx.record(first)
            case "records twice":
                async with call.effect() as tx:
                    tx.record(await _count(tx, 1))
                    return tx.record(await _count(tx, 1))
            case "wrong result":
                async with call.effect() as tx:
                    await _count(tx, 1)
                    return tx.record({"sum": 1})
            case "raises inside":
                async with call.effect() as tx:
                    await _count(tx, 1)
                    raise ToolFailed("Changed my mind.")
            case "calls inside":
                async with call.effect() as tx:
                    await _count(tx, 1)
                    return await call.call("lab::count", {"amount": 1})
            case "raises after":
                async with call.effect() as tx:
                    tx.record(await _count(tx, 1))
                raise ValueError("too late")
            case _:
                return None
        return None

    @bind.tool("big")
    async def big(call: Call, params: Size) -> Text:
        return Text(text='字"' * params.size)

    @bind.tool("total")
    async def total(call: Call, params: NoParams) -> Total:
        async with call.read() as tx:
            return await _total(tx)

    @bind.tool("misread")
    async def misread(call: Call, params: Mode) -> Any:
        match params.mode:
            case "effect":
                async with call.effect() as tx:
                    return tx.record(Total(total=0))
            case "write":
                async with call.read() as tx:
                    await _count(tx, 1)  # type: ignore[arg-type]
            case "context":
                here = await asyncio.to_thread(lambda: current_call().call_id)
                return Total(total=int(here == call.call_id))
            case _:
                return {"sum": 1}
        return None

    @bind.tool("relay")
    async def relay(call: Call, params: Mode) -> Any:
        match params.mode:
            case "for ever":
                return await call.call("lab::relay", {"mode": "for ever"})
            case "undeclared":
                return await call.call("lab::total", {})
            case "bad arguments":
                return await call.call("lab::count", {"amount": 0})
            case name:
                return await call.call(f"lab::{name}", {"amount": 4})

    @bind.tool("send")
    async def send(call: Call, params: Mode) -> Any:
        if params.mode == "refused":
            raise ToolFailed("The other side said no.")
        if params.mode == "lost":
            raise ConnectionResetError("in the middle of it")
        async with call.effect() as tx:
            return tx.record(await _count(tx, 1))

    @bind.command("reset")
    async def reset(call: Call, params: NoParams) -> Recorded:
        async with call.effect() as tx:
            await tx.delete_where(Count)
            return tx.record(Total(total=0))
