"""`python -m app.storage.migrate revision "NAME"`: writes a core migration from the tables in the code.

Compared with a scratch SQLite database that holds what the history makes, so no real one is needed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from app.storage.migrate import CORE, Target, differences, new_revision, upgrade_target


async def write_revision(name: str, target: Target = CORE) -> Path | None:
    """The new file; None where the history already makes the tables of the code."""
    before = set(target.versions.glob("*.py"))
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/scratch.db"
        await upgrade_target(url, target)
        if not await differences(url, target):
            return None
        await new_revision(url, target, name, id=_next_number(before))
    (made,) = set(target.versions.glob("*.py")) - before
    return made


def _next_number(files: set[Path]) -> str:
    numbers = [int(file.name[:4]) for file in files if file.name[:4].isdigit()]
    return f"{max(numbers, default=0) + 1:04}"


def main(arguments: Sequence[str]) -> None:
    reader = argparse.ArgumentParser(prog="python -m app.storage.migrate", description=__doc__)
    commands = reader.add_subparsers(dest="command", required=True)
    revision = commands.add_parser("revision", help="write a core migration")
    revision.add_argument("name", help="a few words: add column x")
    name = reader.parse_args(arguments).name.strip()
    if not name:
        sys.exit('Say what it does: make migration NAME="add x"')
    made = asyncio.run(write_revision(name))
    if made is None:
        print("The history makes these very tables: there is nothing to write.")
    else:
        print(
            f"Wrote {made}. Read it: an owned table also needs `protect(op, TABLE)`, data may need to be "
            "moved, and PostgreSQL runs it too. Then `make format`."
        )
