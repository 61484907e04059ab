"""The `deskmate` command: thin, one file a subject; each loads what it needs when it is used."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from app.errors import DeskmateError

TRACEBACK_VARIABLE = "DESKMATE_TRACEBACK"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and ends the process: 0 well, 1 refused or failed, 2 wrong usage, 130 Ctrl-C.

    A person gets one line that says what to do; `DESKMATE_TRACEBACK=1` shows where it came from.
    """
    from app.cli.commands import app
    from app.logs import configure_logging

    configure_logging()
    try:
        app(args=None if arguments is None else list(arguments), prog_name="deskmate")
    except DeskmateError as error:
        _fail(f"{error.code}: {error.message}")
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 -- the outermost layer: there is nobody left to tell
        _fail(f"{type(error).__name__}: {error}")


def _fail(text: str) -> None:
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exc()
    print(f"deskmate: {text.strip()}", file=sys.stderr)
    sys.exit(1)
