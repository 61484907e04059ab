"""What the mistake notebook offers."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from app.sdk import Contract, Domain, Params, Result, Tool

Question = Annotated[str, Field(min_length=1, max_length=8000, description="The exercise, in full.")]
LongText = Annotated[str, Field(max_length=8000)]
Subject = Annotated[str, Field(max_length=64, description="Such as mathematics, 数学 or English.")]
Tag = Annotated[str, Field(min_length=1, max_length=32)]
Tags = Annotated[list[Tag], Field(max_length=10, description="Topics, such as fractions or 一元二次方程.")]
EntryId = Annotated[str, Field(min_length=1, max_length=64)]
Version = Annotated[
    int, Field(ge=1, le=2**31 - 1, description="The version you read; refused if it is not the newest.")
]


class AddParams(Params):
    question: Question
    answer: LongText = Field(default="", description="What the learner answered.")
    correct_answer: LongText = ""
    cause: LongText = Field(default="", description="Why it went wrong, in a sentence.")
    subject: Subject = ""
    tags: Tags = Field(default_factory=list)
    source_file_id: EntryId | None = Field(default=None, description="The uploaded picture it came from.")


class SearchParams(Params):
    query: str = Field(default="", max_length=200, description="Words that all must occur; empty finds all.")
    subject: Subject = ""
    tag: str = Field(default="", max_length=32)
    archived: bool = Field(default=False, description="True looks among archived entries instead.")
    limit: int = Field(default=20, ge=1, le=50)
    cursor: str = Field(default="", max_length=64, description="`next` of the page before.")


class UpdateParams(Params):
    id: EntryId
    version: Version
    question: Question | None = None
    answer: LongText | None = None
    correct_answer: LongText | None = None
    cause: LongText | None = None
    subject: Subject | None = None
    tags: Tags | None = None


class EntryParams(Params):
    id: EntryId


class EntryView(Result):
    id: str
    question: str
    answer: str
    correct_answer: str
    cause: str
    subject: str
    tags: list[str]
    source_file_id: str | None
    archived_at: datetime | None
    created_at: datetime
    updated_at: datetime
    version: int


class EntryPage(Result):
    entries: list[EntryView]
    next: str | None = Field(description="Cursor of the next page; null on the last.")


class Removed(Result):
    id: str
    removed: bool


CONTRACT = Contract(
    domains=(
        Domain(
            "mistakes",
            "Mistake notebook",
            "File, find, correct or archive the learner's mistakes. Load it when they talk about exercises "
            "they got wrong or about their notebook.",
        ),
    ),
    tools=(
        Tool(
            name="add",
            domain="mistakes",
            title="File a mistake",
            description=(
                "Files one mistake in the learner's notebook. Look first whether it is there already. "
                "Give the question in full; leave out what is not known."
            ),
            params=AddParams,
            result=EntryView,
            effect="create",
            icon="notebook-pen",
        ),
        Tool(
            name="search",
            domain="mistakes",
            title="Search mistakes",
            description=(
                "Finds entries of the notebook, newest first, by words in any field, subject and tag. "
                "Pages with cursor."
            ),
            params=SearchParams,
            result=EntryPage,
            effect="read",
            idempotent=True,
            icon="search",
        ),
        Tool(
            name="update",
            domain="mistakes",
            title="Correct an entry",
            description=(
                "Changes the given fields of one entry and keeps the others. Needs the version that you read; "
                "on VERSION_CONFLICT search again and look at what changed."
            ),
            params=UpdateParams,
            result=EntryView,
            effect="update",
            icon="pencil",
        ),
        Tool(
            name="archive",
            domain="mistakes",
            title="Archive an entry",
            description="Takes an entry out of the active notebook. The user is asked to confirm.",
            params=EntryParams,
            result=EntryView,
            effect="update",
            destructive=True,
            idempotent=True,
            icon="archive",
        ),
        Tool(
            name="remove",
            domain="mistakes",
            title="Remove an entry",
            description="Removes an entry for good. The user alone does this.",
            params=EntryParams,
            result=Removed,
            effect="delete",
            destructive=True,
            idempotent=True,
            policy="user_only",
            icon="trash",
        ),
    ),
)
