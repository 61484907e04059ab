"""Writes small packages into a folder, whole by default, with one thing changed by a test."""

from __future__ import annotations

from pathlib import Path

MANIFEST = """
id = "{id}"
version = "1.2.0"
title = "Notes"
description = "Keeps notes."
"""

CONTRACT = """
from app.sdk import Command, Contract, Domain, Params, Result, Tool


class Text(Params):
    text: str


class Answer(Result):
    said: str


def tool(name="say", **changes):
    given = dict(domain="{id}", title="Say", description="Says it.", params=Text, result=Answer, effect="read")
    return Tool(name=name, **{{**given, **changes}})


def command(name="do", **changes):
    given = dict(title="Do", description="Does it.", params=Text, result=Answer, effect="read")
    return Command(name=name, **{{**given, **changes}})


DOMAIN = Domain("{id}", "Notes", "Load it for notes.")
CONTRACT = Contract(domains=(DOMAIN,), tools=({tools}), commands=({commands}))
"""

HANDLERS = """
from .contract import CONTRACT, Answer


def register(bind, services):
    async def answer(call, params):
        return Answer(said=params.text)

    for entry in CONTRACT.tools:
        bind.tool(entry.name)(answer)
    for entry in CONTRACT.commands:
        bind.command(entry.name)(answer)
"""


def write_package(
    root: Path,
    name: str = "notes",
    *,
    manifest: str = "",
    tools: str = "tool(),",
    commands: str = "",
    files: dict[str, str] | None = None,
) -> Path:
    """`manifest` is added to the default one, `files` replaces whole files."""
    folder = root / name
    written = {
        "manifest.toml": MANIFEST.format(id=name) + manifest,
        "contract.py": CONTRACT.format(id=name, tools=tools, commands=commands),
        "handlers.py": HANDLERS,
        **(files or {}),
    }
    for path, text in written.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    return folder
