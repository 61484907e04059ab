"""JSON as all our answers write it: times in UTC with milliseconds and `Z`, as in event lines."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from app.host.event_log.log import rfc3339
from app.protocol.column_types import to_ms
from app.protocol.jsontext import dump_bytes


def json_bytes(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATETIME, default=_plain)
    except orjson.JSONEncodeError:
        return dump_bytes(
            value
        )  # a tool's odd value (a huge integer, a lone surrogate) must not cost the answer


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return rfc3339(to_ms(value))
    raise TypeError(type(value).__name__)
