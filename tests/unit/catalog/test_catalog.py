"""Schemas without handlers (C2), and the snapshot of a run (H2)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.catalog.catalog import Catalog, load_catalog
from app.catalog.loading import is_loaded
from app.testkit import user
from tests.unit.catalog.packages import write_package

BOMB = "raise RuntimeError('a handler was imported')\ndef register(bind, services): ..."


@pytest.fixture(scope="module")
def shipped() -> Catalog:
    return load_catalog()


def test_everything_is_readable_without_importing_a_handler(tmp_path: Path) -> None:
    write_package(tmp_path, commands="command(),", files={"handlers.py": BOMB})
    catalog = load_catalog(shipped=tmp_path)
    definition = catalog.find("notes::say")
    assert definition is not None
    assert definition.input_schema == {
        "additionalProperties": False,
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "type": "object",
    }
    assert not is_loaded(catalog.packages[0].space, "handlers")


def test_each_reading_makes_an_instance_of_its_own(tmp_path: Path) -> None:
    write_package(tmp_path)
    first, second = load_catalog(shipped=tmp_path), load_catalog(shipped=tmp_path)
    spaces = {catalog.packages[0].space for catalog in (first, second)}
    assert len(spaces) == 2
    assert all(f"{space}.contract" in sys.modules for space in spaces)
    assert first.packages[0].contract is not second.packages[0].contract


def test_an_entry_is_found_by_both_names(shipped: Catalog) -> None:
    assert shipped.find("mistakes::add") is shipped.find("mistakes_add") is not None
    assert shipped.find("mistakes::nothing") is None


def test_scopes_follow_namespace_and_effect(shipped: Catalog) -> None:
    scopes = {d.id: d.scopes for d in shipped.definitions()}
    assert scopes["demo::hello"] == ("demo:read",)
    assert scopes["mistakes::add"] == ("mistakes:write",)


# --- the snapshot -----------------------------------------------------------------------------


def test_user_only_entries_are_never_in_a_snapshot(shipped: Catalog) -> None:
    snapshot = shipped.snapshot(user("a"), {})
    assert "mistakes::archive" in snapshot.tools
    assert "mistakes::remove" not in snapshot.tools
    assert "memory::remove" not in snapshot.tools


def test_commands_are_never_in_a_snapshot(tmp_path: Path) -> None:
    write_package(tmp_path, commands="command(),")
    assert load_catalog(shipped=tmp_path).snapshot(user("a"), {}).tools == ("notes::say",)


def test_what_scope_does_not_allow_is_left_out(shipped: Catalog) -> None:
    snapshot = shipped.snapshot(user("a", ["mistakes:read", "session:write"]), {})
    assert snapshot.tools == ("mistakes::search", "session::list", "session::rename", "session::switch")
    assert snapshot.domains == ("mistakes", "session")


def test_what_is_switched_off_is_left_out(shipped: Catalog) -> None:
    snapshot = shipped.snapshot(user("a"), {"mistakes": False})
    assert "mistakes" not in snapshot.packages
    assert not [tool for tool in snapshot.tools if tool.startswith("mistakes::")]


def test_switching_off_a_package_takes_its_dependants_along(tmp_path: Path) -> None:
    write_package(tmp_path, "base")
    write_package(tmp_path, "above", manifest='depends = { base = ">=1" }')
    catalog = load_catalog(shipped=tmp_path)
    assert catalog.snapshot(user("a"), {"base": False}).packages == {}
    catalog.leave_out("base", "NEEDS_MIGRATION")
    assert catalog.find("above::say") is None
    assert catalog.snapshot(user("a"), {}).packages == {}


def test_equal_snapshots_have_equal_digests_and_others_do_not(shipped: Catalog) -> None:
    one = shipped.snapshot(user("a"), {})
    assert load_catalog().snapshot(user("b"), {"mistakes": True}).digest == one.digest
    assert shipped.snapshot(user("a"), {"mistakes": False}).digest != one.digest
    assert shipped.snapshot(user("a"), {}, ["mistakes"]).digest != one.digest


names = st.text(max_size=20) | st.sampled_from(
    ["mistakes", "memory", "demo", "session", "mistakes::remove", "*"]
)


class TestSnapshotLaw:
    """Whatever is asked for, a snapshot holds no more than scope, switches and policy allow (H2, C21)."""

    @given(
        scopes=st.sets(
            st.sampled_from(["mistakes:read", "memory:write", "demo:read", "session:read", "x:write"])
        ),
        enabled=st.dictionaries(names, st.booleans(), max_size=4),
        preloaded=st.lists(names, max_size=4),
    )
    def test_never_widens(
        self, shipped: Catalog, scopes: set[str], enabled: dict[str, bool], preloaded: list[str]
    ) -> None:
        principal = user("a", scopes)
        snapshot = shipped.snapshot(principal, enabled, preloaded)
        widest = shipped.snapshot(user("a"), {})
        assert set(snapshot.tools) <= set(widest.tools)
        assert set(snapshot.preloaded) <= set(snapshot.domains) <= set(widest.domains)
        for name in snapshot.tools:
            definition = shipped.find(name)
            assert definition is not None
            assert enabled.get(definition.package, True)
            assert all(principal.allows(scope) for scope in definition.scopes)
