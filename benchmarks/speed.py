"""Steps per second of the environments and of Gymnasium's own: `make bench`.

A step is one move of the learner in one game, with the opponent's reply, the observation, the mask
and a reset where a game has ended. The learner's moves are uniformly random legal ones. They are
recorded first and repeated from the same seed, so choosing them is not measured. Each number is the
best of several repeats on one core. Other work on the machine slows all rows: compare the ratios.
"""

from __future__ import annotations

import functools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import tictactoe_env
from tictactoe_env import RandomPolicy, Rules, evaluate

REPEATS = 7
SINGLE_STEPS = 50_000
ENV_ID = tictactoe_env.ENV_IDS[0]
LARGE: dict[str, Any] = {"rows": 4, "cols": 4, "k": 4}


def single_rate(make: Callable[[], gym.Env[Any, Any]], masked: bool) -> float:
    """Steps per second of one game through `gym.make`, resets included."""
    env, rng, seed = make(), np.random.default_rng(0), 7
    actions = []
    _, info = env.reset(seed=seed)
    for _ in range(SINGLE_STEPS):
        cells = np.flatnonzero(info["action_mask"]) if masked else env.action_space.n
        actions.append(int(rng.choice(cells)))
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
    """Steps per second over all games of a vector environment, in its default autoreset mode."""
    steps = max(20, 300_000 // envs.num_envs)
    rng, seed = np.random.default_rng(0), 7
    actions = []
    _, info = envs.reset(seed=seed)
    for _ in range(steps):
        scores = rng.random((envs.num_envs, envs.single_action_space.n), dtype=np.float32)
        actions.append((scores * info["action_mask"] if masked else scores).argmax(axis=1))
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
    """Median time of a process that imports a module and exits."""
    times = []
    for _ in range(2 * REPEATS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


def header(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|", flush=True)


def row(name: str, rate: float, reference: float, floor: str = "") -> None:
    print(f"| {name} | {rate / 1e6:.3f} | {rate / reference:.2f} | {floor} |", flush=True)


def single_games() -> None:
    """The table of one game at a time."""
    header("one game through gym.make", "million steps/s", "times FrozenLake-v1", "floor")
    frozen_lake = single_rate(lambda: gym.make("FrozenLake-v1"), masked=False)
    row("FrozenLake-v1", frozen_lake, frozen_lake)
    row("CartPole-v1", single_rate(lambda: gym.make("CartPole-v1"), masked=False), frozen_lake)
    for name, arguments, floor in (
        ("random opponent", {}, "2.5 times"),
        ("minimax opponent", {"opponent": "minimax"}, ""),
        ("4x4, four in a row", LARGE, ""),
    ):
        rate = single_rate(functools.partial(gym.make, ENV_ID, **arguments), masked=True)
        row(f"TicTacToe-v0, {name}", rate, frozen_lake, floor)


def many_games(games: int, floor: str) -> None:
    """The table of many games at a time."""
    title = "times CartPole's vector environment"
    header(f"{games:,} games", "million steps/s", title, "floor")
    envs = gym.make_vec("CartPole-v1", games, vectorization_mode="vector_entry_point")
    cart_pole = vector_rate(envs, masked=False)
    row("CartPole-v1", cart_pole, cart_pole)
    for name, arguments, its_floor in (
        ("random opponent", {}, floor),
        ("half random, half minimax", {"opponent": [["random", 0.5], ["minimax", 0.5]]}, ""),
        ("4x4, four in a row", LARGE, ""),
    ):
        rate = vector_rate(gym.make_vec(ENV_ID, games, **arguments), masked=True)
        row(f"TicTacToe-v0, {name}", rate, cart_pole, its_floor)


def imports() -> None:
    """The table of import times."""
    header("import, whole process", "ms", "floor")
    base, ours = import_milliseconds("gymnasium"), import_milliseconds("tictactoe_env")
    print(f"| gymnasium | {base:.0f} | |")
    print(f"| tictactoe_env | {ours:.0f} | at most 30 ms more: {ours - base:+.0f} |")


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    """The shortest time of a call after a first one, which builds what later ones share."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return 1000 * min(times)


def calls() -> None:
    """The table of calls that are made once for a training or an evaluation."""
    header("one call, after a first one", "ms")
    for opponent in ("random", "minimax", "trie", "self"):
        make = functools.partial(gym.make, ENV_ID, opponent=opponent)
        print(f'| gym.make(opponent="{opponent}") | {milliseconds(make, 100):.2f} |', flush=True)
    for board, repeats in ((Rules(), 20), (Rules(3, 4, 3), 5), (Rules(4, 4, 4), 1)):
        judge = functools.partial(evaluate, RandomPolicy(), board)
        print(f"| evaluate, {board} | {milliseconds(judge, repeats):.1f} |", flush=True)


def main() -> None:
    single_games()
    for games, floor in ((1_024, "10 million"), (16_384, "18 million")):
        print()
        many_games(games, floor)
    print()
    calls()
    print()
    imports()


if __name__ == "__main__":
    main()
