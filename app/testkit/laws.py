"""What must hold for every tool of every package, as functions that a package's tests call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import func, select

from app.protocol.identity import Principal
from app.storage.tables import effects
from app.testkit.harness import ALICE, PackageHarness


async def same_key_gives_one_effect(
    harness: PackageHarness, name: str, arguments: Mapping[str, Any], *, confirmed: bool = False
) -> Any:
    """The same key and arguments give the first result again; other arguments are refused (P8)."""
    how: dict[str, Any] = {"key": "law-one-effect", "confirmed": confirmed}
    first = await harness.ok(name, arguments, **how)
    again = await harness.ok(name, arguments, **how)
    assert again == first, "the second answer differs from the recorded one"
    assert await count_effects(harness, ALICE) == 1, "the effect was made twice"
    other = await harness.call(name, {**arguments, **_changed(arguments)}, **how)
    assert other.error is not None, "a used key was accepted with other arguments"
    assert other.error["code"] == "IDEMPOTENCY_KEY_REUSED", other.error
    return first


async def count_effects(harness: PackageHarness, owner: Principal) -> int:
    async with harness.database.tenant_read(owner.user_id) as unit:
        statement = select(func.count()).select_from(effects).where(effects.c.owner_id == owner.user_id)
        return int((await unit.connection.execute(statement)).scalar_one())


async def refuses_bad_arguments(harness: PackageHarness, name: str, good: Mapping[str, Any]) -> int:
    """Every distortion of good arguments ends as INVALID_PARAMS, never as a fault; returns how many."""
    definition = harness.gate.find(name)
    assert definition is not None, name
    tried = 0
    for bad in bad_arguments(definition.input_schema, good):
        outcome = await harness.call(name, bad, confirmed=True)
        assert outcome.error is not None, f"{name} took {bad!r}"
        assert outcome.error["code"] == "INVALID_PARAMS", f"{name} given {bad!r}: {outcome.error}"
        tried += 1
    return tried


def bad_arguments(schema: Mapping[str, Any], good: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Good arguments, each time with one thing wrong, as the schema tells."""
    yield {**good, "no_such_field": 1}
    yield {**good, "owner_id": "usr_somebody"}
    for name in schema.get("required", ()):
        yield {key: value for key, value in good.items() if key != name}
    for name, part in schema.get("properties", {}).items():
        for wrong in _wrong_values(part):
            yield {**good, name: wrong}


def _wrong_values(part: Mapping[str, Any]) -> Iterator[Any]:
    if "anyOf" in part:
        part = next((one for one in part["anyOf"] if one.get("type") != "null"), part)
    yield {"unexpected": "object"}
    match part.get("type"):
        case "string":
            yield 7
            yield "a\0b"
            yield "\ud800"
            if "maxLength" in part:
                yield "字" * (part["maxLength"] + 1)
            if part.get("minLength"):
                yield "   "  # stripped, so empty
        case "integer":
            yield "1"
            yield 1.5
            yield 2**70
            if "maximum" in part:
                yield part["maximum"] + 1
            if "minimum" in part:
                yield part["minimum"] - 1
        case "array":
            yield "not a list"
            yield [{"no": "item"}]
            if "maxItems" in part:
                yield ["x"] * (part["maxItems"] + 1)
        case "boolean":
            yield "true"
        case _:
            pass


def _changed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Some other arguments that still fit: one text made longer, or one number larger."""
    for name, value in arguments.items():
        if isinstance(value, str):
            return {name: f"{value}x"}
        if isinstance(value, int):
            return {name: value + 1}
    raise AssertionError("give at least one text or number to vary")
