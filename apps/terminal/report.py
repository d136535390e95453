"""Printed reports on agents: certificates and cross tables. Needs no torch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tictactoe_env.certificates.content import Certificate
from tictactoe_env.errors import printable
from tictactoe_env.exact.evaluation import best_play_x
from tictactoe_env.exact.match import exact_result, sampled_result
from tictactoe_env.exact.proof import Limit
from tictactoe_env.notation import SIDES
from tictactoe_env.policy import Policy, RandomPolicy
from tictactoe_env.rules import Rules

if TYPE_CHECKING:  # `evaluate.py --verify` works without rich
    from rich.console import Console
    from rich.table import Table

RATES = ("win", "draw", "loss", "illegal")
AGAINST = {
    "vs_random": "random",
    "vs_minimax": "minimax",
    "limit_vs_random": "(limit against random)",
}
"""The rows of a certificate's table: the key in the certificate, and the text of the row.

The last one is no opponent, but the most wins against random play of a player that never loses.
"""


def say(text: str, console: Console, style: str | None = None) -> None:
    """Print a text as `plain` does. Lines are wrapped at a terminal; a file gets whole paths."""
    from apps.terminal.plain import plain

    console.print(plain(text, style), highlight=False, soft_wrap=not console.is_terminal)


def certificate(
    found: Certificate,
    console: Console,
    counted: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Print what is proven of each side of a certificate, and its exact results as a table.

    counted: results of `counted_against_random`, printed below the exact ones.
    """
    say(f"\n{_heading(found)}", console)
    if found.stated.training:
        say(_training_text(found.stated.training), console)
    for side in found.sides:
        trained = "" if side in found.trained else " (not trained for)"
        say(f"as {side}{trained}: {best_response_text(found, side)}", console)
    for side, one in found.results.items() if found.is_of_lines else ():
        equal = ", symmetric ones counted once" if found.canonical else ""
        text = (
            f"proof as {side}: it can meet {one.positions:,} positions and moves in "
            f"{one.decisions:,} of them{equal}"
        )
        say(text, console)
    if found.optimal_moves is not None:
        share = found.optimal_moves
        say(
            f"perfect moves, which keep the value of the position: {100 * share.reachable:.2f}"
            f" % where it can get to, {100 * share.everywhere:.2f} % in all "
            f"{found.decisions:,} positions",
            console,
        )
    stated = found.stated
    if stated.agent.startswith("mcts") and not stated.training and stated.seed is not None:
        other = f"{stated.agent.partition('-seed=')[0]}-seed={stated.seed + 1}"
        text = (
            f"these results hold for seed {stated.seed} of its random numbers, with which it plays "
            f"everywhere; {other} is another player"
        )
        say(text, console)
    _print_results(found, console, counted)
    if counted:
        say("sampled: with 95 % Wilson intervals in brackets; all other results are exact", console)
    if any(one.limit_vs_random for one in found.results.values()):
        text = (
            f"{AGAINST['limit_vs_random']}: of all players that never lose, the one that wins most "
            "often against random"
        )
        say(text, console, "dim")


def _heading(found: Certificate) -> str:
    """The name of the agent, its board, seed and side."""
    seed = "" if found.stated.seed is None else f", seed {found.stated.seed}"
    only = f", trained as {found.only} only" if found.only else ""
    return f"{found.stated.label} on {found.rules}{seed}{only}"


def _print_results(
    found: Certificate,
    console: Console,
    counted: Mapping[str, Mapping[str, Any]] | None,
) -> None:
    from rich.table import Table

    table = Table()
    headings = ("side", "against", "win %", "draw %", "loss %", "illegal %")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("side", "against") else "right")
    for side, results in found.results.items():
        for key, opponent in AGAINST.items():
            against = getattr(results, key)
            if against is not None:
                rates = [decimals(100 * getattr(against, rate)) for rate in RATES]
                style = "dim" if key == "limit_vs_random" else None
                table.add_row(side, opponent, *rates, style=style)
            if counted and key == "vs_random":
                games = f"random, {counted[side]['games']:,} games, sampled"
                table.add_row(side, games, *rates_with_intervals(counted[side]))
        table.add_section()
    if width_of(table, console) <= console.width or not console.is_terminal:
        print_whole(table, console)
        return
    for side, opponent, *rates in zip(*(column.cells for column in table.columns), strict=True):
        pairs = zip(headings[2:], rates, strict=True)
        numbers = ", ".join(f"{heading.replace(' %', '')} {rate} %" for heading, rate in pairs)
        what = f", {opponent[1:-1]}" if opponent.startswith("(") else f" against {opponent}"
        say(f"as {side}{what}: {numbers}", console)


def _training_text(training: Mapping[str, Any]) -> str:
    """When a run was at its best and reached its goals, as far as it is stated."""

    def steps(point: Mapping[str, Any]) -> str:
        return f"{point['steps']:,}" if "steps" in point else "some"

    def seconds(point: Mapping[str, Any]) -> str:
        return f"{point['seconds']:.1f} s" if "seconds" in point else "some time"

    best = training.get("best_at", training)
    parts = [f"trained for {steps(training)} steps in {seconds(training)}"]
    if steps(best) != steps(training):
        parts.append(f"at its best after {steps(best)} ({seconds(best)})")
    for goal in ("unbeatable", "optimal"):
        if f"first_{goal}" in training:
            parts.append(f"first {goal} after {seconds(training[f'first_{goal}'])}")
    if "entries" in training:
        parts.append(f"a table of {training['entries']:,} entries")
    return ", ".join(parts)


def best_response_text(found: Certificate, side: str) -> str:
    """What the best response achieves against a player on one side."""
    results = found.results[side]
    if results.proven.word:
        value, word = results.worst_case_value, results.proven.word
        if results.always_wins:
            return word
        if value == 0:
            return f"{word}; its strongest opponent draws every game"
        return f"{word}; its strongest opponent leaves it {value:+.4f} (wins minus losses)"
    # A certificate of lines does not state the limit; but an X that always wins shows it.
    is_lost = results.limit_vs_random is None and not found.is_of_lines
    is_lost |= side == "O" and "X" in found.results and found.results["X"].always_wins
    unavoidable = f" (no {side} can avoid it on this board)" if is_lost else ""
    return (
        f"can be beaten{unavoidable}, with a probability of up to "
        f"{decimals(results.worst_case_loss)}; shortest losing game: "
        f"{' '.join(results.losing_line or ())}"
    )


def decimals(number: float) -> str:
    """A number with four decimals; one above 0 that would look like 0 as a power of ten."""
    return f"{number:.1g}" if 0 < number < 0.00005 else f"{number:.4f}"


# --- several agents ---------------------------------------------------------------------------


def cross_table(
    players: Mapping[str, Policy],
    rules: Rules | None = None,
    limit: Limit | None = None,
    sides: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, dict[str, dict[str, float]]]:
    """Exact results of each player as X against each as O: {x: {o: {rate: of X}}}, see RATES.

    rules: the board, if no player knows it. limit: see `exact_result`. sides: those that each
    player plays, by default both.
    """
    playing = {
        side: [name for name in players if side in (sides or {}).get(name, SIDES)] for side in SIDES
    }
    table: dict[str, dict[str, dict[str, float]]] = {}
    for x_name in playing["X"]:
        table[x_name] = {}
        for o_name in playing["O"]:
            found = exact_result(players[x_name], players[o_name], rules, limit)
            table[x_name][o_name] = {rate: getattr(found, rate) for rate in RATES}
    return table


def print_cross_table(
    results: Mapping[str, Mapping[str, Mapping[str, float]]], console: Console
) -> None:
    """Print the cross table; each cell is win/draw/loss of X in per cent."""
    from rich.table import Table

    from apps.terminal.plain import plain

    table = Table(
        title="each as X (rows) against each as O (columns): X wins / draws / O wins, %, exact"
    )
    table.add_column("X \\ O", overflow="fold")
    for name in next(iter(results.values()), {}):
        table.add_column(plain(printable(name)), justify="right", overflow="fold")
    for name, row in results.items():
        cells = ("/".join(f"{100 * cell[rate]:.1f}" for rate in RATES[:3]) for cell in row.values())
        table.add_row(plain(printable(name)), *cells)
    print_whole(table, console)


def print_whole(table: Table, console: Console) -> None:
    """Print a table. If the output is not a terminal, the table has its full width."""
    if not console.is_terminal:
        console.width = max(console.width, width_of(table, console))
    console.print(table)


def print_rows(headings: Sequence[str], rows: Iterable[Sequence[str]], console: Console) -> None:
    """Print a table of texts, whose first column is on the left and the others on the right."""
    from rich.table import Table

    table = Table()
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    print_whole(table, console)


def width_of(table: Table, console: Console) -> int:
    """The columns that a table needs."""
    return console.measure(table, options=console.options.update(max_width=10_000)).maximum


def count_games(
    side: str, policy: Policy, opponent: Policy, rules: Rules, games: int, seed: int
) -> dict[str, Any]:
    """Rates of `policy` as `side` in sampled games, with 95 % Wilson intervals.

    Returns {"games", "win", "draw", "loss", "illegal", "intervals": {rate: [low, high]}}.
    """
    is_x = side == "X"
    pair = (policy, opponent) if is_x else (opponent, policy)
    found = sampled_result(*pair, rules, games, seed)
    result = found.result if is_x else found.result.other_side
    names = ("win", "draw", "loss") if is_x else ("loss", "draw", "win")
    intervals = {
        own: list(found.intervals[name]) for own, name in zip(RATES[:3], names, strict=True)
    }
    rates = {rate: getattr(result, rate) for rate in RATES}
    return {"games": games, **rates, "intervals": intervals}


def counted_against_random(
    player: Policy, rules: Rules, games: int, seed: int
) -> dict[str, dict[str, Any]]:
    """The result of `count_games` against random play, for each side."""
    return {side: count_games(side, player, RandomPolicy(), rules, games, seed) for side in SIDES}


def rates_with_intervals(counted: Mapping[str, Any]) -> list[str]:
    """Win, draw, loss and illegal moves in per cent, such as "58.3 (55.2-61.3)".

    Losses include illegal moves, which have no interval of their own.
    """
    intervals = {
        name: "-".join(f"{100 * end:.1f}" for end in ends)
        for name, ends in counted["intervals"].items()
    }
    return [
        *(f"{100 * counted[name]:.1f} ({intervals[name]})" for name in RATES[:3]),
        f"{100 * counted['illegal']:.1f}",
    ]


def sampled_table(
    players: Mapping[str, Policy], rules: Rules, games: int, seed: int
) -> dict[str, dict[str, dict[str, Any]]]:
    """Sampled results of each player as X against each as O: {x: {o: `count_games` for X}}."""
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
    """Print the sampled results, one row for each pair."""
    from rich.table import Table

    from apps.terminal.plain import plain

    table = Table(title=f"{rules}: sampled, {games:,} games, 95 % interval (Wilson)")
    for heading in ("X", "O", "X wins %", "draw %", "O wins %", "X illegal %"):
        justify: Any = "left" if heading in SIDES else "right"
        table.add_column(heading, justify=justify, overflow="fold")
    for x_name, row in results.items():
        for o_name, counted in row.items():
            names = (plain(printable(name)) for name in (x_name, o_name))
            table.add_row(*names, *rates_with_intervals(counted))
        table.add_section()
    print_whole(table, console)


def names_of(specs: Sequence[str]) -> list[str]:
    """Distinct names of agents and runs.

    A name is the last part of a path, or the whole text if that part is not unique. Repeated texts
    are numbered. What is not printable is escaped.
    """
    specs = [printable(spec) for spec in specs]
    short = [spec.rstrip("/").split("/")[-1] for spec in specs]
    names: list[str] = []
    for last, spec in zip(short, specs, strict=True):
        name = last if short.count(last) == 1 else spec
        numbered = (f"{name} ({number})" for number in itertools.count(2))
        names.append(next(new for new in itertools.chain([name], numbered) if new not in names))
    return names


def goal_text(until: str, rules: Rules) -> str:
    """What the goal of a training means where X wins with best play; "" on other boards."""
    if until == "steps" or best_play_x(rules) != 1:
        return ""
    return (
        f"X wins with best play on {rules}: the goal is that X wins against everybody; O, which "
        "cannot avoid losing, does not count"
    )
