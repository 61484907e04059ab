"""How a handler says that it could not do what was asked. Anything else it raises is a handler fault."""

from __future__ import annotations

from app.errors import ToolError


class ToolFailed(ToolError):
    """Final: trying again with other arguments will not help."""

    code = "TOOL_FAILED"
    status = 422


class InvalidInput(ToolError):
    """The arguments fit the schema but not the business rule; another try may do."""

    code = "INVALID_PARAMS"
    status = 422
    default_retryable = True


class NotFoundHere(ToolError):
    """No such object, or not this user's: the two must look alike."""

    code = "NOT_FOUND"
    status = 404


class Conflict(ToolError):
    """The object has changed since the caller read it; read it again."""

    code = "VERSION_CONFLICT"
    status = 409
    default_retryable = True
