"""One child process: started, watched, signalled and ended by its own pid, its output kept in a file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]


class ProcessFailed(AssertionError):
    """A child ended, or did not get ready; the message ends with the tail of its log."""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address: tuple[str, int] = listener.getsockname()
        return address[1]


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Our environment without the caller's own Deskmate settings, plus `extra`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DESKMATE_")}
    return {**kept, "PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1,localhost", **extra}


class ServerProcess:
    """A server under test. `close` is safe in every state, also when it was killed or stopped."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        log: Path,
        base_url: str = "",
        cwd: Path = ROOT,
    ) -> None:
        self.base_url = base_url
        self.log_path = log
        self._log = log.open("ab")
        # A session of its own: a Ctrl-C of the test run does not race with our own clean-up.
        self._process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative is the signal that ended it."""
        return self._process.poll()

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    async def wait_ready(self, path: str = "/readyz", timeout: float = 30) -> None:
        """Until `path` answers 200.

        Raises:
            ProcessFailed: it ended, or the time is over.
        """
        deadline = time.monotonic() + timeout
        async with httpx.AsyncClient(base_url=self.base_url, trust_env=False, timeout=2) as http:
            while time.monotonic() < deadline:
                if self.exit_code is not None:
                    raise ProcessFailed(
                        f"ended with {self.exit_code} before it was ready\n{self.log[-4000:]}"
                    )
                with contextlib.suppress(httpx.TransportError):
                    if (await http.get(path)).status_code == 200:
                        return
                await asyncio.sleep(0.05)
        raise ProcessFailed(f"not ready after {timeout} s\n{self.log[-4000:]}")

    async def wait_for_log(self, text: str, timeout: float = 10) -> None:
        deadline = time.monotonic() + timeout
        while text not in self.log:
            if time.monotonic() > deadline:
                raise ProcessFailed(f"{text!r} is not in the log after {timeout} s\n{self.log[-4000:]}")
            await asyncio.sleep(0.02)

    async def wait_exit(self, timeout: float = 15) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.exit_code) is None:
            if time.monotonic() > deadline:
                raise ProcessFailed(f"still runs after {timeout} s\n{self.log[-4000:]}")
            await asyncio.sleep(0.02)
        return code

    def signal(self, number: signal.Signals) -> None:
        if self.exit_code is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9: no goodbye, no flush."""
        self.signal(signal.SIGKILL)
        self._process.wait(timeout=10)

    def freeze(self) -> None:
        """SIGSTOP: alive, with its connections open, and doing nothing."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM: the orderly way."""
        self.signal(signal.SIGTERM)

    def close(self, grace: float = 5) -> None:
        """Ends it: kindly for `grace` seconds, then by force."""
        if self.exit_code is None:
            self.thaw()
            self.terminate()
            try:
                self._process.wait(timeout=grace)
            except subprocess.TimeoutExpired:
                self.kill()
        self._log.close()
