"""Trainings that are killed on the way and continued: nothing is lost, and the bytes are the same.

A training writes a checkpoint at each evaluation here, so most changes of files lie between one
and the next. Each training is a process of its own, with its own seed of Python's hashes.
"""

import random
import re
import signal
import subprocess
import sys

import pytest
from small_runs import ROOT, environment

from agents import TRAINABLE
from attack.trainings import (
    GOAL,
    JUDGE_EVERY,
    OPTIONS,
    differences,
    differences_of_all,
    has_checkpoint,
)

NEVER = 0


def trained(number, *arguments, hashes=0):
    """The exit code of a training that is killed before a change of its files, and the changes."""
    command = [sys.executable, "-m", "attack.killed", str(number), *map(str, arguments)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**environment(), "PYTHONHASHSEED": str(hashes), "OMP_NUM_THREADS": "1"},
    )
    assert "Traceback" not in done.stderr, done.stderr
    found = re.search(r"changes: (\d+)\n", done.stdout)
    return done.returncode, int(found[1]) if found else 0


def begin(agent, folder, *options, number=NEVER, hashes=0):
    """A small training into a folder."""
    steps = [] if "--steps" in OPTIONS[agent] else ["--steps", str(3 * JUDGE_EVERY)]
    arguments = [agent, *OPTIONS[agent], *steps, *options, "--out", folder]
    return trained(number, *arguments, hashes=hashes)


def continued(folder, *options, hashes=0):
    """Continue a killed training to its end; train anew if it had no checkpoint yet."""
    code, _ = trained(NEVER, "--resume", folder, *options, hashes=hashes)
    return code


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that was not killed, and the number of changes of its files."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    code, changes = begin("tabular_q", folder)
    assert code == 0
    return folder, changes


@pytest.mark.slow
@pytest.mark.parametrize("back", [1, 3, 30])
def test_a_run_that_is_killed_after_its_last_step_is_completed(whole, tmp_path, back):
    """The last changes are those of metrics, plot, certificate, values and manifest."""
    folder, (reference, changes) = tmp_path / "run", whole
    code, _ = begin("tabular_q", folder, number=changes - back)
    assert code == -signal.SIGKILL
    assert not (folder / "manifest.json").exists()
    assert continued(folder) == 0
    assert differences(folder, reference) == []


@pytest.mark.slow
def test_a_run_that_has_reached_its_goal_ends_there_with_the_same_bytes(tmp_path):
    folder, reference = tmp_path / "run", tmp_path / "whole"
    goal = (*GOAL.split(), "--until", "unbeatable")
    code, changes = begin("tabular_q", reference, *goal)
    assert code == 0
    assert begin("tabular_q", folder, *goal, number=changes - 20)[0] == -signal.SIGKILL
    assert continued(folder, "--until", "unbeatable") == 0
    assert differences(folder, reference) == []


@pytest.mark.slow
@pytest.mark.parametrize("agent", sorted(TRAINABLE))
def test_the_bytes_are_the_same_with_other_hashes_and_after_kills(agent, tmp_path):
    """Killed at a random change of a file, and once more while it continues."""
    draw, reference, folder = random.Random(agent), tmp_path / "whole", tmp_path / "run"
    code, changes = begin(agent, reference, hashes=1)
    assert code == 0
    at = draw.randrange(changes // 2, changes + 1)
    assert begin(agent, folder, number=at, hashes=2)[0] == -signal.SIGKILL
    assert has_checkpoint(folder)
    trained(draw.randrange(1, changes // 2), "--resume", folder, hashes=3)
    assert continued(folder, hashes=4) == 0
    assert differences(folder, reference) == []


@pytest.mark.slow
def test_two_learners_are_completed_together(tmp_path):
    options = ("--opponents", "rival", "--snapshot-every", "1024", "--judge-every", "512")
    options += ("--rival", f"tabular_q --games 32 {' '.join(options[2:])}")
    reference, folder = tmp_path / "whole", tmp_path / "run"
    code, changes = begin("tabular_q", reference, *options)
    assert code == 0
    assert begin("tabular_q", folder, *options, number=changes - 20)[0] == -signal.SIGKILL
    assert continued(folder) == 0
    assert differences_of_all(folder, reference) == []
