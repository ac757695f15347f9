# Each target does its own set-up: a virtual environment in .venv with what it needs, installed again when pyproject.toml changes.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready
TESTS_READY = $(VENV)/.tests-ready
DOCS_READY = $(VENV)/.docs-ready
# the language server that editors start: `bot schema` is tested with it, where there is npm
LANGUAGE_SERVER = yaml-language-server@1.25.0
# the real Mermaid and as much of a page as it needs: what `bot graph` writes is read by it
MERMAID = @mermaid-js/tiny@11.17.2 linkedom@0.18.12
# finds what keeps people out of the page of `bot dev`
AXE = axe-core@4.10.3

.PHONY: dev chat test postgres search wheel docs lint types bench clean

dev: $(READY)           ## the bot in flows/, in your browser
	@$(BIN)/bot dev flows

chat: $(READY)          ## talk to the bot in flows/
	@$(BIN)/bot chat flows

test: $(TESTS_READY)    ## run all tests, in parallel
	$(BIN)/python -m pytest -n auto

postgres: $(TESTS_READY) ## the tests of what uses the store, with a store in PostgreSQL
	STORE=postgres $(BIN)/python -m pytest -n auto

search: $(TESTS_READY)  ## the tests that look by many seeds, with all of them
	SEARCH=1 $(BIN)/python -m pytest -n auto -m search

wheel: $(TESTS_READY)   ## build the wheel, and try it in an environment of its own
	$(BIN)/python -m pytest --noconftest tests/wheel.py

docs: $(DOCS_READY)     ## the docs as a site with search, in site/
	$(BIN)/python -m sphinx -b html -q -n -W --keep-going -d $(VENV)/doctrees docs site

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

$(READY): pyproject.toml
	@echo "Setting up $(VENV), which takes half a minute ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --editable .
	@touch $@

$(TESTS_READY): $(READY)
	@echo "Installing what the tests need, which takes half a minute ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@! command -v npm > /dev/null || npm install --silent --global --prefix $(VENV) $(LANGUAGE_SERVER) $(MERMAID) $(AXE) || \
		echo "$(LANGUAGE_SERVER), $(MERMAID) or $(AXE) could not be installed: the tests that need them will fail"
	@command -v chromium-headless-shell > /dev/null || command -v chromium > /dev/null || $(BIN)/playwright install chromium || \
		echo "there is no Chromium: the tests of the page of bot dev will fail"
	@touch $@

$(DOCS_READY): $(READY)
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

clean:                  ## remove what the other targets made
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache
