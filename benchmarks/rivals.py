"""Measurements of tic-tac-toe in PettingZoo, OpenSpiel and pgx; None where one is not installed.

A step is two moves, one of each side. PettingZoo and OpenSpiel repeat games that were recorded with
uniformly random moves. Before each of X's moves PettingZoo is asked for `last`, which holds the
observation and the mask, and OpenSpiel for the observation as a tensor and the mask. In pgx both
sides' moves are drawn inside the compiled functions, where it costs little, and games restart by
`auto_reset`.
"""

from __future__ import annotations

import functools
import importlib
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

GAMES = 500  # of one measurement of one game at a time
MOVES = 40  # of one measurement of many games

Measurement: TypeAlias = Callable[[], float] | None  # steps per second


def if_installed(make: Callable[..., Callable[[], float]]) -> Callable[..., Measurement]:
    """`make`, with None where a library that it imports is not installed."""

    @functools.wraps(make)
    def made(*arguments: Any) -> Measurement:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                return make(*arguments)
            except ImportError:
                return None

    return made


@if_installed
def pettingzoo() -> Callable[[], float]:
    """PettingZoo's tictactoe_v3, one game at a time."""
    module = importlib.import_module("pettingzoo.classic.tictactoe_v3")
    env, rng = module.env(), np.random.default_rng(0)

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

    games = [play(lambda mask: int(rng.choice(np.flatnonzero(mask)))) for _ in range(GAMES)]

    def run() -> float:
        began = time.process_time()
        for moves in games:
            following = iter(moves)
            play(lambda _, following=following: next(following))  # type: ignore[misc]
        return sum(map(len, games)) / 2 / (time.process_time() - began)

    return run


@if_installed
def open_spiel() -> Callable[[], float]:
    """OpenSpiel's tic_tac_toe through Python, one game at a time."""
    pyspiel = importlib.import_module("pyspiel")
    game, rng = pyspiel.load_game("tic_tac_toe"), np.random.default_rng(0)
    games = []
    for _ in range(GAMES):
        state, moves = game.new_initial_state(), []
        while not state.is_terminal():
            moves.append(int(rng.choice(state.legal_actions())))
            state.apply_action(moves[-1])
        games.append(moves)

    def run() -> float:
        began = time.process_time()
        for moves in games:
            state = game.new_initial_state()
            for ply, move in enumerate(moves):
                if ply % 2 == 0:
                    np.array(state.observation_tensor(0), dtype=np.float32)
                    np.array(state.legal_actions_mask(0), dtype=np.int8)
                state.apply_action(move)
            state.returns()
        return sum(map(len, games)) / 2 / (time.process_time() - began)

    return run


def _pgx(games: int) -> tuple[Any, Any, Any, Any]:
    """jax, a function that draws moves and makes them, its first state, and a key."""
    jax, pgx = importlib.import_module("jax"), importlib.import_module("pgx")
    env = pgx.make("tic_tac_toe")
    wrappers = importlib.import_module("pgx.experimental.wrappers")
    step = jax.vmap(wrappers.auto_reset(env.step, env.init))
    first = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), games))

    def move(state: Any, key: Any) -> Any:
        draw, restart = jax.random.split(key)
        scores = jax.random.uniform(draw, state.legal_action_mask.shape)
        action = (scores * state.legal_action_mask).argmax(axis=1)
        return step(state, action, jax.random.split(restart, games))

    return jax, move, first, jax.random.PRNGKey(1)


@if_installed
def pgx_calls(games: int) -> Callable[[], float]:
    """pgx on the CPU with one compiled call a move, as in a loop in Python."""
    jax, move, first, key = _pgx(games)
    compiled, keys = jax.jit(move), list(jax.random.split(key, MOVES))

    def run() -> float:
        state = first
        began = time.process_time()
        for one in keys:
            state = compiled(state, one)
        jax.block_until_ready(state)
        return MOVES / 2 * games / (time.process_time() - began)

    run()  # compiles
    return run


@if_installed
def pgx_scan(games: int) -> Callable[[], float]:
    """pgx on the CPU with all moves in one compiled scan; observations and masks are summed up."""
    jax, move, first, key = _pgx(games)
    keys = jax.random.split(key, MOVES)

    def body(state: Any, one: Any) -> Any:
        state = move(state, one)
        return state, state.observation.sum() + state.legal_action_mask.sum()

    compiled = jax.jit(lambda state: jax.lax.scan(body, state, keys))

    def run() -> float:
        began = time.process_time()
        jax.block_until_ready(compiled(first))
        return MOVES / 2 * games / (time.process_time() - began)

    run()  # compiles
    return run
