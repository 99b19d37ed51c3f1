# Each target sets itself up: a virtual environment in .venv, made again when the requirements change.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# Processes that share the tests; each runs on one thread. What takes longest is listed at the end.
WORKERS ?= 2
PYTEST := OMP_NUM_THREADS=1 $(PY) -m pytest --durations 20
TOGETHER := -n $(WORKERS) --dist worksteal

.PHONY: run test test-fast test-slow load fuzz mutate newest lint bench clean

run: $(VENV)/.run-ready
	$(PY) app.py

test: $(VENV)/.test-ready
	$(PYTEST) $(TOGETHER) -m "not slow"

test-fast: $(VENV)/.test-ready
	$(PYTEST) $(TOGETHER) -m "not slow and not real and not browser"

test-slow: $(VENV)/.test-ready
	$(PYTEST) -m slow

load: $(VENV)/.test-ready
	$(PY) tests/tools/load.py

fuzz: $(VENV)/.test-ready
	$(PY) tests/tools/fuzz.py

# Changes lines of the code one at a time and says which changes no test notices.
mutate: $(VENV)/.test-ready
	$(PY) tests/tools/mutate.py

# The newest release of every range in the requirements, in a virtual environment that is removed again.
newest:
	PYTHON=$(PYTHON) tests/tools/newest.sh

lint: $(VENV)/.test-ready node_modules/.ready
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	npm run --silent lint

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

# eslint for `make lint`, axe-core for the tests of the page; both are tools, and the page needs neither.
node_modules/.ready: package.json package-lock.json
	npm ci --silent --ignore-scripts --no-audit --no-fund
	touch $@

clean:
	rm -rf $(VENV) node_modules
