"""benchmarks/planted_faults.py: the faults are there, and the measures are what the page says."""

import os
import subprocess
import sys

import pytest
from programs import ROOT

pytest.importorskip("sb3_contrib")

from benchmarks import planted_faults as module
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Rules

FAULTS = [(name, fault) for name, one in module.LIBRARIES.items() for fault in one.faults]


@pytest.fixture(scope="module")
def correct():
    """The result of a short correct training of each library."""
    return {name: one.train(0, steps=4_096) for name, one in module.LIBRARIES.items()}


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_fault_changes_what_is_learned(name, fault, correct):
    library = module.LIBRARIES[name]
    assert library.train(0, steps=4_096, **library.faults[fault]) != correct[name]


def test_a_correct_training_repeats(correct):
    assert module.LIBRARIES["DQN"].train(0, steps=4_096) == correct["DQN"]


def test_a_row_counts_what_each_measure_notices():
    safe, weak = (evaluate(make_opponent(name, Rules())) for name in ("minimax", "random"))
    assert module.more_losses(0, 0.5) == pytest.approx(1 - 2**-100)
    assert module.more_losses(1, 0.01) == pytest.approx(1 - 0.99**100 - 0.99**99)
    assert module.allowed_losses([safe]) == 0
    cells = module.row("none", [safe, weak], 0.03, safe.o.win, 0).split(" | ")
    # 737/1260 of the games of random play are lost as O, 121/420 won; a table of minimax loses none
    assert cells[1:] == ["0.00-58.49", "28.81-77.75", "1/2", "1/2", "50 |"]


@pytest.mark.slow
@pytest.mark.parametrize("is_correct", [True, False])
def test_the_file_to_copy_passes_and_fails_with_a_fault(is_correct, tmp_path):
    """With the fault O loses 12 to 15 % of its games; the limit is 3 %."""
    text = (ROOT / "examples" / "test_my_algorithm.py").read_text()
    if not is_correct:
        text = f"from benchmarks.planted_faults import NoLosses\n{text}"
        text = text.replace('"MlpPolicy", env', '"MlpPolicy", NoLosses(env)')
    (tmp_path / "test_mine.py").write_text(text)
    paths = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **paths}, capture_output=True)
    assert (done.returncode == 0) == is_correct, done.stdout.decode()
