"""All that a capability package may import.

A package declares (`contract.py`, `tables.py`, `manifest.toml`), then binds (`handlers.py`). Nothing
here reaches the database, the network or another package: that comes through the handles it asked for.
"""

from app.protocol.ids import new_id
from app.sdk.context import current_call
from app.sdk.declarations import (
    NO_PARAMS,
    Command,
    Contract,
    Domain,
    EventDeclaration,
    NoParams,
    Params,
    Result,
    Tool,
)
from app.sdk.errors import Conflict, InvalidInput, NotFoundHere, ToolFailed
from app.sdk.handles import (
    Bind,
    Call,
    EffectTx,
    Fact,
    MemoryHandle,
    ReadTx,
    Recorded,
    ServiceName,
    Services,
    SessionFacts,
    SessionsHandle,
    WriteTx,
)
from app.sdk.tables import Instant, JsonText, OwnedMixin, SharedMixin, package_base

__all__ = [
    "NO_PARAMS",
    "Bind",
    "Call",
    "Command",
    "Conflict",
    "Contract",
    "Domain",
    "EffectTx",
    "EventDeclaration",
    "Fact",
    "Instant",
    "InvalidInput",
    "JsonText",
    "MemoryHandle",
    "NoParams",
    "NotFoundHere",
    "OwnedMixin",
    "Params",
    "ReadTx",
    "Recorded",
    "Result",
    "ServiceName",
    "Services",
    "SessionFacts",
    "SessionsHandle",
    "SharedMixin",
    "Tool",
    "ToolFailed",
    "WriteTx",
    "current_call",
    "new_id",
    "package_base",
]
