"""What hello offers."""

from datetime import datetime

from app.sdk import Contract, Domain, NoParams, Result, Tool


class Greeting(Result):
    greeting: str
    package_version: str
    server_time: datetime
    in_run: bool


CONTRACT = Contract(
    domains=(
        Domain(
            "demo",
            "Self-check",
            "One tool that proves that tools work. Load it only when asked to test the connection.",
        ),
    ),
    tools=(
        Tool(
            name="hello",
            domain="demo",
            title="Say hello",
            description="Says hello and reports the state of the service. Use it to check that tools work.",
            params=NoParams,
            result=Greeting,
            effect="read",
            idempotent=True,
            user_visible=False,
            icon="hand-wave",
            group="debug",
        ),
    ),
)
