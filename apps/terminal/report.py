"""Printed texts and results: lines, tables, certificates and cross tables. Needs no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tictactoe_env.certificates.certificate import policy_in
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.errors import printable
from tictactoe_env.exact.best_response import results_of_responses
from tictactoe_env.exact.evaluation import UNTIL, winner
from tictactoe_env.exact.match import Result, exact_result
from tictactoe_env.exact.proof import Limit, Progress, reach_of
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.exact.values import ROUNDING
from tictactoe_env.notation import SIDES
from tictactoe_env.opponents import RESPONSE_TO
from tictactoe_env.policy import Policy
from tictactoe_env.rules import Rules, other_side

RATES = ("win", "draw", "loss", "illegal")
BEST = "best response"
MOST_WINS = "most wins"
BEST_TEXT = f"{BEST}: the opponent that makes win - loss lowest, then loss highest"
MOST_WINS_TEXT = f"{MOST_WINS}: the opponent that beats it most often, if that may be another one"
CHEAP = 150_000  # positions of a proof; 4x4 with gravity has 134,289, and takes half a second
AGAINST = {"vs_random": "random", "vs_minimax": "minimax"}  # rows, by the key in a certificate
BORDER = 3  # of a column of a table: two blanks and a line
SHORT = 32  # columns of a console, of a player's label in a cross table of many
FEW = 3  # players that get a report each, and cells of three numbers in a cross table
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
    """Print a table; one that is wider than the console in blocks of columns, below each other.

    texts: how many columns hold text, from the left; the others hold numbers. Each block begins
    with the text. If that alone is too wide, a terminal folds it, and a file gets longer lines.
    """
    columns = [[*map(printable, cells)] for cells in zip(headings, *rows, strict=True)]
    widths = [BORDER + max(map(cell_len, cells)) for cells in columns]
    for block in _blocks(widths, texts, console.width + 1):  # the last column has no line
        table = Table(show_edge=False)
        if not console.is_terminal:
            table.width = sum(widths[number] for number in block) - 1
        for number in block:
            justify: Any = "left" if number < texts else "right"
            table.add_column(plain(columns[number][0]), justify=justify, overflow="fold")
        for row in zip(*(columns[number][1:] for number in block), strict=True):
            table.add_row(*map(plain, row))
        console.print(table, crop=False)


def _blocks(widths: Sequence[int], texts: int, width: int) -> Iterator[list[int]]:
    """The columns of each block of a table in this width, see `print_table`."""
    first = list(range(texts))
    room = width - sum(widths[:texts])
    block: list[int] = []
    for number in range(texts, len(widths)):
        if block and sum(widths[one] for one in [*block, number]) > room:
            yield first + block
            block = []
        block.append(number)
    yield first + block


@contextmanager
def proving(what: str, rules: Rules, doing: str = "proving {} as {}") -> Iterator[Progress]:
    """A function that shows on a terminal how far a proof has come, after each ply of it.

    doing: what is done, with places for the player and for the side.
    """
    with Console(stderr=True).status("") as status:

        def show(side: str, plies: int, positions: int) -> None:
            text = f"{doing.format(printable(what), side)}: ply {plies} of {rules.cells}"
            status.update(Text(f"{text}, {positions:,} positions"))

        yield show


def certificates(found: Sequence[Certificate], console: Console) -> None:
    """Print a report on each certificate of a board, and below all what their tables mean."""
    if not found:
        return
    opponents = {opponent for one in found for opponent in certificate(one, console)}
    limits = {
        side: f"{decimals(100 * one.limit_vs_random.win)} % as {side}"
        for certificate in found
        for side, one in certificate.results.items()
        if one.limit_vs_random is not None
    }
    if limits:
        text = "most wins against random without ever losing"
        say(f"{text}: {', '.join(limits.values())}", console)
    say(BEST_TEXT, console)
    if MOST_WINS in opponents:
        say(MOST_WINS_TEXT, console)
    if any(one.is_of_reach for one in found):
        say("positions: those that it can meet; decisions: those in which it moves", console)


def certificate(found: Certificate, console: Console) -> list[str]:
    """Print what a certificate is about, and its exact results as a table.

    Returns the opponents in the table.
    """
    stated = found.stated
    heading = f"\n{stated.label} on {found.rules}"
    if stated.seed is not None:
        heading += f", seed {stated.seed}"
    if found.only:
        heading += f", {'trained' if stated.training else 'certified'} as {found.only} only"
    say(heading, console)
    if stated.training:
        say(training_text(stated.training), console)
    headings = ["side", "against", "win %", "draw %", "loss %", "win - loss"]
    rows = list(_result_rows(found))
    if any(illegal not in ("", decimals(0)) for *_, illegal in rows):
        headings.append("illegal %")
    else:
        rows = [row[:-1] for row in rows]
    print_table(headings, rows, console, texts=2)
    if found.is_of_reach:
        _say_positions(found, console)
    _say_optimal_moves(found, console)
    return [opponent for _, opponent, *_ in rows]


def _result_rows(found: Certificate) -> Iterator[list[str]]:
    """The rows of a certificate's table: each side against each opponent."""
    policy = None
    if any(not one.unbeatable and one.positions <= CHEAP for one in found.results.values()):
        policy = policy_in(found)
    for side, one in found.results.items():
        for key, opponent in AGAINST.items():
            result = getattr(one, key)
            if result is not None:
                yield [side, opponent, *rates_text(vars(result))]
        texts = _responses_text(found, side, policy)
        for opponent, text in zip((BEST, MOST_WINS), texts, strict=False):
            yield [side, opponent, *text]


def _responses_text(found: Certificate, side: str, policy: Policy | None) -> list[list[str]]:
    """The rates of a side against BEST, and against MOST_WINS if that is another opponent.

    policy: the player. Of a side with more than CHEAP positions these are only the numbers that the
    certificate states.
    """
    one = found.results[side]
    value = one.worst_case_value + 0.0
    if one.unbeatable:  # what it does not win is drawn
        return [rates_text(vars(Result(value, max(0.0, 1 - value), 0.0)))]
    if policy is None or one.positions > CHEAP:
        loss = decimals(100 * one.worst_case_loss)
        return [["", "", "", f"{value:+.4f}", ""], ["", "", loss, "", ""]]
    reach = reach_of({side: policy}, side, found.rules)
    return [rates_text(vars(result)) for result in results_of_responses(reach)]


def _say_positions(found: Certificate, console: Console) -> None:
    """Print how many positions the proof has covered on each side."""
    kind = "canonical positions" if found.canonical else "positions"
    met = (
        f"{one.positions:,} ({one.decisions:,}) as {side}" for side, one in found.results.items()
    )
    say(f"{kind} (decisions): {', '.join(met)}", console)


def _say_optimal_moves(found: Certificate, console: Console) -> None:
    """Print the share of moves that keep the value of the position, if it is known."""
    share = found.optimal_moves
    if share is None:
        return
    reachable = f"{100 * share.reachable:.2f} %"
    everywhere = f"{100 * share.everywhere:.2f} %"
    where = f"{reachable} where it can get to, {everywhere} everywhere"
    say(f"moves that keep the value: {where}", console)


def training_text(training: Mapping[str, Any]) -> str:
    """When a run was at its best and reached its goals, as far as it is stated."""
    points = {"steps trained:": training, "at its best after": training.get("best_at", {})}
    points |= {f"first {goal} after": training.get(f"first_{goal}", {}) for goal in UNTIL[1:]}
    texts = [
        f"{what} {point['steps']:,} ({point['seconds']:.1f} s)"
        for what, point in points.items()
        if {"steps", "seconds"} <= point.keys()
    ]
    if "entries" in training:
        texts.append(f"a table of {training['entries']:,} entries")
    return ", ".join(texts)


def rates_text(rates: Rates) -> list[str]:
    """Wins, draws and losses in per cent, win - loss, and the losses by illegal moves."""
    win, draw, loss, illegal = (decimals(100 * rates[rate]) for rate in RATES)
    value = rates["win"] - rates["loss"]
    return [win, draw, loss, f"{value:+.4f}", illegal]


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
    reach = f"reach at most {100 * widest:.1f} beyond the wins, draws and losses"
    return f"95 % intervals (Wilson) {reach}"


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


def print_results(
    tables: Mapping[str, CrossTable],
    found: Mapping[str, Certificate],
    players: Iterable[str],
    console: Console,
    beaten: Collection[str] = (),
) -> None:
    """Print a report on each of FEW players; of several their ranking, and the cross tables.

    tables: "cross_table", "sampled" or both. found: the certificates of those that have one.
    beaten: others that are proven to lose a game as X and one as O.
    """
    means = strongest_first(players, next(iter(tables.values())), found)
    if len(means) <= FEW:
        certificates([found[name] for name in means if name in found], console)
    if len(means) > 1:
        print_ranking(means, found, console, beaten)
    for name, table in tables.items():
        if (len(means) > 1 or name == "sampled") and any(table.values()):
            print_cross_table(table, means, console)


def minimax_json(found: Mapping[str, Certificate]) -> dict[str, Any]:
    """The rates of players against minimax as JSON, {name: {side: rates}}, where they are known."""
    known = {
        name: {side: one.vs_minimax for side, one in certificate.results.items() if one.vs_minimax}
        for name, certificate in found.items()
    }
    return {
        name: {side: {rate: getattr(one, rate) for rate in RATES} for side, one in sides.items()}
        for name, sides in known.items()
    }


def strongest_first(
    players: Iterable[str], results: CrossTable, found: Mapping[str, Certificate]
) -> dict[str, float]:
    """The players that are proven, see `Certificate.is_proven`, then the others, by their results.

    found: the certificates of those that have one. Returns the mean result (win - loss) of each
    against all others, on the sides that it plays; 0 without a game.
    """
    values: dict[str, list[float]] = {name: [] for name in players}
    for x, row in results.items():
        for o, rates in row.items():
            if x != o:
                values[x].append(rates["win"] - rates["loss"])
                values[o].append(rates["loss"] - rates["win"])
    means = {name: round(sum(some) / max(1, len(some)), 9) for name, some in values.items()}
    proven = {name for name, certificate in found.items() if certificate.is_proven}
    order = sorted(means, key=lambda name: (name in proven, means[name]), reverse=True)
    return {name: means[name] for name in order}


def print_ranking(
    means: Mapping[str, float],
    found: Mapping[str, Certificate],
    console: Console,
    beaten: Collection[str] = (),
) -> None:
    """Print a numbered line for each player: see `strongest_first`, and `print_results`."""
    say("\nstrongest first: the proven ones, then by the column others", console)
    sides = [side for side in SIDES if any(side in one.results for one in found.values())]
    say("wins less losses in %: the mean against all others here, or against random", console)
    headings = ["player", "unbeatable as", "others", *(f"random as {side}" for side in sides)]
    rows = [
        [
            label,
            _safe_sides(found.get(name), name in beaten),
            signed(mean, 2),
            *_against_random(found, name, sides),
        ]
        for label, (name, mean) in zip(_numbered(means), means.items(), strict=True)
    ]
    print_table(headings, rows, console, texts=2)


def _safe_sides(found: Certificate | None, is_beaten: bool) -> str:
    """The sides on which nobody can beat a player."""
    if found is None:
        return "none" if is_beaten else "not proven"
    return " and ".join(side for side, one in found.results.items() if one.unbeatable) or "none"


def _against_random(
    found: Mapping[str, Certificate], name: str, sides: Sequence[str]
) -> Iterator[str]:
    """The result of a player against random play as each side; "" where it is not proven."""
    results = found[name].results if name in found else {}
    for side in sides:
        yield signed(results[side].vs_random.value, 2) if side in results else ""


def _numbered(players: Collection[str]) -> list[str]:
    """The players with their numbers, from 1."""
    width = len(str(len(players)))
    return [f"{number:{width}} {name}" for number, name in enumerate(players, 1)]


def _short(label: str) -> str:
    """A label of at most SHORT columns of a console; its number tells it from others."""
    return label if cell_len(label) <= SHORT else f"{set_cell_size(label, SHORT - 3)}..."


def print_cross_table(results: CrossTable, players: Collection[str], console: Console) -> None:
    """Print a cross table: all rates of FEW players; of more one number a cell, X's win - loss.

    players: all of the table, in the order of its lines. More than FEW are numbered.
    """
    cell = _win_draw_loss
    meaning = "in %: X wins / draws / O wins"
    heads = labels = dict(zip(players, players, strict=True))
    if len(players) > FEW:
        cell = _value
        meaning = "in %: X's wins less its losses; +0 and -0 are rounded"
        heads = {name: str(number) for number, name in enumerate(players, 1)}
        labels = dict(zip(players, map(_short, _numbered(players)), strict=True))
    sampled = [rates for row in results.values() for rates in row.values() if "games" in rates]
    how = "exact results"
    if sampled:
        how = f"{sampled[0]['games']:,} sampled games"
        meaning += f"\n{margin_text(sampled)}"
    say(f"\n{how} of each as X (rows) against each as O (columns)", console)
    say(meaning, console)
    as_o = [name for name in players if name in next(iter(results.values()), {})]
    rows = [[labels[x], *(cell(results[x][o]) for o in as_o)] for x in players if x in results]
    print_table(["X \\ O", *(heads[o] for o in as_o)], rows, console)


def _win_draw_loss(rates: Rates) -> str:
    """The rates of X in per cent, such as "58.5/12.7/28.8"."""
    return "/".join(f"{100 * rates[name]:.1f}" for name in ("win", "draw", "loss"))


def _value(rates: Rates) -> str:
    """The wins of X less its losses in per cent, such as "+30"."""
    return signed(rates["win"] - rates["loss"])


def signed(value: float, digits: int = 0) -> str:
    """A value from -1 to 1 in per cent; "0" alone if it is 0."""
    if abs(value) < ROUNDING:
        return "0"
    return f"{100 * value:+.{digits}f}"


def names_of(specs: Sequence[str]) -> list[str]:
    """Distinct names of agents and runs.

    A name is the end of a path: as many parts as tell it from the others. Repeated texts are
    numbered. What is not printable is escaped.
    """
    split = [printable(spec).rpartition(RESPONSE_TO) for spec in specs]
    paths = [tuple(path.rstrip("/").split("/")) for *_, path in split]
    seen = Counter[str]()
    names = []
    for (*kind, _), path in zip(split, paths, strict=True):
        name = "".join(kind) + "/".join(_own_end(path, {*paths} - {path}))
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        names.append(name)
    return names


def _own_end(path: tuple[str, ...], others: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The shortest end of a path that no other path ends with; the whole path if there is none."""
    for length in range(1, len(path)):
        end = path[-length:]
        if all(other[-length:] != end for other in others):
            return end
    return path


def goal_text(until: str, rules: Rules) -> str:
    """The meaning of a training's goal where a side wins with best play; "" on other boards."""
    if until == "steps" or not (side := winner(rules)):
        return ""
    return (
        f"{side} wins with best play on {rules}: the goal is that {side} wins against everybody; "
        f"{other_side(side)}, which cannot avoid losing, does not count"
    )
