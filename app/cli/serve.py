"""`deskmate serve`: uvicorn in this process, over a host that is opened first and closed last."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, cast

import uvicorn

from app.api.http import LimitedHttp
from app.catalog.catalog import load_catalog
from app.cli.greeting import greet
from app.cli.schema import make_ready
from app.errors import SettingsInvalid
from app.host.identity.service import normal_email
from app.main import create_app
from app.settings import Settings, load_settings

if TYPE_CHECKING:
    from app.host.host import Host


SWITCH_INTERVAL_S = 0.0005


class Server(uvicorn.Server):
    """Uvicorn without its own signal handlers, saying how to talk to it once it answers.

    Those handlers raise the signal again once the server has ended, which would kill the process
    before the host is closed and its runs are on record.
    """

    def __init__(self, config: uvicorn.Config, greeting: Callable[[], Awaitable[str]]) -> None:
        super().__init__(config)
        self._greeting = greeting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(await self._greeting(), flush=True)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def run_server(host: str, port: int, *, first_user: str | None = None) -> None:
    """Serves until stopped; `first_user` is an e-mail address, made into a user where there is none.

    Raises:
        StartupError: settings, packages, database or data folder do not allow a start.
        InvalidParams: `first_user` cannot be an address.
    """
    settings = load_settings()
    first_user = None if first_user is None else normal_email(first_user)
    listener = _listen(host, port)
    with listener:
        settings = _with_real_address(settings, host, listener)
        if settings.uses_sqlite:
            # SQLite answers from threads. With the usual 5 ms a busy event loop would keep each of them
            # waiting that long for the interpreter, with the one write lock held.
            sys.setswitchinterval(SWITCH_INTERVAL_S)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(settings, listener, first_user))


async def _serve(settings: Settings, listener: socket.socket, first_user: str | None) -> None:
    from app.factory import open_host

    await make_ready(settings, load_catalog(settings.capabilities))
    # Opened here and not in the app's lifespan: a fault at start is then one clear line.
    async with open_host(settings) as host:

        @contextlib.asynccontextmanager
        async def already_open(_: Settings) -> AsyncGenerator[Host]:
            yield host

        config = uvicorn.Config(
            create_app(settings, already_open),
            log_config=None,  # its lines go through ours (app/logs.py)
            access_log=False,
            http=LimitedHttp,
            ws="none",
            lifespan="on",
            server_header=False,
            proxy_headers=False,  # forwarded addresses count only from proxies that are named, and none is
            timeout_graceful_shutdown=int(settings.shutdown_seconds),
        )
        greeting = partial(greet, host.identity, host.devices, settings.base_url, first_user)
        await Server(config, greeting).serve(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket, bound before anything slow is done, so that a taken port is told at once."""
    listener: socket.socket | None = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise SettingsInvalid(
            f"Cannot listen on {host} port {port}: {error.strerror or error}. Choose another with --port."
        ) from error
    listener.setblocking(False)
    return listener


def _with_real_address(settings: Settings, host: str, listener: socket.socket) -> Settings:
    """The address that links show, where DESKMATE_BASE_URL does not say: the one we listen on."""
    if "base_url" in settings.model_fields_set:
        return settings
    address = cast("tuple[str, int]", listener.getsockname())
    shown = "127.0.0.1" if host in {"", "0.0.0.0", "::"} else host  # noqa: S104 -- compared, not bound
    shown = f"[{shown}]" if ":" in shown else shown
    return settings.model_copy(update={"base_url": f"http://{shown}:{address[1]}"})


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop

    return cast("type[asyncio.AbstractEventLoop]", uvloop.Loop)
