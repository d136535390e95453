"""The page of CONTRIBUTING.md is an agent: it trains, continues, loads and becomes unbeatable."""

import re
import sys
import types
from pathlib import Path

import pytest
from text_cases import refuses

import train
from tictactoe_env.certificates.certificate import read, verify
from training import checkpoint
from training.learner import drive
from training.run import Run

GUIDE = Path(__file__).parent.parent / "CONTRIBUTING.md"


@pytest.fixture
def page():
    (source,) = re.findall(r"```python\n(.+?)```", GUIDE.read_text(), re.S)
    module = types.ModuleType("monte_carlo")
    sys.modules["monte_carlo"] = module  # dataclasses look their module up
    exec(compile(source, str(GUIDE), "exec"), module.__dict__)
    yield module
    del sys.modules["monte_carlo"]


def test_the_example_becomes_unbeatable_and_is_certified_and_plotted(page, tmp_path):
    run = Run(tmp_path / "run", page, page.Config(), "unbeatable")
    run.start()
    run.train()
    run.finish()
    verify(read(run.folder))
    assert read(run.folder).unbeatable
    assert (run.folder / "growth.png").exists()
    assert (checkpoint.load(page, run.folder).table == run.best_player.table).all()


def test_the_example_continues_bit_by_bit(page, tmp_path):
    some = {"opponents": "minimax-slip=0.6:0.5,self:0.5", "snapshot_every": 2_000}
    config = page.Config(steps=6_000, judge_every=3_000, **some)
    whole, half, again = (page.begin(config) for _ in range(3))
    drive(whole, config, lambda learner: False)
    drive(half, config, lambda learner: True)
    checkpoint.save(tmp_path, page.AGENT, config, half)
    checkpoint.restore(tmp_path, page.AGENT, config, again)
    drive(again, config, lambda learner: False)
    assert again.steps == whole.steps > half.steps
    assert len(again.pool.snapshots) == len(whole.pool.snapshots) > 1
    assert (again.policy().table == whole.policy().table).all()


def test_the_example_has_a_command_line_and_no_presets(page):
    assert train.command_line(page).parse(["monte_carlo"])["agent"] == "monte_carlo"
    with refuses("monte_carlo", "slow"):
        train.entry_of(page, {"preset": "slow"}, {})
