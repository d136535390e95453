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
FIRST = "minimax-first"
CORNERS = [4, 0, 2, 6, 8, 1, 3, 5, 7]  # the centre, then the corners


def game(actions: Any, seed: int = 0, options: Any = None, **arguments: Any) -> dict[str, Any]:
    """How a game is made; `actions` are tried in order."""
    return {"arguments": arguments, "seed": seed, "options": options or {}, "actions": actions}


GAMES: dict[str, dict[str, Any]] = {
    "x-random-win": game(CORNERS, 1, side="X"),
    "o-random": game(CORNERS, 2, side="O"),
    "x-minimax-first": game([4, 2, 3, 1, 8], opponent=FIRST, side="X"),
    "o-minimax-first-loss": game(range(1, 9), opponent=FIRST, side="O"),
    "minimax-random-side": game([0, 2, 6, 8, 4, 1, 3, 5, 7], 3, opponent="minimax"),
    "illegal-move": game([0, 0], side="X", opponent=FIRST, rewards={"illegal": -5}),
    "opening-and-grid": game(
        [2, 3, 8, 0, 6], opponent=FIRST, side="O", opening="b2 b1", observation="grid"
    ),
    "early-draw": game(
        [4, 5, 6],
        options={"side": "X", "board": "OXO/X../.OX"},
        **{"opponent": FIRST, "early_draw": True, "rewards": {"draw": 0.5}},
    ),
    "board-and-opponent-options": game(
        [8, 6, 3, 1, 5, 7], options={"side": "O", "opponent": FIRST, "board": "X.O/.X./..."}
    ),
    "pool": game(
        [8, 6, 3, 1, 5, 7, 0, 2, 4],
        5,
        opponent=[["random", 1], ["minimax-slip=0.2", 1]],
        side="alternate",
    ),
    "random-start": game(CORNERS, 6, start="random", side="O"),
    "2x3-two-in-a-row": game(range(6), 7, rows=2, cols=3, k=2, side="O"),
    "1x5-grid": game([2, 0, 4], rows=1, cols=5, k=3, side="X", observation="grid", opponent=FIRST),
    "2x5-early-draw": game(
        [2, 7, 1, 3, 6, 8, 0, 4, 5, 9],
        8,
        **{"rows": 2, "cols": 5, "k": 3, "early_draw": True, "opponent": "minimax", "side": "X"},
    ),
    "both-sides": game([4, 0, 8, 2, 1, 7, 6, 5, 3], opponent=None),
    "both-sides-flat-illegal": game([0, 1, 1], opponent=None, observation="flat", cols=2, k=2),
    "4x5-random": game([*range(6, 20), *range(6)], 9, rows=4, cols=5, k=4, side="O"),
}


def record(made: dict[str, Any]) -> str:
    """The text of a game.

    Its `actions` are tried in order. One onto a taken cell is skipped unless it repeats the last.
    """
    arguments, options, seed = made["arguments"], made["options"], made["seed"]
    env = TicTacToeEnv(**arguments)
    observation, info = env.reset(seed=seed, options=options)
    played: list[int] = []
    parts = [_part("reset", env, observation, None, info)]
    for action in made["actions"]:
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
    planes = observation.reshape(-1, env.rules.rows, env.rules.cols).astype(np.int8)
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
            + (" ".join(map(str, value.tolist())) if isinstance(value, np.ndarray) else str(value))
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name, played in GAMES.items():
        (FOLDER / f"{name}.txt").write_text(record(played), encoding="utf-8", newline="\n")
