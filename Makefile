# Each target sets itself up: a virtual environment in .venv, made again when the requirements change.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python

.PHONY: run test test-fast test-slow load fuzz newest lint bench clean

run: $(VENV)/.run-ready
	$(PY) app.py

test: $(VENV)/.test-ready
	$(PY) -m pytest -m "not slow"

test-fast: $(VENV)/.test-ready
	$(PY) -m pytest -m "not slow and not real and not browser"

test-slow: $(VENV)/.test-ready
	$(PY) -m pytest -m slow

load: $(VENV)/.test-ready
	$(PY) tests/tools/load.py

fuzz: $(VENV)/.test-ready
	$(PY) tests/tools/fuzz.py

# The newest release of every range in the requirements, in a virtual environment that is removed again.
newest:
	PYTHON=$(PYTHON) tests/tools/newest.sh

lint: $(VENV)/.test-ready node_modules/.ready
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	node_modules/.bin/eslint --max-warnings 0 explorer/ui/web

bench: $(VENV)/.run-ready
	$(PY) -m explorer bench

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' || \
	{ echo "Python 3.11 or 3.12 is needed, and $(PYTHON) is another or missing: name one, as in PYTHON=python3.11 make run" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run-ready: requirements.txt | $(VENV)/bin/pip
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/.test-ready: requirements.txt requirements-dev.txt | $(VENV)/bin/pip
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

# What checks the page's scripts; the page itself needs none of it.
node_modules/.ready: package.json package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

clean:
	rm -rf $(VENV) node_modules
