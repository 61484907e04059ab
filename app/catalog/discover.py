"""Finds package folders (C4). Looks at names only: nothing of a package is read or run here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

SHIPPED = Path(__file__).resolve().parents[2] / "capabilities"
"""The reviewed packages inside the repository or the installed distribution."""


@dataclass(frozen=True, slots=True)
class PassedOver:
    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Discovery:
    folders: tuple[Path, ...]
    passed_over: tuple[PassedOver, ...]


def discover(roots: Iterable[Path]) -> Discovery:
    """Package folders below `roots`, sorted by name within a root; the rest is named in the log."""
    folders: list[Path] = []
    passed: list[PassedOver] = []
    for root in roots:
        if not root.is_dir():
            passed.append(PassedOver(root, "no such folder"))
            continue
        for entry in sorted(root.iterdir(), key=lambda path: path.name):
            reason = _why_not(entry)
            if reason is None:
                folders.append(entry)
            else:
                passed.append(PassedOver(entry, reason))
    for one in passed:
        # Python's own by-products are no news.
        write = log.debug if one.path.name.startswith("__") else log.info
        write("capability entry passed over", path=str(one.path), reason=one.reason)
    return Discovery(tuple(folders), tuple(passed))


def _why_not(entry: Path) -> str | None:
    if entry.name.startswith((".", "_")):
        return "hidden"
    if not entry.is_dir():
        return "not a folder"
    missing = [name for name in ("manifest.toml", "contract.py") if not (entry / name).is_file()]
    return f"incomplete: no {' and no '.join(missing)}" if missing else None
