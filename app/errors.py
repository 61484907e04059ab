"""The one error tree. Every class carries a stable code and an HTTP status.

DeskmateError
├── RequestError            the caller sent something we cannot take
│   ├── MalformedRequest 400 · InvalidCursor 400 · InvalidParams 422 · IdempotencyMismatch 422
│   ├── UnsupportedMediaType 415 · PayloadTooLarge 413 · RequestTimeout 408
│   ├── Unauthenticated 401 · LoginFailed 401 · InsufficientScope 403 · UserOnly 403
│   ├── CrossSiteRefused 403 · SetupLinkInvalid 403 · ConfirmationClosed 409
│   ├── NotFound 404 · SkillNotFound 404
│   ├── SessionBusy 409 · IdempotencyInProgress 409 · VersionConflict 409 · ConfirmationRequired 409
│   ├── EventsExpired 410 · PreconditionFailed 412 · LimitReached 429
├── ToolError               a tool call failed; the model is told and may go on
│   ├── ToolNotFound · ToolNotLoaded · ToolInvalidParams · ToolExecutionError · ToolTimeout
│   ├── PackageDisabled · ToolForbidden · OutcomeUnknown · Interrupted · ToolSkipped
│   └── ToolFailed · InvalidInput · NotFoundHere · Conflict (sdk/errors.py: what packages raise)
├── RunFatal                ends the run
│   ├── IdentityLost · RunLost · RequestCancelled · RunExpired · StorageUnavailable
│   ├── MaxToolCallsExceeded · BudgetExceeded · RepeatedToolError · RunInterrupted · ContextTooLong
│   └── ModelNotSupported
├── ProviderError           the model provider refused, hung, cut or failed
└── StartupError            configuration or package fault: the process must not serve
    ├── SettingsInvalid · NeedsMigration · CapabilityInvalid · DataFolderInUse
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

Source = Literal["agent", "provider", "tool", "plugin", "storage", "host"]


class DeskmateError(Exception):
    """Base of all errors that cross a room's border.

    Attributes:
        message: one sentence for a person: what is wrong and what to do.
        retryable: whether the same request may simply be sent again.
        source: the component that failed.
        details: extra members of the problem document (field errors, ids); never secrets.
        retry_after_s: seconds to wait before another try, where known.
    """

    code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    default_retryable: ClassVar[bool] = False
    default_source: ClassVar[Source] = "host"

    def __init__(
        self,
        message: str,
        *,
        retryable: bool | None = None,
        source: Source | None = None,
        details: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = self.default_retryable if retryable is None else retryable
        self.source: Source = source or self.default_source
        self.details: dict[str, Any] = dict(details or {})
        self.retry_after_s = retry_after_s

    def as_dict(self) -> dict[str, Any]:
        """The `{code, message, retryable, source}` object of events and tool results (C11)."""
        return {
            "code": self.code,
            "message": self.message,
            "retryable": self.retryable,
            "source": self.source,
        }


# --- requests ---------------------------------------------------------------------------------


class RequestError(DeskmateError):
    code = "BAD_REQUEST"
    status = 400


class MalformedRequest(RequestError):
    code = "MALFORMED_REQUEST"


class InvalidCursor(RequestError):
    code = "INVALID_CURSOR"


class InvalidParams(RequestError):
    code = "INVALID_PARAMS"
    status = 422


class IdempotencyMismatch(RequestError):
    code = "IDEMPOTENCY_KEY_REUSED"
    status = 422


class UnsupportedMediaType(RequestError):
    code = "UNSUPPORTED_MEDIA_TYPE"
    status = 415


class PayloadTooLarge(RequestError):
    code = "PAYLOAD_TOO_LARGE"
    status = 413


class RequestTimeout(RequestError):
    """The body stopped coming, or came too slowly."""

    code = "REQUEST_TIMEOUT"
    status = 408
    default_retryable = True


class Unauthenticated(RequestError):
    code = "UNAUTHENTICATED"
    status = 401


class InsufficientScope(RequestError):
    code = "INSUFFICIENT_SCOPE"
    status = 403


class LoginFailed(RequestError):
    """One answer for a wrong password, an unknown account and a disabled one."""

    code = "LOGIN_FAILED"
    status = 401


class CrossSiteRefused(RequestError):
    """An unsafe request of the browser that does not come from our own pages."""

    code = "CROSS_SITE_REFUSED"
    status = 403


class SetupLinkInvalid(RequestError):
    """The set-up link was used, replaced or never made."""

    code = "SETUP_LINK_INVALID"
    status = 403


class ConfirmationClosed(RequestError):
    """The approval was decided otherwise before, or its time is over."""

    code = "CONFIRMATION_CLOSED"
    status = 409


class UserOnly(RequestError):
    code = "USER_ONLY"
    status = 403


class NotFound(RequestError):
    """Missing and foreign objects alike: the answer must not tell them apart."""

    code = "NOT_FOUND"
    status = 404

    def __init__(self, message: str = "There is no such object, or it is not yours.") -> None:
        super().__init__(message)


class SkillNotFound(RequestError):
    code = "SKILL_NOT_FOUND"
    status = 404


class SessionBusy(RequestError):
    code = "SESSION_BUSY"
    status = 409
    default_retryable = True


class IdempotencyInProgress(RequestError):
    code = "IDEMPOTENCY_IN_PROGRESS"
    status = 409
    default_retryable = True


class VersionConflict(RequestError):
    code = "VERSION_CONFLICT"
    status = 409


class ConfirmationRequired(RequestError):
    code = "CONFIRMATION_REQUIRED"
    status = 409


class EventsExpired(RequestError):
    code = "EVENTS_EXPIRED"
    status = 410


class PreconditionFailed(RequestError):
    code = "PRECONDITION_FAILED"
    status = 412


class LimitReached(RequestError):
    code = "LIMIT_REACHED"
    status = 429
    default_retryable = True


# --- tools ------------------------------------------------------------------------------------


class ToolError(DeskmateError):
    """A tool call failed. The model gets `as_dict()` as the result and may try something else."""

    code = "TOOL_EXECUTION_ERROR"
    status = 500
    default_source = "tool"


class ToolExecutionError(ToolError):
    code = "TOOL_EXECUTION_ERROR"


class ToolNotFound(ToolError):
    code = "TOOL_NOT_FOUND"
    status = 404


class ToolNotLoaded(ToolError):
    code = "TOOL_NOT_LOADED"
    status = 409
    default_retryable = True


class ToolInvalidParams(ToolError):
    code = "INVALID_PARAMS"
    status = 422
    default_retryable = True


class ToolTimeout(ToolError):
    code = "TOOL_TIMEOUT"
    status = 504
    default_retryable = True


class PackageDisabled(ToolError):
    code = "PACKAGE_DISABLED"
    status = 403


class ToolForbidden(ToolError):
    """The caller may not use this entry: user-only, or a scope is missing."""

    code = "TOOL_FORBIDDEN"
    status = 403


class OutcomeUnknown(ToolError):
    """An effect outside our database may or may not have happened; it is never repeated by itself."""

    code = "OUTCOME_UNKNOWN"
    status = 502


class Interrupted(ToolError):
    code = "INTERRUPTED"
    status = 503
    default_retryable = True


class ToolSkipped(ToolError):
    code = "SKIPPED"
    status = 409


# --- things that end a run ---------------------------------------------------------------------


class RunFatal(DeskmateError):
    code = "RUN_FAILED"
    status = 500
    default_source = "host"


class IdentityLost(RunFatal):
    code = "IDENTITY_LOST"
    status = 401


class RunLost(RunFatal):
    """This process no longer owns the run: another one took it over or it is terminal."""

    code = "RUN_LOST"
    status = 409


class RequestCancelled(RunFatal):
    code = "REQUEST_CANCELLED"
    status = 409


class RunExpired(RunFatal):
    code = "RUN_TIMEOUT"
    status = 504
    default_retryable = True


class RunInterrupted(RunFatal):
    code = "RUN_INTERRUPTED"
    status = 503
    default_retryable = True


class StorageUnavailable(RunFatal):
    code = "STORAGE_ERROR"
    status = 503
    default_retryable = True
    default_source = "storage"


class MaxToolCallsExceeded(RunFatal):
    code = "MAX_TOOL_CALLS_EXCEEDED"
    default_source = "agent"


class BudgetExceeded(RunFatal):
    code = "BUDGET_EXCEEDED"
    status = 429
    default_source = "agent"


class RepeatedToolError(RunFatal):
    code = "REPEATED_TOOL_ERROR"
    default_source = "agent"


class ContextTooLong(RunFatal):
    code = "CONTEXT_TOO_LONG"
    status = 413
    default_source = "agent"


class ModelNotSupported(RunFatal):
    code = "MODEL_NOT_SUPPORTED"
    status = 422
    default_source = "agent"


# --- providers --------------------------------------------------------------------------------

ProviderFaultKind = Literal[
    "auth",
    "permission",
    "not_found",
    "rate_limit",
    "quota",
    "overloaded",
    "server",
    "timeout",
    "connection",
    "context_length",
    "content_filter",
    "invalid_request",
    "malformed_tool_call",
    "incomplete_stream",
]


class ProviderError(DeskmateError):
    """The model provider failed. `kind` says how; `message` is fit to be shown to the user."""

    code = "PROVIDER_ERROR"
    status = 502
    default_source = "provider"

    def __init__(
        self,
        message: str,
        *,
        kind: ProviderFaultKind,
        retryable: bool,
        retry_after_s: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, retryable=retryable, retry_after_s=retry_after_s, details=details)
        self.kind: ProviderFaultKind = kind


# --- start-up ---------------------------------------------------------------------------------


class StartupError(DeskmateError):
    code = "STARTUP_FAILED"


class SettingsInvalid(StartupError):
    code = "SETTINGS_INVALID"


class NeedsMigration(StartupError):
    code = "NEEDS_MIGRATION"


class CapabilityInvalid(StartupError):
    code = "CAPABILITY_INVALID"


class DataFolderInUse(StartupError):
    code = "DATA_FOLDER_IN_USE"
