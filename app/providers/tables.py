"""Reads typed values out of a TOML table and knows, when all are read, which keys nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from app.errors import SettingsInvalid
from app.providers.wire_text import as_dict, as_list


class Table:
    """One table of a settings file. Each reader raises SettingsInvalid, naming file, table and key."""

    def __init__(self, where: str, data: Mapping[str, Any]) -> None:
        self.where = where
        self._data = data
        self._asked: set[str] = set()

    def refuse(self, key: str, mend: str) -> SettingsInvalid:
        return SettingsInvalid(f"{self.where}: {key} {mend}.")

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not blank; required where there is no default."""
        value = self._take(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.refuse(
                key, self._missing(key) if value is None else "must be a string that is not empty"
            )
        return value

    def _missing(self, key: str) -> str:
        meant = get_close_matches(key, [name for name in self._data if name not in self._asked], n=1)
        return f"is missing (is {meant[0]} meant for it?)" if meant else "is missing"

    def texts(self, key: str, default: Sequence[str]) -> list[str]:
        value = self._take(key)
        if value is None:
            return list(default)
        items = as_list(value)
        if not isinstance(value, list) or any(not isinstance(item, str) for item in items):
            raise self.refuse(key, "must be a list of strings")
        return items

    def count(self, key: str, default: int) -> int:
        """A whole number above zero."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.refuse(key, f"must be a whole number above 0, not {value!r}")
        return value

    def number(self, key: str, default: float) -> float:
        """A number from zero up."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
            raise self.refuse(key, f"must be a number from 0 up, not {value!r}")
        return float(value)

    def table(self, key: str) -> Table:
        value = self._take(key)
        data = {} if value is None else as_dict(value)
        if data is None:
            raise self.refuse(key, "must be a table")
        return Table(f"{self.where}: {key}", data)

    def tables(self, key: str) -> Iterator[Table]:
        """`[[key]]`, each named by its id where it has one."""
        value = self._take(key)
        items = as_list(value)
        if value is not None and (
            not isinstance(value, list) or any(as_dict(item) is None for item in items)
        ):
            raise self.refuse(key, f"must be written as [[{key}]] tables")
        for number, item in enumerate(items, start=1):
            data = as_dict(item) or {}
            name = data.get("id", f"number {number}")
            yield Table(f"{self.where}: [[{key}]] {name}", data)

    def rest(self) -> Mapping[str, Any]:
        return self._data

    def done(self) -> None:
        """Refuses the keys that nobody read."""
        for key in self._data:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise self.refuse(key, f"is unknown here; known keys are {known}")

    def _take(self, key: str) -> Any:
        self._asked.add(key)
        return self._data.get(key)
