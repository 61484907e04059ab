"""What `deskmate capability check` and `list` are given to print (C20)."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.catalog.discover import SHIPPED
from app.testkit import check_packages, list_packages
from tests.unit.catalog.packages import write_package


def test_the_shipped_packages_have_no_fault() -> None:
    report = check_packages()
    assert report.faults == ()
    assert report.as_dict()["ok"] is True


def test_a_fault_is_told_with_its_mend(tmp_path: Path) -> None:
    write_package(tmp_path, manifest='requires = ["telepathy"]')
    report = check_packages(shipped=tmp_path)
    assert not report.ok
    assert "notes: requires unknown service `telepathy`.\n    Known: compute, files" in report.as_text()
    assert report.as_dict()["faults"][0]["rule"] == "unknown-service"


def test_a_package_is_checked_by_name(tmp_path: Path) -> None:
    write_package(tmp_path, "good")
    write_package(tmp_path, "bad", tools="tool(title=''),")
    (tmp_path / "half").mkdir()
    assert check_packages("good", shipped=tmp_path).ok
    assert [fault.rule for fault in check_packages("bad", shipped=tmp_path).faults] == ["title"]
    assert [fault.rule for fault in check_packages("half", shipped=tmp_path).faults] == ["passed-over"]
    assert [fault.rule for fault in check_packages("none", shipped=tmp_path).faults] == ["not-found"]


HANDLER_FAULTS = {
    "import fails": ("import no_such_module\ndef register(bind, services): ...", "ModuleNotFoundError"),
    "nothing bound": ("def register(bind, services): ...", "no handler is bound for notes::say"),
    "undeclared tool": (
        "def register(bind, services):\n    bind.tool('shout')",
        "`shout` is bound but not declared",
    ),
    "undeclared service": ("def register(bind, services):\n    services.memory", 'add "memory" to requires'),
    "tool bound as command": (
        "def register(bind, services):\n    bind.command('say')",
        "command `say` is bound",
    ),
    "bound twice": (
        "def register(bind, services):\n    bind.tool('say')(print)\n    bind.tool('say')(print)",
        "`notes::say` is bound twice",
    ),
}


@pytest.mark.parametrize(("handlers", "told"), HANDLER_FAULTS.values(), ids=HANDLER_FAULTS.keys())
def test_handlers_that_cannot_be_bound_are_told(tmp_path: Path, handlers: str, told: str) -> None:
    write_package(tmp_path, files={"handlers.py": handlers})
    (fault,) = check_packages(shipped=tmp_path).faults
    assert told in fault.message


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("handlers.py", "import app.storage.database"),
        ("handlers.py", "from app import factory"),
        ("deep/inside.py", "from app.catalog.gate import Gate"),
        ("handlers.py", "from capabilities.mistakes import tables"),
        ("tests/test_x.py", "from app.host import runs"),
        ("service.py", "from app.testkit import ALICE"),
    ],
)
def test_imports_past_the_sdk_are_told(tmp_path: Path, file: str, line: str) -> None:
    bound = "\ndef register(bind, services):\n    async def h(call, params): ...\n    bind.tool('say')(h)"
    write_package(tmp_path, files={file: f"def later():\n    {line}\n{bound}"})
    assert [fault.rule for fault in check_packages(shipped=tmp_path).faults] == ["foreign-import"]


def test_packages_are_listed_with_what_they_offer() -> None:
    rows = {row.id: row for row in list_packages()}
    assert rows["hello"].tools == ("demo::hello",)
    assert rows["session"].load == "eager"
    assert rows.keys() >= {path.parent.name for path in SHIPPED.glob("*/manifest.toml")}
