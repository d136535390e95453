"""The vector environment as a `VecEnv` of Stable-Baselines3."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from tictactoe_env.config import check_environment
from tictactoe_env.errors import whole_number
from tictactoe_env.rules import Rules
from tictactoe_env.starts import ExploringStarts
from tictactoe_env.vector_env import TicTacToeVectorEnv

INFO_KEYS = ("action_mask", "side", "outcome", "illegal_move")


class TicTacToeVecEnv(VecEnv):
    """`num_envs` games as one `VecEnv` of Stable-Baselines3.

    arguments: as for `TicTacToeVectorEnv`. exploring_starts: the share of the games that start
    from a random board. counterexamples: the share of the games that start from a board from which
    the last snapshots can still be beaten (see `tictactoe_env.starts.ExploringStarts`).
    MaskablePPO and MaskableDQN get their masks from `env_method("action_masks")`, which returns
    one array for all games. With many games give PPO a larger `batch_size` than its 64: its updates
    take the time, not the games.

    Infos are as in `TicTacToeEnv`, at every step: `action_mask` int8 (cells,), `side`, `outcome`
    and `illegal_move` np.int8. A finished game is reset in the same step: its info is that of its
    last step, `infos[i]["terminal_observation"]` its last observation, and `infos[i]["episode"]`
    its return and length, from which Stable-Baselines3 logs `rollout/ep_rew_mean`. The infos of a
    reset are `reset_infos`.
    """

    def __init__(
        self,
        num_envs: int,
        exploring_starts: float = 0.0,
        counterexamples: float = 0.0,
        **arguments: Any,
    ):
        whole_number(num_envs, "num_envs", 1)
        check_environment(arguments, TicTacToeVecEnv, TicTacToeVectorEnv)
        starts = {"exploring_starts": exploring_starts, "counterexamples": counterexamples}
        self._given = arguments | {name: share for name, share in starts.items() if share}
        if exploring_starts or counterexamples:
            if arguments.get("opening") or arguments.get("start", "empty") != "empty":
                raise ValueError("exploring_starts and counterexamples exclude opening and start")
            rules = Rules.among(arguments)
            early_draw = arguments.get("early_draw", False)
            arguments["start"] = ExploringStarts(
                exploring_starts, rules, early_draw, counterexamples
            )
        self.games = TicTacToeVectorEnv(num_envs, **arguments)
        if self.games.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError("Stable-Baselines3 needs SAME_STEP: leave autoreset_mode out")
        self.render_mode = self.games.render_mode
        super().__init__(
            num_envs, self.games.single_observation_space, self.games.single_action_space
        )
        self._actions: NDArray[np.intp] = np.zeros(num_envs, dtype=np.intp)
        self._returns = np.zeros(num_envs)  # of the current games, so far
        self._lengths = np.zeros(num_envs, dtype=np.intp)
        self._begun = time.time()

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self._given.items())
        return f"{type(self).__name__}({self.num_envs}{given})"

    def set_opponent(self, opponent: Any) -> None:
        """Play against `opponent` from now on: see `TicTacToeVectorEnv.set_opponent`."""
        self.games.set_opponent(opponent)

    def add_snapshot(self, player: Any, deterministic: bool = False) -> None:
        """Add a frozen copy to the opponents: see `TicTacToeVectorEnv.add_snapshot`."""
        self.games.add_snapshot(player, deterministic)

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Set the options of the next reset. Raises ValueError unless all games get the same."""
        if isinstance(options, (list, tuple)) and (
            len(options) != self.num_envs or any(one != options[0] for one in options)
        ):
            raise ValueError(f"give {self.num_envs} games the same options, got {options}")
        super().set_options(options)

    def reset(self) -> NDArray[Any]:
        """The observations of new games."""
        seed = next((seed for seed in self._seeds if seed is not None), None)
        options = next((options for options in self._options if options), None)
        observations, infos = self.games.reset(seed=seed, options=options)
        self.reset_infos = _by_game(infos)
        self._returns[:] = 0
        self._lengths[:] = 0
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """One step of every game: observations, rewards float32, dones, infos."""
        observations, rewards, ended, truncated, info = self.games.step(self._actions)
        dones = ended | truncated
        infos = _by_game(info)
        self._returns += rewards
        self._lengths += 1
        if "final_obs" in info:
            final = info["final_obs"]
            last = info["final_info"]
            for game in np.flatnonzero(dones).tolist():
                infos[game] = {
                    "terminal_observation": final[game],
                    "TimeLimit.truncated": bool(truncated[game]),
                    "episode": {
                        "r": float(self._returns[game]),
                        "l": int(self._lengths[game]),
                        "t": round(time.time() - self._begun, 6),
                    },
                    **{key: last[key][game] for key in INFO_KEYS},
                }
            self._returns[dones] = 0
            self._lengths[dones] = 0
        return observations, rewards.astype(np.float32), dones, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal moves: (num_envs, cells) bool; before the first reset those after `opening`."""
        try:
            return self.games.action_masks()
        except ResetNeeded:  # programs ask early whether there are masks, and of which shape
            return np.tile(self.games.config.start_mask(), (self.num_envs, 1))

    def close(self) -> None:
        """Close the games."""
        self.games.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the games, once for each. Raises AttributeError if there is none.

        `board` is the board of each game, (cells,) int8.
        """
        chosen = self._get_indices(indices)
        if attr_name == "board":
            return list(self.games.boards[list(chosen)])
        shared = getattr(self.games, attr_name)
        return [shared for _ in chosen]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all games at once."""
        if indices is not None:
            raise ValueError("the games share their attributes: leave indices out")
        setattr(self.games, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Call a method of all games once, and return a list with its result for each game.

        `action_masks` returns one array for all games (num_envs, cells).
        """
        if method_name == "action_masks":
            masks = self.action_masks()
            return masks if indices is None else masks[list(self._get_indices(indices))]
        results = self.games.call(method_name, *args, **kwargs)
        return [results[game] for game in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """False for each game: games are not wrapped one by one."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """An RGB image of each game; unless render_mode is "rgb_array", None and a warning."""
        if self.render_mode != "rgb_array":
            warnings.warn('images need render_mode="rgb_array"', stacklevel=2)
            return [None] * self.num_envs
        return list(self.games.render() or [])


def _by_game(infos: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The infos of the games, as dictionaries."""
    rows = zip(*(infos[key] for key in INFO_KEYS), strict=True)
    return [
        {"action_mask": mask, "side": side, "outcome": outcome, "illegal_move": illegal}
        for mask, side, outcome, illegal in rows
    ]
