"""List the opponents with their strength: `python -m tictactoe_env.opponents [NAME ...]`."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from tictactoe_env.called import CALLED
from tictactoe_env.certificates.certificate import certify
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.stated import name_of
from tictactoe_env.certificates.trained import facts_of, trained_names
from tictactoe_env.errors import in_one_line, printable, run_program
from tictactoe_env.opponents import (
    BUILT_IN,
    built_in,
    description,
    id_of,
    imported,
    is_trained,
    make_opponent,
    options_of,
    untrained_names,
)
from tictactoe_env.rules import SIDES, Rules

_NOTES = """\
Options follow a name, as in search-depth=4-ties=first. A player that was
trained as one side makes untrained moves on the other one. Also: the path of a
saved run; latest:AGENT and best:AGENT, the newest and the best run of an agent
in models/ or runs/; best-response:NAME, the best response to a player; and, in
an environment, self, the learner's own snapshots. Names that follow this
command are evaluated, with the shortest games that they lose:
python -m tictactoe_env.opponents search-depth=3"""


def listed() -> str:
    """All names with their strengths, as text: what `python -m tictactoe_env.opponents` prints."""
    trained = {name: facts_of(name) for name in trained_names()}
    untrained = _certified(name for name in built_in() if name not in trained)
    described = {name: description(name) for name in untrained_names()}
    width = max(map(len, described))
    sentences = (_folded(f"{name:<{width}}  ", text) for name, text in described.items())
    options = {name: ", ".join(options_of(imported(name))) for name in BUILT_IN}
    lines = [f"options of {name}: {known}" for name, known in options.items() if known]
    larger = [
        _folded(f"{name}  ", facts_of(name).claim)
        for name in trained_names(None)
        if name not in trained
    ]
    called = ", ".join(f"{name} ({id})" for name, id in CALLED.items())
    people = _folded("also known as: ", called)
    strengths = _strengths({**trained, **untrained}, False)
    return "\n".join([strengths, "", *larger, "", people, "", *sentences, "", *lines, "", _NOTES])


def _certified(names: Iterable[str]) -> dict[str, Certificate]:
    """The exact results of players on 3x3; those of a trained agent are in its certificate."""
    rules = Rules()
    found = {}
    for name in names:
        if is_trained(id_of(name), rules):
            found[name] = facts_of(id_of(name))
        else:
            found[name] = certify(make_opponent(name, rules, "player"), name_of(name), rules)
    return found


def _strengths(results: Mapping[str, Certificate], games: bool = True) -> str:
    """A table of players: games won against random play as both sides, and who can be beaten.

    games: name the shortest games that they lose.
    """
    width = max(map(len, results))
    lines = [
        "Exact on 3x3: games won against random play in %, and whether it can be beaten.",
        f"\n{'':<{width}}  {'as X':>6}  {'as O':>6}",
    ]
    for name, found in results.items():
        wins = {side: f"{100 * one.vs_random.win:.2f}" for side, one in found.trained.items()}
        columns = "  ".join(f"{wins.get(side, '-'):>6}" for side in SIDES)
        lines.append(_folded(f"{name:<{width}}  {columns}  ", found.verdict(games)))
    return "\n".join(lines)


def _folded(start: str, text: str) -> str:
    """The start of a line and a text after it, folded at 80 columns, but not in games or names."""
    held = "\N{NO-BREAK SPACE}"
    whole = re.sub(r"(and as . )?\(.*?\)", lambda game: game[0].replace(" ", held), text)
    width = 80 - len(start)
    lines = textwrap.wrap(whole, width, break_long_words=False, break_on_hyphens=False)
    return start + f"\n{'':{len(start)}}".join(lines).replace(held, " ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the list, or the exact results of the players that are named; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tictactoe_env.opponents",
        description="Lists the opponents with their exact strength on 3x3.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="evaluate only these players")
    names = in_one_line(parser).parse_args(arguments).names
    try:
        print(_strengths(_certified(names)) if names else listed())
    except ValueError as error:
        print(f"{parser.prog}: {printable(error)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    run_program(main)
