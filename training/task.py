"""The task of a learner: the games that it plays, and its rewards for their results."""

from __future__ import annotations

import copy
from typing import ClassVar, Literal, TypeVar

import numpy as np

from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.notation import parse_cell
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import MAX_BITS
from training.options import BoardConfig, Count, Kept, Rewards, Share, Size, Threads, option

SNAPSHOTS = (
    "Environment steps between two snapshots; used only if self or best-response is an opponent, "
    "for counterexamples, and as the length of a turn against a rival."
)
STARTS = "Share of the games that start from a random board."
LARGER_POOL = "best-response:0.5,self:0.45,random:0.05"  # the opponents on larger boards
REWARDS = "Rewards of a win, a draw and a loss."
Device = Literal["cpu", "cuda"]
RANDOM = "random"  # instead of a cell, in the option `opening`
Table = TypeVar("Table", bound=TabularPolicy)


class TaskConfig(BoardConfig):
    """The options of a task. An agent adds the options of its learning."""

    CELLS: ClassVar[int] = MAX_BITS  # any board: a network is asked for the boards that come up

    steps: Count = option(3_000_000, "Environment steps after which training ends.")
    judge_every: Count = option(
        8_192, "Environment steps between two exact evaluations.", larger=32_768, rare=True
    )
    device: Device = option("cpu", "Device on which the network is trained.", rare=True)
    num_envs: Size = option(256, "Number of games played in parallel.", rare=True)
    exploring_starts: Share = option(0.0, STARTS, rare=True)
    counterexamples: Share = option(
        0.0,
        "Share of the games that start from a board from which the learner's newest snapshots can "
        "still be beaten.",
        larger=0.5,
        rare=True,
    )
    side: Literal["both", "X", "O"] = option(
        "both",
        "Side that is learned; exploring starts use boards of both sides in any case.",
        rare=True,
    )
    opening: str = option(
        "",
        "Cell in which the learner must open as X, such as b2; random for any cell, all equally "
        "likely; empty for the cell that it chooses.",
        rare=True,
    )
    rewards: Rewards = option((1.0, 0.0, -1.0), REWARDS, rare=True)
    proof_positions: Count = option(
        3_000_000,
        "Positions of the largest proof in an evaluation, on boards of more than 12 cells; a side "
        "that can meet more is sampled against random play, and nothing is proven of it.",
        rare=True,
    )
    early_draw: bool = option(
        False, "Whether a game ends where neither side can complete a line.", rare=True
    )
    encoding: Literal["planes", "grid"] = option(
        "planes",
        "Inputs of the network: planes of own and other marks, or a grid of 1, -1 and 0.",
        rare=True,
    )
    symmetry: bool = option(
        True,
        "Whether symmetric boards are one board to the network; without it the four corners of the "
        "empty board may differ in value.",
        rare=True,
    )
    discount: Share = option(1.0, "Discount factor for each move of the learner.", rare=True)
    activation: Literal["relu", "tanh"] = option(
        "relu", "Activation function of the hidden layers.", rare=True
    )
    snapshots: Kept = option(8, "Number of snapshots that are kept as opponents.", rare=True)
    threads: Threads = option(
        1, "Threads of torch; one is the fastest for small networks.", rare=True
    )

    def check(self) -> None:
        """Raises ValueError for options that do not fit together or the board."""
        if self.exploring_starts + self.counterexamples > 1:
            raise ValueError(
                "--exploring-starts and --counterexamples are at most 1 together, got "
                f"{self.exploring_starts} and {self.counterexamples}"
            )
        if self.opening not in ("", RANDOM):
            parse_cell(self.opening, self.rules)
        if self.opening and self.side == "O":
            raise ValueError(
                f"opening {self.opening!r} is for a learner that plays X: leave it out, or "
                "give another side than O"
            )

    @property
    def opens_at_random(self) -> bool:
        """True if all first moves are equally likely."""
        return self.opening == RANDOM

    def opened(self, policy: Table) -> Table:
        """The policy as it opens: with the opening "random", all first moves are equally likely.

        The values of a `ValuedTable` stay.
        """
        if not self.opens_at_random:
            return policy
        changed = copy.copy(policy)
        table = policy.table.copy()
        empty = np.zeros((1, self.rules.cells), dtype=np.int8)  # the first unfinished position
        table[0] = RandomPolicy(self.rules).probs(empty)[0]
        table.setflags(write=False)
        changed.table = table
        return changed
