"""Who plays a side: a person, a player without training, or a saved run with its own values."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import agents
from apps.players.live import LivePlayer
from apps.players.packed import valued_policy
from apps.players.pupil import LEARNER, LEARNER_FOLDER, LEARNER_RULES, Pupil, learns
from apps.players.thoughts import EXPECTED, OWN, Thoughts, kinds_of, thoughts
from tictactoe_env.certificates.certificate import FILE, load_policy, read, read_bytes
from tictactoe_env.certificates.lines import LinesPolicy
from tictactoe_env.exact.positions import ENUMERABLE, TABULATED, can_enumerate
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.games.game import MAX_NAME, Participant
from tictactoe_env.games.table import PERSON
from tictactoe_env.opponents import is_trained, make_opponent, saved_path
from tictactoe_env.policy import Policy, RandomPolicy, sample
from tictactoe_env.rules import Boards, Rules
from tictactoe_env.trained.packed import facts_of
from training.values import FILE as VALUES
from training.values import read_values

# Cells. A search is tabulated up to here, for its expected values: 3 s with 1,000 playouts a move.
TABLE_CELLS = 9
MODEL = "model.safetensors"
NAMES_TEXT = """\
  random               any legal move, each equally likely
  minimax              perfect play that picks at random among equally good
                       moves
  minimax-first        perfect play that always picks the first of the equally
                       good moves
  minimax-slip=0.1     perfect play that makes 10 % of its moves at random
  search               alpha-beta search to the end, or within limits on any
                       board: search-depth=4, search-seconds=0.5
  mcts-playouts=1000   Monte-Carlo tree search: mcts-milliseconds=100,
                       mcts-draws=1; mcts-seed=1 is another player, with other
                       random numbers than those of seed 0
  dqn, trie, ...       the trained agents that come with the package, on 3x3:
                       python -m tictactoe_env.opponents lists them
  latest:dqn           the newest run of an agent in models/ or runs/
  runs/dqn-0           the folder of a run, or the path of a certificate
  learner              a trie that learns from your games, kept in runs/learner;
                       any run of a trie learns, a certificate alone does not"""
"""The players, for the help of a command line."""


class Seat:
    """A player at a side of the board. Threads may share it; a lock protects the policy.

    player: as the game store names it. policy: how it moves; None for a person. model: has its own
    values and `is_new`, if it has them; by default the policy. On boards of at most 9 cells the
    policy is tabulated when its expected results against random moves are first asked for. pupil: a
    player that learns, which takes the place of policy and model.
    """

    def __init__(
        self,
        player: Participant,
        rules: Rules,
        policy: Policy | None = None,
        model: Policy | None = None,
        pupil: Pupil | None = None,
    ):
        self.player, self.rules, self.policy, self.pupil = player, rules, policy, pupil
        self.model: Any = policy if model is None else model
        self._table: Any = policy
        self._lock = threading.Lock()
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
        return self.rules.cells <= TABLE_CELLS and self.is_quick

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of values it has: "own", and "expected" for results against random moves."""
        assert self.policy is not None, "a person has no values"
        own = OWN in kinds_of(self.model, self.rules)
        expected = self.rules.cells <= TABLE_CELLS or EXPECTED in kinds_of(self.policy, self.rules)
        return (OWN,) * own + (EXPECTED,) * expected

    def move(self, board: Boards, rng: np.random.Generator) -> int:
        """A cell of an unfinished board (cells,), drawn from the policy's probabilities.

        The cell is taken if the policy makes an illegal move.
        """
        assert self.policy is not None, "a person moves by typing"
        with self._lock:
            self._take_in()
            probs = self.policy.probs(board[None])
        return int(sample(probs, rng)[0])

    def thoughts(self, board: Boards, kind: str = OWN) -> Thoughts:
        """Probabilities and values of the moves on an unfinished board (cells,).

        kind: "own" or "expected"; a player that has only one kind is asked for that one. The first
        call for expected results may tabulate a search, which takes seconds: see `thinks_at_once`.
        """
        kinds = self.kinds
        with self._lock:
            self._take_in()
            if EXPECTED in kinds and (kind == EXPECTED or OWN not in kinds):
                self._table = tabulate(self._table, self.rules)
                found = thoughts(self._table, board, self.rules, EXPECTED)
            else:
                found = thoughts(self.model, board, self.rules, kind)
            return replace(found, kinds=kinds)

    def _take_in(self) -> None:
        """Play what the pupil plays after the games that it has learned by now."""
        if self.pupil is not None:
            self.policy = self.model = self.pupil.policy()

    def is_new(self, board: Boards) -> bool:
        """Whether this unfinished board (cells,) never came up in training, if the model knows."""
        with self._lock:
            self._take_in()
            ask = getattr(self.model, "is_new", None)
        return ask is not None and bool(ask(board[None])[0])


def seat_of(spec: str, rules: Rules, what: str = "player") -> Seat:
    """The seat of `human`, `human:Ann`, or any player that `make_opponent` knows.

    what: what an error calls the player; a person is no "agent". Raises ValueError for an unknown
    player, with the known names, and for a player of another board.
    """
    word, _, name = spec.partition(":")
    if word.lower() == PERSON and what == "player":
        return Seat(Participant("human", name or PERSON), rules)
    if is_learner(spec) and not LEARNER_FOLDER.exists():
        return learner_seat(LEARNER_FOLDER, rules)
    path = path_of(spec, rules, what)
    if path is not None:
        return run_seat(path, path.as_posix()[-MAX_NAME:], rules)
    return named_seat(spec, rules, what)


def named_seat(name: str, rules: Rules, what: str = "player") -> Seat:
    """The seat of a player that is no run. For `minimax` the board is solved here."""
    if name.partition("-")[0] == "minimax" and not can_enumerate(rules):
        raise ValueError(
            f"{name} needs a board of at most {ENUMERABLE} cells, which can be solved, and {rules} "
            f"has {rules.cells}: take search-depth=4, search-seconds=2 or mcts-playouts=1000"
        )
    model = policy = make_opponent(name, rules, what)
    if isinstance(policy, (MinimaxPolicy, RandomPolicy)):
        if rules.cells <= TABULATED:
            policy = tabulate(policy, rules)
        elif isinstance(policy, MinimaxPolicy):
            policy.probs(np.zeros((1, rules.cells), dtype=np.int8))
    if is_trained(name, rules):
        source = facts_of(name).sha256_of_moves
        return Seat(Participant("agent", name, source), rules, policy, valued_policy(name))
    return Seat(Participant("agent", name), rules, policy, model)


def run_seat(path: Path, name: str, rules: Rules) -> Seat:
    """The seat of a saved run, or of a certificate without a run.

    Raises ValueError for another board, a damaged file, and values or a model that do not belong to
    the certificate beside them.
    """
    found, certificate = load_policy(path, rules), read(path)
    agent = certificate.stated.agent
    file = path / FILE if path.is_dir() else path
    source = hashlib.sha256(read_bytes(file)).hexdigest()
    if isinstance(found, LinesPolicy):
        return Seat(Participant("run", name, source), rules, live_player(path, found))
    table = found
    if learns(path, agent):
        pupil = Pupil(path, model_of(path, table))
        return Seat(Participant("run", name, source), rules, pupil.policy(), pupil=pupil)
    values = file.with_name(VALUES)
    if file.name == FILE and os.path.lexists(values):
        model = read_values(values, table, certificate.sha256_of_moves)
        return Seat(Participant("run", name, source), rules, table, model)
    return Seat(Participant("run", name, source), rules, table)


def live_player(folder: Path, lines: LinesPolicy) -> Policy:
    """The player of a certificate of lines; with its model, if that is there and torch installed.

    Without the model it makes random legal moves off its lines. Raises DamagedFileError (a
    ValueError) for a damaged model.
    """
    if not os.path.lexists(folder / MODEL):
        return lines
    try:
        return LivePlayer(lines, agents.load(folder))
    except ModuleNotFoundError:
        return lines


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
    return Seat(Participant("run", name), rules, policy, policy, pupil)


def model_of(folder: Path, table: TabularPolicy) -> Policy:
    """The saved model of a run.

    Raises DamagedFileError (a ValueError) for a damaged file, and ValueError if the model does not
    move as the certificate beside it states.
    """
    model = agents.load(folder)
    if not np.array_equal(tabulate(model, table.rules).table, table.table):
        raise ValueError(
            f"{folder / MODEL} does not make the moves of the certificate beside it: train the run "
            "again"
        )
    return model


def policy_of(spec: str, rules: Rules, what: str = "player") -> Policy:
    """The policy of any player that `make_opponent` knows; of a run that learns, what it plays now.

    Raises ValueError as `path_of` does.
    """
    path = path_of(spec, rules, what)
    if is_learner(spec) or (path is not None and learns(path, read(path).stated.agent)):
        policy = seat_of(spec, rules, what).policy
        assert policy is not None, "it is no person"
        return policy
    return make_opponent(path or spec, rules, what)


def path_of(spec: str, rules: Rules | None = None, what: str = "player") -> Path | None:
    """The path of the saved run that a text names; None for a person or another player.

    `latest:AGENT` names the newest run of an agent, on the board `rules` if there is one. what:
    what an error calls the player. Raises ValueError for an unknown name, with the known names, and
    for a path that a terminal could take for more than text.
    """
    if spec.partition(":")[0].lower() == PERSON:
        return None
    if is_learner(spec):
        return LEARNER_FOLDER if LEARNER_FOLDER.exists() else None
    path = saved_path(spec, rules, what, also=[PERSON, LEARNER] if what == "player" else [])
    if path is not None and not str(path).isprintable():
        raise ValueError(f"the path of a run must be printable, got {str(path)!r}: rename the run")
    return path


def board_of(specs: Iterable[str]) -> Rules | None:
    """The board of the first saved run among some players; None if there is none."""
    for path in map(path_of, specs):
        if path is not None:
            return read(path).rules
    return None
