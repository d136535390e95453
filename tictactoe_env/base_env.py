"""The base class of both environments: their opponents, the learner's snapshots, their spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ClosedEnvironmentError
from numpy.typing import NDArray

from tictactoe_env.config import Config
from tictactoe_env.notation import board_text
from tictactoe_env.policy import Policy, as_policy
from tictactoe_env.pool import PROOF_POSITIONS, Pool, make_pool, snapshot
from tictactoe_env.rules import SIDES, Boards, mark_of, side_to_move, to_move
from tictactoe_env.spec import plain_spec
from tictactoe_env.starts import ExploringStarts

if TYPE_CHECKING:
    from tictactoe_env.exact.responses import BestResponsePlayer


class BaseEnv:
    """An environment whose opponents are a pool; single and vector environments derive from it."""

    config: Config
    np_random: np.random.Generator
    closed = False

    def __init__(self) -> None:
        self._pool = Pool()
        self._spec: EnvSpec | None = None
        self._counterexamples: list[Boards] = []

    @property
    def spec(self) -> EnvSpec | None:
        """Gymnasium's specification, from which `gym.make` makes such an environment again.

        Players of this package stand there by name. Its JSON form only describes other objects,
        with a warning.
        """
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = spec and plain_spec(spec)

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that the learner plays by the argument `side`: ("X",), ("O",) or both."""
        side = self.config.side
        return (side,) if side in SIDES else SIDES

    @property
    def symmetric(self) -> bool:
        """Whether the learner sees one image of each board."""
        return self.config.symmetric

    @property
    def _changed_by(self) -> str:
        """The name of a subclass that may change observations, actions or masks, else "".

        By this attribute `model_env` tells the environments of this package.
        """
        from tictactoe_env.model_env import changed_by  # imported here: few are asked

        return changed_by(self)

    @property
    def self_play(self) -> dict[str, Any] | None:
        """How snapshots of the learner are used; None if no opponent is made from it.

        `snapshots`: how many there are. With the opponent "self" also its options, `keep` and
        `replace`; with "best-response" also `best_response`, whether there is one yet.
        """
        own = self._pool.own
        responder = self._pool.responder
        found: dict[str, Any] = {}
        if own is not None:
            found = {"keep": own.keep, "replace": own.replace, "snapshots": len(own.snapshots)}
        if responder is not None:
            answers = responder.player is not None
            found = {"snapshots": int(answers), **found, "best_response": answers}
        return found or None

    @property
    def counterexamples(self) -> tuple[Boards, ...]:
        """Boards (N, cells) of the last proofs, from which games start: see `ExploringStarts`."""
        return tuple(self._counterexamples)

    def set_opponent(self, opponent: Any) -> None:
        """Play against `opponent` from now on, also in current games.

        Raises ValueError, changing nothing, if it cannot be an opponent on this board, and for
        `None`: only an environment that was made with `opponent=None` has no opponent.
        """
        self._check_open()
        self._use(self._checked_pool(opponent, {}))

    def add_snapshot(self, player: Any, deterministic: bool = False) -> None:
        """Add a frozen copy of the learner to the opponents; see Self-play in `TicTacToeEnv`.

        player, deterministic: see `tictactoe_env.snapshot`. Games against a snapshot that makes
        room go on against the new one.
        Raises ValueError, changing nothing, if the opponents contain neither "self" nor
        "best-response", or if the player cannot be an opponent on this board.
        """
        self._check_open()
        before = self._pool
        if not before.takes_snapshots:
            raise ValueError('no opponent is "self" or "best-response", so no snapshot would play')
        copy = snapshot(player, self.config.rules, deterministic, self.symmetric or None)
        self._check_first_move([copy], {})
        response = copy  # if there is no other: none is asked for, or its proof would be too large
        if before.responder is not None or self._takes_counterexamples:
            found = self._best_response(player, copy)
            if found is not None:
                response = found.player
                self.add_counterexamples(found.counterexamples)
        pool = before.with_snapshot(copy, self.np_random, response)
        self._use(pool, pool.indices_of(before))

    def add_counterexamples(self, boards: Boards) -> None:
        """Start games from these boards (N, cells) too, if `start` is for counterexamples.

        Those of the last 11 calls are kept; of more than 20,000 boards evenly spaced ones. Raises
        ValueError for a board that play cannot reach.
        """
        if not self._takes_counterexamples:
            return
        self.config.check_reachable(boards, "counterexamples")
        from tictactoe_env.exact.responses import kept_counterexamples

        self._counterexamples = kept_counterexamples(self._counterexamples, boards)

    @property
    def _takes_counterexamples(self) -> bool:
        start = self.config.start
        return isinstance(start, ExploringStarts) and start.counterexamples > 0

    def _checked_pool(self, opponent: Any, given: Mapping[str, Any]) -> Pool:
        """The pool of these opponents. given: the checked options of a reset."""
        if opponent is None:
            raise ValueError("opponent=None is for gym.make: make another environment for it")
        pool = make_pool(opponent, self.config.rules, self._pool)
        drawn = [policy for policy, weight in pool.pairs if weight > 0]
        self._check_first_move(drawn, given)
        return pool

    def _check_first_move(self, players: Sequence[Policy], given: Mapping[str, Any]) -> None:
        """Raise ValueError if an opponent may end the game before the learner's first move.

        players: those that may be drawn. given: checked reset options. Boards that `start` will
        draw are not checked here.
        """
        config = self.config
        rules = config.rules
        if "board" in given:
            board = given["board"]
        elif config.start == "empty":
            board = config.start_board
        else:
            return
        side = given.get("side", config.side)
        if side in SIDES and mark_of(side) == to_move(board):
            return
        ends = config.ending_cells(board)
        if not ends.any():
            return
        for player in players:
            probs = as_policy(player, rules).probs(board[None])[0]
            if (probs[ends] > 0).any():
                raise ValueError(
                    f'on "{board_text(board, rules)}" ({rules}) the opponent may end the game '
                    f'before the learner\'s first move: give side="{side_to_move(board)}"'
                )

    def _use(self, pool: Pool, indices: NDArray[np.intp] | None = None) -> None:
        """Play against these opponents, also in current games.

        indices: of each present opponent the index of who plays on for it; without them the
        opponents are drawn again.
        """
        raise NotImplementedError

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed: make a new one")

    def _best_response(self, player: Any, copy: Policy) -> BestResponsePlayer | None:
        """The best response to a player that always makes its most probable moves.

        copy: the snapshot, which on boards of more than 12 cells plays off the lines of these.
        None, with a warning, if the player can meet more positions than the proof may have.
        """
        from tictactoe_env.exact.proof import Limit
        from tictactoe_env.exact.responses import response_to_learner

        rules = self.config.rules
        responder = self._pool.responder
        limit = Limit(responder.positions if responder else PROOF_POSITIONS)
        best_moves = snapshot(player, rules, True, self.symmetric or None)
        found = response_to_learner(best_moves, rules, self.sides, copy, limit)
        if found is None:
            gym.logger.warn(
                f"the snapshot plays instead of its best response, whose proof on {rules} takes "
                f"more than {limit.positions:,} positions or {limit.megabytes:,} MB; the opponent "
                '"best-response-positions=N" has the limit N'
            )
        return found
