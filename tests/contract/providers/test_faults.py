"""Refusals by HTTP status: what kind of fault, whether to try again, when, and what a person reads."""

from __future__ import annotations

import email.utils
import json
import time

import pytest

from app.providers.faults import MESSAGE_LIMIT, fault_of_response


def body(**error: object) -> bytes:
    return json.dumps({"error": error}).encode()


@pytest.mark.parametrize(
    ("status", "content", "kind", "retryable"),
    [
        (400, body(message="Invalid value", type="invalid_request_error"), "invalid_request", False),
        (400, body(message="", code="context_length_exceeded"), "context_length", False),
        (400, b'{"message":"Range of input length should be [1, 30720]","code":"InvalidParameter"}', "context_length", False),
        (413, b"<html>too large</html>", "context_length", False),
        (400, body(message="API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"), "auth", False),
        (401, b'{"detail":"Invalid API Key"}', "auth", False),
        (403, body(message="Country not supported", code="unsupported_country"), "permission", False),
        (404, body(message="The model does not exist", code="model_not_found"), "not_found", False),
        (400, body(message="The model `x` has been decommissioned", code="model_decommissioned"), "not_found", False),
        (410, b"", "not_found", False),
        (402, body(message="Insufficient Balance"), "quota", False),
        (429, body(message="You exceeded your current quota", code="insufficient_quota"), "quota", False),
        (400, b'{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}', "quota", False),
        (429, body(message="Rate limit reached: tokens in context window per minute"), "rate_limit", True),
        (400, b'{"code":"DataInspectionFailed","message":"inappropriate content"}', "content_filter", False),
        (400, body(code="tool_use_failed", message="Failed to call a function"), "malformed_tool_call", True),
        (408, b"", "timeout", True),
        (500, body(message="boom", type="server_error"), "server", True),
        (502, b"<html>Bad gateway</html>", "server", True),
        (503, b"", "overloaded", True),
        (504, b"", "timeout", True),
        (529, body(type="overloaded_error", message="Overloaded"), "overloaded", True),
        (302, b"", "invalid_request", False),
        (422, b'{"detail":[{"loc":["body"],"msg":"field required"}]}', "invalid_request", False),
    ],
)  # fmt: skip
def test_status_and_body_tell_the_kind(status: int, content: bytes, kind: str, retryable: bool) -> None:
    error = fault_of_response(status, {}, content)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert "<html>" not in error.message


def test_the_provider_s_words_are_shown_and_shortened() -> None:
    assert "field required" in fault_of_response(422, {}, b'{"detail":[{"msg":"field required"}]}').message
    long = fault_of_response(400, {}, body(message="x" * 5000)).message
    assert len(long) < MESSAGE_LIMIT + 100


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "3"}, "", 3.0),
        ({"retry-after": "1", "retry-after-ms": "0"}, "", 1.0),
        ({"retry-after-ms": "1500"}, "", 1.5),
        ({"retry-after": "soon"}, "", None),
        ({}, "Please try again in 7.5s. Visit", 7.5),
        ({}, "Please try again in 1m30s.", 90.0),
        ({}, "Please try again in 120ms.", 0.12),
        ({}, "Please retry shortly", None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], message: str, seconds: float | None) -> None:
    assert fault_of_response(429, headers, body(message=message)).retry_after_s == seconds


def test_retry_after_may_be_a_date() -> None:
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert fault_of_response(503, {"retry-after": date}, b"").retry_after_s == pytest.approx(30, abs=2)


def test_a_provider_may_forbid_a_retry() -> None:
    assert not fault_of_response(500, {"x-should-retry": "false"}, b"").retryable
