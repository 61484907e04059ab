#!/usr/bin/env bash
# Renews requirements/*.txt: every version and hash, for all platforms, with no index lines.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -m pip install -q uv
for name in runtime dev; do
  .venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links "requirements/$name.in" requirements/build.in -o "requirements/$name.txt"
done
# Node for the page, where PATH has none: the version that dev has
.venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
  --no-emit-index-url --no-emit-find-links requirements/web.in -c requirements/dev.txt -o requirements/web.txt
