"""PettingZoo's check of pictures, and both seats in the example, with the wheel.

`python tests/ecosystem/run.py pettingzoo` runs them; see examples/README.md.
"""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows without a screen

import pettingzoo.test as checks

from tictactoe_env import pettingzoo as tictactoe


def test_the_render_test_passes_in_all_modes():
    checks.render_test(tictactoe.env)
    assert tictactoe.raw_env.metadata["render_modes"] == ["human", "ansi", "rgb_array"]


def test_the_example_learns_and_is_evaluated_exactly(run_example):
    """Random play as O wins 28.8 % of games, loses 58.5 %."""
    printed, rates = run_example("pettingzoo_two_seats.py", 10_000)
    assert "exploitability after 10,000 games: " in printed
    won, lost = rates["O"]
    assert won > 60
    assert lost < 20
