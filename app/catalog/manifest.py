"""`manifest.toml`: what a package is and needs, readable without importing any of its code (C2, C3)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from app.catalog.faults import Fault
from app.sdk import ServiceName

SERVICES: frozenset[str] = frozenset(get_args(ServiceName))

HOOKS: frozenset[str] = frozenset(
    {
        "session_start",
        "session_end",
        "turn_start",
        "turn_end",
        "before_tool_use",
        "after_tool_use",
        "before_compact",
        "on_error",
    }
)

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


def _name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError("must be 1 to 32 of a-z, 0-9 and _, starting with a letter")
    return value


def _version(value: str) -> str:
    try:
        Version(value)
    except InvalidVersion:
        raise ValueError('must be a version such as "1.0.0" (PEP 440)') from None
    return value


def _range(value: str) -> str:
    try:
        SpecifierSet(value)
    except InvalidSpecifier:
        raise ValueError('must be a version range such as ">=1,<2"') from None
    return value


Name = Annotated[str, AfterValidator(_name)]


class Manifest(BaseModel):
    """The file as data. Whether services, permissions and hooks exist is `check`'s business."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: Name
    version: Annotated[str, AfterValidator(_version)]
    title: str = Field(min_length=1, max_length=80)
    description: str = Field(min_length=1, max_length=1024)
    namespace: Name = ""
    requires: tuple[str, ...] = Field(default=(), strict=False)
    depends: dict[str, Annotated[str, AfterValidator(_range)]] = Field(default_factory=dict[str, str])
    provides: tuple[str, ...] = Field(default=(), strict=False)
    permissions: tuple[str, ...] = Field(default=(), strict=False)
    hooks: tuple[str, ...] = Field(default=(), strict=False)
    config: dict[str, Any] = Field(default_factory=dict[str, Any])
    """JSON Schema of the package's settings; empty: it has none."""
    load: Literal["lazy", "eager"] = "lazy"

    def model_post_init(self, context: Any) -> None:
        if not self.namespace:
            object.__setattr__(self, "namespace", self.id)


def read_manifest(folder: Path) -> tuple[Manifest | None, list[Fault]]:
    """The manifest of a package folder, or every fault of its form."""
    path = folder / "manifest.toml"
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return None, [
            Fault(folder.name, "manifest-toml", f"manifest.toml is not TOML: {error}.", "Correct that line.")
        ]
    try:
        return Manifest.model_validate(data), []
    except ValidationError as error:
        return None, [_form_fault(folder.name, problem) for problem in error.errors()]


def _form_fault(package: str, problem: Any) -> Fault:
    where = ".".join(str(part) for part in problem["loc"]) or "manifest"
    if problem["type"] == "missing":
        return Fault(package, "manifest-form", f"manifest.toml has no `{where}`.", f"Add `{where} = …`.")
    if problem["type"] == "extra_forbidden":
        known = ", ".join(Manifest.model_fields)
        return Fault(
            package, "manifest-form", f"manifest.toml has an unknown key `{where}`.", f"Known keys: {known}."
        )
    text = str(problem["msg"]).removeprefix("Value error, ")
    return Fault(
        package, "manifest-form", f"`{where}` in manifest.toml is wrong: {text}.", f"Change `{where}`."
    )
