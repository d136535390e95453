"""The page of CONTRIBUTING.md is an agent: put into an empty folder, every program finds it."""

import re
import shutil

import pytest
from small_runs import ROOT, python

import agents
from tictactoe_env.certificates.certificate import read, verify

(SOURCE,) = re.findall(r"```python\n(.+?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
FIND = """
import sys; sys.path[:0] = {paths!r}
import os; os.chdir({folder!r})
import train, evaluate, play
from apps.players.gallery import Gallery
from apps.players.about import unit_of
assert train.main("monte_carlo --until unbeatable --out runs/monte_carlo-0".split()) == 0
assert evaluate.main(["runs/monte_carlo-0"]) == 0
assert play.main("--x runs/monte_carlo-0 --o random --seed 1 --store games.db".split()) == 0
(entry,) = [one for one in Gallery().entries() if one.id == "runs/monte_carlo-0"]
assert entry.title == "Monte Carlo player, seed 0", entry.title
assert unit_of("monte_carlo") == "moves"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with `agents`, which holds nothing but the example."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / "agents").mkdir()
    for name in ("__init__.py", "presets.toml"):
        shutil.copy(agents.FOLDER / name, folder / "agents")
    (folder / "agents" / "monte_carlo.py").write_text(SOURCE)
    return folder


def test_the_example_becomes_unbeatable_and_is_found_by_all_programs(folder):
    paths = [str(folder), str(ROOT)]
    done = python("-c", FIND.format(paths=paths, folder=str(folder)))
    assert done.returncode == 0, done.stderr
    run = folder / "runs" / "monte_carlo-0"
    verify(read(run))
    assert read(run).unbeatable
    assert (run / "growth.png").exists()


def test_the_contract_tests_cover_the_example(folder):
    tests = ROOT / "tests"
    options = ["-q", "-n", "0", "-k", "monte_carlo", "--rootdir", ROOT, tests / "test_agents.py"]
    program = (
        f"import sys; sys.path[:0] = {[str(folder), str(ROOT), str(tests)]}\n"
        f"import pytest; raise SystemExit(pytest.main({list(map(str, options))}))"
    )
    done = python("-c", program)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 5
