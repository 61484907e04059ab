"""All installed packages as one thing: look-ups, lists, and the snapshot of a run (H2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import structlog

from app.catalog.check import examine
from app.catalog.discover import SHIPPED
from app.catalog.faults import refuse
from app.catalog.package import Package
from app.protocol.definitions import CapabilityDefinition, DomainDefinition, SkillDefinition, Snapshot
from app.protocol.digests import digest
from app.protocol.identity import Principal

log = structlog.get_logger(__name__)


class Catalog:
    """Checked packages in load order. Immutable but for packages that are left out at start-up."""

    def __init__(self, packages: Sequence[Package]) -> None:
        self._packages = {package.id: package for package in packages}
        self._left_out: dict[str, str] = {}
        self._by_id = {d.id: d for package in packages for d in package.definitions}
        self._by_wire = {d.wire_name: d for d in self._by_id.values()}
        self._domains = {d.name: d for package in packages for d in package.domains}
        self._skills = {s.name: s for package in packages for s in package.skills}

    # --- what is installed ------------------------------------------------------------------

    @property
    def packages(self) -> tuple[Package, ...]:
        """In load order: dependencies first. Packages that are left out are among them."""
        return tuple(self._packages.values())

    @property
    def left_out(self) -> Mapping[str, str]:
        """Packages that are installed but not usable, with the reason's code."""
        return dict(self._left_out)

    def leave_out(self, package: str, reason: str) -> None:
        """Takes a package, and all that depend on it, out of use: its schema is behind its code."""
        self._left_out[package] = reason
        log.warning("package left out", package=package, reason=reason)
        for other in self.packages:
            if package in other.manifest.depends and other.id not in self._left_out:
                self.leave_out(other.id, f"DEPENDS_ON {package}")

    def package(self, name: str) -> Package | None:
        return self._packages.get(name)

    def find(self, name: str) -> CapabilityDefinition | None:
        """By canonical id or wire name. Entries of packages that are left out do not exist."""
        definition = self._by_id.get(name) or self._by_wire.get(name)
        if definition is None or definition.package in self._left_out:
            return None
        return definition

    def definitions(self) -> tuple[CapabilityDefinition, ...]:
        return tuple(d for d in self._by_id.values() if d.package not in self._left_out)

    def domains(self) -> tuple[DomainDefinition, ...]:
        return tuple(d for d in self._domains.values() if d.package not in self._left_out)

    def domain(self, name: str) -> DomainDefinition | None:
        return self._domains.get(name)

    def skill(self, name: str) -> SkillDefinition | None:
        skill = self._skills.get(name)
        return None if skill is None or skill.package in self._left_out else skill

    def skills(self) -> tuple[SkillDefinition, ...]:
        return tuple(s for s in self._skills.values() if s.package not in self._left_out)

    def scopes(self) -> tuple[str, ...]:
        """`NAMESPACE:read` and `NAMESPACE:write` of every package, for token creation."""
        names = sorted(package.manifest.namespace for package in self.packages)
        return tuple(f"{name}:{verb}" for name in names for verb in ("read", "write"))

    # --- what one run may use -----------------------------------------------------------------

    def snapshot(
        self, principal: Principal, enabled: Mapping[str, bool], preloaded: Iterable[str] = ()
    ) -> Snapshot:
        """installed ∩ enabled ∩ allowed by scope ∩ open to the model, with versions.

        Args:
            principal: whose run it is.
            enabled: switches by package id; a package that is not named is on.
            preloaded: domains (of a profile) whose tools are visible from the first step; names
                outside the snapshot are dropped.
        """
        packages = self._usable(enabled)
        tools = [
            d.id
            for d in self._by_id.values()
            if d.package in packages and open_to_model(d) and all(map(principal.allows, d.scopes))
        ]
        allowed = set(tools)
        domains = [d.name for d in self._domains.values() if allowed.intersection(d.tools)]
        skills = [s.name for s in self._skills.values() if s.package in packages]
        body: dict[str, Any] = {
            "packages": packages,
            "tools": tuple(sorted(tools)),
            "domains": tuple(sorted(domains)),
            "skills": tuple(sorted(skills)),
            "preloaded": tuple(sorted(set(preloaded).intersection(domains))),
        }
        return Snapshot(digest=digest(body), **body)

    def _usable(self, enabled: Mapping[str, bool]) -> dict[str, str]:
        """Versions of packages that are on, and whose dependencies are on."""
        usable: dict[str, str] = {}
        for package in self.packages:
            on = enabled.get(package.id, True) and package.id not in self._left_out
            if on and usable.keys() >= package.manifest.depends.keys():
                usable[package.id] = package.version
        return usable


def open_to_model(definition: CapabilityDefinition) -> bool:
    """The first wall of the caller policy (C7): what a model may be told of at all."""
    return definition.kind == "tool" and definition.policy == "user_and_model"


def suggestions(name: str, known: Iterable[str]) -> list[str]:
    return get_close_matches(name, sorted(known), n=3, cutoff=0.5)


def load_catalog(extra: Iterable[Path] = (), *, shipped: Path = SHIPPED) -> Catalog:
    """Reads the shipped packages and those of the operator's own folders.

    Raises:
        CapabilityInvalid: naming every fault of every package, with its mend.
    """
    examination = examine([shipped, *extra])
    if examination.faults:
        raise refuse(examination.faults)
    return Catalog(examination.packages)
