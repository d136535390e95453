"""Trainings that are killed on the way and continued: nothing is lost, and the bytes are the same.

A training writes a checkpoint at each evaluation here, so most changes of files lie between one
and the next. Each training is a process of its own, with its own seed of Python's hashes.
"""

import csv
import io
import json
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_runs import JUDGE_EVERY, OPTIONS, ROOT, environment

from agents import TRAINABLE
from tictactoe_env.certificate import read, verify
from training.manifest import check_all

NEVER = 0
GOAL = ("--rows", "2", "--opponents", "minimax-slip=0.6", "--judge-every", "64")


def trained(number, *arguments, hashes=0):
    """The exit code of a training that is killed before a change of its files, and the changes."""
    command = [sys.executable, ROOT / "tests" / "killed.py", str(number), *map(str, arguments)]
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


def contents(folder):
    """All files of a run but events, locks and manifests, without seconds: {name: content}."""
    found = {}
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.name.startswith((".lock", "events.out", "manifest.json")):
            continue
        found[name] = path.read_bytes()
        if path.name == "metrics.csv":
            rows = csv.DictReader(io.StringIO(path.read_text()))
            found[name] = [{**row, "seconds": "0"} for row in rows]
        elif path.name == "certificate.json":
            content = json.loads(path.read_text())
            content["training"] = without_seconds(content["training"])
            content.pop("sha256", None)
            found[name] = content
    return found


def without_seconds(value):
    if isinstance(value, dict):
        return {key: without_seconds(one) for key, one in value.items() if key != "seconds"}
    return value


def assert_same(folder, other):
    check_all(folder)
    verify(read(folder))
    one, two = contents(folder), contents(other)
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []


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


@pytest.mark.parametrize("back", [0, 1, 4, 8])
def test_a_run_that_is_killed_after_its_last_step_is_completed(whole, tmp_path, back):
    """The last changes are those of metrics, plot, certificate, values and manifest."""
    folder, (reference, changes) = tmp_path / "run", whole
    code, _ = begin("tabular_q", folder, number=changes - back)
    assert code == -signal.SIGKILL
    assert not (folder / "manifest.json").exists()
    assert continued(folder) == 0
    assert_same(folder, reference)


def test_a_run_that_has_reached_its_goal_ends_there_with_the_same_bytes(tmp_path):
    folder, reference = tmp_path / "run", tmp_path / "whole"
    goal = (*GOAL, "--until", "unbeatable", "--steps", "50000", "--seed", "5")
    code, changes = begin("tabular_q", reference, *goal)
    assert code == 0
    assert begin("tabular_q", folder, *goal, number=changes - 6)[0] == -signal.SIGKILL
    assert continued(folder, "--until", "unbeatable") == 0
    assert_same(folder, reference)


@pytest.mark.slow
@pytest.mark.parametrize("agent", sorted(TRAINABLE))
def test_the_bytes_are_the_same_with_other_hashes_and_after_kills(agent, tmp_path):
    """Killed at a random change of a file, and once more while it continues."""
    draw, reference, again = random.Random(agent), tmp_path / "whole", tmp_path / "again"
    code, changes = begin(agent, reference, hashes=1)
    assert code == 0
    assert begin(agent, again, hashes=2) == (0, changes)
    assert_same(again, reference)
    for number in range(2):
        folder = tmp_path / str(number)
        at = draw.randrange(1, changes + 1)
        assert begin(agent, folder, number=at, hashes=3)[0] == -signal.SIGKILL
        if not any((folder / name).exists() for name in ("checkpoint", ".checkpoint.old")):
            continue  # nothing was saved yet
        more = draw.randrange(1, changes)
        trained(more, "--resume", folder, hashes=4)
        assert continued(folder, hashes=5) == 0
        assert_same(folder, reference)


@pytest.mark.slow
def test_two_learners_are_completed_together(tmp_path):
    options = ("--opponents", "rival", "--snapshot-every", "1024", "--judge-every", "512")
    options += ("--rival", f"tabular_q --games 32 {' '.join(options[2:])}")
    reference = tmp_path / "whole"
    code, changes = begin("tabular_q", reference, *options)
    assert code == 0
    for back in (0, 6, 14):
        folder = tmp_path / f"run{back}"
        assert begin("tabular_q", folder, *options, number=changes - back)[0] < 0
        assert continued(folder) == 0
        for end in ("", "-rival"):
            one, two = (path.with_name(path.name + end) for path in (folder, reference))
            found = contents(two)
            found["config.json"] = contents(one)["config.json"]  # it names the other folder
            assert contents(one) == found
