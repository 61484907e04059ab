"""What `deskmate serve` prints: commands that work as they are pasted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.cli.greeting import own_command


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A deskmate beside the running Python, in `.venv/bin` of the working folder."""
    program = tmp_path / ".venv" / "bin" / "deskmate"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)
    return program


def test_off_the_path_it_is_named_as_seen_from_here(own: Path) -> None:
    assert own_command() == ".venv/bin/deskmate"


def test_on_the_path_its_name_is_enough(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(own.parent))
    assert own_command() == "deskmate"


def test_another_one_on_the_path_is_not_meant(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other" / "deskmate"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert own_command() == ".venv/bin/deskmate"


def test_elsewhere_its_whole_path_is_quoted(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a folder").mkdir()
    monkeypatch.chdir(tmp_path / "a folder")
    assert own_command().strip("'") == str(own)


def test_without_a_program_the_module_is_run(own: Path) -> None:
    own.unlink()
    assert own_command().endswith("-m app.cli")
