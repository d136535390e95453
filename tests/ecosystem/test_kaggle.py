"""Kaggle's ConnectX plays the same Connect Four, and its agents and our players play each other.

`python tests/ecosystem/run.py kaggle` runs them; see examples/README.md.
"""

import re

import gymnasium as gym
from kaggle_environments import make

import tictactoe_env  # noqa: F401


def test_random_games_agree_move_by_move():
    env = gym.make("tictactoe_env/ConnectFour-v0", opponent=None)
    results = set()
    for _ in range(60):
        _, *plies = make("connectx").run(["random", "random"])
        env.reset()
        for ply, states in enumerate(plies):
            mover = states[ply % 2]
            _, reward, is_over, _, _ = env.step(mover.action)
            assert (env.board % 3 == states[0].observation.board).all()
            assert (reward, is_over) == (mover.reward, mover.status == "DONE")
        results.add((ply % 2, reward))
    assert {(0, 1), (1, 1)} <= results


def test_the_example_plays_in_both_libraries_and_proves_an_agent(run_example):
    printed, rates = run_example("kaggle_connectx.py", 4)
    assert len(re.findall(r"search wins \d of 4 games", printed)) == 2
    assert "can be beaten as X (c4 c3 c2 a4 c1 a3 b4 a2 b3 a1)" in " ".join(printed.split())
    assert rates["X"] == (76.29, 18.74)
