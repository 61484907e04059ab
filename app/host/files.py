"""Files as the Host offers them: saved and read by their owner, resolved in a turn's input."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog

from app.errors import NotFound, UnsupportedMediaType
from app.host.event_log.log import rfc3339
from app.protocol.column_types import to_ms
from app.protocol.conversation import ImagePart
from app.protocol.identity import Principal
from app.services.files import (
    IMAGE_TYPES,
    FileStore,
    StoredFile,
    add_file,
    attach_files,
    check_size,
    find_files,
    media_type_of,
    unused,
)
from app.storage.database import Database

_log = structlog.get_logger(__name__)

TEXT_CHARS = 200_000
"""Most characters of a text file that go into a turn."""


class HostFiles:
    """Implements `runs.service.InputResolver` and `runs.driver.Pictures` beside the API's own needs."""

    def __init__(
        self, *, database: Database, store: FileStore, clock: Callable[[], datetime], limit_bytes: int
    ) -> None:
        self._database = database
        self._store = store
        self._clock = clock
        self._limit_bytes = limit_bytes
        # Between a blob's being there and its row, nobody may find it unused and remove it.
        self._blobs = asyncio.Lock()

    async def save(
        self, principal: Principal, *, name: str, declared_type: str | None, data: bytes
    ) -> dict[str, Any]:
        """Keeps one upload. What it is, its bytes decide; a declared type that contradicts is refused.

        Raises PayloadTooLarge, UnsupportedMediaType, StorageUnavailable.
        """
        check_size(len(data), self._limit_bytes)
        media_type = media_type_of(data)
        if declared_type and declared_type.startswith("image/") and declared_type != media_type:
            raise UnsupportedMediaType(
                f"The file was sent as {declared_type}, but its bytes are {media_type}."
            )
        async with self._blobs:
            sha256 = await asyncio.to_thread(self._store.put, data)
            async with self._database.tenant_write(principal.user_id) as unit:
                stored = await add_file(
                    unit,
                    owner_id=principal.user_id,
                    name=name,
                    media_type=media_type,
                    size_bytes=len(data),
                    sha256=sha256,
                    at=self._clock(),
                )
        return file_view(stored)

    async def read(self, principal: Principal, file_id: str) -> tuple[dict[str, Any], bytes]:
        """Raises NotFound, also for a foreign file."""
        stored = (await self._find(principal.user_id, [file_id])).get(file_id)
        if stored is None:
            raise NotFound
        return file_view(stored), await asyncio.to_thread(self._store.read, stored.sha256)

    async def resolve(self, principal: Principal, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Input parts as they are stored: files are looked up under the caller's rights (H5).

        Raises NotFound for a foreign or unknown id, UnsupportedMediaType for a part of the wrong kind.
        """
        ids = [part["file_id"] for part in parts if part["type"] in ("image", "file")]
        if not ids:
            return parts
        found = await self._find(principal.user_id, ids)
        return [await self._resolved(part, found) for part in parts]

    async def _resolved(self, part: dict[str, Any], found: Mapping[str, StoredFile]) -> dict[str, Any]:
        if part["type"] == "text":
            return part
        stored = found.get(part["file_id"])
        if stored is None:
            raise NotFound
        if part["type"] == "image":
            if stored.media_type not in IMAGE_TYPES:
                raise UnsupportedMediaType(f"{stored.name} is {stored.media_type}, not a picture.")
            return {"type": "image", "file_id": stored.id, "name": stored.name}
        if stored.media_type != "text/plain":
            raise UnsupportedMediaType(
                f"{stored.name} is {stored.media_type}; only plain text can be read into a turn, pictures as images."
            )
        text = (await asyncio.to_thread(self._store.read, stored.sha256)).decode()
        return {"type": "file", "file_id": stored.id, "name": stored.name, "text": text[:TEXT_CHARS]}

    async def attach(self, owner_id: str, session_id: str, parts: list[dict[str, Any]]) -> None:
        """Notes that the session uses these uploads, so that they go with it. Raises StorageUnavailable."""
        ids = [part["file_id"] for part in parts if part["type"] in ("image", "file")]
        if ids:
            async with self._database.tenant_write(owner_id) as unit:
                await attach_files(unit, owner_id=owner_id, session_id=session_id, ids=ids)

    async def load(self, owner_id: str, file_ids: list[str]) -> Mapping[str, ImagePart]:
        found = await self._find(owner_id, file_ids)
        pictures: dict[str, ImagePart] = {}
        for stored in found.values():
            if stored.media_type not in IMAGE_TYPES:
                continue
            try:
                data = await asyncio.to_thread(self._store.read, stored.sha256)
            except NotFound:
                # The row is there and the bytes are not: the turn goes on without the picture.
                _log.warning("picture_bytes_missing", file_id=stored.id)
                continue
            pictures[stored.id] = ImagePart(stored.media_type, data, stored.id)
        return pictures

    async def remove_unused(self, digests: Sequence[str]) -> None:
        """Removes blobs that no row refers to any more."""
        if not digests:
            return
        async with self._blobs:
            async with self._database.system_read() as unit:
                gone = await unused(unit, list(digests))
            for digest in gone:
                await asyncio.to_thread(self._store.remove, digest)

    async def _find(self, owner_id: str, ids: list[str]) -> dict[str, StoredFile]:
        async with self._database.tenant_read(owner_id) as unit:
            return await find_files(unit, owner_id=owner_id, ids=ids)


def file_view(stored: StoredFile) -> dict[str, Any]:
    return {
        "id": stored.id,
        "name": stored.name,
        "media_type": stored.media_type,
        "size_bytes": stored.size_bytes,
        "created_at": rfc3339(to_ms(stored.created_at)),
    }
