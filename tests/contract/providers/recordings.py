"""The recorded provider streams: data handed to the project, not part of the repository."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def folder(api: str) -> Path | None:
    """Where the recordings of one wire format are, or None where this machine has none."""
    shared = os.environ.get("DESKMATE_SHARED")
    root = Path(shared) if shared else Path(__file__).resolve().parents[3].parent / "shared"
    found = root / "provider-streams" / api
    return found if found.is_dir() else None


@dataclass(frozen=True)
class Recording:
    api: str
    name: str
    status: int
    headers: dict[str, str]
    body: bytes
    expected: dict[str, Any]


def load_all(api: str) -> list[Recording]:
    found = folder(api)
    return [] if found is None else [_load(api, path) for path in sorted(found.glob("*.json"))]


def _load(api: str, path: Path) -> Recording:
    data = json.loads(path.read_text(encoding="utf-8"))
    return Recording(
        api, path.stem, data["status"], data["headers"] or {}, data["body"].encode(), data["expected"]
    )
