"""One checked package: manifest, contract, definitions; no handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData

from app.catalog.definitions import define_domains, define_entry
from app.catalog.faults import Fault
from app.catalog.loading import load_part, open_module_space
from app.catalog.manifest import Manifest, read_manifest
from app.catalog.skills import read_skills
from app.protocol.definitions import CapabilityDefinition, DomainDefinition, SkillDefinition
from app.sdk import Command, Contract, Tool

Entry = Tool | Command


@dataclass(frozen=True, slots=True)
class Package:
    manifest: Manifest
    folder: Path
    space: str
    """Module name of this instance; `<space>.handlers` is imported on first use."""
    contract: Contract
    metadata: MetaData
    """The package's own tables; empty where it has none."""
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
    metadata = _read_tables(reading, space)
    skills, skill_faults = read_skills(manifest.id, folder)
    reading.faults += skill_faults
    if contract is not None and metadata is not None:
        reading.package = _assemble(reading, manifest, space, contract, metadata, skills)
    return reading


def _assemble(
    reading: Reading,
    manifest: Manifest,
    space: str,
    contract: Contract,
    metadata: MetaData,
    skills: tuple[SkillDefinition, ...],
) -> Package | None:
    entries: tuple[Entry, ...] = (*contract.tools, *contract.commands)
    try:
        definitions = tuple(define_entry(manifest, entry) for entry in entries)
    except Exception as error:  # noqa: BLE001 - pydantic raises many kinds for a type without a schema
        reading.faults.append(
            Fault(
                manifest.id,
                "schema-missing",
                f"a parameter or result model has no JSON Schema ({type(error).__name__}: {error}).",
                "Use fields that JSON can hold.",
            )
        )
        return None
    return Package(
        manifest=manifest,
        folder=reading.folder,
        space=space,
        contract=contract,
        metadata=metadata,
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


def _read_tables(reading: Reading, space: str) -> MetaData | None:
    if not (reading.folder / "tables.py").is_file():
        return MetaData()
    module = _import(reading, space, "tables")
    if module is None:
        return None
    base = getattr(module, "Base", None)
    metadata = getattr(base, "metadata", None)
    if isinstance(metadata, MetaData):
        return metadata
    reading.faults.append(
        Fault(
            reading.folder.name,
            "tables-base",
            "tables.py has no `Base`.",
            f'Begin it with `Base = package_base("{reading.folder.name}")`.',
        )
    )
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
