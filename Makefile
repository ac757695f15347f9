# Each target does its own set-up: a virtual environment in .venv with what it needs, installed again when pyproject.toml or the lock
# (requirements/) changes.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready
TESTS_READY = $(VENV)/.tests-ready
TOOLS_READY = $(VENV)/.tools-ready
DOCS_READY = $(VENV)/.docs-ready
PIP_INSTALL = pip install --quiet --disable-pip-version-check
# an environment of its own, with the newest releases of all libraries, and the tests that depend on them most and are quick
LATEST = $(VENV)-latest
LATEST_TESTS = tests/services/ai tests/core tests/language/expressions tests/language/flow tests/services/gateway tests/language/keys tests/language/source tests/language/steps tests/language/types

.PHONY: dev chat test postgres search tools wheel release lock test-latest docs lint types bench clean

dev: $(READY)           ## the bot in flows/, in your browser
	@$(BIN)/bot dev flows

chat: $(READY)          ## talk to the bot in flows/
	@$(BIN)/bot chat flows

test: $(TOOLS_READY)    ## run all tests, in parallel
	$(BIN)/python -m pytest -n auto

postgres: $(TOOLS_READY) ## the tests of what uses the store, with a store in PostgreSQL
	STORE=postgres $(BIN)/python -m pytest -n auto

search: $(TOOLS_READY)  ## the tests that look by many seeds or inputs, with all of them
	SEARCH=1 $(BIN)/python -m pytest -n auto -m search

tools: $(TESTS_READY)   ## install the programs that tests use and that are missing: Chromium, PostgreSQL, Caddy, npm's
	@$(BIN)/python -m tests.tools

wheel: $(TESTS_READY)   ## build the wheel, and try it in environments of its own, with each Python from 3.11 to 3.14 that is there
	$(BIN)/python -m pytest --noconftest -rs tests/wheel.py

release: wheel          ## try the wheel, and make what is released in dist/: source distribution, wheel, notes out of CHANGELOG.md
	@$(BIN)/python -m tests.release

docs: $(DOCS_READY)     ## the docs as a site with search, in site/
	$(BIN)/python -m sphinx -b html -q -n -W --keep-going -d $(VENV)/doctrees docs site

lock: $(READY)          ## which releases of libraries are installed: the newest that go together
	$(BIN)/python -m tests.locks

test-latest:            ## the quick tests of what uses libraries, with the newest releases instead of the locked ones
	@$(PYTHON) -m venv $(LATEST)
	@$(LATEST)/bin/$(PIP_INSTALL) --upgrade --editable '.[dev]'
	$(LATEST)/bin/python -m pytest -n auto $(LATEST_TESTS)

lint: $(TESTS_READY)    ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TESTS_READY)   ## types, strict
	$(BIN)/mypy

bench: $(TESTS_READY)   ## figures, as ratios against a limit taken in the same run
	$(BIN)/python -m benchmarks.conversation
	$(BIN)/python -m benchmarks.answers
	$(BIN)/python -m benchmarks.cycle
	$(BIN)/python -m benchmarks.web

$(READY): pyproject.toml requirements/build.txt requirements/bot.txt
	@echo "Setting up $(VENV), this once ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/$(PIP_INSTALL) --no-compile --require-hashes -r requirements/build.txt -r requirements/bot.txt
	@PYTHONWARNINGS=ignore $(BIN)/$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(TESTS_READY): $(READY) requirements/tests.txt
	@echo "Installing what the tests need, which takes half a minute ..."
	@$(BIN)/$(PIP_INSTALL) --require-hashes -r requirements/tests.txt
	@touch $@

$(TOOLS_READY): $(TESTS_READY) tests/tools.py
	@$(BIN)/python -m tests.tools
	@touch $@

$(DOCS_READY): $(READY) requirements/docs.txt
	@$(BIN)/$(PIP_INSTALL) --require-hashes -r requirements/docs.txt
	@touch $@

clean:                  ## remove what the other targets made
	rm -rf $(VENV) $(LATEST) site .mypy_cache .ruff_cache .pytest_cache
