"""requirements/runtime.in names what the service imports: no more, no less; the locks name no server."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BY_NAME = {"httptools", "python-multipart"}
"""Chosen by a word (`http="httptools"`) or looked for by a library, and imported by no file of ours."""
AUTHORS_ONLY = {"pytest"}
OURS = {"app", "capabilities", "workers", "migrations"}


def imported() -> set[str]:
    """Distributions that the shipped code imports."""
    modules: set[str] = set()
    for folder in OURS:
        for file in (ROOT / folder).rglob("*.py"):
            if "tests" in file.parts:
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    modules |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    modules.add(node.module.partition(".")[0])
    known = packages_distributions()
    foreign = modules - OURS - sys.stdlib_module_names
    return {normal(known.get(module, [module])[0]) for module in foreign}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named(file: str) -> set[str]:
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    return {normal(found[0]) for line in lines if (found := re.match(r"[A-Za-z0-9][\w.-]*", line))}


def test_runtime_requirements_are_what_is_imported() -> None:
    assert named("runtime.in") == (imported() - AUTHORS_ONLY) | BY_NAME


def test_locks_hold_every_requirement_with_a_hash_and_no_server() -> None:
    for name in ("runtime", "dev"):
        lock = (ROOT / "requirements" / f"{name}.txt").read_text()
        assert named(f"{name}.in") <= named(f"{name}.txt")
        assert "://" not in lock
        assert "--index" not in lock
        entries = [entry for entry in re.split(r"\n(?=[a-z])", lock) if "==" in entry]
        assert all("--hash=sha256:" in entry for entry in entries)
