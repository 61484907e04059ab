"""Page cursors: opaque, signed, and good only for the owner and the list they were made for."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Any

import orjson

from app.errors import InvalidCursor

_MAC_BYTES = 12
MAX_CHARS = 500


class Cursors:
    """Makes and reads cursors. `purpose` names the list and its filter, so that a cursor of one search
    cannot be used in another."""

    def __init__(self, *, secret: bytes) -> None:
        self._key = hashlib.sha256(b"deskmate cursors\0" + secret).digest()

    def make(self, position: tuple[Any, ...], *, owner_id: str, purpose: str) -> str:
        body = orjson.dumps(position)
        return base64.urlsafe_b64encode(self._mac(body, owner_id, purpose) + body).rstrip(b"=").decode()

    def read(self, cursor: str, *, owner_id: str, purpose: str) -> tuple[Any, ...]:
        """The position that `make` was given. Raises InvalidCursor for anything else."""
        try:
            if len(cursor) > MAX_CHARS:
                raise ValueError("too long")
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
            if not hmac.compare_digest(mac, self._mac(body, owner_id, purpose)):
                raise ValueError("not ours, or of another list")
            return tuple(orjson.loads(body))
        except (ValueError, binascii.Error, UnicodeError) as error:
            raise InvalidCursor(
                "This cursor is not valid here; begin again without it and follow `next`."
            ) from error

    def _mac(self, body: bytes, owner_id: str, purpose: str) -> bytes:
        text = b"\0".join((owner_id.encode(), purpose.encode(), body))
        return hmac.new(self._key, text, hashlib.sha256).digest()[:_MAC_BYTES]
