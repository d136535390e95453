"""Games between two players: played, printed board by board, and counted. Needs no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.terminal.report import say
from tictactoe_env.errors import printable
from tictactoe_env.exact.match import exact_result
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.notation import SIDES, game_text
from tictactoe_env.policy import Policy, RandomPolicy, sample
from tictactoe_env.render import ansi
from tictactoe_env.rules import Rules, Standing, standing

if TYPE_CHECKING:
    from rich.console import Console

    from training.learner import BoardPlayer


def play(policy_x: Policy, policy_o: Policy, rules: Rules, seed: int) -> list[int]:
    """The cells of one game, sampled with a seed. An illegal move is the last one of its game."""
    rng, cells = np.random.default_rng(seed), list[int]()
    while not (now := standing(cells, rules)).ended:
        policy = policy_x if now.mover == "X" else policy_o
        cells.append(int(sample(policy.probs(now.board[None]), rng)[0]))
    return cells


def print_game(game: Standing, console: Console) -> None:
    """Print a finished game: the boards side by side, as many as fit, and the result."""
    rules, moves = game.rules, game.moves
    pictures = [
        ansi(standing(moves[:ply], rules).board, rules, last=moves[ply - 1]).splitlines()
        for ply in range(1, len(moves) + 1)
    ]
    width = max(len(line) for picture in pictures for line in picture) + 4
    shown = max(1, console.width // width)
    for first in range(0, len(pictures), shown):
        for lines in zip(*pictures[first : first + shown], strict=True):
            text = "".join(line.ljust(width) for line in lines).rstrip()
            console.print(text, highlight=False, markup=False)
        console.print()
    if game.ended == "illegal":
        console.print(f"{SIDES[game.winner == 'X']} loses by an illegal move")
    else:
        console.print("a draw" if game.winner is None else f"{game.winner} wins")


def example_game(
    policy_x: Policy,
    policy_o: Policy,
    names: tuple[str, str],
    rules: Rules,
    console: Console,
    seed: int = 0,
) -> None:
    """Play one game and print it."""
    cells = play(policy_x, policy_o, rules, seed)
    who = printable(f"{names[0]} as X against {names[1]} as O")
    say(f"\nan example game, {who}: {game_text(cells, rules)}", console)
    print_game(standing(cells, rules), console)


def example_of(policy: BoardPlayer, side: str, name: str, console: Console, seed: int = 0) -> None:
    """Play one game against random play and print it. The player is O if `side` is "O", else X."""
    uniform: Policy = RandomPolicy()
    if policy.rules.cells <= TABULATED:
        uniform = tabulate(uniform, policy.rules)
    if side == "O":
        example_game(uniform, policy, ("random", name), policy.rules, console, seed)
    else:
        example_game(policy, uniform, (name, "random"), policy.rules, console, seed)


def of_rivals(players: Mapping[str, tuple[BoardPlayer, str]], console: Console) -> None:
    """Print the exact results of two players against each other, with an example game of each.

    players: by name, each with the side that it has learned ("both", "X" or "O"). They meet on the
    sides that they have learned.
    """
    for x_name, o_name in permutations(players):
        (x, x_side), (o, o_side) = players[x_name], players[o_name]
        if x_side != "O" and o_side != "X":
            result = exact_result(x, o)
            rates = "/".join(f"{100 * rate:.2f}" for rate in (result.win, result.draw, result.loss))
            say(
                f"\n{printable(x_name)} as X against {printable(o_name)} as O, exact: "
                f"{rates} % won, drawn, lost",
                console,
                "bold",
            )
            example_game(x, o, (x_name, o_name), x.rules, console)


def battle(
    players: tuple[Policy, Policy],
    names: tuple[str, str],
    rules: Rules,
    games: int,
    seed: int,
    console: Console,
) -> dict[str, Any]:
    """Play games, print each one, and count the results. The players swap sides after each game.

    Game i is sampled with `seed + i`. Returns {"games": [...], "won": {name: n}, "drawn": n,
    "different": n}, where `different` counts distinct games.
    """
    played: list[dict[str, Any]] = []
    won: Counter[str] = Counter(dict.fromkeys(names, 0))
    for number in range(games):
        x = number % 2
        sides = {"X": names[x], "O": names[1 - x]}
        cells = play(players[x], players[1 - x], rules, seed + number)
        game, text = standing(cells, rules), game_text(cells, rules)
        who = printable(f"{sides['X']} as X against {sides['O']} as O")
        say(f"\ngame {number + 1} of {games}, {who}: {text}", console, "bold")
        print_game(game, console)
        if game.winner is not None:
            won[sides[game.winner]] += 1
        result = {"winner": game.winner, "illegal_move": game.ended == "illegal"}
        played.append({"x": sides["X"], "o": sides["O"], "moves": text, **result})
    drawn, different = games - won.total(), len({(game["x"], game["moves"]) for game in played})
    counts = ", ".join(f"{printable(name)} won {won[name]}" for name in names)
    say(f"\n{counts}, drawn {drawn}; {different} of {games} games differ", console, "bold")
    return {"games": played, "won": dict(won), "drawn": drawn, "different": different}
