#!/usr/bin/env bash
# Runs a command with DESKMATE_TEST_CHROMIUM set to a Chromium: the variable's own, one on PATH, or one
# installed where that is allowed (Debian, root). Where none can be had, says in one line what is skipped.
set -uo pipefail

find_chromium() {
  for name in chromium chromium-browser google-chrome-stable google-chrome; do
    command -v "$name" && return
  done
}

if [ -z "${DESKMATE_TEST_CHROMIUM:-}" ]; then
  DESKMATE_TEST_CHROMIUM=$(find_chromium)
  if [ -z "$DESKMATE_TEST_CHROMIUM" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing Chromium for the browser's tests"
    (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium fonts-noto-cjk) >/dev/null 2>&1
    DESKMATE_TEST_CHROMIUM=$(find_chromium)
  fi
  if [ -n "$DESKMATE_TEST_CHROMIUM" ]; then export DESKMATE_TEST_CHROMIUM
  else unset DESKMATE_TEST_CHROMIUM; echo "SKIPPED: the tests in a browser (no Chromium is here, none can be installed)"; fi
fi
exec "$@"
