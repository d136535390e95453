"""How often players that answer otherwise the next time are refused: the shares in own_player.md.

    python -m benchmarks.slips

It takes two minutes. The players that slip cannot be beaten without their slips.
"""

from __future__ import annotations

import numpy as np
import torch

from tictactoe_env import FunctionPolicy, Rules, evaluate, make_opponent
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.observation import observe
from tictactoe_env.policy import Policy, Probs, RandomPolicy, one_hot, sample
from tictactoe_env.rules import Boards

SHARES = (0.02, 0.005, 0.001)  # of the positions in which a player slips
TRAIN_STEPS = 600
SMALL = Rules()
LARGE = Rules(4, 4, 4)


class LineCounter:
    """A player by hand: it wins, or else blocks, or else takes the cell in the most valuable lines.

    A line that only one side has marked is worth eight times more with each mark, and the other
    side's a little less. Of equal cells it takes the first.
    """

    def __init__(self, rules: Rules):
        self.k = rules.k
        self.lines = np.zeros((len(rules.lines), rules.cells), dtype=np.int64)
        for number, line in enumerate(rules.lines):
            self.lines[number, list(line)] = 1

    def probs(self, boards: Boards) -> Probs:
        """One move in each position: (B, cells)."""
        boards = np.asarray(boards).astype(np.int64)
        mover = np.where(boards.sum(axis=1) == 0, 1, -1)[:, None]
        own = (boards == mover) @ self.lines.T
        other = (boards == -mover) @ self.lines.T
        worth = 8**own * 2 * (other == 0) + 8**other * (own == 0)
        worth[(own == self.k - 1) & (other == 0)] = 10**9
        worth[(other == self.k - 1) & (own == 0)] = 10**7
        scores = np.where(boards == 0, worth @ self.lines, -1)
        return one_hot(scores.argmax(axis=1), boards.shape[1])


class Slipping:
    """A player that makes a random move in a share of the positions that it is asked for."""

    def __init__(self, player: Policy, share: float, seed: int):
        self.player = player
        self.share = share
        self.rng = np.random.default_rng(seed)

    def probs(self, boards: Boards) -> Probs:
        """The player's probabilities, or 1 on a random move: (B, cells)."""
        probs = np.array(self.player.probs(boards), dtype=np.float64)
        slips = self.rng.random(len(boards)) < self.share
        if slips.any():
            drawn = sample(RandomPolicy().probs(boards[slips]), self.rng)
            probs[slips] = np.eye(boards.shape[1])[drawn]
        return probs


def with_dropout(rate: float) -> FunctionPolicy:
    """A network that imitates the package's MaskablePPO on 3x3, with its dropout left on."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(18, 64), torch.nn.ReLU(), torch.nn.Dropout(rate)]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(64, 9))
    positions = positions_of(SMALL)
    boards = positions.boards[positions.unfinished]
    moves = make_opponent("maskable_ppo", SMALL).probs(boards).argmax(axis=1)
    seen = torch.as_tensor(observe(boards, SMALL))
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(TRAIN_STEPS):
        loss = torch.nn.functional.cross_entropy(network(seen), torch.as_tensor(moves))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def best(observations: np.ndarray, masks: np.ndarray) -> torch.Tensor:
        scores = network(torch.as_tensor(observations))
        return torch.where(torch.as_tensor(masks), scores, -torch.inf).argmax(1)

    return FunctionPolicy(best, SMALL)


def is_refused(player: Policy, rules: Rules) -> bool:
    """True if nothing is proven of a player."""
    try:
        evaluate(player, rules)
    except ValueError:
        return True
    return False


def main() -> None:
    """Print the shares."""
    network = with_dropout(0.01)
    found = 0
    for seed in range(100):
        torch.manual_seed(seed)
        found += is_refused(network, SMALL)
    print(f"{SMALL}, dropout of 1 %: refused {found} of 100 times")
    unbeatable = make_opponent("maskable_ppo", SMALL), LineCounter(LARGE)
    for player, rules, calls in zip(unbeatable, (SMALL, LARGE), (100, 20), strict=True):
        for share in SHARES:
            found = sum(is_refused(Slipping(player, share, seed), rules) for seed in range(calls))
            print(f"{rules}, slips in {share:.1%} of the positions: refused {found} of {calls}")


if __name__ == "__main__":
    main()
