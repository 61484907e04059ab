#!/usr/bin/env bash
# Runs a command with DESKMATE_TEST_POSTGRES set to a server that answers:
# the variable's own, the standard port, a private one from installed binaries, or one installed where
# that is allowed (Debian, root). Where none can be had, says in one line what is skipped.
set -uo pipefail
cd "$(dirname "$0")/.."

answers() { # host port user
  .venv/bin/python - "$@" <<'PY' 2>/dev/null
import asyncio, sys, asyncpg
async def main():
    c = await asyncpg.connect(host=sys.argv[1], port=int(sys.argv[2]), user=sys.argv[3], database="postgres", timeout=3)
    assert await c.fetchval("select rolsuper or rolcreatedb from pg_roles where rolname = current_user")
    await c.close()
asyncio.run(main())
PY
}
binaries() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

private=""
stop_private() {
  [ -n "$private" ] && as_owner "$bin/pg_ctl" -D "$private/data" -m immediate stop >/dev/null 2>&1
  [ -n "$private" ] && rm -rf "$private"
}
as_owner() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }
start_private() {
  private=$(mktemp -d "${TMPDIR:-/tmp}/deskmate-pg-XXXXXX")
  [ "$(id -u)" = 0 ] && chown postgres:postgres "$private"
  port=$(.venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  as_owner "$bin/initdb" -D "$private/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 >"$private/log" 2>&1 &&
    as_owner "$bin/pg_ctl" -D "$private/data" -w -l "$private/log" \
      -o "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories=$private" start >/dev/null 2>&1 &&
    export DESKMATE_TEST_POSTGRES="postgresql://postgres@127.0.0.1:$port"
}

if [ -z "${DESKMATE_TEST_POSTGRES:-}" ]; then
  if answers 127.0.0.1 5432 postgres; then
    export DESKMATE_TEST_POSTGRES="postgresql://postgres@127.0.0.1:5432"
  else
    bin=$(binaries)
    if [ -z "$bin" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      echo "installing PostgreSQL for the tests"
      (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends postgresql) >/dev/null 2>&1
      bin=$(binaries)
    fi
    trap stop_private EXIT
    if [ -z "$bin" ] || ! start_private; then
      echo "SKIPPED: the PostgreSQL half of the tests (no server answers, none can be started or installed)"
    fi
  fi
fi
"$@"
