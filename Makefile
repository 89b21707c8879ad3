# `make run` and `make test` are all a newcomer needs; both build their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Bytecode is made when a module is first imported, not for all modules at once.
INSTALL = $(BIN)/python -m pip install --quiet --no-compile
# What the demo needs, and what the tests need beyond it.
DEMO := $(VENV)/.demo
READY := $(VENV)/.ready
# Real data sets, where they lie beside the repository; without them some tests skip.
ifneq ($(wildcard ../shared/data/README.md),)
export SKETCHLASSO_DATA ?= $(abspath ../shared/data)
endif
# The tests start many processes; without kept bytecode each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

# Parallel workers of the tests: one more than cores, for some tests wait for other processes. BLAS
# has one thread in each, or they would wait for each other.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1)))
PYTEST = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# What depends most on rounding; `make kernels` repeats it with the kernels of other CPUs.
SENSITIVE = tests/properties tests/reference tests/unit/exact tests/unit/solvers tests/unit/inference

.PHONY: run test quick suite data kernels coverage oldest lint compiled format docs bench paper clean

run: $(DEMO)
	$(BIN)/sketchlasso demo

# Lint beside compiling the kernels, then the documentation beside all tests.
test: $(READY) $(VENV)/.docs
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target compiled lint suite docs

# The tests show their progress; what lint and docs print comes in one piece at their end.
suite: compiled
	$(MAKE) --no-print-directory --output-sync=none pytest

pytest: $(READY)
	$(PYTEST) -rs

# The core of the tests, within a minute.
quick: compiled
	$(PYTEST) tests/unit/estimators tests/unit/results tests/unit/problem

# The tests that read real data, alone.
data: compiled
	$(PYTEST) -m data -rs

kernels: compiled
	OPENBLAS_CORETYPE=Haswell $(PYTEST) $(SENSITIVE)
	OPENBLAS_CORETYPE=Prescott $(PYTEST) $(SENSITIVE)
	NUMBA_CPU_NAME=generic $(PYTEST) $(SENSITIVE)

# Compiled code cannot be traced: its plain twins test it.
coverage: compiled
	$(PYTEST) --cov=sketchlasso --cov-report=term:skip-covered --cov-fail-under=90

# The core tests with the lowest releases that pyproject.toml allows.
oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet uv
	$(VENV)-oldest/bin/uv pip install --quiet --python $(VENV)-oldest/bin/python --resolution lowest-direct --editable .
	$(VENV)-oldest/bin/uv pip install --quiet --python $(VENV)-oldest/bin/python clarabel cvxpy hypothesis pandas pytest
	$(VENV)-oldest/bin/python -m pytest tests/unit/solvers tests/unit/exact tests/unit/estimators

# Otherwise each worker would compile them for itself.
compiled: $(READY)
	$(BIN)/python -m tests.compiled

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The variable silences an announcement of another tool, which is no warning about these pages.
# Not --quiet: it keeps warnings from --strict, too. One thread of BLAS: tests run beside it.
docs: $(VENV)/.docs compiled
	NO_MKDOCS_2_WARNING=1 OPENBLAS_NUM_THREADS=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks all

# The paper's tables and figures on the data at hand, in paper-report; `make paper QUICK=1` needs no data.
paper: $(VENV)/.bench
	$(BIN)/python -m reproduction $(if $(QUICK),--quick)

$(DEMO): pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "sketchlasso needs Python >= 3.11"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[cli,plot]'
	touch $@

$(READY): $(DEMO)
	$(INSTALL) --upgrade pip
	$(INSTALL) --editable '.[all]' --group dev
	touch $@

$(VENV)/.docs: $(READY)
	$(INSTALL) --group docs
	touch $@

$(VENV)/.bench: $(READY)
	$(INSTALL) --group bench
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest build dist site paper-report .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
