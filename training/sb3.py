"""Between this project and Stable-Baselines3: the vector environment as a `VecEnv`, and symmetric boards.

from training.sb3 import TicTacToeVecEnv
from sb3_contrib import MaskablePPO

model = MaskablePPO("MlpPolicy", TicTacToeVecEnv(256, opponent="minimax")).learn(100_000)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.preprocessing import get_flattened_obs_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.vec_env import VecEnv

from tictactoe_env.errors import probability
from tictactoe_env.positions import positions_of, symmetries_of
from tictactoe_env.rules import Boards, Rules, to_move
from tictactoe_env.vector_env import TicTacToeVectorEnv


class ExploringStarts:
    """Start positions for `TicTacToeVectorEnv(start=...)`, drawn at random in the given share of the games.

    share: of the games that start from a drawn board, with the learner to move; the others start
    from the empty one. The number of marks of a drawn board is uniform, and so are the boards with
    that number. (With start="random" all boards are equally likely, so that most have five to seven
    marks, and openings are rare.)
    """

    def __init__(self, share: float, rules: Rules, early_draw: bool = False):
        self.share = probability(share, "the share of exploring starts")
        self.rules = rules
        positions = positions_of(rules)
        rows = positions.unfinished
        self._rows = rows[~positions.is_dead[rows]] if early_draw else rows
        first = np.unique(positions.ply[self._rows], return_index=True)[1]
        self._first = np.append(first, len(self._rows))  # of the boards with no mark, with one, ...

    def __call__(
        self, seats: NDArray[np.int8], rng: np.random.Generator
    ) -> tuple[Boards, NDArray[np.int8]]:
        """Boards (B, cells) and the learner's marks (B,); `seats` (B,) are kept on empty boards."""
        drawn = rng.random(len(seats)) < self.share
        ply = np.where(drawn, rng.integers(len(self._first) - 1, size=len(seats)), 0)
        rows = self._rows[rng.integers(self._first[ply], self._first[ply + 1])]
        boards = positions_of(self.rules).boards[rows]
        return boards, np.where(drawn, to_move(boards), seats).astype(np.int8)


class TicTacToeVecEnv(VecEnv):
    """`num_envs` games as one Stable-Baselines3 `VecEnv`, with `TicTacToeVectorEnv`'s arguments.

    exploring_starts: share of the games that start from a random board: see `ExploringStarts`.
    MaskablePPO finds its masks through `env_method("action_masks")`, which answers with one array for all games.
    Games that end start again at once; their last observation is in `infos[i]["terminal_observation"]`.
    """

    def __init__(self, num_envs: int, exploring_starts: float = 0.0, **arguments: Any):
        if exploring_starts:
            if arguments.get("opening") or arguments.get("start", "empty") != "empty":
                raise ValueError(
                    "exploring starts go with neither an opening nor start: leave these out"
                )
            rules = Rules(*(arguments.get(name, 3) for name in ("rows", "cols", "k")))
            early_draw = arguments.get("early_draw", False)
            arguments["start"] = ExploringStarts(exploring_starts, rules, early_draw)
        self.games = TicTacToeVectorEnv(num_envs, **arguments)
        if self.games.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(
                "Stable-Baselines3 starts a finished game anew within the same step: leave autoreset_mode out"
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
        """Options of the next reset, alike for all games; ValueError for a list of others."""
        if isinstance(options, (list, tuple)) and (
            len(options) != self.num_envs or any(one != options[0] for one in options)
        ):
            raise ValueError(
                f"all {self.num_envs} games start with the same options: give one dict, or as many equal ones, got {options!r}"
            )
        super().set_options(options)

    def reset(self) -> NDArray[np.int8]:
        """Observations of new games."""
        seed = next((seed for seed in self._seeds if seed is not None), None)
        options = next((options for options in self._options if options), None)
        observations, infos = self.games.reset(seed=seed, options=options)
        self.reset_infos = [{"action_mask": mask} for mask in infos["action_mask"]]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """One step of every game: observations, rewards float32, dones, infos."""
        observations, rewards, dones, _, info = self.games.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if "final_obs" in info:
            final, outcomes, illegal = (
                info["final_obs"],
                info["final_info"]["outcome"],
                info["final_info"]["illegal_move"],
            )
            for game in np.flatnonzero(dones).tolist():
                infos[game] = {
                    "terminal_observation": final[game],
                    "TimeLimit.truncated": False,
                    "outcome": str(outcomes[game]),
                    "illegal_move": bool(illegal[game]),
                }
        return observations, rewards.astype(np.float32), dones, infos

    def state_dict(self) -> dict[str, Any]:
        """What is needed to continue the games: see `TicTacToeVectorEnv.state_dict`."""
        return self.games.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> NDArray[np.int8]:
        """Continue the games of `state_dict`, against the same opponents: their observations."""
        return self.games.load_state_dict(state)[0]

    def action_masks(self) -> NDArray[np.bool_]:
        """Which cells are free: (num_envs, cells) bool."""
        return self.games.action_masks()

    def close(self) -> None:
        """Close the games."""
        self.games.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The same attribute for each game; AttributeError if there is none."""
        value = (
            getattr(self, attr_name)
            if attr_name in ("render_mode", "action_masks")
            else getattr(self.games, attr_name)
        )
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all games at once."""
        if indices is not None:
            raise ValueError("the games share their attributes: leave indices out")
        setattr(self.games, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """`action_masks` for all games as one array (num_envs, cells); other methods are called once for all."""
        if method_name == "action_masks":
            return (
                self.action_masks()[list(self._get_indices(indices))]
                if indices is not None
                else self.action_masks()
            )
        result = getattr(self.games, method_name)(*args, **kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Never: the games are not wrapped one by one."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """One RGB picture a game; None each, with a warning, unless the render mode is "rgb_array"."""
        if self.render_mode != "rgb_array":
            warnings.warn(
                f'there are pictures with render_mode="rgb_array" only, this is {self.render_mode!r}',
                stacklevel=2,
            )
            return [None] * self.num_envs
        return list(self.games.render() or [])


class Turn(torch.nn.Module):
    """Turns boards into one orientation of their symmetry class, so that a network sees 765 positions of 3x3, not 5,478.

    Of the images of a board under the board's symmetries the one with the smallest ternary code is taken. This is
    knowledge of the board's shape, not of the game's solution.
    """

    cells_of: torch.Tensor
    weights: torch.Tensor
    speakers: torch.Tensor
    bits: torch.Tensor

    def __init__(self, rules: Rules, symmetry: bool = True):
        super().__init__()
        permutations = symmetries_of(rules) if symmetry else np.arange(rules.cells)[None]
        # weights[plane, cell, s]: what a mark adds to the code of the image under symmetry s
        powers = 3.0 ** np.argsort(permutations, axis=1)
        weights = np.concatenate([powers.T, 2 * powers.T])
        self.register_buffer(
            "weights",
            torch.tensor(weights, dtype=torch.float32 if rules.cells <= 14 else torch.float64),
            persistent=False,
        )
        self.register_buffer("cells_of", torch.tensor(permutations), persistent=False)
        back = np.argsort(permutations, axis=1)
        # speakers[set of symmetries, cell]: the lowest of the turned cells that one of these symmetries brings back to `cell`
        sets = np.arange(1 << len(back))[:, None] >> np.arange(len(back)) & 1 > 0
        self.register_buffer(
            "speakers",
            torch.tensor(np.where(sets[:, :, None], back, rules.cells).min(axis=1)),
            persistent=False,
        )
        self.register_buffer("bits", 2.0 ** torch.arange(len(back)), persistent=False)

    def forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Turned planes (B, 2, rows, cols), and the cell permutation (B, cells) with turned[i] = board[permutation[i]]."""
        flat = planes.flatten(1)
        which = (flat.to(self.weights.dtype) @ self.weights).argmin(dim=1)
        cells = self.cells_of[which]
        both = torch.cat([cells, cells + cells.shape[1]], dim=1)
        return flat.gather(1, both).reshape(planes.shape), cells

    def distinct(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The distinct turned boards among B: planes (U, 2, rows, cols), which of them each board is (B,), and who speaks for its cells (B, cells).

        `network(turned)[which].gather(1, speakers)` are then scores of the cells of each board, at the price of U boards, not B. Where
        a board is its own image, the cells that are images of each other have one speaker, so that their scores are the same.
        """
        codes = planes.flatten(1).to(self.weights.dtype) @ self.weights
        lowest = codes.amin(dim=1, keepdim=True)
        turning = (
            codes == lowest
        )  # the symmetries that turn the board into its representative: one, or several
        found, which = torch.unique(lowest.squeeze(1), return_inverse=True)
        one_of_each = which.new_empty(len(found)).scatter_(
            0, which, torch.arange(len(which), device=which.device)
        )
        return (
            self(planes[one_of_each])[0],
            which,
            self.speakers[(turning.float() @ self.bits).long()],
        )


class MoveBuffer(ReplayBuffer):
    """SB3's replay buffer with a generator of its own."""

    def __init__(self, *arguments: Any, seed: int = 0, **keywords: Any):
        super().__init__(*arguments, **{**keywords, "handle_timeout_termination": False})
        self.rng = np.random.default_rng(seed)

    def sample(self, batch_size: int, env: Any = None) -> ReplayBufferSamples:
        """Moves drawn with replacement."""
        rows = self.buffer_size if self.full else self.pos
        step, game = np.divmod(self.rng.integers(rows * self.n_envs, size=batch_size), self.n_envs)
        data = (
            self.observations[step, game],
            self.actions[step, game],
            self.next_observations[step, game],
            self.dones[step, game, None],
            self.rewards[step, game, None],
        )
        return ReplayBufferSamples(*map(self.to_torch, data))


class Grid(BaseFeaturesExtractor):
    """Planes (B, 2, rows, cols) as one number for each cell (B, cells): 1 own, -1 the other's, 0 free."""

    def __init__(self, observation_space: Any):
        super().__init__(observation_space, get_flattened_obs_dim(observation_space) // 2)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """The first plane less the second."""
        return (planes[:, 0] - planes[:, 1]).flatten(1)
