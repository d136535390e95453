"""Steps per second of the environments, of Gymnasium's own and of other libraries: `make bench`.

A step is one move of the learner in one game, with the opponent's reply, the observation, the mask
and a reset where a game has ended. The learner's moves are uniformly random legal ones. They are
recorded first and repeated from the same seed, so choosing them is not measured. The rows of a
table are measured in turns, several times, in seconds of CPU, and each number is the best of them.
Other work on the machine slows all rows: compare the ratios. `rivals` says what a step of
PettingZoo, OpenSpiel and pgx is.
"""

from __future__ import annotations

import functools
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from cyclopts import run
from numpy.typing import NDArray

import tictactoe_env
from benchmarks import rivals
from tictactoe_env import RandomPolicy, Rules, evaluate, make_opponent, tabulate
from tictactoe_env.engines.bits import BitGames
from tictactoe_env.engines.rows import RowGames
from tictactoe_env.exact.symmetry import CanonicalPolicy
from tictactoe_env.policy import GreedyPolicy

ENV_ID = tictactoe_env.ENV_IDS[0]
LINE_OF_4: dict[str, Any] = {"rows": 4, "cols": 4, "k": 4}
OF_5X5: dict[str, Any] = {"rows": 5, "cols": 5, "k": 4}
OF_7X8: dict[str, Any] = {"rows": 7, "cols": 8, "k": 5}
HALF_MINIMAX: dict[str, Any] = {"opponent": [["random", 0.5], ["minimax", 0.5]]}
SINGLE_STEPS = 5_000  # of one measurement
VECTOR_STEPS = 100_000  # of one measurement, over all games


class Row(NamedTuple):
    """One line of a table. run: a measurement, in steps per second; None if not installed."""

    name: str
    run: Callable[[], float] | None
    target: str = ""


def best_of(rows: Sequence[Row], rounds: int) -> list[float]:
    """The highest rate of each row, measured in turns."""
    best = [0.0] * len(rows)
    for _ in range(rounds):
        for number, row in enumerate(rows):
            if row.run is not None:
                best[number] = max(best[number], row.run())
    return best


def print_table(title: str, rows: Sequence[Row], rounds: int, references: dict[str, int]) -> None:
    """Measure the rows and print them, with their ratios to some of the rows, by name."""
    header(title, "million steps/s", *(f"times {name}" for name in references), "target")
    rates = best_of(rows, rounds)
    for row, rate in zip(rows, rates, strict=True):
        numbers = [f"{rate / 1e6:.3f}", *(f"{rate / rates[at]:.2f}" for at in references.values())]
        if row.run is None:
            numbers = ["not installed", *[""] * len(references)]
        print(f"| {row.name} | {' | '.join(numbers)} | {row.target} |", flush=True)


def header(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|", flush=True)


# --- one game -------------------------------------------------------------------------------------


def single(make: Callable[[], gym.Env[Any, Any]]) -> Callable[[], float]:
    """A measurement of one game through `gym.make`, resets included."""
    env, rng, seed = make(), np.random.default_rng(0), 7
    actions = []
    _, info = env.reset(seed=seed)
    for _ in range(SINGLE_STEPS):
        mask = info.get("action_mask")
        cells = env.action_space.n if mask is None else np.flatnonzero(mask)  # type: ignore
        actions.append(int(rng.choice(cells)))
        _, _, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            _, info = env.reset()

    def run() -> float:
        env.reset(seed=seed)
        began = time.process_time()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return SINGLE_STEPS / (time.process_time() - began)

    return run


def ours(name: str, target: str = "", **arguments: Any) -> Row:
    return Row(name, single(functools.partial(gym.make, ENV_ID, **arguments)), target)


def single_games(rounds: int) -> None:
    """The table of one game at a time."""
    rows = [
        Row("FrozenLake-v1", single(functools.partial(gym.make, "FrozenLake-v1"))),
        Row("CartPole-v1", single(functools.partial(gym.make, "CartPole-v1"))),
        ours("TicTacToe-v0, random opponent", "4 times"),
        ours("TicTacToe-v0, minimax opponent", opponent="minimax"),
        ours("TicTacToe-v0, 4x4, four in a row", "2.5 times", **LINE_OF_4),
        ours("TicTacToe-v0, 5x5, four in a row", **OF_5X5),
        Row("PettingZoo tictactoe_v3", rivals.pettingzoo()),
        Row("OpenSpiel tic_tac_toe", rivals.open_spiel()),
    ]
    print_table("one game through gym.make", rows, rounds, {"FrozenLake-v1": 0})


# --- many games -----------------------------------------------------------------------------------


def vector(envs: Any) -> Callable[[], float]:
    """A measurement of all games of a vector environment, in its default autoreset mode."""
    steps = max(8, VECTOR_STEPS // envs.num_envs)
    rng, seed = np.random.default_rng(0), 7
    actions = []
    _, info = envs.reset(seed=seed)
    for _ in range(steps):
        scores = rng.random((envs.num_envs, envs.single_action_space.n), dtype=np.float32)
        actions.append((scores * info.get("action_mask", 1)).argmax(axis=1))
        info = envs.step(actions[-1])[4]

    def run() -> float:
        envs.reset(seed=seed)
        began = time.process_time()
        for action in actions:
            envs.step(action)
        return steps * envs.num_envs / (time.process_time() - began)

    return run


def many_games(games: int, rounds: int) -> None:
    """The table of many games at a time."""
    large = games > 64
    cart_pole = gym.make_vec("CartPole-v1", games, vectorization_mode="vector_entry_point")
    boards: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("random opponent", {}, "0.9 times CartPole"),
        ("half random, half minimax", HALF_MINIMAX, ""),
        ("4x4, four in a row", LINE_OF_4, "0.8 times 3x3" if large else ""),
        ("5x5, four in a row", OF_5X5, "0.33 times 3x3" if large else ""),
        ("7x8, five in a row", OF_7X8, "0.33 times 3x3" if large else ""),
    )
    rows = [Row("CartPole-v1", vector(cart_pole))]
    for name, arguments, target in boards:
        envs = gym.make_vec(ENV_ID, games, **arguments)
        rows.append(Row(f"TicTacToe-v0, {name}", vector(envs), target))
    rows += [
        Row("pgx tic_tac_toe, a call a move", rivals.pgx_calls(games)),
        Row("pgx tic_tac_toe, in a jitted scan", rivals.pgx_scan(games)),
    ]
    print_table(f"{games:,} games", rows, rounds, {"CartPole's vector environment": 0, "3x3": 1})


# --- rows and bitboards ---------------------------------------------------------------------------


def engine(games: RowGames | BitGames, opponent: str, count: int) -> Callable[[], float]:
    """A measurement of an engine alone: moves, replies, observations, masks and new games."""
    rules, seats = games.rules, np.where(np.arange(count) % 2, -1, 1).astype(np.int8)
    empty = games.start(np.zeros((count, rules.cells), dtype=np.int8), seats)
    replies: Any = games.prepare([make_opponent(opponent, rules)])
    which, steps = np.zeros(count, dtype=np.intp), max(8, VECTOR_STEPS // count)

    def play(choose: Callable[[NDArray[np.int8]], NDArray[np.intp]]) -> None:
        rng = np.random.default_rng(7)
        states, _ = games.begin(empty, replies, which, rng, True)
        mask = games.legal(states)
        for _ in range(steps):
            states, result = games.advance(states, choose(mask), replies, which, rng)
            over = result.nonzero()[0]
            new, _ = games.begin(empty.take(over, axis=-1), replies, which[over], rng, True)
            states[..., over] = new
            games.observe(states)
            mask = games.legal(states)

    rng, moves = np.random.default_rng(0), list[NDArray[np.intp]]()

    def record(mask: NDArray[np.int8]) -> NDArray[np.intp]:
        moves.append((mask * rng.random(mask.shape)).argmax(axis=1))
        return moves[-1]

    play(record)

    def run() -> float:
        following = iter(moves)
        began = time.process_time()
        play(lambda _: next(following))
        return steps * count / (time.process_time() - began)

    return run


def engines(rounds: int) -> None:
    """The table of both engines on boards that either could play."""
    header("million steps/s of the engine alone", "by row", "on bitboards", "bitboards / rows")
    for rules in (Rules(), Rules(2, 5, 3)):
        arguments = rules, False, "flat"
        for opponent in ("random", "minimax"):
            for count in (64, 1_024, 16_384):
                both = (RowGames(*arguments), BitGames(*arguments))
                rows = [Row("", engine(games, opponent, count)) for games in both]
                by_row, on_bits = best_of(rows, rounds)
                numbers = f"{by_row / 1e6:.2f} | {on_bits / 1e6:.2f} | {on_bits / by_row:.2f}"
                name = f"{rules.rows}x{rules.cols}, {opponent}, {count:,} games"
                print(f"| {name} | {numbers} |", flush=True)


# --- policies as opponents ------------------------------------------------------------------------


class Network:
    """A policy with two hidden layers of 256 units in NumPy, with random weights."""

    def __init__(self, cells: int):
        rng = np.random.default_rng(0)
        sizes = (2 * cells, 256, 256, cells)
        self._weights = [
            rng.normal(0, 0.1, size).astype(np.float32) for size in itertools.pairwise(sizes)
        ]

    def probs(self, boards: NDArray[np.int8]) -> NDArray[np.float32]:
        """Probabilities (B, cells), 0 on taken cells."""
        layer = np.concatenate([boards > 0, boards < 0], axis=1).astype(np.float32)
        for weights in self._weights[:-1]:
            layer = np.maximum(layer @ weights, 0)
        scores = np.where(boards == 0, np.exp(layer @ self._weights[-1]), 0)
        return scores / scores.sum(axis=1, keepdims=True)


def repeated(network: Network, boards: NDArray[np.int8]) -> Callable[[], float]:
    """A measurement of calls of `probs`, in boards per second."""
    count = max(8, VECTOR_STEPS // len(boards))

    def run() -> float:
        began = time.process_time()
        for _ in range(count):
            network.probs(boards)
        return count * len(boards) / (time.process_time() - began)

    return run


def policies(rounds: int) -> None:
    """The table of a network as the opponent, on boards that are not tabulated."""
    header("a network as the opponent", "ms a step", "ms a call of probs", "step / (call + random)")
    for name, arguments, cells in (("4x4", LINE_OF_4, 16), ("5x5", OF_5X5, 25)):
        for games in (64, 1_024):
            network, rng = Network(cells), np.random.default_rng(0)
            boards = (rng.random((games, cells)) < 0.4) * rng.choice([-1, 1], (games, cells))
            made = {
                key: vector(gym.make_vec(ENV_ID, games, **arguments, opponent=opponent))
                for key, opponent in (("network", network), ("random", "random"))
            }
            rows = [Row(key, run) for key, run in made.items()]
            rows.append(Row("call", repeated(network, boards.astype(np.int8))))
            rates = best_of(rows, rounds)
            step, random, of_call = (1000 * games / rate for rate in rates)
            numbers = f"{step:.3f} | {of_call:.3f} | {step / (of_call + random):.2f}"
            print(f"| {name}, {games:,} games | {numbers} |", flush=True)


# --- once for a training --------------------------------------------------------------------------


def import_milliseconds(module: str) -> float:
    """Median time of a process that imports a module and exits."""
    times = []
    for _ in range(14):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


def imports() -> None:
    """The table of import times."""
    header("import, whole process", "ms", "floor")
    base, total = import_milliseconds("gymnasium"), import_milliseconds("tictactoe_env")
    print(f"| gymnasium | {base:.0f} | |")
    print(f"| tictactoe_env | {total:.0f} | at most 30 ms more: {total - base:+.0f} |")


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
    network = CanonicalPolicy(GreedyPolicy(Network(16)), Rules(4, 4, 4))
    for what, policy, board, repeats in (
        (
            "a table, one move a position",
            tabulate(make_opponent("trie", Rules()), Rules()),
            Rules(),
            50,
        ),
        ("a table, random play", tabulate(RandomPolicy(), Rules()), Rules(), 50),
        ("a table, random play", tabulate(RandomPolicy(), Rules(3, 4, 3)), Rules(3, 4, 3), 5),
        ("a network with two layers of 256, untrained", network, Rules(4, 4, 4), 2),
    ):
        judge = functools.partial(evaluate, policy, board)
        print(f"| evaluate {what}, {board} | {milliseconds(judge, repeats):.1f} |", flush=True)


def main(*, rounds: int = 15, steps_only: bool = False) -> None:
    """Print all tables.

    rounds: measurements of each row. steps_only: leave out calls and imports.
    """
    single_games(rounds)
    for games in (64, 1_024, 16_384):
        print()
        many_games(games, rounds)
    print()
    engines(rounds)
    print()
    policies(rounds)
    if steps_only:
        return
    print()
    calls()
    print()
    imports()


if __name__ == "__main__":
    run(main)
