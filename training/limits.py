"""How large a board each agent can learn: one table, one check, and the text of `--help`."""

from __future__ import annotations

from typing import NamedTuple

from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.rules import MAX_BITS, Rules

ANY = MAX_BITS  # no board has as many cells


class Limit(NamedTuple):
    """The most cells of a board that an agent can learn, and why it is not more."""

    cells: int
    why: str

    @property
    def text(self) -> str:
        """The limit in words."""
        return "any board" if self.cells >= ANY else f"at most {self.cells} cells: {self.why}"


NETWORK = Limit(ANY, "its network is asked for the boards that come up")
TABLE = Limit(TABULATED, "it learns from a table of all positions")

LIMITS = {
    "dqn": NETWORK,
    "maskable_ppo": NETWORK,
    "mcts": Limit(TABULATED, "its move in every position is searched for"),
    "neuroevolution": Limit(TABULATED, "every network is judged in all positions"),
    "tabular_q": TABLE,
    "tictacnet": TABLE,
    "trie": TABLE,
    "value_net": TABLE,
}
"""The limit of each agent, by name."""


def check_board(rules: Rules, limit: Limit) -> None:
    """Raises ValueError for a board that an agent with this limit cannot learn."""
    if rules.cells > limit.cells:
        further = " or ".join(name for name, known in LIMITS.items() if known.cells >= rules.cells)
        raise ValueError(
            f"this agent learns boards of at most {limit.cells} cells, because {limit.why}; "
            f"{rules.rows}x{rules.cols} has {rules.cells}: take a smaller board, or {further}"
        )
