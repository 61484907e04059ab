"""The locks of a serving process: on the data folder and, where it is SQLite, on the database's file.

Of the processes that name one folder, or one SQLite file, one lives at a time. Their holder may therefore
end the runs of its predecessor at once, without waiting for a lease.
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
    """Holds the locks from `open` to `close`; the kernel drops them when the process dies.

    Args:
        path: the data folder.
        sqlite_file: the database where it is a file; `FILE.lock` beside it is locked too, as another
            data folder may name the same file.
    """

    def __init__(self, path: Path, sqlite_file: Path | None = None) -> None:
        self.path = path
        self.instance = ""
        self._sqlite_file = sqlite_file
        self._handles: list[int] = []

    def open(self) -> None:
        """Raises DataFolderInUse where another process serves from here, SettingsInvalid where the folder
        cannot be written."""
        try:
            self._lock(
                self.path / LOCK_FILE,
                f"Another Deskmate process serves from {self.path}. Stop it, or give this one its own "
                "DESKMATE_DATA_DIR; several processes on one database need DESKMATE_REDIS_URL and PostgreSQL.",
            )
            if self._sqlite_file is not None:
                self._lock(
                    self._sqlite_file.with_name(f"{self._sqlite_file.name}.lock"),
                    f"Another Deskmate process serves the database {self._sqlite_file} from another data "
                    "folder. Stop it: SQLite serves one process.",
                )
            self.instance = self._read_instance()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        while self._handles:
            os.close(self._handles.pop())

    def _lock(self, file: Path, refusal: str) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SettingsInvalid(
                f"The folder {file.parent} cannot be used: {error.strerror}. "
                "Make it writable or set DESKMATE_DATA_DIR."
            ) from error
        self._handles.append(handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DataFolderInUse(refusal) from error

    def _read_instance(self) -> str:
        path = self.path / INSTANCE_FILE
        if path.exists() and (found := path.read_text().strip()):
            return found
        instance = new_id("ins")
        path.write_text(instance + "\n")
        return instance
