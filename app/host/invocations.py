"""Calls of a capability by its user, from the API or a panel: the same gate as the model's calls (C8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.errors import ConfirmationRequired, DeskmateError, ToolError
from app.host.confirmations import Confirmations
from app.protocol.identity import Principal
from app.protocol.ids import new_id
from app.protocol.jsontext import dump_text
from app.protocol.ports import Invocation, ToolGate


class CallFailed(ToolError):
    """A call's error with the code, and the status, that its own class has.

    The gate hands errors on as data, since most of them go to a model; here they become an answer.
    """

    def __init__(self, error: Mapping[str, Any], status: int, details: Mapping[str, Any]) -> None:
        super().__init__(
            str(error.get("message", "The call failed.")),
            # A model may mend its arguments and try again; the same request would fail the same way.
            retryable=bool(error.get("retryable", False)) and status not in (404, 409, 422),
            source=error.get("source", "tool"),
            details={**details, "source": error.get("source", "tool")},
        )
        self.code = str(error.get("code", "TOOL_EXECUTION_ERROR"))  # pyright: ignore[reportAttributeAccessIssue]
        self.status = status  # pyright: ignore[reportAttributeAccessIssue]


class Invocations:
    def __init__(self, *, gate: ToolGate, confirmations: Confirmations) -> None:
        self._gate = gate
        self._confirmations = confirmations
        self._statuses: dict[str, int] = {}

    async def invoke(
        self, principal: Principal, name: str, params: Mapping[str, Any], idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """Runs one tool or command as the user's own act.

        Returns:
            `{result}`, and `degraded` where another way than the usual one gave it.

        Raises:
            ConfirmationRequired: destructive; `details` say where the user decides.
            CallFailed: what the gate or the handler said, with its code and status.
            RunFatal: identity lost or storage gone.
        """
        outcome = await self._gate.call(
            Invocation(
                call_id=new_id("call"),
                name=name,
                arguments=params,
                raw_arguments=dump_text(dict(params)),
                principal=principal,
                initiator="user",
                run=None,
                idempotency_key=idempotency_key,
            )
        )
        if outcome.status == "awaiting_confirmation":
            confirmation_id = str(outcome.extra.get("confirmation_id", ""))
            raise ConfirmationRequired(
                "This call waits for its user, who decides in the browser under their own sign-in; "
                "no token can approve it. Its state can be read as a confirmation.",
                details={"confirmation_id": confirmation_id, "url": self._confirmations.url(confirmation_id)},
            )
        if outcome.error is not None:
            status = self._status(str(outcome.error.get("code", "")))
            raise CallFailed(outcome.error, status, outcome.extra)
        answer: dict[str, Any] = {"result": outcome.result}
        if outcome.degraded is not None:
            answer["degraded"] = outcome.degraded
        return answer

    def _status(self, code: str) -> int:
        if not self._statuses:
            # The first class of a code in the tree gives its status; read late, when all are defined.
            for error_class in _all_classes(DeskmateError):
                self._statuses.setdefault(error_class.code, error_class.status)
        return self._statuses.get(code, ToolError.status)


def _all_classes(root: type[DeskmateError]) -> Iterator[type[DeskmateError]]:
    for child in root.__subclasses__():
        yield child
        yield from _all_classes(child)
