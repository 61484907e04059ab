#!/usr/bin/env bash
# Format, lint, types, architecture: all of them, then fails if any did.
set -uo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
failed=0
"$bin/ruff" format --check -q . || { echo "ruff format: run 'make format'"; failed=1; }
"$bin/ruff" check -q . || failed=1
"$bin/basedpyright" --level error || failed=1
"$bin/lint-imports" --no-cache >/tmp/deskmate-lint-imports.$$ 2>&1 || { cat "/tmp/deskmate-lint-imports.$$"; failed=1; }
rm -f "/tmp/deskmate-lint-imports.$$"
scripts/web.sh check || failed=1
[ "$failed" = 0 ] && echo "checks passed: format, lint, types, imports, page"
exit "$failed"
