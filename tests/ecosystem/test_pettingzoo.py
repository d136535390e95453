"""PettingZoo's checks with a picture and its conversions, and SuperSuit's wrappers, with the wheel.

`python tests/ecosystem/run.py pettingzoo` runs them; see examples/README.md.
"""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows without a screen

import numpy as np
import pettingzoo
import pettingzoo.test as checks
import pytest
import supersuit
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from tictactoe_env import Rules
from tictactoe_env import pettingzoo as tictactoe

X, O = tictactoe.AGENTS  # noqa: E741


def test_the_render_test_passes_in_all_modes():
    checks.render_test(tictactoe.env)
    assert tictactoe.raw_env.metadata["render_modes"] == ["human", "ansi", "rgb_array"]


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo before 1.27")
def test_pettingzoo_makes_it_by_its_id():
    made = pettingzoo.make("aec", tictactoe.ENV_ID, rows=4, cols=4, max_cycles=2)
    assert (made.unwrapped.rules, made.unwrapped.max_cycles) == (Rules(4, 4, 3), 2)


# --- other libraries' wrappers --------------------------------------------------------------------


def test_supersuit_transforms_the_board_once_it_is_taken_out_of_the_dictionary():
    """SuperSuit's wrappers take observations without a dictionary; the mask is in `observe`."""
    plain = tictactoe.env(observation="grid")
    env = supersuit.observation_lambda_v0(
        plain,
        lambda observation, _space: observation["observation"],
        lambda space: space["observation"],
    )
    env = supersuit.frame_stack_v1(supersuit.flatten_v0(supersuit.dtype_v0(env, np.float32)), 2)
    env = supersuit.reward_lambda_v0(env, lambda reward: 10 * reward)
    env.reset(seed=0)
    for cell in (4, 0, 2, 6):
        assert plain.observe(env.agent_selection)["action_mask"][cell] == 1
        env.step(cell)
    observation, *_ = env.last()
    assert env.observation_space(X).contains(observation)
    assert observation[-9:].tolist() == [-1, 0, 1, 0, 1, 0, -1, 0, 0]
    env.step(0)  # taken: an illegal move
    assert env.last()[1:3] == (10, True)
    env.step(None)
    assert env.last()[1:3] == (-10, True)


def test_a_turn_based_game_becomes_a_parallel_environment():
    env = turn_based_aec_to_parallel(tictactoe.env())
    checks.parallel_seed_test(lambda: turn_based_aec_to_parallel(tictactoe.env()))
    env.reset(seed=0)
    for agent, cell in zip((X, O) * 3, (0, 3, 1, 4, 2), strict=False):
        actions = {name: cell if name == agent else None for name in (X, O)}
        seen, rewards, terminated, _, _ = env.step(actions)
    assert rewards == {X: 1, O: -1}
    assert terminated == {X: True, O: True}
    assert seen[O]["observation"][1].tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0]]


def test_the_example_learns_and_is_evaluated_exactly(run_example):
    """Random play as O wins 28.8 % of games, loses 58.5 %."""
    printed, rates = run_example("pettingzoo_two_seats.py", 10_000)
    assert "exploitability after 10,000 games: " in printed
    won, lost = rates["O"]
    assert won > 60
    assert lost < 20
