"""Packages from the command line: what there is, and what is wrong with it."""

from __future__ import annotations

from dataclasses import asdict

import orjson

from app.settings import load_settings
from app.testkit.checks import check_packages, list_packages


def list_all(*, as_json: bool) -> None:
    rows = list_packages(extra=load_settings().capabilities)
    if as_json:
        print(orjson.dumps([asdict(row) for row in rows]).decode())
        return
    for row in rows:
        print(f"{row.id} {row.version}  {row.title}")
        for kind, names in (("tool", row.tools), ("command", row.commands), ("skill", row.skills)):
            for name in names:
                print(f"  {kind:8}{name}")


def check(name: str | None, *, as_json: bool) -> bool:
    """Prints the faults of one package or of all; says whether there are none."""
    report = check_packages(name, extra=load_settings().capabilities)
    print(orjson.dumps(report.as_dict()).decode() if as_json else report.as_text())
    return report.ok
