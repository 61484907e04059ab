# Each target with a `##` line is shown by `make help`. Set-up steps run once and again when their inputs change.
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV := .venv
PYTHON := $(VENV)/bin/python
HOST ?= 127.0.0.1
PORT ?= 8000
export DESKMATE_DATA_DIR ?= $(CURDIR)/data

.PHONY: help run web web-dev test check format dev seed bench test-long migration lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml
	@scripts/setup.sh runtime
$(VENV)/.dev: requirements/dev.txt pyproject.toml
	@scripts/setup.sh dev

run: $(VENV)/.runtime ## set everything up and serve on http://127.0.0.1:8000
	@scripts/web.sh build || echo "The page could not be built (see above); the API is served without it. Then: make web"
	@exec $(VENV)/bin/deskmate serve --host $(HOST) --port $(PORT) --first-user learner@localhost

web: $(VENV)/.runtime ## build the page into web/dist
	@scripts/web.sh build

web-dev: $(VENV)/.runtime ## serve the page with reload on :5173, beside `make dev`
	@scripts/web.sh dev

test: $(VENV)/.dev web ## set everything up and pass every test
	@scripts/web.sh test
	@scripts/with_postgres.sh scripts/with_chromium.sh $(PYTHON) -m pytest -q -m "not long" $(TESTARGS)
	@scripts/checks.sh

check: $(VENV)/.dev ## format, lint, types and architecture, without tests
	@scripts/checks.sh

format: $(VENV)/.dev ## rewrite the code in our format
	@$(VENV)/bin/ruff check --fix -q . ; $(VENV)/bin/ruff format -q . ; scripts/web.sh npm run --silent format

dev: $(VENV)/.dev ## serve and restart on every change
	@$(VENV)/bin/deskmate migrate && exec $(VENV)/bin/uvicorn app.main:create_app --factory --reload --reload-dir app --reload-dir capabilities --host $(HOST) --port $(PORT)

seed: $(VENV)/.runtime ## put example data into the database of `make run`
	@$(PYTHON) scripts/seed.py

bench: $(VENV)/.dev ## measure against a bare proxy on this machine
	@scripts/with_postgres.sh $(PYTHON) -m bench.run $(BENCHARGS)

test-long: $(VENV)/.dev ## campaigns: large sizes, many kills
	@scripts/with_postgres.sh $(PYTHON) -m pytest -q -m long $(TESTARGS)

migration: $(VENV)/.dev ## write a core migration from the tables: make migration NAME="add x"
	@$(PYTHON) -m app.storage.migrate revision "$(NAME)"

lock: $(VENV)/.dev ## renew the hash-locked requirement files
	@scripts/lock.sh

clean: ## remove what set-up made
	rm -rf $(VENV) web/dist web/node_modules build *.egg-info .pytest_cache .ruff_cache .hypothesis
