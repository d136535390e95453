"""What CONTRIBUTING.md tells authors of an agent and of a law, done in copies of this tree."""

import re
import shutil

import pytest
from grown import copied, grown, insert
from programs import ROOT, python

import train  # noqa: F401  the copies need what the programs need
from tictactoe_env.certificates.certificate import read, verify

FOLDERS = ("agents", "apps", "benchmarks", "docs", "tests", "tictactoe_env", "training")
FILES = [path.name for path in (*ROOT.glob("*.py"), *ROOT.glob("*.md"), ROOT / "pyproject.toml")]
FIND = """
import train, evaluate, play
from apps.players.gallery import Gallery
from apps.players.titles import unit_of
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
"""Runs the tests of the agent, and those that go through all agents."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of this tree, with the agent where CONTRIBUTING.md tells to put it."""
    tree = tmp_path_factory.mktemp("copy")
    copied(tree, *FOLDERS, *FILES)
    shutil.copy(ROOT / "tests" / "monte_carlo.py", tree / "agents")
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


LINES = """\
        if self.wrapped:  # rows go on at the other edge
            for row, first in np.ndindex(self.rows, self.cols):
                around = range(first, first + self.k)
                found.add(tuple(sorted(row * self.cols + col % self.cols for col in around)))
"""
TAUGHT = {  # what stands before which line of a file
    "training/options.py": ("    def __init__(self", '    wrapped: bool = option(False, "")\n\n'),
    "apps/web/requests.py": ("    gravity: bool", "    wrapped: bool = False\n"),
}
DOORS = """
import evaluate, play, train
from tictactoe_env import TicTacToeEnv, plain_proof
from tictactoe_env.certificates import certify, read, verify, write
from tictactoe_env.exact import MinimaxPolicy
from tictactoe_env.games import Game
from tictactoe_env.rules import Rules
from apps.web.requests import Board

def refuses(call):
    try:
        return call() == 2  # an exit code
    except SystemExit as error:
        return error.code == 2
    except (ValueError, plain_proof.Refused) as error:
        return "wrapped" in str(error)

rules = Rules(2, 4, 3, wrapped=True)
size = "--board 2x4x3-wrapped=true"
won = Game(moves=(0, 4, 3, 5, 2), rules=rules, origin="web")
assert won.result == "X" and Game.parse(won.line()) == Game.from_json(won.as_json()) == won
for reach_only in (False, True):
    write(certify(MinimaxPolicy(rules), "perfect", rules, reach_only=reach_only), "wrapped.json")
    verify(read("wrapped.json"))
    assert refuses(lambda: plain_proof.check(plain_proof.read("wrapped.json")))
env = TicTacToeEnv(None, **rules.to_json())
env.reset()
assert [env.step(cell)[2] for cell in won.moves] == [False] * 4 + [True]
assert play.main(f"{size} --x random --o random --seed 1 --store games.db".split()) == 0
assert evaluate.main(f"random {size}".split()) == 0
is_taught = "wrapped" in Board.model_fields
assert is_taught != refuses(lambda: Board(**rules.to_json()).rules)
assert is_taught != refuses(lambda: train.main(f"tabular_q --steps 500 {size}".split()))
"""


def test_a_new_law_is_right_at_every_door_or_refused(tmp_path):
    """At first only `Rules` knows it, then also the two places that need nothing but its name."""
    tree = grown(tmp_path, *{*FOLDERS, *FILES} - {"tests", "tictactoe_env"})
    insert(tree / "tictactoe_env/rules.py", "        return tuple(sorted(found))", LINES)
    for places in ({}, TAUGHT):
        for name, (before, text) in places.items():
            insert(tree / name, before, text)
        done = python("-c", DOORS, folder=tree)
        assert done.returncode == 0, done.stderr
