"""Players at a side of the board: people, players without training, and saved runs."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import agents
from apps.players.pupil import LEARNER_FOLDER, LEARNER_RULES, Pupil, learns
from apps.players.titles import LEARNER, LEARNER_ID
from tictactoe_env.certificates.certificate import FILE, check_digest, read, read_bytes
from tictactoe_env.certificates.reach import ReachPolicy
from tictactoe_env.certificates.trained import boards_of, facts_of, home_of
from tictactoe_env.exact.match import action_values
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.games.game import MAX_NAME, PERSON, Participant
from tictactoe_env.opponents import (
    BEST_RESPONSE,
    BUILT_IN,
    MODELS,
    RESPONSE_TO,
    RUN,
    TRAINED,
    Player,
    best_response_to,
    foe_of,
    is_trained,
    resolve,
)
from tictactoe_env.policy import Policy, RandomPolicy, keeps, sample
from tictactoe_env.rules import Boards, Rules, side_to_move
from tictactoe_env.search.mcts import MCTSPolicy
from tictactoe_env.text import TextPolicy
from training.checkpoint import MODEL, header_of
from training.run_files import CONFIG
from training.values import FILE as VALUES
from training.values import MEANING, read_values

VALUES_FOLDER = Path(__file__).with_name("tables")  # own values and growth of the package's agents
# Cells. A search is tabulated up to here, for its expected values: 3 s with 1,000 playouts a move.
TABLE_CELLS = 9
OWN = "own"
EXPECTED = "expected"
KINDS = (OWN, EXPECTED)
MEANINGS = {
    OWN: MEANING,
    EXPECTED: "expected result, wins minus losses, if it plays on like this against random moves; "
    "exact, not its own belief",
    "": "it gives no values, only probabilities",
}
NAMES_TEXT = """\
  random, minimax, search-depth=4, mcts-playouts=50, dqn, trie, ...
                     python -m tictactoe_env.opponents lists them all
  gambler, parrot, ...
                     trained agents by the names that the page calls them
  latest:dqn         the newest run of an agent in models/ or runs/
  best:dqn           the best run of an agent there, by its certificate
  runs/dqn-0         the folder of a run, or the path of a certificate
  model.zip          a model that Stable-Baselines3 saved, with --trust
  learner            a trie that learns from your games, in runs/learner
  best-response:dqn  the exact best response to any of these; best-response alone
                     is that to the only other player of the command"""
"""The players, for the help of a command line."""


@dataclass(frozen=True)
class Thoughts:
    """A player's probabilities and values of the moves on one board, None where illegal.

    values: for the side to move, or None if the player has no values; a legal cell has None if the
    player does not know its value. kind: "own", "expected" or "". illegal: the probability of
    illegal moves. meaning: of the values, in words. scale: the values of a sure loss and of a sure
    win. kinds: all that the player has. new: True if the player knows that the board never came up
    in training. off_lines: True if the player's certificate doesn't say what it plays here, so that
    the probabilities are those of random moves.
    """

    probs: list[float | None]
    values: list[float | None] | None
    kind: str
    illegal: float
    meaning: str
    scale: tuple[float, float]
    kinds: tuple[str, ...]
    new: bool
    off_lines: bool = False


class Seat:
    """A player at a side of the board. Threads may share it; a lock protects the policy.

    player: as the game store names it. policy: chooses the moves; None for a person. model: has its
    own values (`q_values`; their `meaning` and `scale`) and `is_new`, if it has them; by default
    the policy. pupil: a player that learns, which takes the place of policy and model.
    """

    def __init__(
        self,
        player: Participant,
        rules: Rules,
        policy: Policy | None = None,
        model: Policy | None = None,
        pupil: Pupil | None = None,
    ):
        self.player = player
        self.rules = rules
        self.pupil = pupil
        self._policy = policy
        self._model = model
        self._lock = threading.Lock()

    @property
    def policy(self) -> Policy | None:
        """The moves that it makes now; a pupil's change with every game that it learns."""
        return self._policy if self.pupil is None else self.pupil.policy()

    @property
    def model(self) -> Any:
        """The player's own values are asked of this object, if it has any."""
        return self.policy if self._model is None else self._model

    @property
    def name(self) -> str:
        """The name of the player."""
        return self.player.name

    @property
    def is_person(self) -> bool:
        """True if a person types the moves."""
        return self.policy is None

    @property
    def thinks_at_once(self) -> bool:
        """True if `thoughts` takes milliseconds, because all is looked up in a table."""
        return self.rules.cells <= TABLE_CELLS and isinstance(self.policy, TabularPolicy)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of values it has: "own", and "expected" for results against random moves."""
        found = []
        if callable(getattr(self.model, "q_values", None)):
            found.append(OWN)
        most = TABULATED if isinstance(self.policy, TabularPolicy) else TABLE_CELLS
        if isinstance(self.policy, TextPolicy):  # would be asked for every position of the board
            most = 0
        if self.rules.cells <= most:
            found.append(EXPECTED)
        return tuple(found)

    def move(self, board: Boards, rng: np.random.Generator) -> int:
        """A cell of an unfinished board (cells,), drawn from the policy's probabilities.

        The cell is taken if the policy makes an illegal move, and `cells` if it makes none.
        """
        policy = self.policy
        assert policy is not None, "a person moves by typing"
        with self._lock:
            return int(sample(policy.probs(board[None]), rng)[0])

    def thoughts(self, board: Boards, kind: str = OWN) -> Thoughts:
        """Probabilities and values of the moves on an unfinished board (cells,).

        kind: "own", or "expected" for the exact results against random moves; a player that has
        only one kind is asked for that one. The first call for expected results may tabulate a
        search, which takes seconds: see `thinks_at_once`.
        """
        policy = self.policy
        model = self.model
        kinds = self.kinds
        assert policy is not None, "a person has no values"
        if kind not in kinds:
            kind = next(iter(kinds), "")
        values = None
        meaning = MEANINGS[kind]
        scale = (-1.0, 1.0)
        legal = self.rules.legal_cells(board)
        with self._lock:
            if kind == EXPECTED:
                self._policy = policy = tabulate(policy, self.rules)
                side = side_to_move(board)
                random = RandomPolicy(self.rules)
                values = _on(legal, action_values(side, policy, random, self.rules, board))
            elif kind == OWN:
                values = _on(legal, model.q_values(board[None])[0])
                meaning = getattr(model, "meaning", meaning)
                scale = getattr(model, "scale", scale)
            probs = policy.probs(board[None])[0]
        return Thoughts(
            probs=_on(legal, probs),
            values=values,
            kind=kind,
            illegal=float(probs[~legal].sum()),
            meaning=meaning,
            scale=scale,
            kinds=kinds,
            new=self.is_new(board),
            off_lines=keeps(policy, ReachPolicy) and not policy.knows(board[None])[0],
        )

    def is_new(self, board: Boards) -> bool:
        """True if the model knows that this unfinished board (cells,) never came up in training."""
        ask = getattr(self.model, "is_new", None)
        return ask is not None and bool(ask(board[None])[0])


def _on(legal: NDArray[np.bool_], numbers: NDArray[np.floating[Any]]) -> list[float | None]:
    """The finite numbers on legal cells, None elsewhere."""
    shown = legal & np.isfinite(numbers)
    return [float(one) if is_shown else None for one, is_shown in zip(numbers, shown, strict=True)]


# --- players by name ------------------------------------------------------------------------------


def seat_of(spec: str, rules: Rules, what: str = "player") -> Seat:
    """The seat of `human`, `human:Ann`, or any player that `player_of` knows.

    what: what an error calls the player; only a "player" may be a person. Raises ValueError for an
    unknown player, with the known names, and for a player of another board.
    """
    word, _, name = spec.partition(":")
    if word.lower() == PERSON and what == "player":
        return Seat(Participant("human", name or PERSON), rules)
    return seat_at(player_of(spec, rules, what), rules)


def player_of(spec: str, rules: Rules | None = None, what: str = "player") -> Player:
    """The player that a text names; a saved run, the learner, or any that `resolve` knows.

    `latest:AGENT` and `best:AGENT` name a run, on the board `rules` if there is one. what: what an
    error calls the player. Raises ValueError for an unknown name, with the known names, and
    for a run whose path has unprintable characters, which a terminal might obey.
    """
    if spec in (LEARNER, LEARNER_ID):
        return Player(LEARNER_ID, RUN, place=LEARNER_FOLDER)
    if (foe := foe_of(spec)) is not None:
        return player_of(foe, rules, "agent").best_response
    others = [PERSON, LEARNER] if what == "player" else []
    player = resolve(spec, rules, what, also=others)
    if player.place is not None and not player.id.isprintable():
        raise ValueError(f"the path of a run must be printable, got {player.id!r}: rename the run")
    return player


def seat_at(player: Player, rules: Rules) -> Seat:
    """The player at a board. For `minimax` the board is solved here.

    Raises ValueError for another board, a damaged file, and values that do not belong to the
    certificate beside them.
    """
    if player.place is not None:
        return _run_seat(player, rules)
    if player.foe is not None and rules.cells <= TABULATED:  # to one that learns as it plays now
        foe: Any = seat_at(player.foe, rules).policy
        policy = model = best_response_to(foe, rules)
    else:
        policy = model = player.policy(rules)
    if player.kind == TRAINED:
        source = facts_of(player.id, rules).sha256_of_moves
        policy = with_values(policy, VALUES_FOLDER / f"{player.id}.npz", source)
        return Seat(Participant("agent", player.id, source), rules, policy)
    if isinstance(policy, (MinimaxPolicy, RandomPolicy)) and rules.cells <= TABULATED:
        policy = tabulate(policy, rules)
    elif isinstance(policy, MinimaxPolicy):
        policy.probs(np.zeros((1, rules.cells), dtype=np.int8))
    return Seat(Participant("agent", player.id[-MAX_NAME:]), rules, policy, model)


def _run_seat(player: Player, rules: Rules) -> Seat:
    """The seat of a saved run, of a certificate without a run, or of a learner without a game.

    A run without a certificate plays by its model, as does one with a certificate of a reach. Where
    the model or torch is missing, the latter makes random legal moves off its lines.
    """
    path = player.place
    assert path is not None, "it is a run"
    name = player.id[-MAX_NAME:]
    if path.name == LEARNER and not path.exists():
        if rules != LEARNER_RULES:
            raise ValueError(f"{name} plays on {LEARNER_RULES}, not on {rules}: train a trie")
        return Seat(Participant("run", name), rules, pupil=Pupil(path))
    if lacks_proof(path):
        try:
            model = agents.load(path)
        except ModuleNotFoundError as error:
            needs = f"has no certificate, and its model needs {error.name}"
            raise ValueError(f"{path} {needs}: pip install -e . --group train") from None
        if model.rules != rules:
            raise ValueError(f"{path} plays on {model.rules}, not on {rules}")
        return Seat(Participant("run", name), rules, model)
    policy = player.policy(rules)
    certificate = read(path)
    participant = Participant("run", name, sha256_of(path))
    if isinstance(policy, ReachPolicy) and (path / MODEL).exists():
        with suppress(ModuleNotFoundError):
            return Seat(participant, rules, agents.load(path))
    if learns(path, certificate.stated.agent):
        return Seat(participant, rules, pupil=Pupil(path))
    if path.is_dir():
        policy = with_values(policy, path / VALUES, certificate.sha256_of_moves)
    return Seat(participant, rules, policy)


def lacks_proof(path: Path) -> bool:
    """True for a run that has a model only: its proof was too large, or it is still training.

    Raises ValueError for a run that has no model yet.
    """
    if not path.is_dir() or (path / FILE).exists():
        return False
    has_model = (path / MODEL).exists()
    if not has_model and (path / CONFIG).exists():
        raise ValueError(f"{path} has no model yet: wait for the first evaluation of its training")
    return has_model


def sha256_of(place: Path) -> str:
    """The digest of the certificate of a run, or of a certificate without one."""
    file = place / FILE if place.is_dir() else place
    return hashlib.sha256(read_bytes(file)).hexdigest()


def with_values(policy: Any, file: Path, sha256_of_moves: str) -> Any:
    """A table with the own values of a file, if there is one; any other policy as it is."""
    if not file.exists() or not isinstance(policy, TabularPolicy):
        return policy
    return read_values(file, policy, sha256_of_moves)


def policy_of(spec: str, rules: Rules, what: str = "player") -> Policy:
    """The policy of any player that `seat_of` knows but a person."""
    policy = seat_of(spec, rules, what).policy
    assert policy is not None, "it is no person"
    return policy


def seed_of(policy: Policy) -> int | None:
    """The seed of the random numbers of a tree search, for which alone its proof holds."""
    if isinstance(policy, MCTSPolicy) and policy.playout != "descent":
        return policy.seed
    return None


def path_of(spec: str, rules: Rules | None = None, what: str = "player") -> Path | None:
    """The path of the saved run that a text names; None for a person or another player.

    The arguments and the errors are those of `player_of`.
    """
    if spec.partition(":")[0].lower() == PERSON:
        return None
    place = player_of(spec, rules, what).place
    return place if place is not None and place.exists() else None


def with_foe(specs: Sequence[str]) -> list[str]:
    """The players of a command; "best-response" alone becomes that to the only other player.

    Raises ValueError if there is none, or more than one, or if that is a person.
    """
    others = [spec for spec in specs if spec != BEST_RESPONSE]
    foes = [spec for spec in others if spec.partition(":")[0].lower() != PERSON]
    if len(others) < len(specs) and len(foes) != 1:
        raise ValueError(
            f"{BEST_RESPONSE} alone replies to the only other player that has a name, got "
            f"{len(foes)}: name the player, as in {RESPONSE_TO}trie"
        )
    return [RESPONSE_TO + foes[0] if spec == BEST_RESPONSE else spec for spec in specs]


def board_of(specs: Iterable[str], given: Rules | None = None, gravity: bool = False) -> Rules:
    """The board that is given, or that of most saved runs and models among some players, or 3x3.

    If as many play on another board, it is that of the first. In best-response:RUN it is that of
    the run. gravity: whether pieces fall on it in any case, as they do if a model chooses columns.
    """
    foes = [spec.rpartition(RESPONSE_TO)[2] for spec in specs]
    rules = given
    if rules is None:
        saved = Counter(filter(None, map(_saved_board, foes)))
        ((rules, _),) = saved.most_common(1) or [(Rules(), 0)]
    models = [MODELS[spec] for spec in foes if spec in MODELS]
    by_column = any(model.by_column and model.fits(rules) for model in models)
    return replace(rules, gravity=True) if gravity or by_column else rules


def other_board(spec: str, rules: Rules) -> str:
    """The board of an agent that does not play on this one; "" of one that plays here.

    A saved model is known to play on another one by its spaces, but not on which.

    Raises ValueError for an agent that is unknown, or whose certificate is damaged.
    """
    spec = spec.rpartition(RESPONSE_TO)[2]
    if is_trained(spec) and spec not in BUILT_IN and not is_trained(spec, rules):
        return boards_of(spec)
    if spec in MODELS and not MODELS[spec].fits(rules):
        return str(MODELS[spec].board or "another board")
    player = player_of(spec, rules, "agent")
    board = _saved_board(spec)
    if board is None and player.place is not None:
        board = LEARNER_RULES  # of a learner without a game
    return "" if board in (None, rules) else str(board)


def _saved_board(spec: str) -> Rules | None:
    """The board of a saved run, of a model if it is known, or of an agent that has one board."""
    if spec in MODELS:
        return MODELS[spec].board
    if is_trained(spec) and not is_trained(spec, Rules()):
        return home_of(spec)
    path = path_of(spec)
    if path is None:
        return None
    if lacks_proof(path):
        return Rules.among(header_of(path / MODEL).config)
    certificate = read(path)
    check_digest(certificate)
    return certificate.rules
