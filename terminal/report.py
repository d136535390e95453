"""What is printed of agents: certificates, the cross table, values on the board, an example game. No torch is needed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tictactoe_env.match import action_values, exact_result, sampled_result
from tictactoe_env.notation import SIDES
from tictactoe_env.policy import Policy, RandomPolicy, TabularPolicy
from tictactoe_env.render import ansi
from tictactoe_env.rules import Rules

if TYPE_CHECKING:  # a certificate can be verified where rich is not installed
    from rich.console import Console
    from rich.table import Table


def say(text: str, console: Console, style: str | None = None) -> None:
    """Print text as it is; where the output is no terminal a line stays a line, so that paths can be copied and found."""
    console.print(
        text, style=style, markup=False, highlight=False, soft_wrap=not console.is_terminal
    )


def certificate(
    content: Mapping[str, Any],
    console: Console,
    counted: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """The exact figures of a certificate as a table, and what is proven.

    counted: the rates of games that were played against random, by side, as `count_games` gives them; they stand below the exact ones.
    Raises ValueError if the certificate's `training` is not what a run writes.
    """
    from rich.table import Table

    rules = Rules(**content["board"])
    about = [f"seed {content['seed']}"] if content.get("seed") is not None else []
    config, training = content.get("config"), content.get("training")
    preset = (
        f"-{training['preset']}" if isinstance(training, Mapping) and "preset" in training else ""
    )
    if isinstance(config, Mapping) and config.get("side") in SIDES:
        about.append(f"trained as {config['side']} only")
    if content.get("training") is not None:
        about += _training_text(content["training"])
    say(
        f"\n{content['agent']}{preset} on {rules}{''.join(f', {part}' for part in about)}",
        console,
        "bold",
    )
    table = Table()
    for heading in ("side", "against", "win %", "draw %", "loss %", "illegal %"):
        table.add_column(heading, justify="left" if heading in ("side", "against") else "right")
    for side in ("X", "O"):
        figures = content[f"as_{side.lower()}"]
        for name, opponent in (
            ("vs_random", "random"),
            ("vs_minimax", "minimax"),
            ("limit_vs_random", "random, the limit"),
        ):
            if figures[name] is not None:
                rates = [figures[name][rate] for rate in ("win", "draw", "loss", "illegal")]
                table.add_row(
                    side,
                    opponent,
                    *(f"{100 * rate:.4f}" for rate in rates),
                    style="dim" if name.startswith("limit") else None,
                )
            if counted and opponent == "random":
                table.add_row(
                    side,
                    f"random, {counted[side]['games']:,} games, sampled",
                    *rates_with_intervals(counted[side]),
                )
        table.add_section()
    print_whole(table, console)
    if counted:
        say("sampled: the 95 % Wilson interval in brackets; the other figures are exact", console)
    for side in ("X", "O"):
        say(f"as {side}: {worst_case_text(content[f'as_{side.lower()}'], side)}", console)
    reachable, everywhere = (
        100 * content["optimal_moves"][name] for name in ("reachable", "everywhere")
    )
    say(
        f"optimal moves: {reachable:.2f} % of the positions it can reach, {everywhere:.2f} % of all {len(content['moves']):,}",
        console,
    )
    say(verdict(content), console, "bold")


def _training_text(training: Any) -> list[str]:
    """When the run of a certificate reached what; ValueError if this is not what a run writes."""

    def when(point: Any) -> list[Any]:
        numbers = [
            point.get(name) if isinstance(point, Mapping) else None for name in ("steps", "seconds")
        ]
        if not all(isinstance(number, (int, float)) and 0 <= number < 1e18 for number in numbers):
            raise ValueError(
                f"the training of a certificate must hold steps and seconds, of its end, of best_at and of first_..., got {training!r:.200}"
            )
        return numbers

    steps, seconds = when(training)
    best_steps, best_seconds = when(training.get("best_at"))
    reached = [
        (goal, when(training[f"first_{goal}"]))
        for goal in ("unbeatable", "optimal")
        if f"first_{goal}" in training
    ]
    return [
        f"best after {best_steps:,} steps, {best_seconds:.1f} s of {steps:,} steps, {seconds:.1f} s",
        *(f"{goal} first after {first_seconds:.1f} s" for goal, (_, first_seconds) in reached),
    ]


def worst_case_text(figures: Mapping[str, Any], side: str) -> str:
    """What the best possible opponent makes of one side."""
    if figures["unbeatable"]:
        return f"no opponent can beat it; the best one leaves it {figures['worst_case_value']:+.4f} (wins minus losses)"
    line = " ".join(figures["losing_line"])
    lost = (
        "" if figures["limit_vs_random"] is not None else f" (no {side} can avoid it on this board)"
    )
    return f"can be beaten{lost}, with probability {figures['worst_case_loss']:.4f} by the best opponent; shortest losing game: {line}"


def verdict(content: Mapping[str, Any]) -> str:
    """The theorem, in a sentence."""
    if content["optimal"]:
        return "PROVEN: unbeatable as X and as O, and no player that never loses wins more often against random"
    if content["unbeatable"]:
        return "PROVEN: unbeatable as X and as O; a player that never loses could win more often against random"
    sides = {side: content[f"as_{side.lower()}"] for side in ("X", "O")}
    lost = [
        f" (no {side} can avoid it on this board)" if sides[side]["limit_vs_random"] is None else ""
        for side in sides
    ]
    return "can be beaten as " + " and as ".join(
        f"{side}{why}"
        for (side, figures), why in zip(sides.items(), lost, strict=True)
        if not figures["unbeatable"]
    )


def cross_table(players: Mapping[str, TabularPolicy]) -> dict[str, dict[str, dict[str, float]]]:
    """Exact results of everyone as X against everyone as O: {x: {o: {"win", "draw", "loss", "illegal"}}}, for X."""
    results: dict[str, dict[str, dict[str, float]]] = {}
    for x_name, x in players.items():
        results[x_name] = {}
        for o_name, o in players.items():
            result = exact_result(x, o)
            results[x_name][o_name] = {
                "win": result.win,
                "draw": result.draw,
                "loss": result.loss,
                "illegal": result.illegal,
            }
    return results


def print_cross_table(
    results: Mapping[str, Mapping[str, Mapping[str, float]]], console: Console
) -> None:
    """The cross table, each cell win/draw/loss of X in per cent."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title="everyone as X (rows) against everyone as O (columns): X wins / draws / O wins, %, exact"
    )
    table.add_column("X \\ O", overflow="fold")
    for name in results:
        table.add_column(escape(name), justify="right", overflow="fold")
    for name, row in results.items():
        table.add_row(
            escape(name),
            *(
                "/".join(f"{100 * cell[rate]:.1f}" for rate in ("win", "draw", "loss"))
                for cell in row.values()
            ),
        )
    print_whole(table, console)


def print_whole(table: Table, console: Console) -> None:
    """Print a table, as wide as it is where the output is no terminal: a file has no edge."""
    if not console.is_terminal:
        console.width = max(
            console.width,
            console.measure(table, options=console.options.update(max_width=10_000)).maximum,
        )
    console.print(table)


def count_games(
    side: str, policy: Policy, opponent: Policy, rules: Rules, games: int, seed: int
) -> dict[str, Any]:
    """Rates of `policy` as `side` in games that are played: {"games", "win", "draw", "loss", "illegal", "intervals"}, 95 % Wilson."""
    is_x = side == "X"
    found = sampled_result(
        *((policy, opponent) if is_x else (opponent, policy)), rules, games, seed
    )
    result, names = (
        (found.result, ("win", "draw", "loss"))
        if is_x
        else (found.result.other_side, ("loss", "draw", "win"))
    )
    intervals = {
        own: list(found.intervals[name])
        for own, name in zip(("win", "draw", "loss"), names, strict=True)
    }
    return {
        "games": games,
        "win": result.win,
        "draw": result.draw,
        "loss": result.loss,
        "illegal": result.illegal,
        "intervals": intervals,
    }


def rates_with_intervals(counted: Mapping[str, Any]) -> list[str]:
    """Win, draw, loss and illegal moves in per cent, such as "58.3 (55.2-61.3)"; illegal moves are a part of the losses and have no interval."""
    intervals = {
        name: "-".join(f"{100 * end:.1f}" for end in ends)
        for name, ends in counted["intervals"].items()
    }
    return [
        *(f"{100 * counted[name]:.1f} ({intervals[name]})" for name in ("win", "draw", "loss")),
        f"{100 * counted['illegal']:.1f}",
    ]


def sampled_table(
    players: Mapping[str, Policy], rules: Rules, games: int, seed: int
) -> dict[str, dict[str, dict[str, Any]]]:
    """Counted results of everyone as X against everyone as O, on a board of any size: {x: {o: `count_games` for X}}."""
    return {
        x_name: {
            o_name: count_games("X", x, o, rules, games, seed) for o_name, o in players.items()
        }
        for x_name, x in players.items()
    }


def print_sampled_table(
    results: Mapping[str, Mapping[str, Mapping[str, Any]]],
    rules: Rules,
    games: int,
    console: Console,
) -> None:
    """The counted results, a row for each pair."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{rules}: sampled, {games:,} games, 95 % interval (Wilson)")
    for heading in ("X", "O", "X wins %", "draw %", "O wins %", "X illegal %"):
        table.add_column(
            heading, justify="left" if heading in ("X", "O") else "right", overflow="fold"
        )
    for x_name, row in results.items():
        for o_name, counted in row.items():
            table.add_row(escape(x_name), escape(o_name), *rates_with_intervals(counted))
        table.add_section()
    print_whole(table, console)


def first_move_values(policy: TabularPolicy, console: Console) -> None:
    """Q of the empty board: what each first move is worth, the agent playing on against uniformly random play, exact."""
    values = action_values("X", policy, RandomPolicy())
    board = np.zeros(policy.rules.cells, dtype=np.int8)
    say(
        "\nQ of the empty board: wins minus losses after each first move, the agent playing on against random, exact",
        console,
    )
    console.print(ansi(board, policy.rules, values=values), highlight=False, markup=False)


def names_of(specs: Sequence[str]) -> list[str]:
    """Names of agents and runs, all different: the last part of a path, the whole text where that is not unique, numbered where it is the same."""
    short = [spec.rstrip("/").split("/")[-1] for spec in specs]
    names: list[str] = []
    for last, spec in zip(short, specs, strict=True):
        name = last if short.count(last) == 1 else spec
        names.append(
            next(
                new
                for number in itertools.count(1)
                if (new := name if number == 1 else f"{name} ({number})") not in names
            )
        )
    return names
