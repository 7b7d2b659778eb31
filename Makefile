# Two commands do everything on a machine that has python3, pip and make:
#   make demo    create .venv, install, run the main job
#   make test    create .venv if needed, run the tests
# make check is what CI runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-slow check lint types format bench bench-regressor clean

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py

test: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow"

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -q -m slow

check: lint types test

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED)
	$(BIN)/pip install -q -c constraints.txt --no-deps hl-gauss-pytorch torch-einops-utils einops einx frozendict loguru
	$(BIN)/python benchmarks/loss.py

bench-regressor: $(INSTALLED)
	$(BIN)/pip install -q -c constraints.txt catboost ngboost pytabkit
	mkdir -p build
	$(BIN)/python benchmarks/regressor.py --out build/regressor.jsonl
	$(BIN)/python benchmarks/regressor.py --out build/regressor.jsonl --table

# The stamp comes last, so an interrupted install is done again.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
