"""Players that ask a network for each batch of boards: on boards that have no table of positions.

On boards of up to 12 cells a network is asked once for all positions, and its player is a table.
On larger boards there are too many, and its player is one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tictactoe_env.observation import observe
from tictactoe_env.policy import CanonicalPolicy, Probs, RandomPolicy, one_hot
from tictactoe_env.rules import Boards, Rules
from training.learner import Arrays
from training.task import TaskConfig
from training.values import Scale

BATCH = 1 << 14  # boards at a time; larger batches leave the processor's caches
# Boards at least. A matrix product of fewer rows rounds otherwise (measured: of 32 and less), so a
# move could depend on how many boards are asked for together.
LEAST = 64

Scores = Callable[[torch.Tensor], torch.Tensor]
"""A network: from planes (B, 2, rows, cols) to the scores of the moves (B, cells)."""


class NetworkPolicy:
    """The policy of a network on any board.

    scores: the network, on the CPU. weights: the arrays from which the same network is made again.
    is_greedy: whether it makes the move of the highest score, of equal ones the lowest cell;
    otherwise it draws by the softmax of the scores. opens_at_random: whether all first moves are
    equally likely. worth: the scale of the scores if they are values of the moves; without it
    `q_values` is None.
    """

    def __init__(
        self,
        rules: Rules,
        scores: Scores,
        weights: Arrays,
        *,
        is_greedy: bool = True,
        opens_at_random: bool = False,
        worth: Scale | None = None,
    ):
        self.rules = rules
        self.scores = scores
        self.weights = weights
        self.is_greedy = is_greedy
        self.opens_at_random = opens_at_random
        self.moves_by_values = worth is not None
        self.q_values = self._values if self.moves_by_values else None
        scale = worth or Scale("")
        self.meaning = scale.meaning
        self.scale = (scale.low, scale.high)

    def probs(self, boards: Boards) -> Probs:
        """Probabilities (B, cells) on unfinished boards (B, cells)."""
        boards = np.asarray(boards, dtype=np.int8)
        found = scores_of(self.scores, boards, self.rules)
        if self.is_greedy:
            chosen = one_hot(found.argmax(axis=1), self.rules.cells)
        else:
            chosen = np.exp(found - found.max(axis=1, keepdims=True), dtype=np.float64)
            chosen /= chosen.sum(axis=1, keepdims=True)
        if self.opens_at_random:
            empty = ~boards.any(axis=1)
            chosen[empty] = RandomPolicy(self.rules).probs(boards[empty])
        return chosen

    def _values(self, boards: Boards) -> NDArray[np.float32]:
        """The scores (B, cells) on unfinished boards (B, cells), -inf for illegal moves."""
        return scores_of(self.scores, np.asarray(boards, dtype=np.int8), self.rules)


def scores_of(scores: Scores, boards: Boards, rules: Rules) -> NDArray[np.float32]:
    """The outputs of a network for boards (B, cells) int8: (B, ...), computed BATCH at a time.

    The output for a board does not depend on the others.
    """
    parts = []
    with torch.no_grad():
        for start in range(0, len(boards), BATCH):
            part = boards[start : start + BATCH]
            count = len(part)
            if count < LEAST:
                empty_boards = np.zeros((LEAST - count, rules.cells), np.int8)
                part = np.concatenate([part, empty_boards])
            planes = torch.from_numpy(observe(part, rules, "planes"))
            found = scores(planes).numpy()
            parts.append(found[:count])
    return np.concatenate(parts)


class SymmetricNetwork(CanonicalPolicy):
    """The policy of a network that plays alike on symmetric boards: see `CanonicalPolicy`."""

    def __init__(self, network: NetworkPolicy):
        super().__init__(network, network.rules)
        self.network = network
        self.weights = network.weights
        self.q_values = network.q_values
        self.meaning = network.meaning
        self.scale = network.scale
        self.moves_by_values = network.moves_by_values


LivePolicy = NetworkPolicy | SymmetricNetwork


def live_policy(
    config: TaskConfig, model: Arrays, scores: Scores, is_greedy: bool = True, **more: Any
) -> LivePolicy:
    """The player of a saved model, whose network `scores` gives logits or values of the moves.

    A greedy one plays alike on symmetric boards if it learns with symmetry. more: arguments of
    `NetworkPolicy`.
    """
    network = NetworkPolicy(
        config.rules,
        scores,
        model,
        is_greedy=is_greedy,
        opens_at_random=config.opens_at_random,
        **more,
    )
    return SymmetricNetwork(network) if config.symmetry and is_greedy else network
