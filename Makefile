# Every target sets up what it needs; none of them installs anything twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-full lint format grammar lock bench bench-full bench-compare bench-peers qt3 parse-rates java clean

demo: $(READY)  ## Run an XCQL query of the credit-card example
	@$(BIN)/python samples/demo.py

test: $(READY) java  ## The tests that every commit must pass
	@$(BIN)/python -m pytest -m "not slow" -n 2

test-full: $(READY) java  ## Everything, the long tests too
	@XCQL_TEST_FULL=1 $(BIN)/python -m pytest -n 2

lint: $(READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy xcql runtime/xcql_runtime

format: $(READY)
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

grammar: $(READY) java  ## Generate the parser anew from grammar/*.g4
	@$(BIN)/python tools/generate_parser.py

qt3: $(READY)  ## All QT3 cases of ../shared through the reference evaluator, or ENGINE=embedded
	@$(BIN)/python tools/qt3.py $(if $(ENGINE),--engine $(ENGINE))

parse-rates: $(READY)  ## How many of the W3C's test queries parse, and which do not
	@$(BIN)/python tests/parser/parse_rates.py

bench: $(READY) java  ## Every benchmark, with its peers; about 15 minutes on two cores
	@$(BIN)/python -m bench --patience 8

bench-full: $(READY) java  ## The same with factor 10, all cold starts and a minute for each query
	@$(BIN)/python -m bench --full

# the files to compare stand where make expects targets
COMPARED := $(filter %.json,$(MAKECMDGOALS))
.PHONY: $(COMPARED)
$(COMPARED):
	@:

bench-compare: $(READY)  ## What got slower: make bench-compare OLD.json NEW.json
	@test $(words $(COMPARED)) = 2 || { echo "make bench-compare OLD.json NEW.json" >&2; exit 2; }
	@$(BIN)/python -m bench.compare $(COMPARED)

bench-peers:  ## Install RumbleDB beside the project, for the benchmarks
	@test -x bench/.peers/rumble/bin/python || $(PYTHON) -m venv bench/.peers/rumble
	@bench/.peers/rumble/bin/python -m pip install -qq --disable-pip-version-check jsoniq || \
	  { rm -rf bench/.peers/rumble; echo "RumbleDB cannot be installed: no package registry." >&2; }

lock: $(READY)  ## Write the versions that are installed now into requirements.lock
	@{ echo '# Exact versions that `make` installs; regenerate with `make lock`.'; \
	  $(BIN)/pip freeze --exclude-editable --exclude setuptools; } > requirements.lock

java:
	@tools/ensure_java.sh

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "XCQL needs Python 3.11 or newer: try 'make PYTHON=python3.12'." >&2; exit 1; }
	@test -x $(BIN)/python || { echo "Creating $(VENV) ..." >&2; $(PYTHON) -m venv $(VENV); }
	@echo "Installing the dependencies into $(VENV) ..." >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q xcql runtime
	@touch $@

clean:
	@rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
