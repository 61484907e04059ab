"""Checks all packages together, before any handler is imported (C3, C6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from app.catalog.discover import PassedOver, discover
from app.catalog.faults import Fault
from app.catalog.manifest import NAME, Manifest
from app.catalog.package import Package, Reading, read_package
from app.catalog.rules import RULES


@dataclass(frozen=True, slots=True)
class Examination:
    """What the folders hold, good and bad. Packages stand in load order: dependencies first (C4)."""

    packages: tuple[Package, ...]
    faults: tuple[Fault, ...]
    passed_over: tuple[PassedOver, ...]


def examine(roots: Iterable[Path]) -> Examination:
    """Reads every package below `roots` and finds all faults in one go."""
    found = discover(roots)
    readings = [read_package(folder) for folder in found.folders]
    packages = [reading.package for reading in readings if reading.package is not None]
    faults = [fault for reading in readings for fault in reading.faults]
    faults += [fault for package in packages for rule in RULES for fault in rule(package)]
    manifests = _by_id(readings)
    faults += [fault for together in TOGETHER for fault in together(manifests, packages, readings)]
    order = _order(manifests)
    return Examination(
        packages=tuple(sorted(packages, key=lambda package: order.get(package.id, len(order)))),
        faults=tuple(dict.fromkeys(faults)),
        passed_over=found.passed_over,
    )


def _by_id(readings: Sequence[Reading]) -> dict[str, Manifest]:
    return {reading.manifest.id: reading.manifest for reading in readings if reading.manifest is not None}


def _order(manifests: Mapping[str, Manifest]) -> dict[str, int]:
    """Position of each package in load order; ties by name, so that every replica agrees."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for name in sorted(manifests):
        sorter.add(name, *sorted(set(manifests[name].depends) & manifests.keys()))
    ordered: list[str] = []
    try:
        sorter.prepare()
    except CycleError:
        return {name: place for place, name in enumerate(sorted(manifests))}
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += ready
        sorter.done(*ready)
    return {name: place for place, name in enumerate(ordered)}


# --- rules over all packages ------------------------------------------------------------------

Together = Callable[[Mapping[str, Manifest], Sequence[Package], Sequence[Reading]], Iterator[Fault]]


def ids_are_unique(
    manifests: Mapping[str, Manifest], packages: Sequence[Package], readings: Sequence[Reading]
) -> Iterator[Fault]:
    first: dict[str, Path] = {}
    for reading in readings:
        if reading.manifest is None:
            continue
        name = reading.manifest.id
        if name in first:
            message = f"the folders {first[name]} and {reading.folder} both have this id."
            yield Fault(name, "package-clash", message, "Remove one, or give it another id.")
        first.setdefault(name, reading.folder)


def namespaces_are_unique(
    manifests: Mapping[str, Manifest], packages: Sequence[Package], readings: Sequence[Reading]
) -> Iterator[Fault]:
    yield from _clashes("namespace", ((manifest.namespace, name) for name, manifest in manifests.items()))


def names_are_unique(
    manifests: Mapping[str, Manifest], packages: Sequence[Package], readings: Sequence[Reading]
) -> Iterator[Fault]:
    yield from _clashes("entry", ((d.id, p.id) for p in packages for d in p.definitions))
    yield from _clashes("wire name", ((d.wire_name, p.id) for p in packages for d in p.definitions))
    yield from _clashes("domain", ((d.name, p.id) for p in packages for d in p.domains))
    yield from _clashes("skill", ((s.name, p.id) for p in packages for s in p.skills))


def _clashes(kind: str, names: Iterable[tuple[str, str]]) -> Iterator[Fault]:
    owner: dict[str, str] = {}
    for name, package in names:
        first = owner.setdefault(name, package)
        if first != package:
            rule = f"{kind.replace(' ', '-')}-clash"
            yield Fault(
                package, rule, f"the {kind} `{name}` is taken by `{first}`.", "Rename one of the two."
            )


def wire_names_differ_within(
    manifests: Mapping[str, Manifest], packages: Sequence[Package], readings: Sequence[Reading]
) -> Iterator[Fault]:
    """The built-in namespace is not a package, so its wire names are guarded here."""
    for package in packages:
        for definition in package.definitions:
            if definition.wire_name.startswith("catalog_"):
                message = f"the wire name `{definition.wire_name}` begins like the built-in `catalog::`."
                yield Fault(package.id, "wire-name-clash", message, "Rename the namespace.")


def dependencies_are_there(
    manifests: Mapping[str, Manifest], packages: Sequence[Package], readings: Sequence[Reading]
) -> Iterator[Fault]:
    for name, manifest in manifests.items():
        for needed in manifest.depends:
            if not NAME.fullmatch(needed) or needed not in manifests:
                mend = f"Install `{needed}`, or remove it from depends."
                yield Fault(
                    name, "dependency-missing", f"depends on `{needed}`, which is not installed.", mend
                )


def ranges_fit(
    manifests: Mapping[str, Manifest], packages: Sequence[Package], readings: Sequence[Reading]
) -> Iterator[Fault]:
    for name, manifest in manifests.items():
        for needed, wanted in manifest.depends.items():
            there = manifests.get(needed)
            if there is None or SpecifierSet(wanted).contains(Version(there.version), prereleases=True):
                continue
            content = [
                f"`{other}` ({m.depends[needed]})"
                for other, m in manifests.items()
                if needed in m.depends
                and SpecifierSet(m.depends[needed]).contains(there.version, prereleases=True)
            ]
            rule = "range-conflict" if content else "wrong-version"
            also = f", and conflicts with {', '.join(content)}, which accepts that" if content else ""
            message = f"needs `{needed}` {wanted}, but {there.version} is installed{also}."
            yield Fault(name, rule, message, f"Widen the range, or install a `{needed}` that all accept.")


def no_cycles(
    manifests: Mapping[str, Manifest], packages: Sequence[Package], readings: Sequence[Reading]
) -> Iterator[Fault]:
    graph = {name: set(manifest.depends) & manifests.keys() for name, manifest in manifests.items()}
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            ring: list[str] = error.args[1]
            mend = "Remove one of these dependencies, or move the shared part into a package of its own."
            yield Fault(ring[0], "cycle", f"depends on itself: {' → '.join(ring)}.", mend)
            graph = {name: needs for name, needs in graph.items() if name not in ring}
        else:
            return


def calls_are_to_dependencies(
    manifests: Mapping[str, Manifest], packages: Sequence[Package], readings: Sequence[Reading]
) -> Iterator[Fault]:
    """`call:ns::tool` is an allow-list (C16): the entry must exist, in a package that is depended on."""
    owners = {d.id: p.id for p in packages for d in p.definitions}
    for package in packages:
        for permission in package.manifest.permissions:
            target = permission.removeprefix("call:")
            if target == permission:
                continue
            if target not in owners:
                message = f"wants to call `{target}`, which does not exist."
                yield Fault(
                    package.id, "unknown-permission", message, "Correct the name, or drop the permission."
                )
            elif owners[target] not in (*package.manifest.depends, package.id):
                message = f"wants to call `{target}` without depending on `{owners[target]}`."
                yield Fault(package.id, "call-undeclared", message, f"Add `{owners[target]}` to depends.")


def skill_domains_are_somewhere(
    manifests: Mapping[str, Manifest], packages: Sequence[Package], readings: Sequence[Reading]
) -> Iterator[Fault]:
    known = {domain.name for package in packages for domain in package.domains}
    for package in packages:
        for skill in package.skills:
            for domain in sorted(set(skill.domains) - known):
                message = f"skill `{skill.name}` names unknown domain `{domain}`."
                yield Fault(package.id, "unknown-domain", message, "Correct metadata.domains in SKILL.md.")


TOGETHER: tuple[Together, ...] = (
    ids_are_unique,
    namespaces_are_unique,
    names_are_unique,
    wire_names_differ_within,
    dependencies_are_there,
    ranges_fit,
    no_cycles,
    calls_are_to_dependencies,
    skill_domains_are_somewhere,
)
