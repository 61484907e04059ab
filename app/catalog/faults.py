"""What can be wrong with a package, said so that its author can mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import CapabilityInvalid


@dataclass(frozen=True, slots=True)
class Fault:
    package: str
    """Package id, or folder name where the id is not known."""
    rule: str
    """Stable short name of the rule that found it, such as `wire-name-clash`."""
    message: str
    """What is wrong."""
    mend: str
    """What to do about it."""

    def __str__(self) -> str:
        return f"{self.package}: {self.message} {self.mend}"


def refuse(faults: Sequence[Fault]) -> CapabilityInvalid:
    """One error for all faults, so that an author mends them in one go."""
    lines = "\n".join(f"  - {fault}" for fault in faults)
    return CapabilityInvalid(f"Capability packages have {len(faults)} fault(s):\n{lines}", source="plugin")
