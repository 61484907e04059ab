"""Packages from the command line: what there is, and what is wrong with it."""

from __future__ import annotations

from dataclasses import asdict

import orjson

from app.catalog.check import Examination, examine
from app.catalog.discover import SHIPPED
from app.errors import InvalidParams
from app.settings import load_settings


def list_all(*, as_json: bool) -> None:
    found = _examined()
    if as_json:
        print(
            orjson.dumps(
                [
                    {
                        "package": package.id,
                        "version": package.version,
                        "title": package.manifest.title,
                        "entries": sorted(package.entries),
                        "skills": sorted(skill.name for skill in package.skills),
                    }
                    for package in found.packages
                ]
            ).decode()
        )
        return
    for package in found.packages:
        print(f"{package.id} {package.version}")
        for definition in package.definitions:
            print(f"  {definition.id}  {definition.kind}, {definition.effect}  {definition.title}")
        for skill in package.skills:
            print(f"  /{skill.name}  skill")
    for fault in found.faults:
        print(f"  ! {fault}")


def check(name: str | None, *, as_json: bool) -> bool:
    """Prints the faults of one package or of all; says whether there are none.

    Raises:
        InvalidParams: there is no package of that name.
    """
    found = _examined()
    known = {package.id for package in found.packages} | {fault.package for fault in found.faults}
    if name is not None and name not in known:
        raise InvalidParams(f"There is no package {name}. Installed: {', '.join(sorted(known)) or 'none'}.")
    faults = [fault for fault in found.faults if name is None or fault.package == name]
    checked = sorted(known) if name is None else [name]
    if as_json:
        print(orjson.dumps({"checked": checked, "faults": [asdict(fault) for fault in faults]}).decode())
        return not faults
    for fault in faults:
        print(f"{fault.package}: {fault.rule}: {fault.message}\n    {fault.mend}")
    if not faults:
        print(f"No faults in {', '.join(checked) or 'no packages'}.")
    return not faults


def _examined() -> Examination:
    return examine([SHIPPED, *load_settings().capabilities])
