"""Names that a program or another package adds to the opponents."""

import gymnasium as gym
import numpy as np
import pytest
from programs import printed
from sample_players import CellPlayer
from text_cases import refuses

from tictactoe_env import Rules, make_opponent, register_opponent, unregister_opponent
from tictactoe_env.called import CALLED
from tictactoe_env.errors import nearest
from tictactoe_env.opponents import known_names
from tictactoe_env.pool import make_pool
from tictactoe_env.trained import trained_policy

EMPTY = np.zeros((1, 9), np.int8)


def corner(rules, cell=0, word="x"):
    """Marks one cell, taken or not.

    More about it.
    """
    if rules.cells < 4:
        raise ValueError("corner needs a board of 4 cells")
    return CellPlayer(cell)


@pytest.fixture
def added():
    register_opponent("corner", corner)
    yield
    unregister_opponent("corner")


@pytest.mark.usefixtures("added")
def test_a_registered_name_is_an_opponent_with_options_wherever_names_are():
    assert make_opponent("corner-cell=4-word=y", Rules()).probs(EMPTY).argmax() == 4
    env = gym.make("tictactoe_env/TicTacToe-v0", opponent="corner-cell=8", side="O")
    env.reset()
    assert env.board.tolist() == [0] * 8 + [1]
    assert "corner" in known_names()
    register_opponent("corner", lambda rules: CellPlayer(5))
    assert make_opponent("corner", Rules()).probs(EMPTY).argmax() == 5


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    "mentions",
    [["corner-cell=x", "cell", "'x'"], ["corner-cel=1", "'cel'", "'cell'"], ["cornre", "'corner'"]],
)
def test_errors_treat_a_registered_name_as_one_of_the_packages_own(mentions):
    with refuses(*mentions[1:]):
        make_opponent(mentions[0], Rules())
    with refuses("corner needs a board of 4 cells"):  # the factory's own words
        make_pool([["corner", 1], ["random", 1]], Rules(1, 3, 3))


@pytest.mark.parametrize("name", CALLED)
def test_a_trained_agent_is_known_by_the_name_for_people_wherever_names_are(name):
    table = make_opponent(CALLED[name], Rules()).table
    assert np.array_equal(trained_policy(name).table, table)
    title = f"The {name.replace('-', ' ')}"
    for opponents in (name, title, f"{name}:0.5,{title}:0.5", [[name, 1]]):
        for policy in make_pool(opponents, Rules()).policies:
            assert np.array_equal(policy.table, table)
    reply = make_opponent(f"best-response:{name}", Rules()).table
    assert np.array_equal(reply, make_opponent(f"best-response:{CALLED[name]}", Rules()).table)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *[("minmax", "minimax"), ("Random", "random")],
        *[("ppo", "maskable_ppo"), ("mp", "maskable_ppo")],
        *[("tree", ""), ("mini", ""), ("human", ""), ("", ""), ("m", "")],
    ],
)
def test_a_name_is_suggested_only_if_it_is_near(name, meant):
    assert nearest(name, ["minimax", "maskable_ppo", "random", "trie"]) == meant


@pytest.mark.parametrize("name", ["minimax", "self", "trie", "Gambler", "a b", 7])
def test_a_name_that_is_taken_or_cannot_be_typed_is_refused(name):
    with refuses(repr(name)):
        register_opponent(name, corner)


def test_a_factory_that_makes_no_player_is_refused():
    with refuses("nobody", "factory(rules, **options)"):
        register_opponent("nobody", CellPlayer(0))
    with refuses("'nobody'"):
        unregister_opponent("nobody")
    for mention, factory in (("Zero", lambda rules: 1 / 0), ("probs", lambda rules: 7)):
        register_opponent("nobody", factory)
        with refuses(mention):
            make_opponent("nobody", Rules())
    unregister_opponent("nobody")


PROGRAM = """
import sys
from tictactoe_env import Rules, make_opponent
make_opponent("minimax", Rules()), make_opponent("trie", Rules())
assert "cautious_players" not in sys.modules
for spec in ("cautious-cell=3", "broken", "nothing", "cautios"):
    try:
        print(make_opponent(spec, Rules()).cell)
    except ValueError as error:
        print(error)
from tictactoe_env.opponents.__main__ import listed
print(listed())
"""
ENTRY_POINTS = """[tictactoe_env.opponents]
cautious = cautious_players:make
broken = cautious_players:missing
nothing = cautious_players:NUMBER
trie = cautious_players:make
"""
MODULE = """NUMBER = 7
class Cell:
    def __init__(self, cell): self.cell = cell
    def probs(self, boards): return 1 / 0
def make(rules, cell=1):
    '''Marks b1.'''
    return Cell(cell)
"""


def test_an_installed_package_brings_its_opponents_by_entry_points(tmp_path):
    about = tmp_path / "cautious_players-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: cautious-players\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "cautious_players.py").write_text(MODULE)
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{PROGRAM}"
    lines = printed("-c", script).splitlines()
    assert lines[0] == "3"
    mentions = (["'broken'", "missing"], ["'nothing'", "factory"], ["'cautios'", "'cautious'"])
    for line, some in zip(lines[1:4], mentions, strict=True):
        assert [word for word in some if word not in line] == []
    rows = map(str.split, filter(None, lines[4:]))
    added = {name: " ".join(words) for name, *words in rows}
    assert added["cautious"] == "Marks b1."
    assert "missing" in added["broken"]
