"""Opponents by name: players without training, trained agents, saved runs, and registered ones.

random                   every legal move equally likely
minimax                  perfect play that picks at random among equally good moves
minimax-first            perfect play that always picks the first of the equally good moves
minimax-slip=0.1         perfect play that makes 10 % of its moves at random
search                   alpha-beta search; search-depth=4, search-seconds=0.5, search-ties=first
mcts-playouts=50         Monte-Carlo tree search; mcts-milliseconds=100
trie, dqn, ...           the trained agents of this package, which play on 3x3; mcts is one of them
                         on 3x3, and a search of 1,000 playouts a move on other boards
runs/dqn-0               the policy that a run saved in its certificate.json
latest:dqn               the newest run of this agent in models/ or runs/ of the working folder

`gym.make`, every command line and the page for a browser accept these; all call `make_opponent`.
`minimax` plays on boards of up to 16 cells. A board is solved when it is needed for the first time,
4x4 in a second; all environments of a process share the solution, 43 MB on 4x4.
`register_opponent` adds names. `python -m tictactoe_env.opponents` lists all of them, with their
strengths and whether they can be beaten.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tictactoe_env.certificates.certificate import (
    FILE,
    certified_sides,
    exact_results,
    load_policy,
    sides_of,
)
from tictactoe_env.certificates.runs import FOLDERS, Folders, agents_with_runs, newest_run
from tictactoe_env.errors import unknown_name
from tictactoe_env.exact.evaluation import verdict_text
from tictactoe_env.exact.positions import can_enumerate
from tictactoe_env.names import (
    LATEST,
    LEARNED,
    NAMES,
    SELF,
    description,
    named_player,
    registered_names,
    split_options,
)
from tictactoe_env.policy import Policy, as_policy
from tictactoe_env.printable import printable
from tictactoe_env.rules import Rules, checked_rules
from tictactoe_env.table_json import is_table, table_from_json
from tictactoe_env.trained.packed import BOARD, facts_of, trained_names, trained_policy

EASY = "minimax-slip=0.3"  # perfect play that often slips
EASY_BEYOND = "search-depth=1"  # on boards that are too large to solve


def easy_opponent(rules: Rules) -> str:
    """The name of the opponent that a person begins with on a board."""
    return EASY if can_enumerate(rules) else EASY_BEYOND


def make_opponent(
    spec: Any, rules: Rules, what: str = "opponent", also: Iterable[str] = ()
) -> Policy:
    """The policy of a name, a saved run, a table, or an object with `probs` or `predict`.

    A saved run plays by the moves of its certificate; on boards of more than 12 cells it makes
    random legal moves off its lines, see `lines.LinesPolicy`. A table is the mapping of
    `table_json`.
    what: what an error calls the player. also: further names that the error lists.
    Raises ValueError for an unknown name or option, a damaged run, a player of another board, and
    an object that is not a player.
    """
    checked_rules(rules)
    if is_table(spec):
        return table_from_json(spec, rules)
    if not isinstance(spec, (str, os.PathLike)):
        return as_policy(spec, rules)
    if is_trained(spec, rules):
        return trained_policy(str(spec))
    named = named_player(spec)
    if named is not None:
        return as_policy(named.player(rules), rules)
    path = saved_path(spec, rules, what, also)
    if path is None:
        raise ValueError(
            f"{spec} in this package plays on {BOARD}, not on {rules}: train it on this board "
            f"(in a clone of the repository: python train.py {str(spec).partition('-')[0]} --help) "
            "and name that run, or choose another player"
        )
    try:
        return load_policy(path, rules)
    except FileNotFoundError as error:
        raise ValueError(f"{str(spec)!r} is no saved run: {error}") from None


def is_trained(spec: Any, rules: Rules | None = None) -> bool:
    """Whether a text names a trained agent of this package that plays on this board."""
    return isinstance(spec, str) and spec in trained_names() and rules in (None, BOARD)


def saved_path(
    spec: str | os.PathLike[str],
    rules: Rules | None = None,
    what: str = "opponent",
    also: Iterable[str] = (),
) -> Path | None:
    """The path of the saved run that a text names; None for the name of any other player.

    `latest:AGENT` is the newest run of this agent, on the board `rules` if there is one. what: what
    an error calls the player. also: further names that the error lists. Raises ValueError if there
    is no such run and no such name.
    """
    text = str(spec)
    if is_trained(spec) or named_player(spec) is not None:
        return None
    if isinstance(spec, str) and spec.startswith(LATEST):
        return _latest(spec.removeprefix(LATEST), rules)
    if isinstance(spec, str) and split_options(spec)[0] in LEARNED and text not in also:
        is_self = split_options(spec)[0] == SELF
        raise ValueError(
            f"{spec!r} stands for {'snapshots of' if is_self else 'the best response to'} a "
            "learner, which only an environment (add_snapshot) and a training by self-play have: "
            "name another player here"
        )
    is_path = not isinstance(spec, str) or os.sep in text or "/" in text or text.endswith(".json")
    if is_path or (text and os.path.exists(text)):
        return _existing(Path(spec))
    if text in agents_with_runs():
        raise ValueError(
            f"{text!r} is no player of this package: the newest run of this agent is {LATEST}{text}"
        )
    raise unknown_name(what, text, {*known_names(), *also})


def _latest(agent: str, rules: Rules | None) -> Path:
    """The newest run of an agent. Raises ValueError if there is none."""
    run = newest_run(agent, rules)
    if run is None:
        folders = " or ".join(f"{folder}/" for folder in FOLDERS)
        known = ", ".join(agents_with_runs()) or "none"
        raise ValueError(
            f"no run of {agent!r} in {folders} (runs there: {known}): train one with "
            f"`python train.py {agent or 'AGENT'}`, in a clone of the repository"
        )
    return run.path


def _existing(path: Path) -> Path:
    """The folder of a run, or a certificate without a run. Raises ValueError if there is none."""
    if not path.exists():
        raise ValueError(
            f"there is no saved run or certificate at {str(path)!r}, and no player has this name "
            f"(known: {', '.join(known_names())})"
        )
    if path.suffix == ".zip":
        raise ValueError(
            f"{str(path)!r} may execute code when it is read: load it with its own class and pass "
            "the model as the opponent"
        )
    return path.parent if path.name == FILE else path


def known_names(folders: Folders = FOLDERS) -> list[str]:
    """The names that an error lists: built in, trained, registered, newest runs, and paths."""
    trained = [name for name in trained_names() if name not in NAMES]
    newest = [f"{LATEST}{agent}" for agent in agents_with_runs(folders)]
    return [
        *NAMES,
        *("minimax-slip=0.1", "search-depth=4", "mcts-playouts=50"),
        *trained,
        *registered_names(),
        *newest,
        "the path of a saved run",
    ]


# --- the list -------------------------------------------------------------------------------------

BUILT_IN = {
    "random": "plays any legal move, each equally likely",
    "minimax": "perfect play that picks at random among equally good moves",
    "minimax-first": "perfect play that always picks the first of the equally good moves",
    "minimax-slip=0.1": "perfect play that makes 10 % of its moves at random",
    "search": "alpha-beta search to the end of every game",
    "search-depth=1": "alpha-beta search that wins and blocks, but falls for a fork",
    "search-depth=2": "alpha-beta search that looks two moves ahead",
    "mcts-playouts=50": "Monte-Carlo tree search, 50 playouts a move: plays well, with mistakes",
}
"""The players without training that are listed, with a sentence each."""


def strength(facts: Mapping[str, Any]) -> str:
    """How strong a certified player is, in words, from what its certificate states.

    Of a player that was trained as one side, for that side.
    """
    sides = sides_of(facts)
    stated = {side: facts[f"as_{side.lower()}"] for side in sides}
    only = "" if len(sides) == 2 else f", trained as {sides[0]} only"
    if len(certified_sides(facts)) == 1:
        only = f", certified as {sides[0]} only"
    games = {
        side: None if one["unbeatable"] else " ".join(one["losing_line"])
        for side, one in stated.items()
    }
    return verdict_text(games, all(one.get("optimal") for one in stated.values())) + only


HEADING = "Exact on 3x3: games won against random play in %, and whether any opponent can beat it."


def listed() -> str:
    """All names with their strengths, as text: what `python -m tictactoe_env.opponents` prints."""
    added, trained = registered_names(), trained_names()
    width = max(map(len, [*trained, *BUILT_IN, *added]))
    results = {name: exact_results(make_opponent(name, BOARD), BOARD) for name in BUILT_IN}
    lines = [
        HEADING,
        "",
        f"{_columns('Trained agents', width)}  {'seed':>4}",
        *(_row(name, facts_of(name), width, seeds=True) for name in trained),
        "",
        "Without training",
        *(_row(name, facts, width) for name, facts in results.items()),
        "",
        *(f"{name:<{width}}  {about}" for name, about in BUILT_IN.items()),
    ]
    if added:
        lines += ["", "Added by other packages"]
        lines += [f"{name:<{width}}  {description(name)}" for name in added]
    return "\n".join(
        [
            *lines,
            "",
            "Options of a search: search-depth=4, search-seconds=0.5, search-ties=first,",
            "mcts-playouts=1000, mcts-milliseconds=100.",
            "A player that was trained as one side makes untrained moves on the other side.",
            "On other boards than 3x3 mcts is a search of 1,000 playouts a move.",
            "Also: the path of a saved run; latest:AGENT, the newest run of an agent in models/ or",
            "runs/; and, in an environment, self, the learner's own snapshots. Names that follow",
            "this command are evaluated: python -m tictactoe_env.opponents search-depth=3",
        ]
    )


def _columns(name: str, width: int) -> str:
    """The headings of the columns of `_row`, without that of the seeds."""
    return f"{name:<{width}}  {'as X':>6}  {'as O':>6}"


def _row(name: str, facts: Mapping[str, Any], width: int, seeds: bool = False) -> str:
    wins = (
        f"{100 * facts[f'as_{side.lower()}']['vs_random']['win']:.2f}"
        if side in sides_of(facts)
        else "-"
        for side in "XO"
    )
    seed = f"  {facts['seed']:>4}" if seeds else ""
    return f"{name:<{width}}  {'  '.join(f'{win:>6}' for win in wins)}{seed}  {strength(facts)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the list, or the exact results of the players that are named; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tictactoe_env.opponents",
        description="Lists the opponents with their exact strength on 3x3.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="evaluate only these players")
    names = parser.parse_args(arguments).names
    if not names:
        print(listed())
        return 0
    try:
        results = {
            name: exact_results(make_opponent(name, BOARD, "player"), BOARD) for name in names
        }
    except ValueError as error:
        print(f"{parser.prog}: {printable(error)}", file=sys.stderr)
        return 2
    width = max(map(len, names))
    print(f"{HEADING}\n\n{_columns('', width)}")
    for name, facts in results.items():
        print(_row(name, facts, width))
    return 0


if __name__ == "__main__":
    sys.exit(main())
