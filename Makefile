# make play     set up .venv, play tic-tac-toe in the terminal
# make web      set up .venv, play it in the browser
# make train    set up .venv, train the default agent, print its exact results
# make quick    set up .venv without torch, run the tests of the package alone, under 30 s
# make test     set up .venv, run the tests on all cores
# make check    ruff, types, tests: to run before a commit
# make slow     the slow tests: learning to the end, large boards
# make browser  the tests of the page in Chromium, which must be installed
# make cluster  the tests of studies on local clusters of Dask and Ray
# make bench    speeds, as tables; make bench-learning: learning; make bench-web: the page's server
# make attack   kills, full disks, damaged files, wrong games: SECONDS=600 SEED=0
# make mutants  changes to rules, solver, match, proof, certificate: does a test notice each? An hour
# make results  train every agent, evaluate it exactly, write docs/RESULTS.md
# make trained  write the trained agents of the package from the runs of make results
# make ecosystem  test the wheel with other libraries; ARGS="sb3 torchrl" names them, --list lists them
# make wheel    build the package and check what is inside
# make lowest   set up .venv-lowest with the oldest versions allowed, run the tests of the package
# make docs     build the documentation in build/docs; a warning is an error
# make release-check   say what is missing before the version is tagged
# make help     print this list

PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
JOBS ?= auto
SECONDS ?= 600
SEED ?= 0
LOWEST ?= python3.10
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: play web train quick test check lint types slow browser cluster bench bench-learning bench-web \
	attack mutants results trained wheel ecosystem lowest docs release-check help clean
.DEFAULT_GOAL := test

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Dependency groups need pip 25.1; the Python of a new environment may bring an older one.
.venv/pip.installed: | .venv/bin/python
	$(PIP) --upgrade "pip>=25.1"
	@touch $@

.venv/play.installed: pyproject.toml | .venv/pip.installed
	@echo "Installing the packages of 'make play' into .venv: some seconds, once."
	$(PIP) -e . --group play
	@touch $@

.venv/web.installed: pyproject.toml | .venv/pip.installed
	@echo "Installing the packages of 'make web' into .venv: some seconds, once."
	$(PIP) -e . --group web
	@touch $@

.venv/train.installed: pyproject.toml | .venv/pip.installed
	@echo "Installing the packages of 'make train' into .venv, with torch: some minutes, once."
	$(PIP) -e . --group train
	@touch $@ .venv/play.installed

.venv/quick.installed: pyproject.toml | .venv/pip.installed
	$(PIP) -e . --group quick
	@touch $@

.venv/test.installed: pyproject.toml | .venv/pip.installed
	@echo "Installing the packages of 'make test' into .venv, with torch: some minutes, once."
	$(PIP) -e . --group test
	@touch $@ .venv/play.installed .venv/web.installed .venv/train.installed .venv/quick.installed

.venv/cluster.installed: pyproject.toml | .venv/pip.installed
	$(PIP) -e . --group cluster --group quick
	@touch $@

.venv/mutants.installed: pyproject.toml | .venv/pip.installed
	$(PIP) -e . --group mutants
	@touch $@

.venv/docs.installed: pyproject.toml | .venv/pip.installed
	$(PIP) -e . --group docs
	@touch $@

help:
	@sed -n 's/^# make/make/p' Makefile

play: .venv/play.installed
	$(BIN)/python play.py $(ARGS)

web: .venv/web.installed
	$(BIN)/python play.py --web $(ARGS)

train: .venv/train.installed
	$(BIN)/python train.py maskable_ppo --until optimal $(ARGS)

quick: .venv/quick.installed
	$(BIN)/python -m pytest --package --numprocesses $(JOBS) --dist worksteal $(ARGS)

test: .venv/test.installed
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal $(ARGS)

check: lint types test

lint: .venv/test.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/zizmor --offline --quiet .github

types: .venv/test.installed
	$(BIN)/mypy

slow: .venv/test.installed
	$(BIN)/python -m pytest -m slow --numprocesses $(JOBS) --dist worksteal $(ARGS)

browser: .venv/test.installed
	$(BIN)/python -m pytest -m browser $(ARGS)

cluster: .venv/cluster.installed
	$(BIN)/python -m pytest -m cluster $(ARGS)

bench: .venv/train.installed
	$(BIN)/python -m benchmarks.speed $(ARGS)

bench-learning: .venv/train.installed
	$(BIN)/python -m benchmarks.learning $(ARGS)

bench-web: .venv/web.installed
	$(BIN)/python -m benchmarks.web $(ARGS)

attack: .venv/test.installed
	$(BIN)/python -m attack --seconds $(SECONDS) --seed $(SEED) $(ARGS)

mutants: .venv/mutants.installed
	$(BIN)/mutmut run $(ARGS)
	$(BIN)/mutmut results

results: .venv/train.installed
	$(BIN)/python -m benchmarks.results $(ARGS)

trained: .venv/train.installed
	$(BIN)/python -m benchmarks.trained $(ARGS)

wheel: .venv/test.installed
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents --toplevel tictactoe_env dist/*.whl

ecosystem: | .venv/bin/python
	$(BIN)/python tests/ecosystem/run.py $(ARGS)

.venv-lowest/installed: pyproject.toml
	$(LOWEST) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-lowest/bin/python -m pip install --quiet -e . --group quick \
		"gymnasium==1.1.*" "numpy==1.26.*"
	@touch $@

lowest: .venv-lowest/installed
	.venv-lowest/bin/python -m pytest --package --numprocesses $(JOBS) --dist worksteal $(ARGS)

docs: .venv/docs.installed
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs

release-check: .venv/test.installed
	$(BIN)/python .ci/release_check.py $(ARGS)

clean:
	rm -rf .venv .venv-lowest .ecosystem dist build .pytest_cache .mypy_cache .ruff_cache mutants
