"""Games between two players: played, printed board by board, and counted. Needs no torch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from apps.terminal.report import say
from tictactoe_env.errors import printable
from tictactoe_env.notation import game_text
from tictactoe_env.policy import Policy, RandomPolicy, sample
from tictactoe_env.render import ansi
from tictactoe_env.rules import Rules, game_state, other_side

if TYPE_CHECKING:
    from training.learner import BoardPlayer

Named = tuple[str, Policy]  # a player with its name


def play(policy_x: Policy, policy_o: Policy, rules: Rules, seed: int) -> list[int]:
    """The cells of one game, sampled with a seed. An illegal move is the last one of its game."""
    rng = np.random.default_rng(seed)
    cells: list[int] = []
    while not (now := game_state(cells, rules)).ended:
        policy = policy_x if now.mover == "X" else policy_o
        cells.append(int(sample(policy.probs(now.board[None]), rng)[0]))
    return cells


def print_game(what: str, x: Named, o: Named, rules: Rules, console: Console, seed: int = 0) -> str:
    """Play a game and print it: the boards side by side, as many as fit, and the result.

    what: begins the heading. Returns the name of the winner, "" after a draw.
    """
    x_name, x_policy = x
    o_name, o_policy = o
    cells = play(x_policy, o_policy, rules, seed)
    game = game_state(cells, rules)
    who = printable(f"{x_name} as X against {o_name} as O")
    say(f"\n{what}, {who}: {game_text(cells, rules)}", console, "bold")
    boards = [
        Text(ansi(game_state(cells[:ply], rules).board, rules, last=cells[ply - 1]) + "\n")
        for ply in range(1, len(game.moves) + 1)
    ]
    console.print(Columns(boards, padding=(0, 4), equal=True))
    if game.winner is None:
        say("a draw", console)
        return ""
    if game.ended == "illegal":
        say(f"{other_side(game.winner)} loses by an illegal move", console)
    else:
        say(f"{game.winner} wins", console)
    return x_name if game.winner == "X" else o_name


def example_of(policy: BoardPlayer, side: str, name: str, console: Console) -> None:
    """Play one game against random play and print it. The player is O if `side` is "O", else X."""
    x: Named = (name, policy)
    o: Named = ("random", RandomPolicy(policy.rules))
    if side == "O":
        x, o = o, x
    print_game("an example game", x, o, policy.rules, console)


def battle(
    players: tuple[Named, Named], rules: Rules, games: int, seed: int, console: Console
) -> Counter[str]:
    """Play games, print each one, and count the wins by name; the draws are counted as "".

    The players swap sides after each game. Game i is sampled with `seed + i`.
    """
    won = Counter[str]()
    x, o = players
    for number in range(games):
        what = f"game {number + 1} of {games}"
        won[print_game(what, x, o, rules, console, seed + number)] += 1
        x, o = o, x
    counts = ", ".join(f"{printable(name)} won {won[name]}" for name, _ in players)
    say(f"\n{counts}, drawn {won['']}", console, "bold")
    return won
