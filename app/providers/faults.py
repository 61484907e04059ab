"""What a provider's error means: status, headers and body to one ProviderError.

Bodies differ wildly (`{"error": {…}}`, `{"error": "…"}`, `{"detail": …}`, a list, plain text), and
the status alone says too little: a too long context, an empty balance and a filtered prompt all
come as 400. The words looked for are from recorded replies and from the providers' error pages.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from app.errors import ProviderError, ProviderFaultKind
from app.providers.wire_text import as_dict, as_list, as_text, clean_text, load_json

MESSAGE_LIMIT = 500
"""Characters of the provider's own words that a person gets to see."""

_RETRYABLE: frozenset[ProviderFaultKind] = frozenset(
    {
        "rate_limit",
        "overloaded",
        "server",
        "timeout",
        "connection",
        "malformed_tool_call",
        "incomplete_stream",
    }
)

_CODES: dict[str, ProviderFaultKind] = {
    "context_length_exceeded": "context_length",
    "model_context_window_exceeded": "context_length",
    "request_too_large": "context_length",
    "insufficient_quota": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota",
    "insufficient_balance": "quota",
    "insufficient_user_quota": "quota",
    "credit_balance_too_low": "quota",
    "exceeded_current_quota_error": "quota",
    "arrearage": "quota",
    "invalid_api_key": "auth",
    "invalid_authentication_error": "auth",
    "authentication_error": "auth",
    "incorrect_api_key_error": "auth",
    "permission_error": "permission",
    "permission_denied_error": "permission",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "model_decommissioned": "not_found",
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
    "responsibleaipolicyviolation": "content_filter",
    "data_inspection_failed": "content_filter",
    "datainspectionfailed": "content_filter",
    "tool_use_failed": "malformed_tool_call",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "ratelimitreached": "rate_limit",
    "overloaded": "overloaded",
    "overloaded_error": "overloaded",
    "engine_overloaded": "overloaded",
    "engine_overloaded_error": "overloaded",
    "server_busy": "overloaded",
    "timeout": "timeout",
    "server_error": "server",
    "internal_server_error": "server",
    "internal_error": "server",
    "api_error": "server",
    "invalid_request_error": "invalid_request",
}
"""Error codes and types in lower case. The status decides for those that say less than it does."""

_VAGUE = frozenset({"invalid_request_error", "api_error", "server_error", "internal_error"})

_CONTEXT = re.compile(
    r"context[ _]?length|context window|maximum context|prompt (is )?too long|input (is )?too long"
    r"|reduce the length of|range of input length|exceeds? the (available )?context|input token count"
    r"|too many (input )?tokens in|maximum (prompt|input) length|longer than the model",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient (account )?(balance|quota|credits?|funds)|exceeded your current quota|credit balance is too low"
    r"|balance (is )?(not enough|insufficient)|requires more credits|in good standing|余额不足|欠费",
    re.IGNORECASE,
)
_AUTH = re.compile(
    r"(invalid|incorrect|no|missing) (auth|api)[ _-]?(key|token)|api key not valid", re.IGNORECASE
)
_GONE = re.compile(
    r"model.{0,80}(does not exist|not found|decommissioned|deprecated and|no longer)", re.IGNORECASE
)
_AGAIN_IN = re.compile(
    r"(?:try again|retry) (?:in|after) (?:(\d+)m)?(\d+(?:\.\d+)?)\s*(ms|s\b|second)", re.IGNORECASE
)
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s\Z")


@dataclass(frozen=True, slots=True)
class _Words:
    """What the body says, wherever it says it."""

    codes: tuple[str, ...]
    message: str
    status: int
    retry_delay_s: float | None = None
    """Google's RetryInfo."""


def fault_of_response(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """The error of an answer whose HTTP status is not 2xx. Header names in lower case."""
    try:
        content: Any = load_json(body)
    except ValueError:
        content = None
    if as_dict(content) is None and not as_list(content):
        content = {"message": _plain_words(body)}
    words = _words_of(content)
    return _fault(status, words, headers)


def fault_of_body(content: Any) -> ProviderError:
    """The error in a body or event that came under HTTP 200; its own code stands for the status."""
    words = _words_of(content)
    return _fault(words.status, words, {})


def fault(kind: ProviderFaultKind, message: str, *, retryable: bool | None = None) -> ProviderError:
    """A fault that we found ourselves."""
    return ProviderError(message, kind=kind, retryable=kind in _RETRYABLE if retryable is None else retryable)


def _fault(status: int, words: _Words, headers: Mapping[str, str]) -> ProviderError:
    kind = _kind_of(status, words)
    retryable = kind in _RETRYABLE and headers.get("x-should-retry") != "false"
    said = f"HTTP {status}" if status else "an error"
    tail = f": {words.message}" if words.message else "."
    return ProviderError(
        f"The model provider answered {said} ({kind.replace('_', ' ')}){tail}",
        kind=kind,
        retryable=retryable,
        retry_after_s=_retry_after(headers, words) if retryable else None,
    )


def _kind_of(status: int, words: _Words) -> ProviderFaultKind:
    known: list[ProviderFaultKind] = [
        _CODES[code] for code in words.codes if code in _CODES and code not in _VAGUE
    ]
    if known:
        return known[0]
    # Google calls a limit per minute a quota too, and then says when to come again.
    if status == 402 or (_QUOTA.search(words.message) and words.retry_delay_s is None):
        return "quota"
    if status not in (401, 403, 429) and _CONTEXT.search(words.message):
        return "context_length"
    by_status = _kind_of_status(status, words.message)
    if by_status is not None:
        return by_status
    vague: list[ProviderFaultKind] = [_CODES[code] for code in words.codes if code in _CODES]
    return vague[0] if vague else "server"


def _kind_of_status(status: int, message: str) -> ProviderFaultKind | None:
    fixed: dict[int, ProviderFaultKind] = {
        401: "auth",
        403: "permission",
        404: "not_found",
        408: "timeout",
        410: "not_found",
        413: "context_length",
        429: "rate_limit",
        503: "overloaded",
        504: "timeout",
        529: "overloaded",
    }
    if status in fixed:
        return fixed[status]
    if status >= 500:
        return "server"
    if _AUTH.search(message):
        return "auth"  # a wrong key answered with 400
    if _GONE.search(message):
        return "not_found"
    return "invalid_request" if status >= 300 else None


def _words_of(content: Any) -> _Words:
    if isinstance(content, list):
        return _words_of(as_list(content)[0] if content else {})
    outer = as_dict(content) or {}
    inner = as_dict(outer.get("error"))
    error = outer if inner is None else inner
    metadata = as_dict(error.get("metadata")) or {}
    inner_error = as_dict(error.get("innererror")) or {}
    raw_codes = (
        error.get("code"), error.get("type"), error.get("status"), inner_error.get("code"),
        outer.get("code") if inner is None else None, outer.get("type") if inner is None else None,
    )  # fmt: skip
    codes = tuple(value.lower() for value in raw_codes if isinstance(value, str) and value)
    parts = [
        as_text(error.get("message")),
        as_text(outer.get("error")),
        _detail(outer.get("detail")),
        as_text(metadata.get("raw")),
    ]
    if not any(parts) and inner is not None:
        parts = [as_text(outer.get("message"))]
    message = " / ".join(part.strip() for part in parts if part.strip())
    return _Words(codes, _shortened(message), _status_in(error), _retry_delay(error.get("details")))


def _retry_delay(details: Any) -> float | None:
    for item in as_list(details):
        if match := _DELAY.match(as_text((as_dict(item) or {}).get("retryDelay"))):
            return float(match[1])
    return None


def _detail(detail: Any) -> str:
    """FastAPI servers: a string, or a list of `{loc, msg}`."""
    if isinstance(detail, list):
        return "; ".join(as_text((as_dict(item) or {}).get("msg")) for item in as_list(detail))
    return as_text(detail)


def _status_in(error: dict[str, Any]) -> int:
    for key in ("status_code", "code", "status", "http_code"):
        value = error.get(key)
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return 0


def _plain_words(body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    return "" if text.startswith("<") else text  # a proxy's HTML page helps nobody


def _shortened(text: str) -> str:
    text = clean_text(text)
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + "…"


def _retry_after(headers: Mapping[str, str], words: _Words) -> float | None:
    found: list[float] = [] if words.retry_delay_s is None else [words.retry_delay_s]
    if (value := headers.get("retry-after")) is not None:
        found.append(_seconds_or_date(value))
    if (value := headers.get("retry-after-ms")) is not None:
        found.append(_number(value) / 1000)
    if not found and (match := _AGAIN_IN.search(words.message)):
        minutes, amount, unit = match.groups()
        found.append(int(minutes or 0) * 60 + float(amount) / (1000 if unit.lower() == "ms" else 1))
    # Azure was seen to send both, one of them 0: the longer wait is the safe one.
    return max(found, default=0.0) or None


def _seconds_or_date(value: str) -> float:
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return _number(value)


def _number(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        return 0.0
    return number if 0 <= number < 1e9 else 0.0
