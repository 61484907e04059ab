"""What the session package offers."""

from datetime import datetime

from pydantic import Field

from app.sdk import Contract, Domain, Params, Result, Tool


class ListParams(Params):
    query: str = Field(default="", max_length=200, description="Part of a title; empty lists the newest.")
    limit: int = Field(default=20, ge=1, le=50)


class SessionView(Result):
    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    message_count: int
    archived: bool


class SessionList(Result):
    sessions: list[SessionView]


class RenameParams(Params):
    session_id: str = Field(default="", max_length=64, description="Empty: the conversation under way.")
    title: str = Field(min_length=1, max_length=200)


class SwitchParams(Params):
    session: str = Field(
        min_length=1, max_length=200, description="The conversation's id, the beginning of it, or its title."
    )


class SwitchRequest(Result):
    switch_to: str
    title: str


CONTRACT = Contract(
    domains=(
        Domain(
            "session",
            "Conversations",
            "Find, rename or open the user's other conversations. Load it when they speak of one.",
        ),
    ),
    tools=(
        Tool(
            name="list",
            domain="session",
            title="List conversations",
            description="Lists the user's conversations, newest first, with id, title and dates.",
            params=ListParams,
            result=SessionList,
            effect="read",
            idempotent=True,
            icon="message-square",
        ),
        Tool(
            name="rename",
            domain="session",
            title="Rename conversation",
            description="Gives a conversation a new title. Only on the user's wish.",
            params=RenameParams,
            result=SessionView,
            effect="update",
            idempotent=True,
            icon="pencil",
        ),
        Tool(
            name="switch",
            domain="session",
            title="Open conversation",
            description=(
                "Asks the user's browser to show another conversation. This turn goes on here: say so, and "
                "do not answer for the other conversation."
            ),
            params=SwitchParams,
            result=SwitchRequest,
            effect="read",
            idempotent=True,
            user_visible=False,
            control_fact="The browser was asked to show conversation {switch_to}; this turn stayed here.",
        ),
    ),
)
