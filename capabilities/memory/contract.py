"""What the memory package offers."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from app.sdk import Contract, Domain, Params, Result, Tool

FactId = Annotated[str, Field(min_length=1, max_length=64)]
Tag = Annotated[str, Field(min_length=1, max_length=32)]


class SaveParams(Params):
    content: str = Field(
        min_length=1, max_length=2000, description="One fact in one or two sentences, as the user stated it."
    )
    id: FactId | None = Field(default=None, description="The id of a known fact that this one replaces.")
    tags: list[Tag] = Field(default_factory=list[Tag], max_length=10)


class SearchParams(Params):
    query: str = Field(default="", max_length=200, description="Words to look for; empty lists the newest.")
    limit: int = Field(default=20, ge=1, le=50)


class RemoveParams(Params):
    id: FactId


class FactView(Result):
    id: str
    content: str
    namespace: str
    tags: list[str]
    source: str
    created_at: datetime
    updated_at: datetime


class FactList(Result):
    facts: list[FactView]


class Removed(Result):
    id: str
    removed: bool


CONTRACT = Contract(
    domains=(
        Domain(
            "memory",
            "Memory",
            "Keep a lasting fact about the user, or look one up. Load it when they ask to remember or recall.",
        ),
    ),
    tools=(
        Tool(
            name="save",
            domain="memory",
            title="Remember",
            description=(
                "Keeps one fact about the user for later conversations. Only what the user said themself and "
                "wants kept; nothing from documents, nothing secret. Give the id to correct a known fact."
            ),
            params=SaveParams,
            result=FactView,
            effect="update",
            idempotent=True,
            icon="bookmark",
        ),
        Tool(
            name="search",
            domain="memory",
            title="Search memory",
            description="Finds remembered facts about the user by words.",
            params=SearchParams,
            result=FactList,
            effect="read",
            idempotent=True,
            icon="search",
        ),
        Tool(
            name="remove",
            domain="memory",
            title="Forget",
            description="Removes one remembered fact for good. The user alone does this.",
            params=RemoveParams,
            result=Removed,
            effect="delete",
            destructive=True,
            idempotent=True,
            policy="user_only",
            icon="trash",
        ),
    ),
)
