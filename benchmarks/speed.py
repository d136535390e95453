"""Steps per second of the environments, beside Gymnasium's own in the same run: `make bench`.

A step is one call for one game: the learner's move, the opponent's reply, observation, mask and resets included. The
learner's moves are uniformly random legal ones, recorded beforehand and played again from the same seed, so that the
choice of moves is not measured. Each figure is the best of several repeats on one core; other work on the machine
slows all rows down, so compare the ratios.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import tictactoe_env  # noqa: F401 (registers the environments)

REPEATS = 7
SINGLE_STEPS = 50_000


def single_rate(make: Callable[[], gym.Env[Any, Any]], masked: bool) -> float:
    """Steps per second of one game through `gym.make`, resets included."""
    env, rng, seed = make(), np.random.default_rng(0), 7
    actions = []
    _, info = env.reset(seed=seed)
    for _ in range(SINGLE_STEPS):
        action = (
            rng.choice(np.flatnonzero(info["action_mask"]))
            if masked
            else rng.integers(env.action_space.n)
        )  # type: ignore[attr-defined]
        actions.append(int(action))
        _, _, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            _, info = env.reset()
    best = 0.0
    for _ in range(REPEATS):
        env.reset(seed=seed)
        began = time.perf_counter()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        best = max(best, SINGLE_STEPS / (time.perf_counter() - began))
    return best


def vector_rate(envs: Any, masked: bool) -> float:
    """Steps per second, all games counted, of a vector environment in its own autoreset mode."""
    steps = max(20, 300_000 // envs.num_envs)
    rng, seed = np.random.default_rng(0), 7
    actions = []
    _, info = envs.reset(seed=seed)
    for _ in range(steps):
        if masked:
            actions.append(
                (
                    info["action_mask"] * rng.random(info["action_mask"].shape, dtype=np.float32)
                ).argmax(axis=1)
            )
        else:
            actions.append(rng.integers(envs.single_action_space.n, size=envs.num_envs))
        info = envs.step(actions[-1])[4]
    best = 0.0
    for _ in range(REPEATS):
        envs.reset(seed=seed)
        began = time.perf_counter()
        for action in actions:
            envs.step(action)
        best = max(best, steps * envs.num_envs / (time.perf_counter() - began))
    return best


def import_milliseconds(module: str) -> float:
    """Median time of a whole process that imports a module and ends."""
    times = []
    for _ in range(2 * REPEATS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


def row(name: str, rate: float, reference: float, floor: str) -> None:
    print(f"| {name} | {rate / 1e6:.3f} | {rate / reference:.2f} | {floor} |", flush=True)


def main() -> None:
    name = "tictactoe_env/TicTacToe-v0"
    print(
        "| one game through gym.make | million steps/s | times FrozenLake-v1 | floor |\n| --- | --- | --- | --- |"
    )
    frozen_lake = single_rate(lambda: gym.make("FrozenLake-v1"), masked=False)
    row("FrozenLake-v1", frozen_lake, frozen_lake, "")
    row("CartPole-v1", single_rate(lambda: gym.make("CartPole-v1"), masked=False), frozen_lake, "")
    row(
        "TicTacToe-v0, random opponent",
        single_rate(lambda: gym.make(name), masked=True),
        frozen_lake,
        "2.5 times",
    )
    row(
        "TicTacToe-v0, minimax opponent",
        single_rate(lambda: gym.make(name, opponent="minimax"), masked=True),
        frozen_lake,
        "",
    )
    row(
        "TicTacToe-v0, 4x4, four in a row",
        single_rate(lambda: gym.make(name, rows=4, cols=4, k=4), masked=True),
        frozen_lake,
        "",
    )
    pool = [["random", 0.5], ["minimax", 0.5]]
    for games, floor in ((1_024, "10 million"), (16_384, "18 million")):
        print(
            f"\n| {games:,} games | million steps/s | times CartPole's vector environment | floor |\n| --- | --- | --- | --- |"
        )
        cart_pole = vector_rate(
            gym.make_vec("CartPole-v1", games, vectorization_mode="vector_entry_point"),
            masked=False,
        )
        row("CartPole-v1", cart_pole, cart_pole, "")
        row(
            "TicTacToe-v0, random opponent",
            vector_rate(gym.make_vec(name, games), masked=True),
            cart_pole,
            floor,
        )
        row(
            "TicTacToe-v0, half random, half minimax",
            vector_rate(gym.make_vec(name, games, opponent=pool), masked=True),
            cart_pole,
            "",
        )
        row(
            "TicTacToe-v0, 4x4, four in a row",
            vector_rate(gym.make_vec(name, games, rows=4, cols=4, k=4), masked=True),
            cart_pole,
            "",
        )
    base, ours = import_milliseconds("gymnasium"), import_milliseconds("tictactoe_env")
    print("\n| import, whole process | ms | floor |\n| --- | --- | --- |")
    print(
        f"| gymnasium | {base:.0f} | |\n| tictactoe_env | {ours:.0f} | at most 30 ms more: {ours - base:+.0f} |"
    )


if __name__ == "__main__":
    main()
