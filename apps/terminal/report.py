"""Printed texts and results: lines, tables, certificates and cross tables. Needs no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tictactoe_env.certificates.certificate import policy_in
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.reach import ReachPolicy
from tictactoe_env.errors import printable
from tictactoe_env.exact.best_response import results_of_responses
from tictactoe_env.exact.evaluation import UNTIL, winner
from tictactoe_env.exact.match import Result, exact_result
from tictactoe_env.exact.proof import Limit, Progress, reach_of
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.notation import SIDES
from tictactoe_env.opponents import RESPONSE_TO
from tictactoe_env.policy import Policy, RandomPolicy, keeps
from tictactoe_env.rules import Rules, other_side

RATES = ("win", "draw", "loss", "illegal")
LIMIT = "(limit against random)"
BEST = "best response"
MOST_WINS = "most wins"
BEST_TEXT = f"{BEST}: the opponent with the highest win - loss; of several, one with the most wins"
MOST_WINS_TEXT = f"{MOST_WINS}: the opponent that beats it most often, if that may be another one"
CHEAP = 150_000  # positions of a proof; 4x4 with gravity has 134,289, and takes half a second
QUICK = (TabularPolicy, ReachPolicy, RandomPolicy, MinimaxPolicy)  # to ask again
AGAINST = {"vs_random": "random", "vs_minimax": "minimax", "limit_vs_random": LIMIT}
"""The rows of a certificate's table, by the key in the certificate.

The last one is no opponent, but the most wins against random play of a player that never loses.
"""
Rates = Mapping[str, Any]
CrossTable = dict[str, dict[str, dict[str, Any]]]


class PipedConsole(Console):
    """A console that goes on when nobody reads its output any more, such as in `| head`.

    It falls silent on a closed pipe, so that files are still written.
    """

    def on_broken_pipe(self) -> None:
        """Print nothing from here on. rich would end the program."""
        with suppress(SystemExit):
            super().on_broken_pipe()


def plain(text: object, style: str | None = None) -> Text:
    r"""Text of anybody's file as rich prints it: letter by letter, without markup or emoji.

    What is not printable is shown as \x1b and the like. Line breaks stay: a text from a file that
    is part of a longer one goes through `printable` first, so that it cannot add lines of its own.
    """
    return Text(printable(text, lines=True), style or "")


def say(text: RenderableType, console: Console, style: str | None = None, end: str = "\n") -> None:
    """Print a text as `plain` does, or a picture of rich.

    Lines are wrapped at a terminal; a file gets whole paths.
    """
    if isinstance(text, str):
        text = plain(text, style)
    console.print(text, highlight=False, soft_wrap=not console.is_terminal, end=end)


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], console: Console, texts: int = 1
) -> None:
    """Print a table, as wide as it needs to be if the output is no terminal.

    texts: how many columns hold text, from the left; the others hold numbers.
    """
    table = Table()
    for number, heading in enumerate(headings):
        justify: Any = "left" if number < texts else "right"
        table.add_column(plain(printable(heading)), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(plain(printable(cell)) for cell in row))
    if not console.is_terminal:
        wide = console.options.update(max_width=10_000)
        console.width = max(console.width, console.measure(table, options=wide).maximum)
    console.print(table)


@contextmanager
def proving(what: str, rules: Rules) -> Iterator[Progress]:
    """A function that shows on a terminal how far a proof has come, after each ply of it."""
    with Console(stderr=True).status("") as status:

        def show(side: str, plies: int, positions: int) -> None:
            text = f"proving {printable(what)} as {side}: ply {plies} of {rules.cells}"
            status.update(Text(f"{text}, {positions:,} positions"))

        yield show


def certificate(found: Certificate, console: Console, policy: Policy | None = None) -> None:
    """Print what a certificate is about, and its exact results as a table.

    policy: the player of these moves, if it is known; one of QUICK is asked instead of the moves.
    """
    stated = found.stated
    heading = f"\n{stated.label} on {found.rules}"
    if stated.seed is not None:
        heading += f", seed {stated.seed}"
    if found.only:
        heading += f", trained as {found.only} only"
    say(heading, console)
    if stated.training:
        say(training_text(stated.training), console)
    headings = ("side", "against", "win %", "draw %", "loss %", "win - loss")
    rows = list(_result_rows(found, policy))
    print_table(headings, rows, console, texts=2)
    if not found.is_of_reach:
        text = f"{LIMIT}: the most wins of a player that never loses; - where none can do that"
        say(text, console)
    say(BEST_TEXT, console)
    if any(opponent == MOST_WINS for _, opponent, *_ in rows):
        say(MOST_WINS_TEXT, console)
    if found.is_of_reach:
        _say_positions(found, console)
    _say_optimal_moves(found, console)


def _result_rows(found: Certificate, policy: Policy | None) -> Iterator[list[str]]:
    """The rows of a certificate's table: each side against each opponent."""
    for side, one in found.results.items():
        for key, opponent in AGAINST.items():
            if key == "vs_random" or not found.is_of_reach:
                result = getattr(one, key)
                rates = None if result is None else vars(result)
                yield [side, opponent, *rates_text(rates)]
        texts = _responses_text(found, side, policy)
        for opponent, text in zip((BEST, MOST_WINS), texts, strict=False):
            yield [side, opponent, *text]


def _responses_text(found: Certificate, side: str, policy: Policy | None) -> list[list[str]]:
    """The rates of a side against BEST, and against MOST_WINS if that is another opponent.

    Of a proof of more than CHEAP positions what the certificate states.
    """
    one = found.results[side]
    value = one.worst_case_value + 0.0
    if one.unbeatable:  # what it does not win is drawn
        return [rates_text(vars(Result(value, max(0.0, 1 - value), 0.0)))]
    if one.positions > CHEAP:
        return [["", "", "", f"{value:+.4f}"], ["", "", decimals(100 * one.worst_case_loss), ""]]
    if policy is None or not any(keeps(policy, kind) for kind in QUICK):
        policy = policy_in(found)
    reach = reach_of({side: policy}, side, found.rules)
    return [rates_text(vars(result)) for result in results_of_responses(reach)]


def _say_positions(found: Certificate, console: Console) -> None:
    """Print how many positions the proof of each side has covered."""
    equal = ", symmetric ones counted once" if found.canonical else ""
    for side, one in found.results.items():
        met = f"{one.positions:,} positions and moves in {one.decisions:,} of them"
        say(f"proof as {side}: it can meet {met}{equal}", console)


def _say_optimal_moves(found: Certificate, console: Console) -> None:
    """Print the share of moves that keep the value of the position, if it is known."""
    share = found.optimal_moves
    if share is None:
        return
    reachable = f"{100 * share.reachable:.2f} %"
    everywhere = f"{100 * share.everywhere:.2f} %"
    where = f"{reachable} where it can get to, {everywhere} in all {found.decisions:,} positions"
    say(f"moves that keep the value of the position: {where}", console)


def training_text(training: Mapping[str, Any]) -> str:
    """When a run was at its best and reached its goals, as far as it is stated."""
    points = {"trained for": training, "at its best after": training.get("best_at", {})}
    points |= {f"first {goal} after": training.get(f"first_{goal}", {}) for goal in UNTIL[1:]}
    texts = [
        f"{what} {point['steps']:,} steps ({point['seconds']:.1f} s)"
        for what, point in points.items()
        if {"steps", "seconds"} <= point.keys()
    ]
    if "entries" in training:
        texts.append(f"a table of {training['entries']:,} entries")
    return ", ".join(texts)


def rates_text(rates: Rates | None) -> list[str]:
    """Wins, draws and losses in per cent, those by illegal moves in brackets, and win - loss."""
    if rates is None:
        return ["-"] * 4
    win, draw, loss, illegal = (decimals(100 * rates[rate]) for rate in RATES)
    if rates["illegal"]:
        loss += f" ({illegal} illegal)"
    value = rates["win"] - rates["loss"]
    return [win, draw, loss, f"{value:+.4f}"]


def decimals(number: float) -> str:
    """A number with four decimals; one above 0 that would look like 0 as a power of ten."""
    if 0 < number < 0.00005:
        return f"{number:.1g}"
    return f"{number:.4f}"


# --- several agents, and sampled games ----------------------------------------------------------


def exact_rates(
    policy: Policy, opponent: Policy, rules: Rules | None = None, limit: Limit | None = None
) -> dict[str, Any]:
    """The exact rates of a policy as X by name, see RATES. rules, limit: see `exact_result`."""
    found = exact_result(policy, opponent, rules, limit)
    return {rate: getattr(found, rate) for rate in RATES}


def sampled_rates(
    policy: Policy, opponent: Policy, rules: Rules, games: int, seed: int
) -> dict[str, Any]:
    """The rates of a policy as X in sampled games, with their number and 95 % Wilson intervals.

    Returns {"games", "win", "draw", "loss", "illegal", "intervals": {rate: (low, high)}}.
    """
    found = sampled_result(policy, opponent, rules, games, seed)
    rates = {rate: getattr(found.result, rate) for rate in RATES}
    return {"games": games, **rates, "intervals": found.intervals}


def margin_text(cells: Iterable[Rates]) -> str:
    """The largest half-width of the intervals of sampled rates."""
    widest = max(
        abs(end - cell[rate])
        for cell in cells
        for rate, ends in cell["intervals"].items()
        for end in ends
    )
    return f"95 % intervals (Wilson) reach at most {100 * widest:.1f} beyond the rates"


def cross_table(
    players: Mapping[str, Policy],
    result: Callable[[Policy, Policy], dict[str, Any]],
    sides: Mapping[str, Sequence[str]] | None = None,
) -> CrossTable:
    """The rates of each player as X against each as O: {x: {o: result(x, o)}}.

    sides: those that each player plays, by default both.
    """
    sides = sides or {}
    playing_x = [name for name in players if "X" in sides.get(name, SIDES)]
    playing_o = [name for name in players if "O" in sides.get(name, SIDES)]
    return {x: {o: result(players[x], players[o]) for o in playing_o} for x in playing_x}


def print_cross_table(results: CrossTable, console: Console) -> None:
    """Print a cross table; each cell is win/draw/loss of X in per cent."""
    sampled = [cell for row in results.values() for cell in row.values() if "games" in cell]
    how = "exact results"
    meaning = "in %: X wins / draws / O wins"
    if sampled:
        how = f"{sampled[0]['games']:,} sampled games"
        meaning += f"; {margin_text(sampled)}"
    say(f"\n{how} of each as X (rows) against each as O (columns)", console)
    say(meaning, console)
    rows = [[name, *map(_win_draw_loss, row.values())] for name, row in results.items()]
    print_table(["X \\ O", *next(iter(results.values()), {})], rows, console)


def _win_draw_loss(rates: Rates) -> str:
    """The rates of X in per cent, such as "58.5/12.7/28.8"."""
    return "/".join(f"{100 * rates[name]:.1f}" for name in ("win", "draw", "loss"))


def names_of(specs: Sequence[str]) -> list[str]:
    """Distinct names of agents and runs.

    A name is the last part of a path, or the whole text if that part is not unique. Repeated texts
    are numbered. What is not printable is escaped.
    """
    specs = [printable(spec) for spec in specs]
    parts = [_last_part(spec) for spec in specs]
    seen = Counter[str]()
    names = []
    for spec, part in zip(specs, parts, strict=True):
        name = part if parts.count(part) == 1 else spec
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        names.append(name)
    return names


def _last_part(spec: str) -> str:
    """The last part of a path, also of that in "best-response:runs/dqn-0"."""
    head, response, path = spec.rpartition(RESPONSE_TO)
    return head + response + path.rstrip("/").split("/")[-1]


def goal_text(until: str, rules: Rules) -> str:
    """The meaning of a training's goal where a side wins with best play; "" on other boards."""
    if until == "steps" or not (side := winner(rules)):
        return ""
    return (
        f"{side} wins with best play on {rules}: the goal is that {side} wins against everybody; "
        f"{other_side(side)}, which cannot avoid losing, does not count"
    )
