"""How well an AlphaZero plays Connect Four, which is too large for a proof: docs/connect_four.md.

    python -m benchmarks.connect_four runs/connect-four --simulations 64

The tables are the results in sampled games against each opponent, with 95 % Wilson intervals, and
the share of right moves in late positions. The first four moves of a game are random legal ones,
because two players without chance would play the same game again and again. Late positions are from
games of a search of two plies against itself: at most 20 cells are free, and not all moves are as
good. The search knows the value of each move there, so the share is exact for these positions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from cyclopts import run
from numpy.typing import NDArray

import agents
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import sample
from tictactoe_env.rules import ONGOING, SIDES, Boards, Rules, to_move
from tictactoe_env.search.alphabeta import SearchPolicy
from training.selfplay import ExploringPolicy

RULES = Rules(6, 7, 4, gravity=True)
NAMES = ("random", "search-depth=2", "search-depth=4", "search-depth=6", "mcts-playouts=400")
OPENING = (1.0, 1.0, 1.0, 1.0, 0.0)  # probability of a random move by ply; the last one repeats
LATE = 20  # free cells, at most
EMPTY = np.zeros((1, RULES.cells), dtype=np.int8)


def late_positions(count: int) -> tuple[Boards, NDArray[np.bool_]]:
    """Late positions (count, cells), and which moves (count, cells) are right in perfect play."""
    rng = np.random.default_rng(0)
    player = make_opponent("search-depth=2", RULES)
    late: list[Boards] = []
    right: list[NDArray[np.bool_]] = []
    while len(late) < count:
        boards = EMPTY.repeat(100, axis=0)
        while len(boards):
            cells = sample(player.probs(boards), rng)
            boards[np.arange(len(boards)), cells] = to_move(boards)
            boards = boards[RULES.results(boards) == ONGOING]
            for board in boards[np.count_nonzero(boards == 0, axis=1) <= LATE]:
                # A new search each time, because it remembers all positions that it has met.
                values = SearchPolicy(RULES, depth=LATE).search.scores(board, exact=True)
                if len(set(values.values())) > 1:
                    best = max(values.values())
                    late.append(board)
                    right.append(np.array([values.get(cell) == best for cell in range(len(board))]))
    return np.array(late[:count]), np.array(right[:count])


def main(folder: Path, *, simulations: int = 0, games: int = 200, late: int = 1_000) -> None:
    """Print what is known of the agent in a run's folder.

    simulations: of its search before a move, 0 for its network alone. games: against each opponent
    on each side. late: positions.
    """
    agent = agents.load(folder, simulations=simulations)
    opponents = {name: make_opponent(name, RULES) for name in NAMES}
    print("| against | side | wins, % | draws, % | losses, % |\n| --- | --- | --- | --- | --- |")
    for name, opponent in opponents.items():
        for side in SIDES:
            players = [ExploringPolicy(one, OPENING, RULES) for one in (agent, opponent)]
            found = sampled_result(*players, RULES, games, side=side)
            rates = [
                f"{100 * getattr(found.result, rate):.1f} ({100 * low:.1f} to {100 * high:.1f})"
                for rate, (low, high) in found.intervals.items()
            ]
            print(f"| `{name}` | {side} | {' | '.join(rates)} |", flush=True)
    boards, right = late_positions(late)
    print("\n| player | right moves in late positions, % |\n| --- | --- |")
    for name, player in {"agent": agent, **opponents}.items():
        share = (player.probs(boards) * right).sum(axis=1).mean()
        print(f"| `{name}` | {100 * share:.1f} |", flush=True)


if __name__ == "__main__":
    run(main)
