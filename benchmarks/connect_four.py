"""How well players play Connect Four on 6x7, by its exact values: docs/connect_four.md.

    python -m benchmarks.connect_four                                   # NAMES
    python -m benchmarks.connect_four runs/connect-four --simulations 64 --against 100

The first table has the share of right and of best moves after random openings, the second one what
happens against perfect play: see `tictactoe_env.exact.accuracy`. With `--against` a third table has
results in sampled games against NAMES, with 95 % Wilson intervals. The first four moves of these
are random legal ones, because two players without chance would play the same game again and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cyclopts import run

import agents
from tictactoe_env.exact.accuracy import GAMES, OPENINGS, PERFECT, GamesAccuracy, games_accuracy
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import Policy
from tictactoe_env.rules import SIDES
from training.selfplay import ExploringPolicy

NAMES = (
    "random",
    "search-depth=1",
    "search-depth=2",
    "search-depth=4",
    "search-depth=6",
    "mcts-playouts=400",
)
OPENING = (1.0, 1.0, 1.0, 1.0, 0.0)  # probability of a random move by ply; the last one repeats


def main(*players: str, simulations: int = 0, games: int = GAMES, against: int = 0) -> None:
    """Print the tables of players: names, or folders of runs; by default NAMES.

    simulations: of the search of a run before a move, 0 for its network alone. games: of each kind.
    against: games on each side against each of NAMES.
    """
    named = {name: player_of(name, simulations) for name in players or NAMES}
    found = {
        name: [games_accuracy(kind, one, CONNECT_FOUR, games) for kind in (OPENINGS, PERFECT)]
        for name, one in named.items()
    }
    print_moves({name: after for name, (after, _) in found.items()})
    print_perfect({name: perfect for name, (_, perfect) in found.items()})
    if against:
        print_results(named, against)


def player_of(name: str, simulations: int) -> Policy:
    """The player of a name, or of a run's folder."""
    if Path(name).is_dir():
        return agents.load(Path(name), simulations=simulations)
    return make_opponent(name, CONNECT_FOUR)


def print_moves(found: Mapping[str, GamesAccuracy]) -> None:
    """Print the shares of right and of best moves, by phase."""
    phases = list(next(iter(found.values())).right)
    print_heading("player", "moves, %", *(f"plies {plies}" for plies in phases))
    for name, one in found.items():
        for moves, shares in (("right", one.right), ("best", one.best)):
            cells = [str(shares[plies] or "-") for plies in phases]
            print(f"| `{name}` | {moves} | {' | '.join(cells)} |")


def print_perfect(found: Mapping[str, GamesAccuracy]) -> None:
    """Print what becomes of each player against perfect play: as X, since it must lose as O."""
    print_heading("player", "as X", "shortest game lost", "games with a mistake", "first at ply")
    for name, one in found.items():
        line = one.lost.get("X")
        verdict, plies = ("can be beaten", f"{len(line)} plies") if line else ("not proven", "-")
        first = "-" if one.first_mistake is None else one.first_mistake
        print(f"| `{name}` | {verdict} | {plies} | {one.wrong} of {one.decisive} | {first} |")


def print_results(named: Mapping[str, Policy], games: int) -> None:
    """Print the results of each player as X and as O against each of NAMES."""
    print_heading("player", "against", "side", "wins, %", "draws, %", "losses, %")
    for name, player in named.items():
        for other in NAMES:
            pair = (player, make_opponent(other, CONNECT_FOUR))
            for side in SIDES:
                players = [ExploringPolicy(one, OPENING, CONNECT_FOUR) for one in pair]
                found = sampled_result(*players, CONNECT_FOUR, games, side=side)
                rates = [
                    f"{100 * getattr(found.result, rate):.1f} ({100 * low:.1f} to {100 * high:.1f})"
                    for rate, (low, high) in found.intervals.items()
                ]
                print(f"| `{name}` | `{other}` | {side} | {' | '.join(rates)} |", flush=True)


def print_heading(*titles: str) -> None:
    """Print the first two lines of a table, below an empty line."""
    print(f"\n| {' | '.join(titles)} |\n|{' --- |' * len(titles)}", flush=True)


if __name__ == "__main__":
    run(main)
