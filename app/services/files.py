"""Uploaded files: bytes under their SHA-256 in the data folder, and whose they are in a row.

Nothing of a client's file name reaches a path (O17); the same bytes of two users are one blob with two
rows (O18); a blob goes when its last row has gone (O20).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import filetype
from sqlalchemy import case, delete, func, insert, or_, select, update

from app.errors import NotFound, PayloadTooLarge, StorageUnavailable, UnsupportedMediaType
from app.protocol.ids import new_id
from app.storage.database import Unit
from app.storage.tables import files

IMAGE_TYPES: frozenset[str] = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
ALLOWED_TYPES: frozenset[str] = IMAGE_TYPES | {"application/pdf", "text/plain"}
NAME_CHARS = 255
_SNIFF_BYTES = 8192
_SHA256_CHARS = 64


@dataclass(frozen=True, slots=True)
class StoredFile:
    id: str
    name: str
    media_type: str
    size_bytes: int
    sha256: str
    created_at: datetime


class FileStore:
    """The blobs on disk. Blocking: call it in a thread."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, data: bytes) -> str:
        """Writes the bytes durably, then gives them their name; the same bytes again change nothing.

        Raises StorageUnavailable where the disk does not take them.
        """
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if path.exists():
            return digest
        temporary = path.with_name(f".{digest}.{secrets.token_hex(4)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)
        except OSError as error:
            temporary.unlink(missing_ok=True)  # a full disk must not stay full of halves
            raise StorageUnavailable("The file could not be stored; try again later.") from error
        return digest

    def remove_halves(self, *, older_than_s: float = 0.0) -> None:
        """Removes what a process that died in mid-write left. In a folder that others write to as well,
        only what is older than any of them takes for a file."""
        before = time.time() - older_than_s
        for half in self._root.glob("??/.*"):
            with contextlib.suppress(FileNotFoundError):  # another process removes them too
                if half.stat().st_mtime <= before:
                    half.unlink()

    def read(self, digest: str) -> bytes:
        """Raises NotFound where there is no such blob."""
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            raise NotFound from None

    def remove(self, digest: str) -> None:
        self._path(digest).unlink(missing_ok=True)

    def _path(self, digest: str) -> Path:
        if len(digest) != _SHA256_CHARS or not set(digest) <= set("0123456789abcdef"):
            raise ValueError("not a SHA-256 in hex")
        return self._root / digest[:2] / digest


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself durable: the row that refers to the blob is committed after it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def media_type_of(data: bytes) -> str:
    """The type that the bytes themselves show. Raises UnsupportedMediaType."""
    found = cast("str | None", cast("Any", filetype).guess_mime(data[:_SNIFF_BYTES]))
    if found is None and _is_text(data):
        found = "text/plain"
    if found not in ALLOWED_TYPES:
        raise UnsupportedMediaType(
            f"This file is {found or 'of no known type'}; PNG, JPEG, GIF, WebP, PDF and plain text are taken."
        )
    return found


def _is_text(data: bytes) -> bool:
    if not data or b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    # an SVG is XML text that a browser would run: it is not plain text
    return b"<svg" not in data[:_SNIFF_BYTES].lower()


def check_size(size_bytes: int, limit_bytes: int) -> None:
    if size_bytes > limit_bytes:
        raise PayloadTooLarge(f"The file is larger than {limit_bytes // 1_048_576} MiB.")


def display_name(name: str) -> str:
    """A name fit to be shown: its last path part, without control and direction characters."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    shown = "".join(c for c in last if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    shown = shown.strip().strip(".") or "file"
    return shown[:NAME_CHARS]


async def add_file(
    unit: Unit, *, owner_id: str, name: str, media_type: str, size_bytes: int, sha256: str, at: datetime
) -> StoredFile:
    stored = StoredFile(new_id("file"), display_name(name), media_type, size_bytes, sha256, at)
    await unit.connection.execute(
        insert(files).values(
            id=stored.id,
            owner_id=owner_id,
            name=stored.name,
            media_type=media_type,
            size_bytes=size_bytes,
            sha256=sha256,
            created_at=at,
        )
    )
    return stored


async def find_files(unit: Unit, *, owner_id: str, ids: list[str]) -> dict[str, StoredFile]:
    """The owner's files among `ids`; foreign and missing ones are simply not there."""
    rows = await unit.connection.execute(
        select(files).where(files.c.owner_id == owner_id, files.c.id.in_(ids))
    )
    return {
        row.id: StoredFile(row.id, row.name, row.media_type, row.size_bytes, row.sha256, row.created_at)
        for row in rows
    }


async def attach_files(unit: Unit, *, owner_id: str, session_id: str, ids: list[str]) -> None:
    """Notes that a session uses these uploads, so that they go with it (O20).

    A file that a second session uses becomes the user's own for good and is kept: `session_id` is then "".
    """
    kept = case((files.c.session_id.is_(None), session_id), else_="")
    await unit.connection.execute(
        update(files)
        .where(files.c.owner_id == owner_id, files.c.id.in_(ids))
        .where(or_(files.c.session_id.is_(None), files.c.session_id != session_id))
        .values(session_id=kept)
    )


async def delete_session_files(unit: Unit, *, owner_id: str, session_id: str) -> list[str]:
    """Deletes the rows of one session's files; returns their blobs, which may now be unused."""
    where = (files.c.owner_id == owner_id, files.c.session_id == session_id)
    digests = list((await unit.connection.execute(select(files.c.sha256).where(*where))).scalars())
    await unit.connection.execute(delete(files).where(*where))
    return digests


async def unused(unit: Unit, digests: list[str]) -> list[str]:
    """Which of these blobs no row of any user refers to. Needs a system unit."""
    counted = await unit.connection.execute(
        select(files.c.sha256, func.count()).where(files.c.sha256.in_(digests)).group_by(files.c.sha256)
    )
    used = {row[0] for row in counted}
    return [digest for digest in digests if digest not in used]
