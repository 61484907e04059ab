"""Writes .env.example from app/settings.py: every setting, its default and what it is for.

Usage: python scripts/env_example.py [--check]   (--check writes nothing and fails where the file is stale)
"""

from __future__ import annotations

import ast
import itertools
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app.settings import PREFIX, Settings  # noqa: E402 -- the line above makes it importable

FILE = ROOT / ".env.example"
HEAD = """\
# Settings of Deskmate. Written by scripts/env_example.py from app/settings.py: change them there.
# A line that begins with # is the default. Docker Compose reads a copy of this file named .env; elsewhere
# export the variables. An empty one counts as unset.

# --- docker-compose.yml only ---------------------------------------------------------------------------

# Required: the password of the database that Compose makes. Letters and digits, as it goes into an address.
POSTGRES_PASSWORD=
# Required: signs cookies and cursors, the same in every process. Make one: openssl rand -hex 32
DESKMATE_SECRET_KEY=
# Required: how people reach the entry from outside, such as https://deskmate.example.org
DESKMATE_BASE_URL=
# Where the entry listens on this machine.
#DESKMATE_PORT=8080
# Folder with models.toml and packages of your own, seen by all processes as /etc/deskmate.
#DESKMATE_CONFIG_DIR=./config
# Keys of model providers, by the names that models.toml gives them in api_key_env, go into this file.
#DESKMATE_MODEL_KEYS_FILE=./model-keys.env

# --- every process -------------------------------------------------------------------------------------
"""
COMPOSE_SETS = {"secret_key", "base_url"}
"""In the head already."""


def sentences() -> dict[str, str]:
    """What stands under each field of Settings."""
    tree = ast.parse((ROOT / "app" / "settings.py").read_text(encoding="utf-8"))
    (body,) = (n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Settings")
    found: dict[str, str] = {}
    for field, after in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            told = after.value if isinstance(after, ast.Expr) else None
            if not isinstance(told, ast.Constant):
                raise SystemExit(f"app/settings.py: {field.target.id} has no sentence under it")
            found[field.target.id] = " ".join(str(told.value).split())
    return found


def shown(value: Any) -> str:
    """A default as it would be set; "" where it is unset."""
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return f"{value:g}" if isinstance(value, float) else str(value)


def text() -> str:
    told = sentences()
    lines = [HEAD]
    for name, field in Settings.model_fields.items():
        mark = "# Above. " if name in COMPOSE_SETS else "# "
        lines.append(f"{mark}{told[name]}\n#{PREFIX}{name.upper()}={shown(field.default)}\n")
    return "\n".join(lines)


def main() -> None:
    if "--check" not in sys.argv:
        FILE.write_text(text(), encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text():
        raise SystemExit(".env.example is not what app/settings.py says: run python scripts/env_example.py")


if __name__ == "__main__":
    main()
