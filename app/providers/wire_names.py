"""Tool names and call ids in the form that a wire accepts, and back.

One bad name in the whole history is a 400 for the whole request, and models invent names, so each
request maps all it sends (https://github.com/openai/codex/issues/8174).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable

from app.providers.profiles import ToolIdFormat

_VALID_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}\Z")
_BAD_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")
_VALID_ID = {
    "any": re.compile(r"[!-~]{1,64}\Z"),
    "word": re.compile(r"[a-zA-Z0-9_-]{1,64}\Z"),
    "alnum9": re.compile(r"[a-zA-Z0-9]{9}\Z"),
}
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class NameMap:
    """Names of one request. `[a-zA-Z_][a-zA-Z0-9_-]{0,63}` suits all wires; such names stay."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names`: all that the request will use; valid ones keep their spelling before any other."""
        wanted = list(dict.fromkeys(names))
        self._to_wire = {name: name for name in wanted if _VALID_NAME.match(name)}
        self._back = dict(self._to_wire)
        for name in wanted:
            self.to_wire(name)

    def to_wire(self, name: str) -> str:
        known = self._to_wire.get(name)
        if known is not None:
            return known
        base = _BAD_CHARACTERS.sub("_", name)
        if not base or not _VALID_NAME.match(base[0]):
            base = "_" + base
        wire = _first_free(
            lambda salt: base[:64] if not salt else base[:55] + "_" + _digest(name, salt, 8), self._back
        )
        self._to_wire[name], self._back[wire] = wire, name
        return wire

    def from_wire(self, name: str) -> str:
        """The name we gave the tool; a name that the model made up stays as it is."""
        return self._back.get(name, name)


class IdMap:
    """Call ids of one request: same source, same wire id; two sources never share one."""

    def __init__(self, form: ToolIdFormat) -> None:
        self._form = form
        self._given: dict[str, str] = {}
        self._used: dict[str, str] = {}

    def to_wire(self, call_id: str, wire_id: str | None = None) -> str:
        """Wire id of our call `call_id`; `wire_id` is kept where it fits and is not another call's."""
        known = self._given.get(call_id)
        if known is not None:
            return known
        valid = _VALID_ID[self._form]
        wanted = wire_id or call_id
        if valid.match(wanted) and wanted not in self._used:
            wire = wanted
        else:
            size = 9 if self._form == "alnum9" else 24
            wire = _first_free(lambda salt: _digest(call_id, salt, size), self._used)
        self._given[call_id], self._used[wire] = wire, call_id
        return wire


def _first_free(make: Callable[[int], str], taken: dict[str, str]) -> str:
    salt = 0
    while (wire := make(salt)) in taken:
        salt += 1
    return wire


def _digest(text: str, salt: int, size: int) -> str:
    """`size` letters and digits that always come out alike for `text`, in this and any later process."""
    number = int.from_bytes(hashlib.sha256(f"{salt}:{text}".encode("utf-8", "surrogatepass")).digest())
    digits: list[str] = []
    for _ in range(size):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(digits)
