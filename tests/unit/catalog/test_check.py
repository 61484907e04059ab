"""Every fault of a package is found before any handler is imported, and says how to mend it (C3, C6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.catalog.catalog import load_catalog
from app.catalog.check import examine
from app.errors import CapabilityInvalid
from tests.unit.catalog.packages import CONTRACT, MANIFEST, write_package


def rules(root: Path) -> set[str]:
    return {fault.rule for fault in examine([root]).faults}


def test_a_whole_package_has_no_fault(tmp_path: Path) -> None:
    write_package(tmp_path, commands="command(),")
    examination = examine([tmp_path])
    assert examination.faults == ()
    assert [package.id for package in examination.packages] == ["notes"]


MANIFEST_FAULTS = {
    "unknown service": ('requires = ["storage", "telepathy"]', "unknown-service"),
    "unknown permission": ('permissions = ["root:write"]', "unknown-permission"),
    "unknown called entry": ('permissions = ["call:other::thing"]', "unknown-permission"),
    "unknown hook": ('hooks = ["before_breakfast"]', "unknown-hook"),
    "missing dependency": ('depends = { other = ">=1" }', "dependency-missing"),
    "dependency without a range": ('depends = { other = "newest" }', "manifest-form"),
    "depends on itself": ('depends = { notes = ">=1" }', "cycle"),
    "config that is no schema": ('config = { type = "no such type" }', "config-schema"),
    "unknown key": ("colour = 'red'", "manifest-form"),
    "unknown load policy": ('load = "sometimes"', "manifest-form"),
    "the built-in namespace": ('namespace = "catalog"', "namespace-reserved"),
    "a namespace with capitals": ('namespace = "Notes"', "manifest-form"),
    "no TOML": ("= =", "manifest-toml"),
}


@pytest.mark.parametrize(("line", "rule"), MANIFEST_FAULTS.values(), ids=MANIFEST_FAULTS.keys())
def test_a_fault_in_the_manifest_is_named(tmp_path: Path, line: str, rule: str) -> None:
    write_package(tmp_path, manifest=line)
    assert rule in rules(tmp_path)


@pytest.mark.parametrize("missing", ["id", "version", "title", "description"])
def test_a_missing_member_is_named(tmp_path: Path, missing: str) -> None:
    kept = [line for line in MANIFEST.format(id="notes").splitlines() if not line.startswith(missing)]
    write_package(tmp_path, files={"manifest.toml": "\n".join(kept)})
    faults = examine([tmp_path]).faults
    assert [fault.rule for fault in faults] == ["manifest-form"]
    assert f"`{missing}`" in faults[0].message


@pytest.mark.parametrize("version", ["", "one", "1.0.0-", "v 1"])
def test_a_version_must_be_one(tmp_path: Path, version: str) -> None:
    manifest = MANIFEST.format(id="notes").replace("1.2.0", version)
    write_package(tmp_path, files={"manifest.toml": manifest})
    assert rules(tmp_path) == {"manifest-form"}


def test_the_id_is_the_folders_name(tmp_path: Path) -> None:
    write_package(tmp_path, files={"manifest.toml": MANIFEST.format(id="memos")})
    assert "folder-name" in rules(tmp_path)


ENTRY_FAULTS = {
    "unknown domain": ("tool(domain='elsewhere'),", "", "unknown-domain"),
    "name with capitals": ("tool('Say'),", "", "entry-name"),
    "two tools of one name": ("tool(), tool(),", "", "name-clash"),
    "tool and command of one name": ("tool('do'),", "command('do'),", "name-clash"),
    "destructive reading": ("tool(destructive=True),", "", "destructive-read"),
    "destructive reading command": ("", "command(destructive=True),", "destructive-read"),
    "no description": ("tool(description=''),", "", "description"),
    "long title": ("tool(title='x' * 81),", "", "title"),
    "foreign scope": ("tool(scopes=('files:read',)),", "", "scope-not-permitted"),
    "no scope": ("tool(scopes=()),", "", "no-scope"),
    "version nought": ("tool(version=0),", "", "limits"),
    "parameters that take anything": ("tool(params=Answer.__base__.__base__),", "", "schema-missing"),
    "no parameters": ("tool(params=None),", "", "schema-missing"),
    "parameters without a schema": (
        "tool(params=type('P', (Params,), {'__annotations__': {'call': __import__('collections').abc.Callable}})),",
        "",
        "schema-missing",
    ),
}


@pytest.mark.parametrize(("tools", "commands", "rule"), ENTRY_FAULTS.values(), ids=ENTRY_FAULTS.keys())
def test_a_fault_in_an_entry_is_named(tmp_path: Path, tools: str, commands: str, rule: str) -> None:
    write_package(tmp_path, tools=tools, commands=commands)
    assert rule in rules(tmp_path)


SCHEMA_FAULTS = {
    "contains itself": "class Tree(Params):\n    below: list['Tree'] = []\n",
    "nested open object": (
        "from pydantic import BaseModel\nclass Open(BaseModel):\n    x: int = 0\nclass Tree(Params):\n    o: Open\n"
    ),
    "remote reference": (
        "from typing import Annotated\nfrom pydantic import Field\nclass Tree(Params):\n"
        "    x: Annotated[int, Field(json_schema_extra={'$ref': 'https://example.org/x.json'})]\n"
    ),
    "too deep": "class Tree(Params):\n    x: " + "list[" * 10 + "int" + "]" * 10 + "\n",
}


@pytest.mark.parametrize("source", SCHEMA_FAULTS.values(), ids=SCHEMA_FAULTS.keys())
def test_a_schema_that_cannot_be_shown_is_refused(tmp_path: Path, source: str) -> None:
    contract = CONTRACT.format(id="notes", tools="tool(params=Tree),", commands="")
    contract = contract.replace("\n\ndef tool(", f"\n\n{source}\n\ndef tool(", 1)
    write_package(tmp_path, files={"contract.py": contract})
    assert rules(tmp_path) == {"schema-form"}


FILE_FAULTS = {
    "contract that cannot be imported": ({"contract.py": "import no_such_module"}, "contract-import"),
    "contract with a syntax error": ({"contract.py": "def"}, "contract-import"),
    "contract without CONTRACT": ({"contract.py": "X = 1"}, "contract-missing"),
    "tables without Base": ({"tables.py": "X = 1"}, "tables-base"),
    "handlers without register": ({"handlers.py": "X = 1"}, "register-missing"),
    "skill without frontmatter": ({"skills/add-up/SKILL.md": "Add."}, "skill"),
    "skill of another name": (
        {"skills/add-up/SKILL.md": "---\nname: sum\ndescription: x\n---\nAdd."},
        "skill",
    ),
    "skill with a stray field": (
        {"skills/add-up/SKILL.md": "---\nname: add-up\ndescription: x\nowner: me\n---\nAdd."},
        "skill",
    ),
    "skill of an unknown domain": (
        {
            "skills/add-up/SKILL.md": "---\nname: add-up\ndescription: x\nmetadata:\n  domains: sums\n---\nAdd."
        },
        "unknown-domain",
    ),
}


@pytest.mark.parametrize(("files", "rule"), FILE_FAULTS.values(), ids=FILE_FAULTS.keys())
def test_a_fault_in_a_file_is_named(tmp_path: Path, files: dict[str, str], rule: str) -> None:
    write_package(tmp_path, files=files)
    assert rule in rules(tmp_path)


def test_missing_handlers_are_named(tmp_path: Path) -> None:
    (write_package(tmp_path) / "handlers.py").unlink()
    assert rules(tmp_path) == {"handlers-missing"}


TABLES = """
from app.sdk import OwnedMixin, package_base
from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

Base = package_base("notes")


class Note({mixin}Base):
    __tablename__ = "notes"
    id: Mapped[str] = mapped_column({key}primary_key=True)
"""


def test_tables_need_storage_and_migrations(tmp_path: Path) -> None:
    write_package(tmp_path, files={"tables.py": TABLES.format(mixin="OwnedMixin, ", key="")})
    assert rules(tmp_path) == {"storage-undeclared", "migrations-missing"}


@pytest.mark.parametrize(
    ("mixin", "key"),
    [("", ""), ("OwnedMixin, ", "ForeignKey('users.id'), ")],
    ids=["nobody's", "foreign key"],
)
def test_a_table_outside_tenancy_is_refused(tmp_path: Path, mixin: str, key: str) -> None:
    write_package(tmp_path, files={"tables.py": TABLES.format(mixin=mixin, key=key)})
    assert rules(tmp_path) == {"table-form"}


# --- several packages -------------------------------------------------------------------------


def test_wire_names_that_meet_are_refused(tmp_path: Path) -> None:
    write_package(tmp_path, "a", tools="tool('b_c'),")
    write_package(tmp_path, "a_b", tools="tool('c'),")
    assert rules(tmp_path) == {"wire-name-clash"}


def test_one_namespace_twice_is_refused(tmp_path: Path) -> None:
    write_package(tmp_path, "a", manifest='namespace = "same"')
    write_package(tmp_path, "b", manifest='namespace = "same"')
    assert {"namespace-clash", "entry-clash", "wire-name-clash"} == rules(tmp_path)


def test_one_id_in_two_roots_is_refused(tmp_path: Path) -> None:
    write_package(tmp_path / "one")
    write_package(tmp_path / "two")
    faults = examine([tmp_path / "one", tmp_path / "two"]).faults
    assert "package-clash" in {fault.rule for fault in faults}


def test_a_cycle_is_shown_whole(tmp_path: Path) -> None:
    for name, needs in (("a", "b"), ("b", "c"), ("c", "a")):
        write_package(tmp_path, name, manifest=f'depends = {{ {needs} = ">=1" }}')
    (fault,) = examine([tmp_path]).faults
    assert fault.rule == "cycle"
    assert all(name in fault.message for name in "abc")


def test_conflicting_ranges_name_both_sides(tmp_path: Path) -> None:
    write_package(tmp_path, "base")
    write_package(tmp_path, "new", manifest='depends = { base = ">=1,<2" }')
    write_package(tmp_path, "old", manifest='depends = { base = "<1" }')
    (fault,) = examine([tmp_path]).faults
    assert (fault.package, fault.rule) == ("old", "range-conflict")
    assert "`new`" in fault.message


def test_a_version_out_of_range_is_refused(tmp_path: Path) -> None:
    write_package(tmp_path, "base")
    write_package(tmp_path, "user", manifest='depends = { base = ">=2" }')
    assert rules(tmp_path) == {"wrong-version"}


def test_calls_go_to_dependencies_only(tmp_path: Path) -> None:
    write_package(tmp_path, "base")
    write_package(tmp_path, "user", manifest='permissions = ["call:base::say"]')
    assert rules(tmp_path) == {"call-undeclared"}


def test_packages_stand_in_load_order(tmp_path: Path) -> None:
    write_package(tmp_path, "a", manifest='depends = { z = ">=1" }')
    write_package(tmp_path, "m")
    write_package(tmp_path, "z")
    assert [package.id for package in examine([tmp_path]).packages] == ["m", "z", "a"]


def test_all_faults_come_at_once_each_with_package_and_mend(tmp_path: Path) -> None:
    write_package(tmp_path, "a", manifest='requires = ["telepathy"]', tools="tool(destructive=True),")
    write_package(tmp_path, "b", files={"contract.py": "def"})
    faults = examine([tmp_path]).faults
    assert {fault.rule for fault in faults} == {"unknown-service", "destructive-read", "contract-import"}
    assert all(fault.mend for fault in faults)
    with pytest.raises(CapabilityInvalid) as refused:
        load_catalog(shipped=tmp_path)
    assert all(str(fault) in refused.value.message for fault in faults)
