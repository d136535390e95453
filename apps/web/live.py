"""A network that learns while somebody watches: MaskablePPO, in a process of its own.

It trains when it is asked to, one update at a time, and ends when nobody has asked for a while.
Only this process imports Stable-Baselines3 and torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from apps.web.work import BusyError, Json, settle
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import as_policy
from tictactoe_env.rules import Rules, game_state

MOST_STEPS = 400_000  # of a training; nearly all are unbeatable before the half of them
WAIT_SECONDS = 5.0  # for another request of the same page
ROOM_SECONDS = 5.0  # after which a training that is not asked for makes room for another one
IDLE_SECONDS = 300.0  # after which it ends in any case; a class talks between two checks
ANSWER_SECONDS = 60.0  # the first answer needs some, to import torch


def is_installed() -> bool:
    """True if Stable-Baselines3 and its MaskablePPO can be imported."""
    return find_spec("sb3_contrib") is not None


class Question(NamedTuple):
    """What a training process is asked: whether to train further, and the moves of a position."""

    further: bool
    moves: Sequence[int]


class LiveTraining:
    """At most one training. Requests of several threads may ask for it."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS):
        self.idle_seconds = idle_seconds
        self._asked = -math.inf  # when, by the clock of `monotonic`
        self._lock = Lock()
        self._id: int | None = None
        self._process: Any = None
        self._connection: Any = None

    def ask(self, id: int, instead_of: int | None, seed: int, question: Question) -> Json:
        """The answer of the training with this id, see `answer`; it begins when first asked for.

        instead_of: the id of a training that may end for this one. Raises BusyError while another
        training goes on, and if this one has broken.
        """
        if self._lock.locked() or self._is_watched:
            self._refuse_others(id, instead_of)
        if not self._lock.acquire(timeout=WAIT_SECONDS):
            raise BusyError("the training is busy with another request: try again in a second")
        try:
            if self._is_watched:  # it may be another one by now
                self._refuse_others(id, instead_of)
            if self._id != id or not self.is_running:
                self._begin(id, seed)
            return self._answer(question)
        finally:
            self._lock.release()

    def _refuse_others(self, id: int, instead_of: int | None) -> None:
        if self._id not in (id, instead_of):
            raise BusyError(
                "somebody else watches a training now, and one goes on at a time: try again later"
            )

    @property
    def _is_watched(self) -> bool:
        return self.is_running and monotonic() < self._asked + ROOM_SECONDS

    @property
    def is_running(self) -> bool:
        """True while there is a process that trains or waits."""
        process = self._process
        return process is not None and process.is_alive()

    def _begin(self, id: int, seed: int) -> None:
        self.end()
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=train, args=(theirs, seed, self.idle_seconds), daemon=True
        )
        self._process.start()
        theirs.close()  # so that this end notices when the process is gone
        self._id = id
        self._asked = monotonic()

    def _answer(self, question: Question) -> Json:
        try:
            self._connection.send(question)
            if self._connection.poll(ANSWER_SECONDS):
                found: Json = self._connection.recv()
                self._asked = monotonic()
                return found
        except (OSError, EOFError):
            pass  # the process is gone
        self.end()
        raise BusyError("the process that trained this has ended: begin anew")

    def kill(self) -> None:
        """End the process; who waits for its answer notices that."""
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        """End the training, if there is one."""
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
        self._process = None
        self._id = None


def train(asked: Connection, seed: int, idle_seconds: float) -> None:
    """Train a network with this seed, and answer questions until there is none for so long."""
    settle()
    import torch
    from sb3_contrib import MaskablePPO

    from tictactoe_env.sb3 import ppo_recipe

    torch.set_num_threads(1)
    model = MaskablePPO(**ppo_recipe(), seed=seed)
    update = model.n_steps * model.n_envs
    while asked.poll(idle_seconds):
        try:
            question = asked.recv()
        except EOFError:  # the server has ended
            return
        if question.further and model.num_timesteps < MOST_STEPS:
            model.learn(update, reset_num_timesteps=False)
        asked.send(answer(model, question.moves))


def answer(model: Any, moves: Sequence[int]) -> Json:
    """How a model plays, as JSON values.

    steps: of its training. cells: the most probable move in each unfinished position of 3x3, as
    digits. probs: the probabilities of its moves after these moves, None for taken cells; None at
    the end of a game.
    """
    rules = Rules()
    probs = None
    game = game_state(moves, rules)
    if not game.ended:
        shares = as_policy(model, rules, deterministic=False).probs(game.board[None])[0].tolist()
        legal = rules.legal_cells(game.board)
        probs = [share if free else None for share, free in zip(shares, legal, strict=True)]
    best = tabulate(model, rules).table.argmax(axis=1)
    return {
        "steps": model.num_timesteps,
        "cells": "".join(map(str, best.tolist())),
        "probs": probs,
    }
