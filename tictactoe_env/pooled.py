"""What both environments have in common: their specs, sides, and the options of "self"."""

from __future__ import annotations

from typing import Any

from gymnasium.envs.registration import EnvSpec

from tictactoe_env.config import Config
from tictactoe_env.notation import SIDES
from tictactoe_env.pool import Pool
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
        """How many snapshots the opponent "self" keeps and has; None without such an opponent.

        The keys are its options `keep` and `replace`, and `snapshots`, the number it has.
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
