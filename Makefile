# make play       play tic-tac-toe in the terminal
# make web        play it in the browser; ARGS="--host 0.0.0.0" serves the phones in the room
# make demo       write the page as one file that needs no server, build/demo.html
# make train      train the default agent, print its exact results
# make quick      run the tests of the package alone, without torch, under 30 s
# make test       run the tests on all cores; ARGS="-m browser" runs those of the page in Chromium
# make lint       ruff, types, and the workflows
# make check      make lint and make test: to run before a commit
# make slow       the slow tests: learning to the end, large boards
# make cluster    the tests of studies on local clusters of Dask and Ray
# make fuzz       kills, failing disks, wrong games, hostile files and requests: SECONDS=600 SEED=0
# make mutants    change one thing at a time, print what no test notices: ARGS=tictactoe_env/starts.py
# make ecosystem  test the wheel with other libraries; ARGS="sb3 torchrl" names them, --list lists them
# make wheel      build the package and check what is inside
# make docs       build the documentation in build/docs; a warning is an error
# make help       print this list
#
# Each of them sets up .venv with what it needs first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
JOBS ?= auto
SECONDS ?= 600
SEED ?= 0
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# uv takes the build of torch that this variable names; "cpu" is the one without CUDA.
ifdef UV_TORCH_BACKEND
PIP = uv pip install --quiet --python $(BIN)/python
endif
PYTEST = $(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal

.PHONY: play web demo train quick test lint check slow cluster fuzz mutants ecosystem wheel docs help
.DEFAULT_GOAL := test

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Dependency groups need pip 25.1; the Python of a new environment may bring an older one.
$(VENV)/pip.installed: | $(VENV)/bin/python
	$(PIP) --upgrade "pip>=25.1"
	@touch $@

# A group of pyproject.toml. Those that it includes need not be installed again.
INCLUDED_train = play
INCLUDED_test = play web train quick
$(VENV)/%.installed: pyproject.toml | $(VENV)/pip.installed
	@echo "Installing the packages of the group '$*' into $(VENV), once: seconds, or minutes with torch."
	$(PIP) -e . --group $* $(OLDEST)
	@touch $@ $(INCLUDED_$*:%=$(VENV)/%.installed)

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
	$(PYTEST) --package $(ARGS)

test: $(VENV)/test.installed
	$(PYTEST) $(ARGS)

lint: $(VENV)/test.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/mypy

check: lint test

slow: $(VENV)/test.installed
	$(PYTEST) -m slow $(ARGS)

cluster: $(VENV)/quick.installed $(VENV)/cluster.installed
	$(BIN)/python -m pytest -m cluster $(ARGS)

fuzz: $(VENV)/test.installed
	$(BIN)/python -m pytest tests/fuzz --seconds $(SECONDS) --seed $(SEED) $(ARGS)

# mutmut calls a module tictactoe_env.starts, and its changes tictactoe_env.starts.x_...
mutants: MODULE = $(subst /,.,$(ARGS:.py=))
mutants: $(VENV)/train.installed $(VENV)/mutants.installed
	$(BIN)/mutmut run "$(MODULE)*"
	$(BIN)/mutmut results | sed -nE '/$(MODULE)/s/: (survived|no tests)$$//p' | xargs -r -n 1 $(BIN)/mutmut show

ecosystem: | $(VENV)/bin/python
	$(BIN)/python tests/ecosystem/run.py $(ARGS)

wheel: $(VENV)/test.installed
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents --toplevel tictactoe_env dist/*.whl

docs: $(VENV)/docs.installed
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs
