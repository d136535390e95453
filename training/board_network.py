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


class Grid(BaseFeaturesExtractor):
    """Planes (B, 2, rows, cols) as one grid (B, cells): 1 own, -1 opponent, 0 free."""

    def __init__(self, observation_space: Any):
        super().__init__(observation_space, int(np.prod(observation_space.shape[1:])))

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """The first plane minus the second."""
        return (planes[:, 0] - planes[:, 1]).flatten(1)


class Lines(BaseFeaturesExtractor):
    """Planes (B, 2, rows, cols), and the marks on each line that a side can still complete.

    The features are (B, 2 * cells + 2 * (k - 1) * L) for L lines of k cells: the planes, flat; then
    for each number of marks from 1 to k - 1 and each line, 1 if the own marks on the line are that
    many and the opponent has none there; then the same for the opponent's marks.
    """

    on_line: torch.Tensor  # (cells, L): 1 for the cells of each line
    numbers: torch.Tensor  # (k - 1, 1)

    def __init__(self, observation_space: Any, rules: Rules):
        on_line = np.zeros((rules.cells, len(rules.lines)), dtype=np.float32)
        for line, cells in enumerate(rules.lines):
            on_line[list(cells), line] = 1
        super().__init__(observation_space, 2 * (rules.cells + (rules.k - 1) * len(rules.lines)))
        self.register_buffer("on_line", torch.from_numpy(on_line), persistent=False)
        self.register_buffer("numbers", torch.arange(1.0, rules.k)[:, None], persistent=False)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """The planes, and which lines have how many marks."""
        marks = planes.flatten(2)
        counts = marks @ self.on_line  # (B, 2, L)
        can_complete = counts.flip(1) == 0
        are_so_many = (counts * can_complete)[:, :, None] == self.numbers
        return torch.cat([marks.flatten(1), are_so_many.flatten(1).float()], dim=1)


ENCODINGS = {"planes": FlattenExtractor, "grid": Grid, "lines": Lines}
ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


def network_options(config: TaskConfig) -> dict[str, Any]:
    """The arguments of a Stable-Baselines3 policy that set its encoding and its activation."""
    return {
        "features_extractor_class": ENCODINGS[config.encoding],
        "features_extractor_kwargs": {"rules": config.rules} if config.encoding == "lines" else {},
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
