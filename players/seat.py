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
from players.pupil import LEARNER, LEARNER_FOLDER, LEARNER_RULES, Pupil, learns
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
# Cells. A search is tabulated up to here, for its expected values: 3 s with 1,000 playouts a move.
TABLE_CELLS = 9
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
  runs/dqn-0           the folder of a run, or the path of a certificate
  learner              a trie that learns from your games, kept in runs/learner;
                       any run of a trie learns, a certificate alone does not"""
"""The players, for the help of a command line."""


class Seat:
    """A player at a side of the board. Threads may share it; a lock protects the policy.

    player: as the game store names it. policy: how it moves; None for a person. model: gives values
    and `is_new`; by default the policy, tabulated on boards of at most 9 cells. pupil: a player
    that learns, which takes the place of policy and model.
    """

    def __init__(
        self,
        player: Player,
        rules: Rules,
        policy: Policy | None = None,
        model: Policy | None = None,
        pupil: Pupil | None = None,
    ):
        self.player, self.rules, self.policy, self.pupil = player, rules, policy, pupil
        self._model, self._lock = model, threading.Lock()
        self._take_in()

    @property
    def name(self) -> str:
        """The name of the player."""
        return self.player.name

    @property
    def is_person(self) -> bool:
        """Whether a person types the moves."""
        return self.policy is None

    @property
    def is_quick(self) -> bool:
        """Whether a move takes milliseconds, because it is looked up in a table."""
        return isinstance(self.policy, (TabularPolicy, RandomPolicy, MinimaxPolicy))

    @property
    def thinks_at_once(self) -> bool:
        """Whether `thoughts` takes milliseconds."""
        return self.rules.cells <= TABLE_CELLS and (self.is_quick or self._model is not None)

    def move(self, board: Boards, rng: np.random.Generator) -> int:
        """A cell of an unfinished board (cells,), drawn from the policy's probabilities.

        The cell is taken if the policy makes an illegal move.
        """
        assert self.policy is not None, "a person moves by typing"
        with self._lock:
            self._take_in()
            probs = self.policy.probs(board[None])
        return int(sample(probs, rng)[0])

    def thoughts(self, board: Boards) -> Thoughts:
        """Probabilities and values of the moves on an unfinished board (cells,).

        The first call may tabulate a search, which takes seconds: see `thinks_at_once`.
        """
        assert self.policy is not None, "a person has no values"
        with self._lock:
            self._take_in()
            if self._model is None:
                small = self.rules.cells <= TABLE_CELLS
                self._model = tabulate(self.policy, self.rules) if small else self.policy
            return thoughts(self._model, board, self.rules)

    def _take_in(self) -> None:
        """Play what the pupil plays after the games that it has learned by now."""
        if self.pupil is not None:
            self.policy = self._model = self.pupil.policy()

    def is_new(self, board: Boards) -> bool:
        """Whether this unfinished board (cells,) never came up in training, if the model knows."""
        with self._lock:
            self._take_in()
            ask = getattr(self._model, "is_new", None)
        return ask is not None and bool(ask(board[None])[0])


def seat_of(spec: str, rules: Rules) -> Seat:
    """The seat of `human`, `human:Ann`, or any player that `make_opponent` knows.

    Raises ValueError for an unknown player, with the known names, and for a player of another
    board.
    """
    word, _, name = spec.partition(":")
    if word.lower() == PERSON:
        return Seat(Player("human", name or PERSON), rules)
    if is_learner(spec) and not LEARNER_FOLDER.exists():
        return learner_seat(LEARNER_FOLDER, rules)
    path = path_of(spec, rules)
    if path is not None:
        return run_seat(path, path.as_posix()[-MAX_NAME:], rules)
    return named_seat(spec, rules)


def named_seat(name: str, rules: Rules) -> Seat:
    """The seat of a player that needs no training. For `minimax` the board is solved here."""
    policy = make_opponent(name, rules)
    if isinstance(policy, (MinimaxPolicy, RandomPolicy)):
        if rules.cells <= EXPECTED_CELLS:
            policy = tabulate(policy, rules)
        elif isinstance(policy, MinimaxPolicy):
            policy.probs(np.zeros((1, rules.cells), dtype=np.int8))
    return Seat(Player("agent", name), rules, policy)


def run_seat(path: Path, name: str, rules: Rules) -> Seat:
    """The seat of a saved run, or of a certificate without a run.

    Raises ValueError for another board, a damaged file, and a model that does not move as the
    certificate beside it states.
    """
    table = load_policy(path, rules)
    file = path / FILE if path.is_dir() else path
    source = hashlib.sha256(file.read_bytes()).hexdigest()
    model = model_of(path, read(path).get("agent"), table)
    pupil = Pupil(path, model) if learns(path, read(path).get("agent")) else None
    return Seat(Player("run", name, source), rules, table, model, pupil)


def is_learner(spec: str) -> bool:
    """Whether a text names the trie that learns from a person."""
    return spec in (LEARNER, LEARNER_FOLDER.as_posix())


def learner_seat(folder: Path, rules: Rules, name: str = LEARNER_FOLDER.as_posix()) -> Seat:
    """The seat of a learner that has no game yet. Raises ValueError for another board."""
    if rules != LEARNER_RULES:
        raise ValueError(
            f"{name} plays on {LEARNER_RULES}, not on {rules}: train a trie for that board, "
            "which learns from your games too"
        )
    pupil = Pupil(folder)
    policy = pupil.policy()
    return Seat(Player("run", name), rules, policy, policy, pupil)


def model_of(folder: Path, agent: object, table: TabularPolicy) -> Policy:
    """The saved model of an agent in WITH_VALUES, which has its own values; else the table.

    Raises DamagedFileError (a ValueError) for a damaged file, and ValueError if the model does not
    move as the certificate beside it states.
    """
    if agent not in WITH_VALUES or not (folder / MODEL).exists():
        return table
    model = agents.load(folder)
    if not np.array_equal(tabulate(model, table.rules).table, table.table):
        raise ValueError(
            f"{folder / MODEL} does not make the moves of the certificate beside it: train the run "
            "again"
        )
    return model


def policy_of(spec: str, rules: Rules, what: str = "player") -> Policy:
    """The policy of any player that `make_opponent` knows. Raises ValueError as `path_of` does."""
    return make_opponent(path_of(spec, rules, what) or spec, rules, what)


def path_of(spec: str, rules: Rules | None = None, what: str = "player") -> Path | None:
    """The path of the saved run that a text names; None for a person or a player without training.

    The name of an agent names its newest run, on the board `rules` if there is one. what: what an
    error calls the player. Raises ValueError for an unknown name, with the known names.
    """
    if spec.partition(":")[0].lower() == PERSON:
        return None
    if is_learner(spec):
        return LEARNER_FOLDER if LEARNER_FOLDER.exists() else None
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
