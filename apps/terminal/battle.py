"""Games between two players: played, printed board by board, and counted. Needs no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from apps.terminal.report import say
from tictactoe_env.errors import printable
from tictactoe_env.notation import SIDES, game_text
from tictactoe_env.policy import Policy, RandomPolicy, sample
from tictactoe_env.render import ansi
from tictactoe_env.rules import Rules, Standing, standing

if TYPE_CHECKING:
    from training.learner import BoardPlayer

Named = tuple[str, Policy]  # a player with its name


def play(policy_x: Policy, policy_o: Policy, rules: Rules, seed: int) -> list[int]:
    """The cells of one game, sampled with a seed. An illegal move is the last one of its game."""
    rng, cells = np.random.default_rng(seed), list[int]()
    while not (now := standing(cells, rules)).ended:
        policy = policy_x if now.mover == "X" else policy_o
        cells.append(int(sample(policy.probs(now.board[None]), rng)[0]))
    return cells


def print_game(
    what: str, x: Named, o: Named, rules: Rules, console: Console, seed: int = 0
) -> tuple[Standing, str]:
    """Play a game and print it: the boards side by side, as many as fit, and the result.

    what: begins the heading. Returns the end of the game, and its moves as text.
    """
    cells = play(x[1], o[1], rules, seed)
    game, text = standing(cells, rules), game_text(cells, rules)
    who = printable(f"{x[0]} as X against {o[0]} as O")
    say(f"\n{what}, {who}: {text}", console, "bold")
    boards = [
        Text(ansi(standing(cells[:ply], rules).board, rules, last=cells[ply - 1]) + "\n")
        for ply in range(1, len(game.moves) + 1)
    ]
    console.print(Columns(boards, padding=(0, 4), equal=True))
    if game.ended == "illegal":
        say(f"{SIDES[game.winner == 'X']} loses by an illegal move", console)
    else:
        say("a draw" if game.winner is None else f"{game.winner} wins", console)
    return game, text


def example_of(policy: BoardPlayer, side: str, name: str, console: Console) -> None:
    """Play one game against random play and print it. The player is O if `side` is "O", else X."""
    players: list[Named] = [(name, policy), ("random", RandomPolicy())]
    x, o = players[::-1] if side == "O" else players
    print_game("an example game", x, o, policy.rules, console)


def battle(
    players: tuple[Named, Named], rules: Rules, games: int, seed: int, console: Console
) -> dict[str, Any]:
    """Play games, print each one, and count the results. The players swap sides after each game.

    Game i is sampled with `seed + i`. Returns {"games": [...], "won": {name: n}, "drawn": n,
    "different": n}, where `different` counts distinct games.
    """
    played: list[dict[str, Any]] = []
    won = {name: 0 for name, _ in players}
    for number in range(games):
        x, o = players[:: 1 - 2 * (number % 2)]
        what = f"game {number + 1} of {games}"
        game, text = print_game(what, x, o, rules, console, seed + number)
        if game.winner is not None:
            won[(x if game.winner == "X" else o)[0]] += 1
        result = {"winner": game.winner, "illegal_move": game.ended == "illegal"}
        played.append({"x": x[0], "o": o[0], "moves": text, **result})
    drawn = games - sum(won.values())
    different = len({(game["x"], game["moves"]) for game in played})
    counts = ", ".join(f"{printable(name)} won {count}" for name, count in won.items())
    say(f"\n{counts}, drawn {drawn}; {different} of {games} games differ", console, "bold")
    return {"games": played, "won": won, "drawn": drawn, "different": different}
