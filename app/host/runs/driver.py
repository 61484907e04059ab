"""Drives one run from its committed start to its committed end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import structlog

from app.agent.config import AgentConfig, Limits
from app.agent.items import messages_from_items, note_message, user_message
from app.agent.loop import run_turn
from app.agent.prompt import PromptInputs
from app.agent.turn import Turn, TurnEnd
from app.errors import DeskmateError, RunFatal, RunLost
from app.host.event_log.log import RunLog
from app.host.runs.history import read_history
from app.protocol.conversation import ImagePart
from app.protocol.events import Usage
from app.protocol.ports import ModelCatalog, RunScope, ToolGate
from app.storage.database import Database

_log = structlog.get_logger(__name__)

EARLIER_LEFT_OUT = "Earlier turns of this long session are left out here; they are still on record."


class Pictures(Protocol):
    """Reads uploaded pictures for the model; a foreign or missing id is simply not there."""

    async def load(self, owner_id: str, file_ids: list[str]) -> Mapping[str, ImagePart]: ...


@dataclass(slots=True)
class LiveRun:
    """A run that this process drives."""

    scope: RunScope
    log: RunLog
    turn: int
    parts: list[dict[str, Any]]
    model_id: str | None
    note: Mapping[str, Any] | None = None
    """Where the run has no user input but takes up what ended elsewhere: the body of its note item."""
    task: asyncio.Task[None] | None = None


class RunDriver:
    def __init__(
        self,
        *,
        database: Database,
        gate: ToolGate,
        models: ModelCatalog,
        config: AgentConfig,
        limits: Limits,
        pictures: Pictures,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._gate = gate
        self._models = models
        self._config = config
        self._limits = limits
        self._pictures = pictures
        self._clock = clock

    async def drive(self, run: LiveRun) -> None:
        """Runs the loop and writes the end. Never leaves a run without one while we own it.

        A cancelled task (shutdown, lost lease) stops the model call and leaves the end to recovery,
        which knows from the effects what a half-done call achieved.
        """
        log, scope = run.log, run.scope
        try:
            end = await self._turn_end(run)
            log.finish(
                status=end.status,
                usage=end.usage.model_dump(),
                steps=end.steps,
                error=end.error,
                loaded_domains=sorted(scope.loaded),
            )
            await log.committed()
            _log.info("run_ended", **_told(end))
        except RunLost:
            _log.warning("run_lost")
        except RunFatal as error:
            _log.error("run_end_not_written", code=error.code)

    async def _turn_end(self, run: LiveRun) -> TurnEnd:
        try:
            turn = await self._prepare(run)
            return await run_turn(turn, record=run.log, gate=self._gate, models=self._models)
        except RunLost:
            raise
        except DeskmateError as error:
            return TurnEnd("failed", Usage(), 0, error)
        except Exception:  # noqa: BLE001 - a fault of ours: the run still gets its end, and the log its traceback
            _log.exception("run_failed")
            error = DeskmateError("Something went wrong on the server. What was done is kept; try again.")
            return TurnEnd("failed", Usage(), 0, error)

    async def _prepare(self, run: LiveRun) -> Turn:
        scope = run.scope
        history = await read_history(
            self._database,
            owner_id=scope.principal.user_id,
            session_id=scope.session_id,
            turn=run.turn,
        )
        images = await self._images(scope, [*history.items, {"parts": run.parts}])
        now = self._clock()
        messages = messages_from_items(history.items, images)
        user = user_message(run.parts, images) if run.note is None else note_message(run.note)
        return Turn(
            run=scope,
            history=messages,
            user=user,
            model_id=run.model_id,
            prompt=PromptInputs(
                time_text=now.strftime("%Y-%m-%d %H:%M UTC"),
                environment=EARLIER_LEFT_OUT if history.left_out else "",
            ),
            config=self._config,
            limits=self._limits,
        )

    async def _images(self, scope: RunScope, items: list[dict[str, Any]]) -> Mapping[str, ImagePart]:
        wanted = [
            part["file_id"]
            for item in items
            for part in item.get("parts", ())
            if part.get("type") == "image" and part.get("file_id")
        ]
        if not wanted:
            return {}
        return await self._pictures.load(scope.principal.user_id, wanted)


def _told(end: TurnEnd) -> dict[str, Any]:
    """The end of a run for the log: figures and codes, no words."""
    return {
        "status": end.status,
        "steps": end.steps,
        "input_tokens": end.usage.input_tokens,
        "output_tokens": end.usage.output_tokens,
        **({} if end.error is None else {"code": end.error.code}),
    }
