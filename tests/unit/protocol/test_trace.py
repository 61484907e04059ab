from __future__ import annotations

import pytest

from app.protocol.trace import current_trace, outgoing_traceparent, parse_traceparent

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GOOD = f"00-{TRACE}-{SPAN}-01"


def test_a_good_header_is_read_and_written_alike() -> None:
    trace = parse_traceparent(GOOD)
    assert trace is not None
    assert (trace.trace_id, trace.span_id, trace.sampled, str(trace)) == (TRACE, SPAN, True, GOOD)


@pytest.mark.parametrize("value", [f"01-{TRACE}-{SPAN}-03", f"01-{TRACE}-{SPAN}-03-more-of-it"])
def test_a_later_version_is_read_as_far_as_we_know_it(value: str) -> None:
    assert str(parse_traceparent(value)) == GOOD


@pytest.mark.parametrize(
    "value",
    [
        "",
        GOOD[:-1],
        GOOD + "-more",
        GOOD + " ",
        " " + GOOD,
        GOOD + "\n",
        GOOD.upper(),
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"0-{TRACE}-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-03.more",
        f"00_{TRACE}_{SPAN}_01",
        f"00-{TRACE[:-1]}٣-{SPAN}-01",
    ],
)
def test_anything_else_is_as_good_as_no_header(value: str) -> None:
    assert parse_traceparent(value) is None


def test_what_goes_on_elsewhere_keeps_the_trace() -> None:
    assert outgoing_traceparent() is None
    token = current_trace.set(parse_traceparent(GOOD))
    assert outgoing_traceparent() == GOOD
    current_trace.reset(token)
