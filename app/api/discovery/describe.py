"""One capability as the manifest and the Agent API show it, from its one definition (C18)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from app.protocol.definitions import CapabilityDefinition


class CapabilityAuth(BaseModel):
    model_config = ConfigDict(extra="forbid")

    principal: Literal["user"]
    scopes: list[str]


class Capability(BaseModel):
    """An entry of the public manifest, and of the list of what a token may call."""

    model_config = ConfigDict(extra="forbid")

    id: str
    version: int
    title: str
    description: str
    inputSchema: dict[str, Any]
    outputSchema: dict[str, Any]
    auth: CapabilityAuth
    effect: Literal["read", "create", "update", "delete", "external"]
    destructive: bool
    idempotent: bool
    openWorld: bool
    confirmation: Literal["none", "user"]
    execution: Literal["sync", "run"]
    availability: Literal["api", "web_only"]


def describe(definition: CapabilityDefinition) -> dict[str, Any]:
    return {
        "id": definition.id,
        "version": definition.version,
        "title": definition.title[:80],
        "description": definition.description[:1024],
        "inputSchema": dict(definition.input_schema),
        "outputSchema": dict(definition.output_schema),
        "auth": {"principal": "user", "scopes": sorted(definition.scopes)},
        "effect": definition.effect,
        "destructive": definition.destructive,
        "idempotent": definition.idempotent,
        "openWorld": definition.open_world,
        "confirmation": "user" if definition.destructive else "none",
        "execution": "sync",
        "availability": "api",
    }
