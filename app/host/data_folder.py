"""The lock on the data folder: of the processes that name one folder, one lives at a time.

Its holder may therefore end the runs of its predecessor at once, without waiting for a lease.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from app.errors import DataFolderInUse, SettingsInvalid
from app.protocol.ids import new_id

LOCK_FILE = "deskmate.lock"
INSTANCE_FILE = "instance"


class DataFolder:
    """Holds the lock from `open` to `close`; the kernel drops it when the process dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.instance = ""
        self._handle: int | None = None

    def open(self) -> None:
        """Raises DataFolderInUse where another process serves from this folder, SettingsInvalid where it
        cannot be written."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SettingsInvalid(
                f"The data folder {self.path} cannot be used: {error.strerror}. "
                "Make it writable or set DESKMATE_DATA_DIR."
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise DataFolderInUse(
                f"Another Deskmate process serves from {self.path}. Stop it, or give this one its own "
                "DESKMATE_DATA_DIR; several processes on one database need DESKMATE_REDIS_URL and PostgreSQL."
            ) from error
        self._handle = handle
        self.instance = self._read_instance()

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _read_instance(self) -> str:
        path = self.path / INSTANCE_FILE
        if path.exists() and (found := path.read_text().strip()):
            return found
        instance = new_id("ins")
        path.write_text(instance + "\n")
        return instance
