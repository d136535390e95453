# make play     set up .venv, play tic-tac-toe in the terminal
# make web      set up .venv, play it in the browser
# make demo     write the page as one file that needs no server, build/demo.html
# make train    set up .venv, train the default agent, print its exact results
# make quick    set up .venv without torch, run the tests of the package alone, under 30 s
# make test     set up .venv, run the tests on all cores
# make check    ruff, types, tests: to run before a commit
# make slow     the slow tests: learning to the end, large boards
# make browser  the tests of the page in Chromium, which must be installed
# make cluster  the tests of studies on local clusters of Dask and Ray
# make bench    speeds, as tables; make bench-learning: learning; make bench-web: the page's server
# make fuzz     kills, failing disks, wrong games, hostile files and requests: SECONDS=600 SEED=0
# make mutants  changes to rules, solver, match, proof, certificate: does a test notice? 42 minutes
# make results  train every agent, evaluate it exactly, write docs/RESULTS.md
# make trained  write the trained agents of the package from the runs of make results
# make ecosystem  test the wheel with other libraries; ARGS="sb3 torchrl" names them, --list lists them
# make wheel    build the package and check what is inside
# make lowest   set up .venv-lowest with the oldest versions allowed, run the tests of the package
# make pythons  do so, and run them on every newer Python that is found, in .venv-3.12 and so on
# make docs     build the documentation in build/docs; a warning is an error
# make release-check   say what is missing before the version is tagged
# make help     print this list

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
JOBS ?= auto
SECONDS ?= 600
SEED ?= 0
LOWEST ?= python3.11
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# uv takes the build of torch that this variable names; "cpu" is the one without CUDA.
ifdef UV_TORCH_BACKEND
PIP = uv pip install --quiet --python $(BIN)/python
endif

.PHONY: play web demo train quick test check lint types slow browser cluster bench bench-learning bench-web \
	fuzz mutants results trained wheel ecosystem lowest pythons docs release-check help clean
.DEFAULT_GOAL := test

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Dependency groups need pip 25.1; the Python of a new environment may bring an older one.
$(VENV)/pip.installed: | $(VENV)/bin/python
	$(PIP) --upgrade "pip>=25.1"
	@touch $@

$(VENV)/play.installed: pyproject.toml | $(VENV)/pip.installed
	@echo "Installing the packages of 'make play' into .venv: some seconds, once."
	$(PIP) -e . --group play
	@touch $@

$(VENV)/web.installed: pyproject.toml | $(VENV)/pip.installed
	@echo "Installing the packages of 'make web' into .venv: some seconds, once."
	$(PIP) -e . --group web
	@touch $@

$(VENV)/train.installed: pyproject.toml | $(VENV)/pip.installed
	@echo "Installing the packages of 'make train' into .venv, with torch: some minutes, once."
	$(PIP) -e . --group train
	@touch $@ $(VENV)/play.installed

$(VENV)/quick.installed: pyproject.toml | $(VENV)/pip.installed
	$(PIP) -e . --group quick $(OLDEST)
	@touch $@

$(VENV)/test.installed: pyproject.toml | $(VENV)/pip.installed
	@echo "Installing the packages of 'make test' into .venv, with torch: some minutes, once."
	$(PIP) -e . --group test
	@touch $@ $(VENV)/play.installed $(VENV)/web.installed $(VENV)/train.installed $(VENV)/quick.installed

$(VENV)/cluster.installed: pyproject.toml | $(VENV)/pip.installed
	$(PIP) -e . --group cluster --group quick
	@touch $@

$(VENV)/mutants.installed: pyproject.toml | $(VENV)/pip.installed
	$(PIP) -e . --group mutants
	@touch $@

$(VENV)/docs.installed: pyproject.toml | $(VENV)/pip.installed
	$(PIP) -e . --group docs
	@touch $@

help:
	@sed -n 's/^# make/make/p' Makefile

play: $(VENV)/play.installed
	$(BIN)/python play.py $(ARGS)

web: $(VENV)/web.installed
	$(BIN)/python play.py --web $(ARGS)

demo: $(VENV)/web.installed
	$(BIN)/python -m apps.web.demo $(ARGS)

train: $(VENV)/train.installed
	$(BIN)/python train.py maskable_ppo --until optimal $(ARGS)

quick: $(VENV)/quick.installed
	$(BIN)/python -m pytest --package --numprocesses $(JOBS) --dist worksteal $(ARGS)

test: $(VENV)/test.installed
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal $(ARGS)

check: lint types test

lint: $(VENV)/test.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/zizmor --offline --quiet .github

types: $(VENV)/test.installed
	$(BIN)/mypy

slow: $(VENV)/test.installed
	$(BIN)/python -m pytest -m slow --numprocesses $(JOBS) --dist worksteal $(ARGS)

browser: $(VENV)/test.installed
	$(BIN)/python -m pytest -m browser $(ARGS)

cluster: $(VENV)/cluster.installed
	$(BIN)/python -m pytest -m cluster $(ARGS)

bench: $(VENV)/train.installed
	$(BIN)/python -m benchmarks.speed $(ARGS)

bench-learning: $(VENV)/train.installed
	$(BIN)/python -m benchmarks.learning $(ARGS)

bench-web: $(VENV)/web.installed
	$(BIN)/python -m benchmarks.web $(ARGS)

fuzz: $(VENV)/test.installed
	$(BIN)/python -m pytest tests/fuzz --seconds $(SECONDS) --seed $(SEED) $(ARGS)

mutants: $(VENV)/mutants.installed
	$(BIN)/mutmut run $(ARGS)
	$(BIN)/mutmut results

results: $(VENV)/train.installed
	$(BIN)/python -m benchmarks.results $(ARGS)

trained: $(VENV)/train.installed
	$(BIN)/python -m benchmarks.trained $(ARGS)

wheel: $(VENV)/test.installed
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents --toplevel tictactoe_env dist/*.whl

ecosystem: | $(VENV)/bin/python
	$(BIN)/python tests/ecosystem/run.py $(ARGS)

lowest:
	$(MAKE) quick VENV=.venv-lowest PYTHON=$(LOWEST) OLDEST='"gymnasium==1.1.0" "numpy==1.26.0"'

pythons:
	.ci/pythons

docs: $(VENV)/docs.installed
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs

release-check: $(VENV)/test.installed
	$(BIN)/python .ci/release_check.py $(ARGS)

clean:
	rm -rf .venv .venv-* .ecosystem dist build .pytest_cache .mypy_cache .ruff_cache mutants
