"""What CONTRIBUTING.md tells an author of an agent, done in a copy of this tree."""

import re
import shutil

import pytest
from small_runs import ROOT, python

from tictactoe_env.certificates.certificate import read, verify

(SOURCE,) = re.findall(r"```python\n(.+?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
FOLDERS = ("agents", "apps", "benchmarks", "docs", "tests", "tictactoe_env", "training")
FIND = """
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
SELECT = """
import sys, pytest
class Selection:
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if "monte_carlo" in item.name or goes_through(item)]
def goes_through(item):
    return {"TRAINABLE", "SETTINGS"} & {*item.function.__code__.co_names}
sys.exit(pytest.main(sys.argv[1:], [Selection()]))
"""
"""Runs the tests of the page, and those that go through all agents."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of this tree, with the page where CONTRIBUTING.md tells to put it."""
    tree = tmp_path_factory.mktemp("copy")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (*ROOT.glob("*.py"), *ROOT.glob("*.md"), ROOT / "pyproject.toml"):
        shutil.copy(file, tree)
    (tree / "agents" / "monte_carlo.py").write_text(SOURCE)
    return tree


def test_the_example_becomes_unbeatable_and_is_found_by_all_programs(tree):
    done = python("-c", FIND, folder=tree)
    assert done.returncode == 0, done.stderr
    run = tree / "runs" / "monte_carlo-0"
    verify(read(run))
    assert read(run).unbeatable
    assert (run / "growth.png").exists()


@pytest.mark.slow
def test_the_tests_that_go_through_all_agents_pass_with_the_example(tree):
    """A test that demands more of an agent than CONTRIBUTING.md does is seen by no other test."""
    files = [
        path
        for path in sorted((tree / "tests").glob("test_*.py"))
        if re.search(r"\bTRAINABLE\b|\bSETTINGS\b", path.read_text())
    ]
    done = python("-c", SELECT, "-q", "-n", "0", "-rs", *files, folder=tree)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 10, done.stdout
    assert "monte_carlo has no digest" in done.stdout
