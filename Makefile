# `make` prints the targets. A fresh machine needs python3 (3.11 or newer, with venv) and make; everything else goes to .venv.

PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= auto
export MNEMIC_DATA ?= ../shared/data
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# With it, each of the processes that tests start would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run serve test quick style prose types layers proof house check fix requirements surface reference bench drill docs ts site site-check shots constraints clean

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

.venv/.base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name it: make PYTHON=python3.12 …"; exit 1; }
	@[ -x $(BIN)/python ] || $(PYTHON) -c 'import ensurepip, venv' \
	  || { echo "Python's venv is incomplete here. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@[ -x $(BIN)/pip ] || $(PYTHON) -m venv .venv
	@echo "Installing Mnemic into .venv; the first time takes a minute or more."
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	@touch $@

.venv/.dev: .venv/.base
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

setup: .venv/.dev ## create .venv with everything that developing needs (quick the second time)

.venv/.all: .venv/.base
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[all]'
	@echo
	@touch $@

run: .venv/.all ## show what Mnemic does: a guided tour, and then, on a terminal, the console on a demo store
	@$(BIN)/mnemic tour
	@if [ -t 1 ]; then echo; exec $(BIN)/mnemic demo; fi

serve: .venv/.all ## start REST, MCP and the proxy on this machine
	@$(BIN)/mnemic serve

test: .venv/.dev ## run the tests, in parallel
	@$(BIN)/pytest -n $(WORKERS)

style: .venv/.dev ## lint and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.dev ## pyright, strict
	$(BIN)/pyright

prose: .venv/.dev ## plain English in documents, help, errors and docstrings
	@$(BIN)/python scripts/prose.py

layers: .venv/.dev ## who may import whom
	$(BIN)/lint-imports

proof: .venv/.dev ## claims about requirements have tests
	$(BIN)/python scripts/requirements.py --check

house: .venv/.dev ## how large and how split the package is, beside the limits
	@$(BIN)/python scripts/house.py --check

check: SAMPLE = 4
check: style prose types layers proof house test ts site-check ## what CI runs: all of these, and a few pages of the site in a browser

ts: .venv/.dev ## lint the OpenAPI description, and build and test the TypeScript client; without npm, say so
	@if command -v npm >/dev/null; then \
	  $(BIN)/python scripts/typescript_client.py --description clients/typescript/build/openapi.json \
	  && cd clients/typescript && npm ci --silent && npm run --silent build && npm run --silent lint \
	  && npm run --silent types && npm run --silent test; \
	else echo "npm is missing, so the TypeScript client was not built and the OpenAPI description not linted"; fi

quick: .venv/.dev ## style, layers, sizes, and the types and tests of what changed, within two minutes
	@$(BIN)/python scripts/quick.py

fix: .venv/.dev ## repair what tools can repair: lint and format
	-$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

requirements: .venv/.dev ## list every requirement with the tests that prove it
	@$(BIN)/python scripts/requirements.py

surface: .venv/.dev ## write down the public surface, after a change of it that is meant
	@$(BIN)/python scripts/public_surface.py --write

reference: .venv/.dev surface ## write down the commands and the public surface, after a change of them that is meant
	@$(BIN)/python scripts/command_options.py --write
	@$(BIN)/python scripts/cli_reference.py --write
	@$(BIN)/python scripts/typescript_client.py --write

bench: .venv/.dev ## run every script under benchmarks/; results are written beside them
	@for script in $(sort $(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

drill: .venv/.dev ## run the drills under drills/ on the big sets in MNEMIC_DATA; ONLY="name name" for some, LONG=1 for long forms
	@$(BIN)/python scripts/run_drills.py $(ONLY) $(if $(LONG),--long)

docs: .venv/.dev ## check the documents: links lead somewhere, examples run
	@$(BIN)/pytest tests/docs

.venv/.docs: .venv/.dev
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

site: .venv/.docs ## build the documentation site; open build/site/index.html
	@$(BIN)/python scripts/build_site.py

site-check: site ## check the site in a browser: every page, or SAMPLE=6 of them
	@$(BIN)/python scripts/check_site.py $(if $(SAMPLE),--sample $(SAMPLE))

shots: .venv/.dev ## pictures of every page of the console, into build/shots; ONLY="graph memories" for some, WRITE=1 into docs too
	@$(BIN)/python scripts/console_shots.py $(if $(WRITE),--write) $(ONLY)

constraints: ## pin constraints.txt again from what pyproject.toml allows today
	rm -rf .venv-pins && $(PYTHON) -m venv .venv-pins && .venv-pins/bin/pip install --quiet '.[dev,docs]'
	.venv-pins/bin/pip list --format freeze --exclude mnemic --exclude pip --exclude setuptools > constraints.txt
	rm -rf .venv-pins

clean: ## remove what can be made again
	rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
