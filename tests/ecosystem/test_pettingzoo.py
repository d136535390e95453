"""PettingZoo's check of pictures, its registry, and both seats in the example, with the wheel.

`python tests/ecosystem/run.py pettingzoo` runs them; see examples/README.md.
"""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows without a screen

import pettingzoo
import pettingzoo.test as checks
import pytest

from tictactoe_env import Rules
from tictactoe_env import pettingzoo as tictactoe


def test_the_render_test_passes_in_all_modes():
    checks.render_test(tictactoe.env)
    assert tictactoe.raw_env.metadata["render_modes"] == ["human", "ansi", "rgb_array"]


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo before 1.27")
def test_pettingzoo_makes_it_by_its_id():
    made = pettingzoo.make("aec", tictactoe.ENV_ID, rows=4, cols=4, k=3, max_cycles=2)
    assert (made.unwrapped.rules, made.unwrapped.max_cycles) == (Rules(4, 4, 3), 2)


def test_the_example_learns_and_is_evaluated_exactly(run_example):
    """Random play as O wins 28.8 % of games, loses 58.5 %."""
    printed, rates = run_example("pettingzoo_two_seats.py", 10_000)
    assert "exploitability after 10,000 games: " in printed
    won, lost = rates["O"]
    assert won > 60
    assert lost < 20
