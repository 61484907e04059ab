"""The conversation at the terminal: read a line, show what happens, Ctrl-C cancels the run."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from app.cli.chat.client import AgentClient, ServerAbsent, ServerRefused, StreamLost
from app.cli.chat.screen import Screen, plain
from app.cli.chat.words import words

DEFAULT_BASE_URL = "http://127.0.0.1:8000"


def run_chat(question: str | None, environment: Mapping[str, str] | None = None) -> int:
    """The whole command; returns its exit code: 1 where the server refused or a run failed."""
    environment = os.environ if environment is None else environment
    screen = Screen(words(environment))
    token = environment.get("DESKMATE_TOKEN", "").strip()
    if not token:
        screen.note(screen.words["no_token"])
        return 1
    base_url = (environment.get("DESKMATE_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")

    async def talk() -> int:
        client = AgentClient(base_url, token)
        try:
            return await Chat(client, screen).run(question)
        except ServerAbsent:
            screen.note(screen.words["no_server"].format(url=base_url))
        except ServerRefused as error:
            screen.note(plain(str(error)))
        except StreamLost as error:
            screen.note(screen.words["gave_up"].format(run_id=error))
        finally:
            await client.aclose()
        return 1

    return asyncio.run(talk())


class Chat:
    def __init__(self, client: AgentClient, screen: Screen) -> None:
        self._client = client
        self._screen = screen
        self._words = screen.words
        self._session_id = ""
        self._listed: list[dict[str, Any]] = []

    async def run(self, question: str | None) -> int:
        if question is not None:
            return 0 if await self.ask(question) == "completed" else 1
        me = await self._client.me()
        self._screen.note(self._words["greeting"].format(email=me["email"]))
        while True:
            line = _read_line(self._words["prompt"])
            if line is None or line.strip() in {"/quit", "/exit"}:
                return 0
            try:
                await self._take(line.strip())
            except (ServerRefused, StreamLost) as error:
                self._screen.note(plain(str(error)))

    async def ask(self, text: str) -> str:
        """Says `text` and shows the run to its end; returns how it ended."""
        if not self._session_id:
            self._session_id = await self._client.new_session()
        status = "failed"
        run_id = ""
        with _Interrupts() as interrupts:
            interrupts.on_first = lambda: asyncio.create_task(self._cancel(run_id)) if run_id else None
            async for event in self._client.say(self._session_id, text):
                if event["type"] == "run":
                    run_id = event["run_id"]
                    if interrupts.count:
                        await self._cancel(run_id)
                    continue
                self._screen.show(event)
                if event["type"] == "done":
                    status = event["status"]
        return status

    async def _cancel(self, run_id: str) -> None:
        self._screen.note(self._words["cancelling"])
        try:
            await self._client.cancel(run_id)
        except (ServerAbsent, ServerRefused) as error:
            self._screen.note(plain(str(error)))

    async def _take(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        if not line:
            return
        if command == "/new":
            self._session_id = ""
            self._screen.note(self._words["new"])
        elif command == "/sessions":
            await self._list()
        elif command == "/open":
            self._open(rest)
        elif command == "/help":
            self._screen.note(self._words["unknown"])
        else:
            await self.ask(line)  # /name of a skill is the server's to know

    async def _list(self) -> None:
        self._listed = await self._client.sessions()
        if not self._listed:
            self._screen.note(self._words["no_sessions"])
            return
        for number, session in enumerate(self._listed, 1):
            title = plain(session["title"]) or self._words["untitled"]
            self._screen.note(f"  {number}  {title}  {session['updated_at'][:16].replace('T', ' ')}")
        self._screen.note(self._words["choose"])

    def _open(self, number: str) -> None:
        if not number.strip().isdecimal() or not 1 <= int(number) <= len(self._listed):
            self._screen.note(self._words["no_such"])
            return
        session = self._listed[int(number) - 1]
        self._session_id = session["id"]
        title = plain(session["title"]) or self._words["untitled"]
        self._screen.note(self._words["opened"].format(title=title))


class _Interrupts:
    """Ctrl-C while a run is shown: the first cancels the run, the second ends the program."""

    def __init__(self) -> None:
        self.count = 0
        self.on_first: Any = None

    def __enter__(self) -> _Interrupts:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        # asyncio's own handler is gone with ours; Python's raises KeyboardInterrupt again
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _interrupted(self) -> None:
        self.count += 1
        if self.count == 1:
            self.on_first()
        else:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.raise_signal(signal.SIGINT)


def _read_line(prompt: str) -> str | None:
    """A line of standard input; None at its end. It blocks the loop, where nothing else happens then."""
    try:
        return input(prompt if sys.stdin.isatty() else "")
    except EOFError:
        return None
