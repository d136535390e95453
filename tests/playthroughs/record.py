"""Record games as text: everything that `reset` and `step` return.

    python tests/playthroughs/record.py          writes the files of GAMES into this folder
    git diff tests/playthroughs                  shows what changed in the behaviour

The first lines of a file hold what is needed to play its game again; `tests/test_playthroughs.py`
does so and compares every line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tictactoe_env import TicTacToeEnv
from tictactoe_env.notation import board_text, cell_text

FOLDER = Path(__file__).parent
GAMES: dict[str, dict[str, Any]] = {
    "x-random-win": {"arguments": {"side": "X"}, "seed": 1, "actions": [4, 0, 2, 6, 8, 1, 3, 5, 7]},
    "o-random": {"arguments": {"side": "O"}, "seed": 2, "actions": [4, 0, 2, 6, 8, 1, 3, 5, 7]},
    "x-minimax-first": {
        "arguments": {"opponent": "minimax-first", "side": "X"},
        "actions": [4, 2, 3, 1, 8],
    },
    "o-minimax-first-loss": {
        "arguments": {"opponent": "minimax-first", "side": "O"},
        "actions": [1, 2, 3, 4, 5, 6, 7, 8],
    },
    "minimax-random-side": {
        "arguments": {"opponent": "minimax"},
        "seed": 3,
        "actions": [0, 2, 6, 8, 4, 1, 3, 5, 7],
    },
    "illegal-move": {
        "arguments": {"side": "X", "opponent": "minimax-first", "rewards": {"illegal": -5}},
        "actions": [0, 0],
    },
    "opening-and-grid": {
        "arguments": {
            "opponent": "minimax-first",
            "side": "O",
            "opening": "b2 b1",
            "observation": "grid",
        },
        "actions": [2, 3, 8, 0, 6],
    },
    "early-draw": {
        "arguments": {"opponent": "minimax-first", "early_draw": True, "rewards": {"draw": 0.5}},
        "options": {"side": "X", "board": "OXO/X../.OX"},
        "actions": [4, 5, 6],
    },
    "board-and-opponent-options": {
        "options": {"side": "O", "opponent": "minimax-first", "board": "X.O/.X./..."},
        "actions": [8, 6, 3, 1, 5, 7],
    },
    "pool": {
        "arguments": {"opponent": [["random", 1], ["minimax-slip=0.2", 1]], "side": "alternate"},
        "seed": 5,
        "actions": [8, 6, 3, 1, 5, 7, 0, 2, 4],
    },
    "random-start": {
        "arguments": {"start": "random", "side": "O"},
        "seed": 6,
        "actions": [4, 0, 2, 6, 8, 1, 3, 5, 7],
    },
    "2x3-two-in-a-row": {
        "arguments": {"rows": 2, "cols": 3, "k": 2, "side": "O"},
        "seed": 7,
        "actions": [0, 1, 2, 3, 4, 5],
    },
    "1x5-grid": {
        "arguments": {
            "rows": 1,
            "cols": 5,
            "k": 3,
            "side": "X",
            "observation": "grid",
            "opponent": "minimax-first",
        },
        "actions": [2, 0, 4],
    },
    "2x5-early-draw": {
        "arguments": {
            "rows": 2,
            "cols": 5,
            "k": 3,
            "early_draw": True,
            "opponent": "minimax",
            "side": "X",
        },
        "seed": 8,
        "actions": [2, 7, 1, 3, 6, 8, 0, 4, 5, 9],
    },
    "4x5-random": {
        "arguments": {"rows": 4, "cols": 5, "k": 4, "side": "O"},
        "seed": 9,
        "actions": [*range(6, 20), *range(6)],
    },
}


def record(game: dict[str, Any]) -> str:
    """The text of a game.

    Its `actions` are tried in order. One onto a taken cell is skipped unless it repeats the last.
    """
    arguments, options, seed = (
        game.get("arguments", {}),
        game.get("options", {}),
        game.get("seed", 0),
    )
    env = TicTacToeEnv(**arguments)
    observation, info = env.reset(seed=seed, options=options)
    played: list[int] = []
    parts = [_part("reset", env, observation, None, info)]
    for action in game["actions"]:
        if not env.action_masks()[action] and action not in played[-1:]:
            continue
        observation, reward, terminated, truncated, info = env.step(action)
        played.append(action)
        parts.append(
            _part(
                f"step {action} ({cell_text(action, env.rules)})",
                env,
                observation,
                (reward, terminated, truncated),
                info,
            )
        )
        if terminated:
            break
    head = [
        f"{name}: {json.dumps(value)}"
        for name, value in (
            ("arguments", arguments),
            ("seed", seed),
            ("options", options),
            ("actions", played),
        )
    ]
    return "\n".join([*head, "", *parts])


def read(text: str) -> dict[str, Any]:
    """How the game of a file was made: arguments, seed, options and actions."""
    return {
        name: json.loads(value)
        for name, value in (line.split(": ", 1) for line in text.splitlines()[:4])
    }


def _part(
    title: str, env: TicTacToeEnv, observation: Any, result: Any, info: dict[str, Any]
) -> str:
    planes = observation if observation.ndim == 3 else observation[None]
    lines = [title, f"  board        {board_text(env.board, env.rules)}"]
    for row in range(planes.shape[1]):
        name = "observation" if row == 0 else ""
        lines.append(
            f"  {name:12} "
            + "   ".join(
                " ".join(f"{value:2}" for value in plane[row].tolist()) for plane in planes
            )
        )
    if result is not None:
        lines.append("  result       reward {!r}, terminated {!r}, truncated {!r}".format(*result))
    for name, value in info.items():
        lines.append(
            f"  {name:12} "
            + (" ".join(map(str, value.tolist())) if isinstance(value, np.ndarray) else repr(value))
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name, game in GAMES.items():
        (FOLDER / f"{name}.txt").write_text(record(game))
