"""Tools that take their time."""

from pydantic import Field

from app.sdk import Contract, Domain, Params, Result, Tool


class Nap(Params):
    seconds: float = Field(ge=0, le=60)


class Stamp(Params):
    word: str = Field(min_length=1, max_length=100)
    before: float = Field(default=0, ge=0, le=60, description="Seconds before the effect.")
    after: float = Field(default=0, ge=0, le=60, description="Seconds after its commit.")


class Slept(Result):
    seconds: float


class Stamped(Result):
    word: str


CONTRACT = Contract(
    domains=(Domain("pace", "Pace", "Waiting. Load it to wait."),),
    tools=(
        Tool(
            name="nap",
            domain="pace",
            title="Nap",
            description="Waits.",
            params=Nap,
            result=Slept,
            effect="read",
        ),
        Tool(
            name="stamp",
            domain="pace",
            title="Stamp",
            description="Keeps a word as an effect, and waits around it.",
            params=Stamp,
            result=Stamped,
            effect="create",
        ),
    ),
)
