"""What networks on boards share: the encodings of a board, and the moves that they may not make."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor

from tictactoe_env.notation import parse_cell
from tictactoe_env.rules import Rules
from training.task import RANDOM


class Grid(BaseFeaturesExtractor):
    """Planes (B, 2, rows, cols) as one grid (B, cells): 1 own, -1 opponent, 0 free."""

    def __init__(self, observation_space: Any):
        super().__init__(observation_space, int(np.prod(observation_space.shape[1:])))

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """The first plane minus the second."""
        return (planes[:, 0] - planes[:, 1]).flatten(1)


ENCODINGS = {"planes": FlattenExtractor, "grid": Grid}


class Opening:
    """The first move of the option `opening`: a cell, "random", or "" for any."""

    def __init__(self, opening: str, rules: Rules):
        self.is_random = opening == RANDOM
        self.cell = parse_cell(opening, rules) if opening and not self.is_random else None

    def forbidden(self, planes: torch.Tensor) -> torch.Tensor:
        """Which cells are illegal: (B, cells) bool. planes: (B, 2, rows, cols).

        These are the occupied cells and, on the empty board, all cells but a prescribed opening.
        """
        taken = planes.flatten(2).sum(dim=1) > 0
        if self.cell is not None:
            empty = ~taken.any(dim=1)
            taken[empty] = True
            taken[empty, self.cell] = False
        return taken

    def drawn(self, planes: torch.Tensor) -> torch.Tensor:
        """On which boards the move is drawn at random, whatever a network says: (B,) bool."""
        return (planes.flatten(1).sum(dim=1) == 0) & self.is_random
