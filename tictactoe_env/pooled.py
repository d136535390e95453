"""What both environments have in common: their specs, sides, snapshots and best responses."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from tictactoe_env.config import Config
from tictactoe_env.engines.starts import ExploringStarts
from tictactoe_env.exact.evaluation import fair_results
from tictactoe_env.exact.proof import TABLE_CELLS, ProofLimitError
from tictactoe_env.exact.responses import respond
from tictactoe_env.notation import SIDES
from tictactoe_env.policy import Policy
from tictactoe_env.pool import Pool
from tictactoe_env.snapshots import snapshot
from tictactoe_env.spec_json import json_spec


class Pooled:
    """An environment whose opponents are a pool."""

    config: Config

    def __init__(self) -> None:
        self._pool = Pool((), ())
        self._spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """Gymnasium's specification, from which `gym.make` makes such an environment again.

        An opponent that was given as an object stands in it as a name or as a table: see
        `spec_json`.
        """
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = json_spec(spec, self._pool)

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that the learner plays by the argument `side`: ("X",), ("O",) or both."""
        return (self.config.side,) if self.config.side in SIDES else SIDES

    @property
    def self_play(self) -> dict[str, Any] | None:
        """What snapshots of the learner are used for; None if no opponent is made from it.

        The keys are `snapshots`, the number of them, with the opponent "self" its options `keep`
        and `replace`, and with "best-response" `best_response`, whether there is one yet.
        """
        return self._pool.self_play

    def keep_snapshots(self, keep: int | None = None, replace: str | None = None) -> None:
        """Set options of the opponent "self"; None leaves one as it is.

        If there are more than `keep` snapshots, the oldest are left out, and current games go on
        against opponents that are drawn again.
        Raises ValueError, changing nothing, for wrong options, and if the opponents do not contain
        "self".
        """
        self._check_open()
        pool = self._pool.keeping(keep, replace)
        if len(pool.policies) == len(self._pool.policies):
            self._pool = pool
        else:
            self.set_opponent(pool)

    def set_opponent(self, opponent: Any) -> None:
        """Play against `opponent` from now on."""
        raise NotImplementedError

    def _check_open(self) -> None:
        """Raise ClosedEnvironmentError after `close`."""
        raise NotImplementedError


def best_reply(
    player: Any, copy: Policy, pool: Pool, config: Config, sides: tuple[str, ...]
) -> Policy | None:
    """The best response to a player for the member "best-response" of a pool; None without one.

    copy: the snapshot of the player. The response answers the player's best moves, as proofs do,
    and is played off their lines by `copy`. The counterexamples go to the exploring starts of the
    configuration. If the player can meet more positions than the proof may have, there is a warning
    and no response.
    """
    starts = config.start
    wanted = starts if isinstance(starts, ExploringStarts) and starts.counterexamples else None
    if pool.responder is None and wanted is None:
        return None
    rules = config.rules
    elsewhere = copy if rules.cells > TABLE_CELLS else None
    best_moves = snapshot(player, rules, deterministic=True)
    try:
        limit = pool.responder.limit if pool.responder else None
        response = respond(best_moves, rules, sides, elsewhere, fair_results(rules), limit)
    except ProofLimitError as error:
        gym.logger.warn(
            f"the snapshot plays instead of its best response: {error}; the opponent "
            '"best-response-positions=N" has the limit N'
        )
        return None
    if wanted is not None:
        wanted.remember(response.counterexamples)
    return response.player if pool.responder else None
