"""The parts of networks on boards: encodings of a board, and the moves that they may not make."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.notation import parse_cell
from tictactoe_env.observation import observe
from tictactoe_env.rules import Rules
from training.task import RANDOM, TaskConfig
from training.torch_arrays import illegal_cells


class Grid(BaseFeaturesExtractor):
    """Planes (B, 2, rows, cols) as one grid (B, cells): 1 own, -1 opponent, 0 free."""

    def __init__(self, observation_space: Any):
        super().__init__(observation_space, int(np.prod(observation_space.shape[1:])))

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """The first plane minus the second."""
        return (planes[:, 0] - planes[:, 1]).flatten(1)


ENCODINGS = {"planes": FlattenExtractor, "grid": Grid}
ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


def network_options(config: TaskConfig) -> dict[str, Any]:
    """The arguments of a Stable-Baselines3 policy that set its encoding and its activation."""
    return {
        "features_extractor_class": ENCODINGS[config.encoding],
        "activation_fn": ACTIVATIONS[config.activation],
    }


def planes_of(rules: Rules) -> torch.Tensor:
    """The planes (U, 2, rows, cols) of all unfinished positions, by the side to move."""
    positions = positions_of(rules)
    boards = positions.boards[positions.unfinished]
    return torch.from_numpy(observe(boards, rules, "planes"))


class Opening:
    """The first move of the option `opening`: a cell, "random", or "" for any."""

    def __init__(self, opening: str, rules: Rules):
        self.rules = rules
        self.is_random = opening == RANDOM
        self.cell: int | None = None
        if opening and not self.is_random:
            self.cell = parse_cell(opening, rules)

    def forbidden(self, planes: torch.Tensor) -> torch.Tensor:
        """The illegal cells: (B, cells) bool. planes: (B, 2, rows, cols).

        On the empty board these are all cells but a prescribed opening.
        """
        illegal = illegal_cells(planes, self.rules)
        if self.cell is not None:
            is_empty = ~planes.flatten(1).any(dim=1)
            illegal[is_empty] = True
            illegal[is_empty, self.cell] = False
        return illegal

    def drawn(self, planes: torch.Tensor) -> torch.Tensor:
        """True for boards on which the move is drawn at random, without the network: (B,) bool."""
        is_empty = planes.flatten(1).sum(dim=1) == 0
        return is_empty & self.is_random
