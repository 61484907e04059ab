"""What binds an audit row, an effect and a confirmation to exact arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.protocol.digests import digest


def arguments_digest(arguments: Mapping[str, Any] | None, raw: str = "") -> str:
    """The digest of the arguments, or of their text where they are not one JSON object.

    Arguments nested too deep for JSON are refused afterwards, but audited all the same.
    """
    if arguments is None:
        return digest(raw)
    try:
        return digest(dict(arguments))
    except (TypeError, RecursionError):
        return digest(raw)
