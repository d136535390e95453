"""Who can sit at the board: people, players by name, and saved runs with all that they can say of themselves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agents import TRAINABLE
from players.gallery import FOLDERS, Gallery, mind_of
from players.named import PLAYERS, make_player
from tictactoe_env.analysis import EXPECTED_CELLS
from tictactoe_env.certificate import FILE, load_policy, read, table_of
from tictactoe_env.errors import unknown_name
from tictactoe_env.games import MAX_NAME, Player
from tictactoe_env.opponents import NAMES
from tictactoe_env.policy import MinimaxPolicy, Policy, RandomPolicy, tabulate
from tictactoe_env.rules import Boards, Rules

PERSON = "human"


@dataclass(frozen=True)
class Seat:
    """Who plays a side. player: as the store of games writes it. policy: how it moves; None for a person. mind: what it is asked for thoughts."""

    player: Player
    policy: Policy | None = None
    mind: Policy | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.player.name

    def is_new(self, board: Boards) -> bool:
        """Whether it says that it has never met this unfinished board."""
        ask = getattr(self.mind, "is_new", None)
        return ask is not None and bool(ask(board[None])[0])


def seat_of(spec: str, rules: Rules) -> Seat:
    """Who is meant by `human`, `human:Ann`, a name such as `minimax` or `search-depth=4`, a run's path, or `trie`: its newest run.

    Raises ValueError, saying what there is, for anybody else and for who does not play on this board.
    """
    word, _, name = spec.partition(":")
    if word.lower() == PERSON:
        return Seat(Player("human", name or PERSON))
    path = path_of(spec, rules)
    if path is not None:
        return _saved(path, rules)
    if not _is_named(spec):
        raise unknown_name(
            "player",
            spec,
            {PERSON, *NAMES, "minimax-slip=0.1", *PLAYERS, *TRAINABLE, "the path of a saved run"},
        )
    policy = make_player(spec, rules)
    if isinstance(policy, (MinimaxPolicy, RandomPolicy)) and rules.cells <= EXPECTED_CELLS:
        policy = tabulate(policy, rules)
    return Seat(Player("agent", spec), policy, policy)


def path_of(spec: str, rules: Rules | None = None) -> Path | None:
    """Where the run or certificate lies that is meant; None for a name that needs none. ValueError if it is not there.

    The name of an agent that has to be trained means its newest run, of those on the board `rules` if there are such.
    """
    path = Path(spec)
    if spec in NAMES or spec in PLAYERS or spec.partition(":")[0].lower() == PERSON:
        return None
    if path.exists():
        return path.parent if path.name == FILE else path
    if _is_named(spec):
        return None
    if spec in TRAINABLE:
        runs = [
            entry
            for entry in Gallery().entries()
            if entry.agent == spec and entry.path is not None and not entry.broken
        ]
        places = {
            entry.path: entry.rules in (rules, None) for entry in runs if entry.path is not None
        }
        if not places:
            raise ValueError(
                f"no run of {spec} in {' or '.join(f'{folder}/' for folder in FOLDERS)}: train one with `python train.py {spec}`"
            )
        newest = max(places, key=lambda place: (places[place], place.stat().st_mtime))
        return newest.parent if newest.name == FILE else newest
    if "/" in spec:
        raise ValueError(f"there is no saved run or certificate at {spec!r}")
    return None


def _is_named(spec: str) -> bool:
    """Whether this is, with options, the name of a player that needs no training."""
    return spec.startswith(NAMES) or re.split("-(?=[a-z_]+=)", spec)[0] in PLAYERS


def board_of(specs: Iterable[str]) -> Rules | None:
    """The board of the first saved run among them; None if there is none."""
    for path in map(path_of, specs):
        if path is not None:
            return table_of(read(path)).rules
    return None


def _saved(path: Path, rules: Rules) -> Seat:
    table = load_policy(path, rules)
    file = path / FILE if path.is_dir() else path
    name = path.as_posix()[-MAX_NAME:]
    return Seat(
        Player("run", name, hashlib.sha256(file.read_bytes()).hexdigest()),
        table,
        mind_of(path, read(path).get("agent"), table),
    )
