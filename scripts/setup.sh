#!/usr/bin/env bash
# Makes the virtual environment: 1. find Python 3.11+, 2. venv, 3. locked requirements, 4. deskmate itself.
# Usage: scripts/setup.sh runtime|dev|node   (node: only adds Node to the environment, for the page's build)
set -euo pipefail
cd "$(dirname "$0")/.."
which="$1"

find_python() {
  for name in python3.13 python3.12 python3.11 python3 python; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"; return
    fi
  done
  echo "Deskmate needs Python 3.11 or newer; none was found on PATH. Install it and run this again." >&2
  exit 1
}

if [ ! -x .venv/bin/python ]; then
  python=$(find_python)
  echo "1/3 making a virtual environment with $("$python" --version)"
  "$python" -m venv .venv || {
    echo "The venv module is missing. On Debian: apt-get install python3-venv" >&2; exit 1; }
fi
if [ "$which" = node ]; then
  exec .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/web.txt
fi
echo "2/3 installing locked requirements ($which)"
.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "requirements/$which.txt" 2>&1 \
  | { grep -v '^WARNING: Location' || true; }
echo "3/3 installing deskmate"
.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e . 2>&1 \
  | { grep -v '^WARNING: Location' || true; }
touch ".venv/.$which"
if [ "$which" = dev ]; then touch .venv/.runtime; fi
