"""The loop: ask the model, run the tools it asks for, ask again, until it asks for none (L1).

It knows no SQL, no web framework and no provider's format. What happens goes to the record as it
happens; how the turn ended goes back to the Host, which writes the last events.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from app.agent.batch import ToolBatches
from app.agent.budget import Budget, Clock
from app.agent.context import (
    Assembled,
    context_budget,
    estimate_message,
    estimate_request_head,
    estimate_tokens,
    fit,
    without_images,
)
from app.agent.items import replayable
from app.agent.prompt import system_prompt, user_with_time
from app.agent.step import StepAnswer, ask
from app.agent.turn import Turn, TurnEnd
from app.errors import ContextTooLong, DeskmateError, ProviderError, RequestCancelled, RunFatal, RunLost
from app.protocol.conversation import Message, ModelRequest, ModelSpec, ToolSpec, UsageReport
from app.protocol.events import DoneStatus
from app.protocol.ids import new_id
from app.protocol.ports import ModelCatalog, ModelProvider, RunRecord, ToolGate

STOP_NOTES = {
    "content_filter": "[内容过滤中止了回答] / [the provider's content filter ended the answer here]",
    "refusal": "[模型拒绝继续] / [the model declined to go on]",
    "max_tokens": "[回答达到长度上限] / [the answer reached its length limit here]",
}
EMPTY_ANSWER = "[模型没有给出回答] / [the model gave an empty answer]"
TURN_CANCELLED = "[本轮因用户取消而中断] / [the user cancelled this turn before it was done]"
TURN_FAILED = "[本轮因错误而中断] / [this turn ended with an error before it was done: {code}]"


LEARN_FROM_TOKENS = 1_000
"""Smaller requests are mostly what the provider adds by itself, and tell nothing about our estimate."""


async def run_turn(
    turn: Turn, *, record: RunRecord, gate: ToolGate, models: ModelCatalog, clock: Clock = time.monotonic
) -> TurnEnd:
    """Runs one turn to its end, whatever that is.

    Failures of model and tools, limits and cancel come back as a TurnEnd. Raises RunLost when this
    process no longer owns the run (nothing may be written any more) and CancelledError; writes neither
    `error` nor `done`.
    """
    budget = Budget(turn.limits, clock)
    try:
        model, provider = models.resolve(turn.model_id or turn.config.default_model)
    except RunFatal as error:
        return TurnEnd("failed", budget.used.as_usage(), budget.steps, error)
    loop = _Loop(turn, record=record, gate=gate, model=model, provider=provider, budget=budget, clock=clock)
    return await loop.run()


class _Loop:
    def __init__(
        self,
        turn: Turn,
        *,
        record: RunRecord,
        gate: ToolGate,
        model: ModelSpec,
        provider: ModelProvider,
        budget: Budget,
        clock: Clock,
    ) -> None:
        self._turn = turn
        self._run = turn.run
        self._record = record
        self._gate = gate
        self._model = model
        self._provider = provider
        self._budget = budget
        self._batches = ToolBatches(
            run=turn.run,
            gate=gate,
            record=record,
            budget=budget,
            max_calls=turn.config.max_tool_calls_per_turn,
            clock=clock,
        )
        self._user = user_with_time(turn.user, turn.prompt.time_text)
        self._said: list[Message] = []
        """What this turn added to the conversation so far."""
        self._system = ""
        self._cap: int | None = None
        """Estimated tokens that messages may take since the provider found a request too long."""
        self._scale = 1.0
        """Reported tokens per estimated token, learnt from the last step (L7)."""
        self._given_way = (0, 0)

    async def run(self) -> TurnEnd:
        try:
            self._system = self._system_prompt()
            while await self._step():
                pass
        except RunLost:
            raise
        except RequestCancelled:
            self._record.note_item(TURN_CANCELLED, facts={"cut": "cancelled"})
            return self._end("cancelled")
        except (RunFatal, ProviderError) as error:
            self._record.note_item(
                TURN_FAILED.format(code=error.code), facts={"cut": "failed", "code": error.code}
            )
            return self._end("failed", error)
        return self._end("completed")

    async def _step(self) -> bool:
        """One model call and the calls it asks for. False when the turn is done."""
        self._check_limits()
        self._budget.steps += 1
        answer = await self._ask()
        message = answer.message
        if not answer.is_empty:
            self._record.assistant_item(message, complete=answer.error is None)
        if answer.error:
            self._batches.skip_batch(message.tool_calls, _reason(answer.error))
            raise answer.error
        if answer.stop in {"content_filter", "refusal"} or not message.tool_calls:
            self._close_answer(answer)
            return False
        results = await self._batches.run_batch(message.tool_calls, cut=answer.cut_calls)
        if self._batches.fatal:
            raise self._batches.fatal
        calls = tuple(replayable(call) for call in message.tool_calls)
        self._said += [replace(message, tool_calls=calls), *results]
        return True

    def _check_limits(self) -> None:
        if self._run.cancel.is_set():
            raise RequestCancelled("The run was cancelled.")
        if fault := self._budget.fault():
            raise fault

    def _close_answer(self, answer: StepAnswer) -> None:
        self._batches.skip_batch(answer.message.tool_calls, f"the model stopped ({answer.stop})")
        note = STOP_NOTES.get(answer.stop or "") or (EMPTY_ANSWER if not answer.message.text else None)
        if note:
            self._record.note_item(note, facts={"stop": answer.stop})

    # --- the model ----------------------------------------------------------------------------

    async def _ask(self) -> StepAnswer:
        context, head = self._context()
        answer = await self._ask_once(context, head)
        if answer.too_long:
            # Our estimate was wrong: keep to half of what can give way from here on, and try once more.
            self._cap = (context.tokens + estimate_message(self._user)) // 2
            try:
                smaller, head = self._context()
            except ContextTooLong:
                return answer
            if smaller.tokens < context.tokens:
                answer = await self._ask_once(smaller, head)
        return answer

    async def _ask_once(self, context: Assembled, head: int) -> StepAnswer:
        request = self._request(context)
        answer = await ask(
            self._provider, request, record=self._record, cancel=self._run.cancel, budget=self._budget
        )
        self._count(answer, head + context.tokens)
        return answer

    def _context(self) -> tuple[Assembled, int]:
        """The messages of this step, and what the rest of the request is estimated at."""
        head = estimate_request_head(self._system, self._tools())
        window = context_budget(self._model, self._turn.config.compact_threshold, int(head * self._scale))
        budget = int(window / self._scale)
        if self._cap is not None:
            budget = min(budget, self._cap)
        context = fit(self._turn.history, self._user, self._said, budget)
        self._tell_given_way(context)
        return context, head

    def _tools(self) -> Sequence[ToolSpec]:
        return self._gate.visible_tools(self._run) if "tools" in self._model.abilities else ()

    def _request(self, context: Assembled) -> ModelRequest:
        can_see = "vision" in self._model.abilities
        sampling = self._turn.sampling
        return ModelRequest(
            model=self._model,
            system=self._system,
            messages=context.messages if can_see else without_images(context.messages),
            tools=self._tools(),
            temperature=sampling.temperature,
            max_output_tokens=sampling.max_output_tokens,
            reasoning_effort=sampling.reasoning_effort,
        )

    def _count(self, answer: StepAnswer, estimate: int) -> None:
        usage = answer.usage
        if usage is not None and usage.input > 0 and estimate >= LEARN_FROM_TOKENS:
            self._scale = min(3.0, max(0.5, usage.input / max(1, estimate)))
        elif usage is None and answer.error and not answer.is_empty:
            # A cut-off stream reports nothing, but the provider bills it: count what we know.
            said = answer.message.text + answer.message.reasoning
            usage = UsageReport(int(estimate * self._scale), estimate_tokens(said))
        if usage is not None:
            self._budget.used.add(usage, self._model.price)

    def _system_prompt(self) -> str:
        """Made once a run: a prompt that changes from step to step is never found in a cache."""
        config = self._turn.config
        return system_prompt(
            self._turn.prompt,
            instructions=config.system_instructions,
            personality=config.personality,
            catalog=self._gate.catalog_text(self._run),
        )

    def _tell_given_way(self, context: Assembled) -> None:
        """Says so in the stream when more of the conversation had to give way than before."""
        given_way = (context.dropped, context.shrunk)
        if given_way in {self._given_way, (0, 0)}:
            return
        self._given_way = given_way
        id, name, title = new_id("act"), "context::compact", "Shorten the conversation"
        self._record.activity("context", id, name, title, "started")
        detail = {"left_out_messages": context.dropped, "shortened_results": context.shrunk}
        self._record.activity("context", id, name, title, "succeeded", detail)

    # --- the end ------------------------------------------------------------------------------

    def _end(self, status: DoneStatus, error: DeskmateError | None = None) -> TurnEnd:
        return TurnEnd(status, self._budget.used.as_usage(), self._budget.steps, error)


def _reason(error: DeskmateError) -> str:
    return (
        "the run was cancelled"
        if isinstance(error, RequestCancelled)
        else f"the answer was cut off ({error.code})"
    )
