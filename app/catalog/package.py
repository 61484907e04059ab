"""One checked package: manifest, contract, definitions; no handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData
from sqlalchemy.orm import DeclarativeBase

from app.catalog.definitions import define_domains, define_entry
from app.catalog.faults import Fault
from app.catalog.loading import load_part, open_module_space
from app.catalog.manifest import Manifest, read_manifest
from app.catalog.skills import read_skills
from app.errors import CapabilityInvalid
from app.protocol.definitions import CapabilityDefinition, DomainDefinition, SkillDefinition
from app.sdk import Command, Contract, Tool, package_base
from app.storage.package_schema import PackageSchema

Entry = Tool | Command


@dataclass(frozen=True, slots=True)
class Package:
    manifest: Manifest
    folder: Path
    space: str
    """Module name of this instance; `<space>.handlers` is imported on first use."""
    contract: Contract
    base: type[DeclarativeBase]
    """Declarative base of the package's own tables; empty where it has none."""
    schema: PackageSchema
    entries: Mapping[str, Entry]
    """Declared entries by canonical id."""
    definitions: tuple[CapabilityDefinition, ...]
    domains: tuple[DomainDefinition, ...]
    skills: tuple[SkillDefinition, ...] = ()

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def version(self) -> str:
        return self.manifest.version

    @property
    def metadata(self) -> MetaData:
        return self.base.metadata

    @property
    def migrations(self) -> Path | None:
        """Folder of the package's own Alembic history."""
        folder = self.folder / "migrations"
        return folder if folder.is_dir() else None


@dataclass(slots=True)
class Reading:
    """What reading one folder gave: a package, or the faults that kept it from being one."""

    folder: Path
    manifest: Manifest | None = None
    package: Package | None = None
    faults: list[Fault] = field(default_factory=list[Fault])


def read_package(folder: Path) -> Reading:
    """Reads manifest, contract, tables and skills. Imports `contract.py` and `tables.py`, nothing else."""
    reading = Reading(folder)
    reading.manifest, faults = read_manifest(folder)
    reading.faults += faults
    if reading.manifest is None:
        return reading
    manifest = reading.manifest
    space = open_module_space(manifest.id, folder)
    contract = _read_contract(reading, space)
    base = _read_tables(reading, manifest, space)
    skills, skill_faults = read_skills(manifest.id, folder)
    reading.faults += skill_faults
    if contract is not None and base is not None:
        try:
            reading.package = _assemble(manifest, folder, space, contract=contract, base=base, skills=skills)
        except CapabilityInvalid as error:
            reading.faults.append(Fault(manifest.id, "table-form", error.message, "Change tables.py."))
        except Exception as error:  # noqa: BLE001 - pydantic raises many kinds for a type without a schema
            message = f"a parameter or result model has no JSON Schema ({type(error).__name__}: {error})."
            reading.faults.append(
                Fault(manifest.id, "schema-missing", message, "Use fields that JSON can hold.")
            )
    return reading


def _assemble(
    manifest: Manifest,
    folder: Path,
    space: str,
    *,
    contract: Contract,
    base: type[DeclarativeBase],
    skills: tuple[SkillDefinition, ...],
) -> Package:
    entries: tuple[Entry, ...] = (*contract.tools, *contract.commands)
    definitions = tuple(define_entry(manifest, entry) for entry in entries)
    return Package(
        manifest=manifest,
        folder=folder,
        space=space,
        contract=contract,
        base=base,
        schema=PackageSchema(base),
        entries={f"{manifest.namespace}::{entry.name}": entry for entry in entries},
        definitions=definitions,
        domains=define_domains(manifest, contract, definitions),
        skills=skills,
    )


def _read_contract(reading: Reading, space: str) -> Contract | None:
    module = _import(reading, space, "contract")
    if module is None:
        return None
    contract = getattr(module, "CONTRACT", None)
    if isinstance(contract, Contract):
        return contract
    reading.faults.append(
        Fault(
            reading.folder.name,
            "contract-missing",
            "contract.py has no `CONTRACT` of type Contract.",
            "End contract.py with `CONTRACT = Contract(domains=…, tools=…)`.",
        )
    )
    return None


def _read_tables(reading: Reading, manifest: Manifest, space: str) -> type[DeclarativeBase] | None:
    if not (reading.folder / "tables.py").is_file():
        return package_base(manifest.id)
    module = _import(reading, space, "tables")
    if module is None:
        return None
    base = getattr(module, "Base", None)
    if isinstance(base, type) and issubclass(base, DeclarativeBase):
        return base
    mend = f'Begin it with `class Base(package_base("{manifest.id}")): …` or `Base = package_base("{manifest.id}")`.'
    reading.faults.append(Fault(manifest.id, "tables-base", "tables.py has no `Base`.", mend))
    return None


def _import(reading: Reading, space: str, part: str) -> Any | None:
    try:
        return load_part(space, part)
    except Exception as error:  # noqa: BLE001 - a package's own code may raise anything at all
        reading.faults.append(
            Fault(
                reading.folder.name,
                f"{part}-import",
                f"{part}.py cannot be imported ({type(error).__name__}: {error}).",
                f"Correct {part}.py; it may import app.sdk and its own files only.",
            )
        )
        return None
