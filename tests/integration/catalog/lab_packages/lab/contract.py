"""Tools that behave well and badly."""

from datetime import timedelta

from pydantic import Field

from app.sdk import Command, Contract, Domain, NoParams, Params, Result, Tool


class Amount(Params):
    amount: int = Field(ge=1, le=1000)
    secret: str = ""


class Mode(Params):
    mode: str


class Size(Params):
    size: int


class Total(Result):
    total: int


class Text(Result):
    text: str


def _tool(name: str, **changes: object) -> Tool:
    given: dict[str, object] = {
        "domain": "lab",
        "title": name.capitalize(),
        "description": "For tests.",
        "params": Amount,
        "result": Total,
        "effect": "create",
    }
    return Tool(name=name, **{**given, **changes})  # type: ignore[arg-type]


CONTRACT = Contract(
    domains=(
        Domain("lab", "Lab", "Counting. Load it to count."),
        Domain("annex", "Annex", "Reading only."),
        Domain("detour", "Detour", "Calling others."),
    ),
    tools=(
        _tool("count"),
        _tool("wipe", effect="delete", destructive=True),
        _tool("clear", effect="delete", policy="user_only"),
        _tool("slow", timeout=timedelta(milliseconds=500), params=Mode),
        _tool("broken", params=Mode),
        _tool("big", params=Size, result=Text, effect="read", domain="annex"),
        _tool("total", params=NoParams, effect="read", domain="annex"),
        _tool("misread", params=Mode, effect="read", domain="annex"),
        _tool("relay", params=Mode, effect="read", domain="detour"),
        _tool("send", params=Mode, effect="external"),
    ),
    commands=(
        Command(
            name="reset",
            title="Reset",
            description="For tests.",
            params=NoParams,
            result=Total,
            effect="update",
        ),
    ),
)
