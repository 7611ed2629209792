# Everything that a fresh machine needs: each target creates .venv and installs by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2

.PHONY: demo test test-all test-outside lint bench docs docs-outputs results findings frontend dist clean

demo: $(STAMP)
	$(BIN)/thence demo

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

# Only the tests that need published data, a browser, a broker, a database or the packages of the front end.
test-outside: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "outside and not slow"

test-all: $(STAMP)
	THENCE_EXAMPLES=all $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[bench]"
	for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script --quick || exit 1; done

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What the site shows below the examples; the tests compare it with what they print.
docs-outputs: $(STAMP)
	THENCE_DOCS_OUTPUTS=write $(BIN)/python -m pytest -q -n $(WORKERS) tests/test_docs.py -k print_what

# The paper's experiments, run anew (hours; a second call continues), and everything in docs/results that comes of them.
results: $(STAMP)
	$(BIN)/python -m tools.results

# Tables and verdicts of docs/results from its stored repeats, and the numbers of the pages from these tables.
findings: $(STAMP)
	$(BIN)/python -m tools.findings --tables

# Needs node; writes the bundles that the package ships, and what they were made from.
frontend: $(STAMP)
	$(BIN)/python frontend/make_types.py
	cd frontend && npm ci --no-audit --no-fund && npm run typecheck && npm test && npm run build

# The wheel and the source archive, with what is in them checked, into dist/.
dist: $(STAMP)
	$(BIN)/python -m tools.dist

# The optional groups that the tests need are all in [dev]; nothing of the system is required.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) site dist build
