"""A saved run on a board without a table: its certificate on its lines, its model elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from tictactoe_env.certificates.lines import LinesPolicy
from tictactoe_env.policy import Probs
from tictactoe_env.rules import Boards


class LivePlayer:
    """The player of a run with a certificate of lines and the model that was certified.

    On the boards that the certificate knows it makes the certified moves, on others those of the
    model. Its values are those of the model.
    """

    def __init__(self, lines: LinesPolicy, model: Any):
        self.lines, self.model, self.rules = lines, model, lines.rules
        self.q_values, self.meaning, self.scale = model.q_values, model.meaning, model.scale

    def probs(self, boards: Boards) -> Probs:
        """Probabilities (B, cells) on unfinished boards (B, cells)."""
        boards = np.asarray(boards, dtype=np.int8)
        probs, unknown = self.lines.probs(boards), ~self.lines.knows(boards)
        if unknown.any():
            probs[unknown] = self.model.probs(boards[unknown])
        return probs
