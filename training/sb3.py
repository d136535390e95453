"""The vector environment as a `VecEnv` of Stable-Baselines3.

from training.sb3 import TicTacToeVecEnv
from sb3_contrib import MaskablePPO

model = MaskablePPO("MlpPolicy", TicTacToeVecEnv(256, opponent="minimax")).learn(100_000)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from tictactoe_env.errors import probability
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Boards, Rules, to_move
from tictactoe_env.vector_env import TicTacToeVectorEnv

INFO_KEYS = ("action_mask", "side", "outcome", "illegal_move")


class ExploringStarts:
    """Start positions for `TicTacToeVectorEnv(start=...)`: a share of the games start at random.

    share: the share of the games that start from a random board, with the learner to move; the
    other games start from the empty board. The number of marks is drawn first, uniformly, and then
    a board with that many marks, uniformly. (With start="random" all boards are equally likely:
    most of them have five to seven marks, and openings are rare.)
    """

    def __init__(self, share: float, rules: Rules, early_draw: bool = False):
        self.share = probability(share, "the share of exploring starts")
        self.rules = rules
        positions = positions_of(rules)
        rows = positions.unfinished
        self._rows = rows[~positions.is_dead[rows]] if early_draw else rows
        first = np.unique(positions.ply[self._rows], return_index=True)[1]
        self._first = np.append(first, len(self._rows))  # the first row with 0 marks, 1, ...

    def __call__(
        self, seats: NDArray[np.int8], rng: np.random.Generator
    ) -> tuple[Boards, NDArray[np.int8]]:
        """Boards (B, cells) and the learner's marks (B,): those of `seats` on empty boards."""
        drawn = rng.random(len(seats)) < self.share
        ply = np.where(drawn, rng.integers(len(self._first) - 1, size=len(seats)), 0)
        rows = self._rows[rng.integers(self._first[ply], self._first[ply + 1])]
        boards = positions_of(self.rules).boards[rows]
        return boards, np.where(drawn, to_move(boards), seats).astype(np.int8)


class TicTacToeVecEnv(VecEnv):
    """`num_envs` games as one `VecEnv` of Stable-Baselines3.

    arguments: those of `TicTacToeVectorEnv`. exploring_starts: the share of the games that start
    from a random board (see `ExploringStarts`). MaskablePPO gets its masks from
    `env_method("action_masks")`, which returns one array for all games. A finished game is reset in
    the same step; its last observation is `infos[i]["terminal_observation"]`.
    """

    def __init__(self, num_envs: int, exploring_starts: float = 0.0, **arguments: Any):
        if exploring_starts:
            if arguments.get("opening") or arguments.get("start", "empty") != "empty":
                raise ValueError(
                    "exploring_starts cannot be combined with opening or start: leave these out"
                )
            rules = Rules(*(arguments.get(name, 3) for name in ("rows", "cols", "k")))
            early_draw = arguments.get("early_draw", False)
            arguments["start"] = ExploringStarts(exploring_starts, rules, early_draw)
        self.games = TicTacToeVectorEnv(num_envs, **arguments)
        if self.games.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(
                "Stable-Baselines3 needs finished games to be reset in the same step: "
                "leave autoreset_mode out"
            )
        self.render_mode = self.games.render_mode
        super().__init__(
            num_envs, self.games.single_observation_space, self.games.single_action_space
        )
        self._actions: NDArray[np.intp] = np.zeros(num_envs, dtype=np.intp)

    def set_opponent(self, opponent: Any) -> None:
        """Play against `opponent` from now on: see `TicTacToeVectorEnv.set_opponent`."""
        self.games.set_opponent(opponent)

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Set the options of the next reset. Raises ValueError unless all games get the same."""
        if isinstance(options, (list, tuple)) and (
            len(options) != self.num_envs or any(one != options[0] for one in options)
        ):
            raise ValueError(
                f"all {self.num_envs} games start with the same options: "
                f"give one dict, or as many equal ones, got {options!r}"
            )
        super().set_options(options)

    def reset(self) -> NDArray[np.int8]:
        """The observations of new games."""
        seed = next((seed for seed in self._seeds if seed is not None), None)
        options = next((options for options in self._options if options), None)
        observations, infos = self.games.reset(seed=seed, options=options)
        self.reset_infos = [{"action_mask": mask} for mask in infos["action_mask"]]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """One step of every game: observations, rewards float32, dones, infos."""
        observations, rewards, ended, truncated, info = self.games.step(self._actions)
        dones = ended | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if "final_obs" in info:
            final, last = info["final_obs"], info["final_info"]
            for game in np.flatnonzero(dones).tolist():
                infos[game] = {
                    "terminal_observation": final[game],
                    "TimeLimit.truncated": bool(truncated[game]),
                    **{key: last[key][game] for key in INFO_KEYS},
                }
        return observations, rewards.astype(np.float32), dones, infos

    def state_dict(self) -> dict[str, Any]:
        """What is needed to continue the games: see `TicTacToeVectorEnv.state_dict`."""
        return self.games.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> NDArray[np.int8]:
        """Continue the games of `state_dict` against the present opponents; their observations."""
        return self.games.load_state_dict(state)[0]

    def action_masks(self) -> NDArray[np.bool_]:
        """Which cells are free: (num_envs, cells) bool."""
        return self.games.action_masks()

    def close(self) -> None:
        """Close the games."""
        self.games.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the games, once for each. Raises AttributeError if there is none."""
        owner = self if attr_name in ("render_mode", "action_masks") else self.games
        value = getattr(owner, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all games at once."""
        if indices is not None:
            raise ValueError("the games share their attributes: leave indices out")
        setattr(self.games, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Call a method of all games once, and return its result once for each game.

        `action_masks` returns one array for all games (num_envs, cells).
        """
        if method_name == "action_masks":
            masks = self.action_masks()
            return masks if indices is None else masks[list(self._get_indices(indices))]
        result = getattr(self.games, method_name)(*args, **kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """False for each game: games are not wrapped one by one."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """An RGB image of each game; unless render_mode is "rgb_array", None and a warning."""
        if self.render_mode != "rgb_array":
            warnings.warn(
                f'images need render_mode="rgb_array", got {self.render_mode!r}',
                stacklevel=2,
            )
            return [None] * self.num_envs
        return list(self.games.render() or [])
