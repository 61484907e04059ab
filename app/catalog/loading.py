"""Imports a package's files under a module name of its own (C2, C17).

Every instance gets a fresh name, `deskmate_packages.<id>_g<n>`, so that a reloaded package shares
no module, class or table with the one that runs under way still hold. Relative imports work; the
folder's `__init__.py` is not run.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_ROOT = "deskmate_packages"
_generations: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))


def open_module_space(package: str, folder: Path) -> str:
    """Makes the empty parent module of one instance and returns its name."""
    if _ROOT not in sys.modules:
        sys.modules[_ROOT] = _bare_package(_ROOT, [])
    importlib.invalidate_caches()
    name = f"{_ROOT}.{package}_g{next(_generations[package])}"
    sys.modules[name] = _bare_package(name, [str(folder)])
    return name


def close_module_space(name: str) -> None:
    """Forgets an instance's modules; objects that still hold them keep them alive."""
    for module in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[module]


def load_part(space: str, part: str) -> ModuleType:
    """Imports `part` (such as `contract`) of the instance; whatever it raises passes through."""
    return importlib.import_module(f"{space}.{part}")


def is_loaded(space: str, part: str) -> bool:
    return f"{space}.{part}" in sys.modules


def _bare_package(name: str, path: list[str]) -> ModuleType:
    spec = ModuleSpec(name, loader=None, is_package=True)
    spec.submodule_search_locations = path
    return importlib.util.module_from_spec(spec)
