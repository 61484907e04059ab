"""Reads `skills/NAME/SKILL.md` (Agent Skills format, https://agentskills.io/specification).

A skill's text is data: it is handed to the model as a tool's result and grants nothing. Names in it
are not resolved, links are not followed, scripts are not run (C21).
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, cast

import yaml

from app.catalog.faults import Fault
from app.protocol.definitions import SkillDefinition

SKILL_NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(-[a-z0-9]+)*")
BODY_LIMIT_BYTES = 65_536
_FIELDS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})


def read_skills(package: str, folder: Path) -> tuple[tuple[SkillDefinition, ...], list[Fault]]:
    """All skills of a package folder, sorted by name, and the faults of those that cannot be read."""
    skills: list[SkillDefinition] = []
    faults: list[Fault] = []
    root = folder / "skills"
    if not root.is_dir():
        return (), []
    for entry in sorted(root.iterdir(), key=lambda path: path.name):
        if entry.name.startswith((".", "_")) or not entry.is_dir():
            continue
        try:
            skills.append(_read_skill(package, entry))
        except ValueError as error:
            mend = "See the Agent Skills format and change SKILL.md."
            faults.append(Fault(package, "skill", f"skills/{entry.name}: {error}.", mend))
    return tuple(skills), faults


def _read_skill(package: str, folder: Path) -> SkillDefinition:
    path = folder / "SKILL.md"
    if path.is_symlink() or folder.is_symlink():
        raise ValueError("a skill may not be a link")
    if not path.is_file():
        raise ValueError("there is no SKILL.md")
    data = path.read_bytes()
    if len(data) > BODY_LIMIT_BYTES:
        raise ValueError(f"SKILL.md is larger than {BODY_LIMIT_BYTES} bytes")
    fields, body = _split(data.decode("utf-8"))
    metadata = _metadata(fields)
    return SkillDefinition(
        name=_named(fields, folder),
        package=package,
        description=_description(fields),
        body=body,
        domains=tuple(metadata.get("domains", "").split()),
        listed=metadata.get("listed", "true") != "false",
        digest=hashlib.sha256(data).hexdigest(),
    )


def _split(text: str) -> tuple[dict[str, Any], str]:
    match = re.match(r"\ufeff?---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)(.*)", text, re.DOTALL)
    if match is None:
        raise ValueError("it does not begin with YAML frontmatter between two lines of ---")
    try:
        loaded: object = yaml.safe_load(match[1])
    except yaml.YAMLError:
        raise ValueError("the frontmatter is not YAML") from None
    if not isinstance(loaded, dict):
        raise ValueError("the frontmatter is not a mapping")
    fields = cast("dict[str, Any]", loaded)
    unknown = sorted(str(key) for key in fields if key not in _FIELDS)
    if unknown:
        raise ValueError(f"unknown frontmatter: {', '.join(unknown)} (put your own under metadata)")
    return fields, match[2].strip()


def _named(fields: dict[str, Any], folder: Path) -> str:
    name = fields.get("name")
    if not isinstance(name, str) or not SKILL_NAME.fullmatch(name):
        raise ValueError("name must be 1 to 64 of a-z, 0-9 and single hyphens inside")
    if name != folder.name:
        raise ValueError(f"name `{name}` differs from its folder")
    return name


def _description(fields: dict[str, Any]) -> str:
    description = fields.get("description")
    if not isinstance(description, str) or not 1 <= len(description.strip()) <= 1024:
        raise ValueError("description must be 1 to 1024 characters: what it does and when to use it")
    return description.strip()


def _metadata(fields: dict[str, Any]) -> dict[str, str]:
    metadata: object = fields.get("metadata", {})
    if not isinstance(metadata, dict):
        raise ValueError("metadata must be a mapping of text to text")
    pairs = cast("dict[Any, Any]", metadata)
    if not all(isinstance(key, str) and isinstance(value, str) for key, value in pairs.items()):
        raise ValueError("metadata must be a mapping of text to text")
    return cast("dict[str, str]", pairs)
