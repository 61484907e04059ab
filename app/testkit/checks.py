"""What `deskmate capability check` and `list` say (C20). Plain functions; the CLI prints them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.catalog.bind import PackageBinding
from app.catalog.check import Examination, examine
from app.catalog.discover import SHIPPED
from app.catalog.faults import Fault
from app.catalog.manifest import SERVICES
from app.catalog.package import Package


@dataclass(frozen=True, slots=True)
class CheckReport:
    checked: tuple[str, ...]
    """Ids (or folder names) that were looked at."""
    faults: tuple[Fault, ...]
    passed_over: tuple[tuple[str, str], ...]
    """Entries that are no packages, with the reason."""

    @property
    def ok(self) -> bool:
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "ok": self.ok,
            "checked": list(self.checked),
            "faults": [asdict(fault) for fault in self.faults],
            "passed_over": [{"path": path, "reason": reason} for path, reason in self.passed_over],
        }

    def as_text(self) -> str:
        lines = [
            f"{fault.package}: {fault.message}\n    {fault.mend}  [{fault.rule}]" for fault in self.faults
        ]
        lines += [f"passed over: {path} ({reason})" for path, reason in self.passed_over]
        count = len(self.checked)
        lines.append(f"{count} package(s) checked, {len(self.faults)} fault(s).")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class PackageRow:
    """One line of `deskmate capability list`."""

    id: str
    version: str
    title: str
    load: str
    tools: tuple[str, ...]
    commands: tuple[str, ...]
    skills: tuple[str, ...]


def check_packages(
    name: str | None = None, *, extra: Iterable[Path] = (), shipped: Path = SHIPPED
) -> CheckReport:
    """All faults of all packages, or of the one called `name`. Unlike the service, binds handlers too."""
    examination = examine([shipped, *extra])
    faults = [*examination.faults, *_deeper(examination)]
    checked = sorted({package.id for package in examination.packages} | {fault.package for fault in faults})
    if name is not None:
        faults = [fault for fault in faults if fault.package == name]
        if name not in checked:
            faults.append(_not_found(name, examination, checked))
        checked = [name]
    hidden = ("__", ".")
    passed = [one for one in examination.passed_over if not one.path.name.startswith(hidden)]
    return CheckReport(
        checked=tuple(checked),
        faults=tuple(faults),
        passed_over=tuple((str(one.path), one.reason) for one in passed),
    )


def list_packages(*, extra: Iterable[Path] = (), shipped: Path = SHIPPED) -> tuple[PackageRow, ...]:
    """Installed packages in load order, faulty ones left out."""
    return tuple(
        PackageRow(
            id=package.id,
            version=package.version,
            title=package.manifest.title,
            load=package.manifest.load,
            tools=tuple(d.id for d in package.definitions if d.kind == "tool"),
            commands=tuple(d.id for d in package.definitions if d.kind == "command"),
            skills=tuple(skill.name for skill in package.skills),
        )
        for package in examine([shipped, *extra]).packages
    )


def _not_found(name: str, examination: Examination, checked: Iterable[str]) -> Fault:
    for one in examination.passed_over:
        if one.path.name == name:
            return Fault(
                name, "passed-over", f"{one.path} is not taken for a package: {one.reason}.", "Complete it."
            )
    return Fault(name, "not-found", "there is no such package.", f"Installed: {', '.join(checked)}.")


def _deeper(examination: Examination) -> Iterator[Fault]:
    """Checks that run or read a package's behaviour; only for packages whose declaration is whole."""
    faulty = {fault.package for fault in examination.faults}
    for package in examination.packages:
        if package.id not in faulty:
            yield from imports_stay_inside(package)
            yield from handlers_bind(package)


def handlers_bind(package: Package) -> Iterator[Fault]:
    if not package.entries:
        return
    services = {name: _StandIn(name) for name in SERVICES}
    bound = PackageBinding(package, services).bind()
    if isinstance(bound, Fault):
        yield bound


def imports_stay_inside(package: Package) -> Iterator[Fault]:
    """A package reaches the service through app.sdk alone (its tests through app.testkit too)."""
    for path in sorted(package.folder.rglob("*.py")):
        inside = path.relative_to(package.folder)
        allowed = ("app.sdk", "app.testkit") if inside.parts[0] == "tests" else ("app.sdk",)
        for module, line in _imported(path):
            mend = f"Import from {' or '.join(allowed)}, or declare a service in requires."
            ours = module == "app" or module.startswith(("app.", "capabilities.", "workers."))
            if ours and not any(module == root or module.startswith(f"{root}.") for root in allowed):
                yield Fault(package.id, "foreign-import", f"{inside}:{line} imports `{module}`.", mend)


def _imported(path: Path) -> Iterator[tuple[str, int]]:
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, ValueError):
        return  # told when it is imported
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module == "app":
                yield from ((f"app.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module, node.lineno


class _StandIn:
    """A handle while binding: it exists, and cannot be used before a call."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        raise AttributeError(f"service `{self._name}` is used while binding; use it inside a handler")
