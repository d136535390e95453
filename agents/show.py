"""What is printed of agents: certificates, the cross table, values on the board, an example game. No torch is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tictactoe_env.match import exact, move_values
from tictactoe_env.notation import game_text
from tictactoe_env.policy import Policy, RandomPolicy, TabularPolicy, sample
from tictactoe_env.render import ansi
from tictactoe_env.rules import Rules

if TYPE_CHECKING:  # a certificate can be verified where rich is not installed
    from rich.console import Console


def say(text: str, console: Console, style: str | None = None) -> None:
    """Print text as it is; where the output is no terminal a line stays a line, so that paths can be copied and found."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def certificate(content: Mapping[str, Any], console: Console) -> None:
    """The exact figures of a certificate as a table, and what is proven."""
    from rich.table import Table

    rules = Rules(**content["board"])
    about = [f"seed {content['seed']}"] if content.get("seed") is not None else []
    training = content.get("training")
    if training:
        best = training["best_at"]
        about.append(f"best after {best['steps']:,} steps, {best['seconds']:.1f} s of {training['steps']:,} steps, {training['seconds']:.1f} s")
        about += [
            f"{goal} first after {training[f'first_{goal}']['seconds']:.1f} s" for goal in ("unbeatable", "optimal") if f"first_{goal}" in training
        ]
    say(f"\n{content['agent']} on {rules}{''.join(f', {part}' for part in about)}", console, "bold")
    table = Table()
    for heading in ("side", "against", "win %", "draw %", "loss %", "illegal %"):
        table.add_column(heading, justify="left" if heading in ("side", "against") else "right")
    for side in ("X", "O"):
        figures = content[f"as_{side.lower()}"]
        for name, opponent in (("vs_random", "random"), ("vs_minimax", "minimax"), ("limit_vs_random", "random, the limit")):
            if figures[name] is not None:
                rates = [figures[name][rate] for rate in ("win", "draw", "loss", "illegal")]
                table.add_row(side, opponent, *(f"{100 * rate:.4f}" for rate in rates), style="dim" if name.startswith("limit") else None)
        table.add_section()
    console.print(table)
    for side in ("X", "O"):
        say(f"as {side}: {worst_case_text(content[f'as_{side.lower()}'])}", console)
    reachable, everywhere = (100 * content["optimal_moves"][name] for name in ("reachable", "everywhere"))
    say(f"optimal moves: {reachable:.2f} % of the positions it can reach, {everywhere:.2f} % of all {len(content['moves']):,}", console)
    say(verdict(content), console, "bold")


def worst_case_text(figures: Mapping[str, Any]) -> str:
    """What the best possible opponent makes of one side."""
    if figures["unbeatable"]:
        return f"no opponent can beat it; the best one leaves it {figures['worst_case_value']:+.4f} (wins minus losses)"
    line = " ".join(figures["losing_line"])
    return f"can be beaten, with probability {figures['worst_case_loss']:.4f} by the best opponent; shortest losing game: {line}"


def verdict(content: Mapping[str, Any]) -> str:
    """The theorem, in a sentence."""
    if content["optimal"]:
        return "PROVEN: unbeatable as X and as O, and no player that never loses wins more often against random"
    if content["unbeatable"]:
        return "PROVEN: unbeatable as X and as O; a player that never loses could win more often against random"
    return f"can be beaten as {' and as '.join(side for side in ('X', 'O') if not content[f'as_{side.lower()}']['unbeatable'])}"


def cross_table(players: Mapping[str, TabularPolicy]) -> dict[str, dict[str, dict[str, float]]]:
    """Exact results of everyone as X against everyone as O: {x: {o: {"win", "draw", "loss", "illegal"}}}, for X."""
    results: dict[str, dict[str, dict[str, float]]] = {}
    for x_name, x in players.items():
        results[x_name] = {}
        for o_name, o in players.items():
            result = exact(x, o)
            results[x_name][o_name] = {"win": result.win, "draw": result.draw, "loss": result.loss, "illegal": result.illegal}
    return results


def print_cross_table(results: Mapping[str, Mapping[str, Mapping[str, float]]], console: Console) -> None:
    """The cross table, each cell win/draw/loss of X in per cent."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="everyone as X (rows) against everyone as O (columns): X wins / draws / O wins, %, exact")
    table.add_column("X \\ O", overflow="fold")
    for name in results:
        table.add_column(escape(name), justify="right", overflow="fold")
    for name, row in results.items():
        table.add_row(escape(name), *("/".join(f"{100 * cell[rate]:.1f}" for rate in ("win", "draw", "loss")) for cell in row.values()))
    if not console.is_terminal:  # a file has no edge
        console.width = max(console.width, console.measure(table, options=console.options.update(max_width=10_000)).maximum)
    console.print(table)


def first_move_values(policy: TabularPolicy, console: Console) -> None:
    """Q of the empty board: what each first move is worth, the agent playing on against uniformly random play, exact."""
    values = move_values("X", policy, RandomPolicy())
    board = np.zeros(policy.rules.cells, dtype=np.int8)
    say("\nQ of the empty board: wins minus losses after each first move, the agent playing on against random, exact", console)
    console.print(ansi(board, policy.rules, values=values), highlight=False, markup=False)


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


def example_game(policy_x: TabularPolicy, policy_o: TabularPolicy, names: tuple[str, str], console: Console, seed: int = 0) -> None:
    """One game, board by board, several boards in a row of the screen."""
    rules = policy_x.rules
    cells = play(policy_x, policy_o, rules, seed)
    say(f"\nan example game, {names[0]} as X against {names[1]} as O: {game_text(cells, rules)}", console)
    board, pictures = np.zeros(rules.cells, dtype=np.int8), []
    for ply, cell in enumerate(cells):
        if board[cell] != 0:
            break
        board[cell] = 1 - 2 * (ply % 2)
        pictures.append(ansi(board, rules, last=cell).splitlines())
    width = max(len(line) for picture in pictures for line in picture) + 4
    shown = max(1, console.width // width)
    for first in range(0, len(pictures), shown):
        for lines in zip(*pictures[first : first + shown], strict=True):
            console.print("".join(line.ljust(width) for line in lines).rstrip(), highlight=False, markup=False)
        console.print()
    if rules.winning_cells(board):
        end = f"{'XO'[(len(cells) - 1) % 2]} wins"
    else:
        end = "a draw" if (board != 0).all() else f"{'XO'[(len(cells) - 1) % 2]} loses by an illegal move"
    console.print(end)


def names_of(specs: Sequence[str]) -> list[str]:
    """Short names of agents and runs: the last part of a path, the whole text where that is not unique."""
    short = [spec.rstrip("/").split("/")[-1] for spec in specs]
    return [name if short.count(name) == 1 else spec for name, spec in zip(short, specs, strict=True)]
