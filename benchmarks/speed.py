"""Steps per second of the environments, beside others: the first table of docs/speed.md.

    python -m benchmarks.speed

A step is one move of the learner in one game, with the opponent's reply, the observation, the mask
and a reset where a game has ended. The learner's moves are uniformly random legal ones. They are
recorded first and repeated from the same seed, so choosing them is not measured. The rows of a
column are measured in turns, several times, in seconds of CPU, and each number is the best of them.
Other work on the machine slows all rows: compare the ratios. A step of PettingZoo's tictactoe is
two moves, one of each side; it is measured where PettingZoo is installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
from cyclopts import run

ENV_ID = "tictactoe_env:TicTacToe-v0"
GAMES = (1, 64, 1_024, 16_384)
SINGLE_STEPS = 5_000  # of one measurement
VECTOR_STEPS = 100_000  # of one measurement, over all games
OURS: dict[str, dict[str, Any]] = {
    "TicTacToe-v0": {},
    "TicTacToe-v0, 4x4, 4 in a row": {"rows": 4, "cols": 4, "k": 4},
    "TicTacToe-v0, 5x5, 4 in a row": {"rows": 5, "cols": 5, "k": 4},
    "TicTacToe-v0, 7x8, 5 in a row": {"rows": 7, "cols": 8, "k": 5},
    "TicTacToe-v0, 6x7, 4 in a row, gravity": {"rows": 6, "cols": 7, "k": 4, "gravity": True},
}
Measurement = Callable[[], float]  # steps per second


def single(name: str, **arguments: Any) -> Measurement:
    """A measurement of one game through `gym.make`, resets included."""
    env = gym.make(name, **arguments)
    rng = np.random.default_rng(0)
    seed = 7
    actions = []
    _, info = env.reset(seed=seed)
    for _ in range(SINGLE_STEPS):
        mask = info.get("action_mask")
        cells = env.action_space.n if mask is None else np.flatnonzero(mask)  # type: ignore
        actions.append(int(rng.choice(cells)))
        _, _, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            _, info = env.reset()

    def measure() -> float:
        env.reset(seed=seed)
        began = time.process_time()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return SINGLE_STEPS / (time.process_time() - began)

    return measure


def vector(envs: Any) -> Measurement:
    """A measurement of all games of a vector environment, in its default autoreset mode."""
    steps = max(8, VECTOR_STEPS // envs.num_envs)
    rng = np.random.default_rng(0)
    seed = 7
    actions = []
    _, info = envs.reset(seed=seed)
    for _ in range(steps):
        scores = rng.random((envs.num_envs, envs.single_action_space.n), dtype=np.float32)
        actions.append((scores * info.get("action_mask", 1)).argmax(axis=1))
        info = envs.step(actions[-1])[4]

    def measure() -> float:
        envs.reset(seed=seed)
        began = time.process_time()
        for action in actions:
            envs.step(action)
        return steps * envs.num_envs / (time.process_time() - began)

    return measure


def pettingzoo() -> Measurement:
    """A measurement of PettingZoo's tictactoe, whose observation and mask `last` gives."""
    from pettingzoo.classic import tictactoe_v3

    env = tictactoe_v3.env()
    rng = np.random.default_rng(0)

    def play(choose: Callable[[Any], int]) -> list[int]:
        env.reset()
        moves = []
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
            else:
                moves.append(choose(observation["action_mask"]))
                env.step(moves[-1])
        return moves

    games = [play(lambda mask: int(rng.choice(np.flatnonzero(mask)))) for _ in range(500)]

    def measure() -> float:
        began = time.process_time()
        for moves in games:
            following = iter(moves)
            play(lambda _, following=following: next(following))  # type: ignore[misc]
        return sum(map(len, games)) / 2 / (time.process_time() - began)

    return measure


def rows(games: int) -> dict[str, Measurement]:
    """The rows that are measured with so many games at a time."""
    if games > 1:
        cart_pole = gym.make_vec("CartPole-v1", games, vectorization_mode="vector_entry_point")
        envs = {name: gym.make_vec(ENV_ID, games, **board) for name, board in OURS.items()}
        return {name: vector(one) for name, one in ({"CartPole-v1": cart_pole} | envs).items()}
    found = {name: single(name) for name in ("FrozenLake-v1", "CartPole-v1")}
    if find_spec("pettingzoo"):
        found["PettingZoo tictactoe_v3"] = pettingzoo()
    return found | {name: single(ENV_ID, **board) for name, board in OURS.items()}


def main(*, rounds: int = 15) -> None:
    """Print the table. rounds: measurements of each number."""
    best: dict[str, dict[int, float]] = {}
    for games in GAMES:
        measurements = rows(games)
        for _ in range(rounds):
            for name, measure in measurements.items():
                row = best.setdefault(name, {})
                row[games] = max(row.get(games, 0.0), measure())
    print(f"| million steps/s | {' | '.join(f'{games:,}' for games in GAMES)} |")
    print("| --- |" + " ---: |" * len(GAMES))
    for name, row in best.items():
        cells = [f"{row[games] / 1e6:.3f}" if games in row else "" for games in GAMES]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    run(main)
