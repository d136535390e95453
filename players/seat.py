"""Who plays a side: a person, a player without training, or a saved run with its model's values."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import agents
from agents import TRAINABLE, WITH_VALUES
from tictactoe_env.analysis import EXPECTED_CELLS, Thoughts, thoughts
from tictactoe_env.certificate import FILE, load_policy, read
from tictactoe_env.games import MAX_NAME, Player
from tictactoe_env.opponents import make_opponent, named_player, saved_path
from tictactoe_env.policy import (
    MinimaxPolicy,
    Policy,
    RandomPolicy,
    TabularPolicy,
    sample,
    tabulate,
)
from tictactoe_env.rules import Boards, Rules
from tictactoe_env.runs import FOLDERS, newest_run

PERSON = "human"
TABLE_CELLS = 9  # a search is tabulated for its expected values; 1,000 playouts a move take 3 s
MODEL = "model.safetensors"
NAMES_TEXT = """\
  random               any legal move, each equally likely
  minimax              perfect play, ties drawn at random
  minimax-first        perfect play, the first of equal moves
  minimax-slip=0.1     perfect play, but a random move with probability 0.1
  search               alpha-beta search to the end, or within limits on any
                       board: search-depth=4, search-seconds=0.5
  mcts                 Monte-Carlo tree search: mcts-playouts=1000,
                       mcts-milliseconds=100, mcts-draws=1, mcts-value=RUN
  dqn, trie, ...       the newest run of a trained agent in models/ or runs/
  runs/dqn-0           the folder of a run, or the path of a certificate"""
"""Who can be asked to play, for the help of a command line."""


class Seat:
    """A side of the board and who plays it. Threads may share it: one at a time asks the policy.

    player: as the game store names it. policy: how it moves; None for a person. model: what is
    asked for values and for `is_new`; by default the policy, tabulated on boards of at most 9
    cells.
    """

    def __init__(
        self,
        player: Player,
        rules: Rules,
        policy: Policy | None = None,
        model: Policy | None = None,
    ):
        self.player, self.rules, self.policy = player, rules, policy
        self._model, self._lock = model, threading.Lock()

    @property
    def name(self) -> str:
        """What the player is called."""
        return self.player.name

    @property
    def is_person(self) -> bool:
        """Whether a person types the moves."""
        return self.policy is None

    @property
    def is_quick(self) -> bool:
        """Whether a move takes milliseconds: it is read off a table."""
        return isinstance(self.policy, (TabularPolicy, RandomPolicy, MinimaxPolicy))

    @property
    def thinks_at_once(self) -> bool:
        """Whether `thoughts` takes milliseconds."""
        return self.rules.cells <= TABLE_CELLS and (self.is_quick or self._model is not None)

    def move(self, board: Boards, rng: np.random.Generator) -> int:
        """A cell of an unfinished board (cells,), drawn by the policy's probabilities.

        The cell may be taken, if the policy makes illegal moves.
        """
        assert self.policy is not None, "a person moves by typing"
        with self._lock:
            probs = self.policy.probs(board[None])
        return int(sample(probs, rng)[0])

    def thoughts(self, board: Boards) -> Thoughts:
        """Probabilities and values of the moves on an unfinished board (cells,).

        The first call may tabulate a searching policy, see `thinks_at_once`.
        """
        assert self.policy is not None, "a person is not asked"
        with self._lock:
            if self._model is None:
                small = self.rules.cells <= TABLE_CELLS
                self._model = tabulate(self.policy, self.rules) if small else self.policy
            return thoughts(self._model, board, self.rules)

    def is_new(self, board: Boards) -> bool:
        """Whether the model says that training never met this unfinished board (cells,)."""
        ask = getattr(self._model, "is_new", None)
        return ask is not None and bool(ask(board[None])[0])


def seat_of(spec: str, rules: Rules) -> Seat:
    """The seat of `human`, `human:Ann`, or anybody whom `make_opponent` knows.

    Raises ValueError, listing the names that are known, for anybody else, and for a player that
    does not play on this board.
    """
    word, _, name = spec.partition(":")
    if word.lower() == PERSON:
        return Seat(Player("human", name or PERSON), rules)
    path = path_of(spec, rules)
    if path is not None:
        return run_seat(path, path.as_posix()[-MAX_NAME:], rules)
    return named_seat(spec, rules)


def named_seat(name: str, rules: Rules) -> Seat:
    """The seat of a player that needs no training. Perfect play on a large board is solved here."""
    policy = make_opponent(name, rules)
    if isinstance(policy, (MinimaxPolicy, RandomPolicy)):
        if rules.cells <= EXPECTED_CELLS:
            policy = tabulate(policy, rules)
        elif isinstance(policy, MinimaxPolicy):
            policy.probs(np.zeros((1, rules.cells), dtype=np.int8))
    return Seat(Player("agent", name), rules, policy)


def run_seat(path: Path, name: str, rules: Rules) -> Seat:
    """The seat of a saved run or a certificate that lies alone.

    Raises ValueError for another board, a damaged file, and a model that is not that of the
    certificate beside it.
    """
    table = load_policy(path, rules)
    file = path / FILE if path.is_dir() else path
    source = hashlib.sha256(file.read_bytes()).hexdigest()
    model = model_of(path, read(path).get("agent"), table)
    return Seat(Player("run", name, source), rules, table, model)


def model_of(folder: Path, agent: object, table: TabularPolicy) -> Policy:
    """The model of a saved run if it says more than its table and needs no torch; else the table.

    Raises DamagedFileError (a ValueError) for damaged files, ValueError if the model moves
    otherwise than the certificate beside it.
    """
    if agent not in WITH_VALUES or not (folder / MODEL).exists():
        return table
    model = agents.load(folder)
    if not np.array_equal(tabulate(model, table.rules).table, table.table):
        raise ValueError(
            f"{folder / MODEL} moves otherwise than the certificate beside it: train the run again"
        )
    return model


def policy_of(spec: str, rules: Rules, what: str = "player") -> Policy:
    """The policy of anybody whom `make_opponent` knows; ValueError as `path_of` raises it."""
    return make_opponent(path_of(spec, rules, what) or spec, rules, what)


def path_of(spec: str, rules: Rules | None = None, what: str = "player") -> Path | None:
    """Where the saved run lies that a text means; None for a person and a player without training.

    The name of an agent means its newest run, of those on the board `rules` if there are such.
    Raises ValueError for an unknown name, listing those that are known.
    """
    if spec.partition(":")[0].lower() == PERSON:
        return None
    if spec in TRAINABLE and named_player(spec) is None and not os.path.exists(spec):
        run = newest_run(spec, rules)
        if run is None:
            folders = " or ".join(f"{folder}/" for folder in FOLDERS)
            raise ValueError(
                f"no run of {spec} in {folders}: train one with `python train.py {spec}`"
            )
        return run.path
    return saved_path(spec, rules, what, also=[PERSON] if what == "player" else [])


def board_of(specs: Iterable[str]) -> Rules | None:
    """The board of the first saved run among some players; None if there is none."""
    for path in map(path_of, specs):
        if path is not None:
            return load_policy(path).rules
    return None
