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
MAY_MISS = $(if $(wildcard $(VENV)/.no-torch),--may-miss torch)
PARALLEL = -n $(WORKERS) --dist worksteal --packages $(MAY_MISS)
PYTEST = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m slipcover -m pytest $(PARALLEL)
# Here BLAS keeps its threads: they sum in another order, too.
KERNELS = $(BIN)/python -m tests.kernels

# Kernels that `make test` repeats the sensitive tests with.
OLDEST = Prescott+generic

.PHONY: run test suite pytest data sensitive kernels oldest newest lint compiled compiled-oldest format docs bench paper clean

run: $(DEMO)
	$(BIN)/sketchlasso demo

# Three jobs at a time, so that no core is idle: lint beside compiling the kernels, then the
# documentation and the sensitive tests beside all tests.
test: $(READY) $(VENV)/.docs
	$(MAKE) --no-print-directory --jobs=3 --output-sync=target \
	  compiled compiled-oldest lint suite sensitive docs

# The tests show their progress; what lint and docs print comes in one piece at their end.
suite: compiled
	$(MAKE) --no-print-directory --output-sync=none pytest

pytest: $(READY)
	$(PYTEST)
	$(BIN)/python -m tests.covered .coverage.json

# The tests that read real data, alone.
data: compiled
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(PARALLEL) -m data -rs

# In one process, for all tests run beside it.
sensitive: compiled-oldest
	$(KERNELS) -n 0 --packages $(MAY_MISS) --kernels $(OLDEST) --sensitive

# The whole suite with the kernels of every CPU: about half an hour on two cores.
kernels: compiled
	$(KERNELS) $(PARALLEL)

# The core tests with the lowest releases that pyproject.toml allows, and with the newest.
oldest newest:
	$(PYTHON) -m tests.oldest $(VENV)-$@ $(if $(filter newest,$@),--newest)

compiled: $(READY)
	$(BIN)/python -m tests.compiled

# Otherwise each worker would compile them for itself.
compiled-oldest: $(READY)
	$(BIN)/python -m tests.kernels --kernels $(OLDEST) --compile

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

# The paper's tables and figures on the data at hand, into paper-report/; `make paper QUICK=1` needs no data.
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
	rm -f $(VENV)/.no-torch
	$(INSTALL) --group torch || { $(if $(REQUIRE_TORCH),false,touch $(VENV)/.no-torch; \
	  echo "no PyTorch: the tests of the GPU's code will skip"); }
	touch $@

$(VENV)/.docs: $(READY)
	$(INSTALL) --group docs
	touch $@

$(VENV)/.bench: $(READY)
	$(INSTALL) --group bench
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-newest build dist site paper-report .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage.json
