"""Recorded games: each is played again, and every line must be the same.

The first lines of a file hold what is needed to play its game: a new file needs no more.
`python tests/test_playthroughs.py` writes them all anew; read the diff.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tictactoe_env import TicTacToeEnv
from tictactoe_env.notation import board_text

FILES = sorted((Path(__file__).parent / "playthroughs").glob("*.txt"))


def recorded(made):
    """The text of a game: how it is made, and everything that `reset` and `step` return."""
    env = TicTacToeEnv(**made["arguments"])
    lines = [f"{name}: {json.dumps(value)}" for name, value in made.items()]

    def add(title, observation, info, **result):
        board = board_text(env.board, env.rules)
        told = {"board": board, "observation": observation.astype(int), **result, **info}
        lines.extend(["", title])
        lines.extend(f"  {name:12} {np.asarray(value).tolist()}" for name, value in told.items())

    add("reset", *env.reset(seed=made["seed"], options=made["options"]))
    for action in made["actions"]:
        observation, reward, terminated, truncated, info = env.step(action)
        ends = {"terminated": terminated, "truncated": truncated}
        add(f"step {action}", observation, info, reward=reward, **ends)
    return "\n".join([*lines, ""])


def played_again(file):
    """The text that a file should have."""
    head = file.read_text(encoding="utf-8").splitlines()[:4]
    return recorded(
        {name: json.loads(value) for name, value in (line.split(": ", 1) for line in head)}
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_game_is_played_again_in_the_same_way(file):
    assert played_again(file) == file.read_text(encoding="utf-8")


if __name__ == "__main__":
    for file in FILES:
        file.write_text(played_again(file), encoding="utf-8", newline="\n")
