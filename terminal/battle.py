"""Games between two players: played, printed board by board, and counted. No torch is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from terminal.report import say
from tictactoe_env.notation import SIDES, game_text
from tictactoe_env.policy import Policy, RandomPolicy, TabularPolicy, sample, tabulate
from tictactoe_env.render import ansi
from tictactoe_env.rules import Rules

if TYPE_CHECKING:
    from rich.console import Console


def play(policy_x: Policy, policy_o: Policy, rules: Rules, seed: int) -> list[int]:
    """The cells of one game, drawn with a seed; it ends early at an illegal move, which is its last cell."""
    rng = np.random.default_rng(seed)
    board, cells = np.zeros(rules.cells, dtype=np.int8), []
    for ply in range(rules.cells):
        cells.append(int(sample((policy_x, policy_o)[ply % 2].probs(board[None]), rng)[0]))
        if board[cells[-1]] != 0:
            break
        board[cells[-1]] = 1 - 2 * (ply % 2)
        if rules.has_line(int(rules.to_bits(board)[ply % 2])):
            break
    return cells


def winner_of(cells: Sequence[int], rules: Rules) -> tuple[int, bool]:
    """Who won a game of `play`: 1 (X), 0 (a draw) or -1 (O), and whether it ended with an illegal move."""
    mover = 1 - 2 * ((len(cells) - 1) % 2)
    if cells[-1] in cells[:-1]:
        return -mover, True
    return (mover if rules.winning_cells(_board(cells, rules)) else 0), False


def _board(cells: Sequence[int], rules: Rules) -> Any:
    board = np.zeros(rules.cells, dtype=np.int8)
    board[list(cells[::2])], board[list(cells[1::2])] = 1, -1
    return board


def print_game(cells: Sequence[int], rules: Rules, console: Console) -> None:
    """A game of `play`, board by board, several boards in a row of the screen, and how it ended."""
    winner, illegal = winner_of(cells, rules)
    legal = cells[:-1] if illegal else cells
    pictures = [
        ansi(_board(legal[:ply], rules), rules, last=legal[ply - 1]).splitlines()
        for ply in range(1, len(legal) + 1)
    ]
    width = max(len(line) for picture in pictures for line in picture) + 4
    shown = max(1, console.width // width)
    for first in range(0, len(pictures), shown):
        for lines in zip(*pictures[first : first + shown], strict=True):
            console.print(
                "".join(line.ljust(width) for line in lines).rstrip(), highlight=False, markup=False
            )
        console.print()
    if illegal:
        console.print(f"{SIDES[winner > 0]} loses by an illegal move")
    else:
        console.print("a draw" if winner == 0 else f"{SIDES[winner < 0]} wins")


def example_game(
    policy_x: Policy,
    policy_o: Policy,
    names: tuple[str, str],
    rules: Rules,
    console: Console,
    seed: int = 0,
) -> None:
    """One game, printed."""
    cells = play(policy_x, policy_o, rules, seed)
    say(
        f"\nan example game, {names[0]} as X against {names[1]} as O: {game_text(cells, rules)}",
        console,
    )
    print_game(cells, rules, console)


def example_of(
    policy: TabularPolicy, side: str, name: str, console: Console, seed: int = 0
) -> None:
    """One game of a player against random play, as O if that is the side it was trained for, else as X."""
    uniform = tabulate(RandomPolicy(), policy.rules)
    if side == "O":
        example_game(uniform, policy, ("random", name), policy.rules, console, seed)
    else:
        example_game(policy, uniform, (name, "random"), policy.rules, console, seed)


def battle(
    players: tuple[Policy, Policy],
    names: tuple[str, str],
    rules: Rules,
    games: int,
    seed: int,
    console: Console,
) -> dict[str, Any]:
    """Play games by turns as X and as O, print every one, and count: {"games": [...], "won": {name: n}, "drawn": n, "different": n}.

    Game i is drawn with the seed `seed + i`.
    """
    played: list[dict[str, Any]] = []
    won: Counter[str] = Counter(dict.fromkeys(names, 0))
    for number in range(games):
        x = number % 2
        cells = play(players[x], players[1 - x], rules, seed + number)
        winner, illegal = winner_of(cells, rules)
        text = game_text(cells, rules)
        say(
            f"\ngame {number + 1} of {games}, {names[x]} as X against {names[1 - x]} as O: {text}",
            console,
            "bold",
        )
        print_game(cells, rules, console)
        if winner:
            won[names[x if winner > 0 else 1 - x]] += 1
        played.append(
            {
                "x": names[x],
                "o": names[1 - x],
                "moves": text,
                "winner": {1: "X", 0: None, -1: "O"}[winner],
                "illegal_move": illegal,
            }
        )
    drawn, different = games - won.total(), len({(game["x"], game["moves"]) for game in played})
    say(
        f"\n{names[0]} won {won[names[0]]}, {names[1]} won {won[names[1]]}, drawn {drawn}; {different} of {games} games differ",
        console,
        "bold",
    )
    return {"games": played, "won": dict(won), "drawn": drawn, "different": different}
