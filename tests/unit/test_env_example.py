"""What operators are shown of the settings is what the code reads: no more, no less."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from app.settings import PREFIX, Settings, load_settings

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (ROOT / ".env.example").read_text()


def test_the_example_is_what_the_settings_say() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/env_example.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_each_setting_stands_there_once_with_a_default_that_may_be_set() -> None:
    section = EXAMPLE.partition("--- every process")[2]
    shown = dict(re.findall(r"^#(DESKMATE_[A-Z_]+)=(.*)$", section, re.MULTILINE))
    assert set(shown) == {PREFIX + name.upper() for name in Settings.model_fields}
    assert load_settings(shown) == load_settings({})


def test_the_readme_names_every_setting() -> None:
    named = set(re.findall(r"DESKMATE_[A-Z_]+", (ROOT / "README.md").read_text()))
    assert {PREFIX + name.upper() for name in Settings.model_fields} <= named
