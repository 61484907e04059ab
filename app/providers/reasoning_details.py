"""`reasoning_details`: reasoning in typed pieces, some of it sealed, that must go back unchanged.

Source: https://openrouter.ai/docs/use-cases/reasoning-tokens (preserving reasoning). Only replies
that carry a signature or sealed data need to be sent back; plain text is left out.
"""

from __future__ import annotations

from typing import Any

from app.providers.wire_text import MAX_DEPTH, as_dict, as_text, depth_of

_TEXT_FIELDS = ("text", "summary")
_SEALS = ("signature", "data")


class ReasoningDetails:
    """Joins the fragments of each piece."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: list[dict[str, Any]] = []

    def take(self, details: list[Any]) -> str:
        """Adds one delta's pieces; returns the visible text in them."""
        visible: list[str] = []
        for item in details:
            piece = as_dict(item)
            if piece is None or depth_of(piece) > MAX_DEPTH:
                continue
            visible.extend(as_text(piece.get(name)) for name in _TEXT_FIELDS)
            last = self._pieces[-1] if self._pieces else None
            if last is not None and _continues(last, piece):
                _join(last, piece)
            else:
                self._pieces.append(dict(piece))
        return "".join(visible)

    def state(self) -> list[dict[str, Any]]:
        sealed = any(as_text(piece.get(name)) for piece in self._pieces for name in _SEALS)
        return self._pieces if sealed else []


def _continues(last: dict[str, Any], piece: dict[str, Any]) -> bool:
    same = all(last.get(name) == piece.get(name) for name in ("type", "index"))
    ids = {value for value in (last.get("id"), piece.get("id")) if isinstance(value, str) and value}
    # Sealed blobs never come in fragments; two of them are two.
    return same and len(ids) < 2 and not as_text(piece.get("data"))


def _join(last: dict[str, Any], piece: dict[str, Any]) -> None:
    for name, value in piece.items():
        if name in _TEXT_FIELDS:
            last[name] = as_text(last.get(name)) + as_text(value)
        elif value is not None:
            last[name] = value
