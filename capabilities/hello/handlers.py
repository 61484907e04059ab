"""Binds hello's one tool."""

from app.sdk import Bind, Call, NoParams, Services

from .contract import Greeting


def register(bind: Bind, services: Services) -> None:
    @bind.tool("hello")
    async def hello(call: Call, params: NoParams) -> Greeting:
        return Greeting(
            greeting="Hello, I am Deskmate. 你好！",
            package_version=call.package_version,
            server_time=call.now,
            in_run=call.run_id is not None,
        )
