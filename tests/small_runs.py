"""Runs that take a second, for the tests of what is around the agents."""

from __future__ import annotations

import csv
import os
import signal
from itertools import count

import agents
import train
from tictactoe_env.certificates.certificate import read

JUDGE_EVERY = 1024  # steps


def options_of_run(agent):
    """Options of an agent for a training of about a second, on 3x3: those of its module."""
    options = agents.facts(agent)["SMALL"].split()
    return options if "--steps" in options else [*options, "--steps", str(2 * JUDGE_EVERY)]


def trained(agent, folder, *options, steps=2 * JUDGE_EVERY):
    """The exit code of a small training into `folder`."""
    options = [*options_of_run(agent), "--steps", str(steps), "--out", str(folder), *options]
    return train.main([agent, *options])


def config_of(agent, options):
    """The configuration of an agent for options as they are typed."""
    module = agents.module(agent)
    _, typed = train.command_line(module, train.PROGRAMS).parse([agent, *options])
    return train.experiment_of(module, train.plain_options(module, typed.kwargs)).config


def small_config(agent, **changes):
    """The configuration of a small run of two or more evaluations."""
    return config_of(agent, options_of_run(agent)).replace(**changes)


def metrics(folder):
    """The rows of metrics.csv of a run, as text."""
    with open(folder / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def contents(folder):
    """The bytes of all files of a run but its lock."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def assert_same(folder, other):
    """Check that two runs hold the same files, with the same models, states, metrics and proof.

    The clock may differ, and so may names of folders.
    """
    of_runs = []
    for run in (folder, other):
        found = {name: data for name, data in contents(run).items() if "events.out" not in name}
        models = {name: data for name, data in found.items() if name.endswith(".safetensors")}
        rows = [{**row, "seconds": 0} for row in metrics(run)]
        of_runs.append((set(found), models, rows, {**read(run).to_json(), "training": {}}))
    assert of_runs[0] == of_runs[1]


def killed_at(number, action):
    """Whether a child process that does `action` is killed before its renaming number 0, 1, ..."""
    child = os.fork()
    if child == 0:
        rename = os.replace
        calls = count()

        def replace(*paths):
            if next(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            rename(*paths)

        os.replace = replace
        try:
            action()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
