# `make run` and `make test` are all a newcomer needs; both build their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Real data sets, where they lie beside the repository; without them some tests skip.
export SKETCHLASSO_DATA ?= $(abspath ../shared/data)

.PHONY: run test lint format docs bench paper clean

run: $(READY)
	$(BIN)/sketchlasso demo

test: lint docs
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The variable silences an announcement of another tool, which is no warning about these pages.
# Not --quiet: it keeps warnings from --strict, too.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks all

# The paper's tables and figures on the data at hand, into paper-report/; `make paper QUICK=1` needs no data.
paper: $(VENV)/.bench
	$(BIN)/sketchlasso paper $(if $(QUICK),--quick)

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "sketchlasso needs Python >= 3.11"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[cli,conic,dask,files,graph,paper,plot,web]' --group dev
	$(BIN)/python -m pip install --quiet --group torch || echo "no PyTorch: the tests of the GPU's code will skip"
	touch $@

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(VENV)/.bench: $(READY)
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

clean:
	rm -rf $(VENV) build dist site paper-report .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
