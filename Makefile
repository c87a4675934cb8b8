# make bench   install and run the quickstart to finished tables      make lint    ruff
# make test    install with the dev extra and run the tests           make clean   remove the virtual environment
# make check   ruff, and the tests that are quick: no processes, no simulator, no real graphs; for after each change
# make faults  what tries to break it, at the length of a night, about an hour: the programs of tests/faults
# make docs    the documentation into build/docs, strictly; EXPLORE=1 puts the site over the recorded runs under it
# make words   the words of the documentation, its long sentences and paragraphs
# make news    VERSION=1.1.0: put newsfragments/ into CHANGELOG.md
# make lock    resolve the newest releases that are a week old into locks/, from which the others install
#
# LOCKED   0 installs any releases that pyproject.toml allows, where those of locks/ cannot be had
# PYTHON   the interpreter that makes .venv (3.11 or newer)
# MIRROR   a folder or URL with the graph archives, tried before the internet
# PYTEST_ARGS   of make test and make check, in place of processes that share the tests: three, or one a core

PYTHON ?= python3
MIRROR ?= $(or $(GRAILBENCH_MIRROR),$(abspath $(wildcard ../shared/datasets)))
CONFIG ?= quickstart

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
LOCKED ?= 1
UV := uv==0.13.8

# Locked: each file is that whose SHA-256 stands in locks/, and grailbench itself is built with what came from there.
ifeq ($(LOCKED),0)
BASE = $(PIP) --editable .
DEV = $(PIP) --editable '.[dev]'
PEERS = $(PIP) --editable '.[dev,peers]'
DOCS = $(PIP) --editable '.[docs,release]'
else
LOCK = $(PIP) --require-hashes --only-binary :all: -r
ITSELF = $(PIP) --no-deps --no-build-isolation --editable .
BASE = $(LOCK) locks/base.txt && $(ITSELF)
DEV = $(LOCK) locks/dev.txt && $(ITSELF)
PEERS = $(PIP) --require-hashes -r locks/peers.txt
DOCS = $(LOCK) locks/docs.txt && $(ITSELF)
endif
UNLOCKED = { echo "the releases named in locks/ did not install here, as pip says above; to take any that pyproject.toml allows:" \
	"the same command with LOCKED=0, as in make LOCKED=0 bench" >&2; exit 1; }

ifneq ($(strip $(MIRROR)),)
export GRAILBENCH_MIRROR := $(strip $(MIRROR))
endif

# Tests start hundreds of processes: compiled modules are kept, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install dev bench test check faults lint docs words news lock clean

help:
	@sed -n '/^[^#]/q;/^$$/q;s/^# \{0,1\}//p' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) -V 2>&1). Try: make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamps are younger than pyproject.toml and the locks when the environment is up to date.
$(VENV)/.base: pyproject.toml locks/base.txt | $(BIN)/python
	@echo "installing grailbench into $(VENV)"
	@$(BASE) || $(UNLOCKED)
	@touch $@

# Without a wheel of the peers for this platform their rows are skipped; all else is tested.
$(VENV)/.dev: pyproject.toml locks/base.txt locks/dev.txt locks/peers.txt | $(BIN)/python
	@echo "installing grailbench and its tests into $(VENV)"
	@$(DEV) || $(UNLOCKED)
	@$(PEERS) || echo "the peers extra did not install; going on without it" >&2
	@touch $(VENV)/.base $@

$(VENV)/.docs: pyproject.toml locks/docs.txt | $(BIN)/python
	@echo "installing grailbench and what makes its documentation into $(VENV)"
	@$(DOCS) || $(UNLOCKED)
	@touch $@

install: $(VENV)/.base

dev: $(VENV)/.dev

bench: $(VENV)/.base
	@echo "grailbench run --config $(CONFIG)"
	@status=0; $(BIN)/grailbench run --config $(CONFIG) || status=$$?; \
		if [ $$status -le 1 ]; then $(BIN)/grailbench report --html || exit; fi; exit $$status

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(or $(PYTEST_ARGS),-n 3 --dist worksteal)

check: lint
	$(BIN)/python -m pytest $(or $(PYTEST_ARGS),-n 3 --dist worksteal) -m "not (processes or simulator or mirror or slow)"

# Each takes its share of the hour; one that ends with 4 lacks something here, and says what.
faults: $(VENV)/.dev
	$(BIN)/python tests/faults/night.py $(if $(RECORD),--record)

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

words:
	@$(PYTHON) tests/words.py

news: $(VENV)/.docs
	$(BIN)/towncrier build --yes --version $(VERSION)

lock: | $(BIN)/python
	@$(PIP) $(UV)
	$(BIN)/python locks/make.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis *.egg-info build dist
	find grailbench tests -name __pycache__ -type d -prune -exec rm -rf {} +
