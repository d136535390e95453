"""Games that a saved run has learned since its training, and files of games to learn from.

The games played with a run are in `learned.db` in its folder. It is a game store, so each game is
on the disk when `add` returns, and several programs may add games at the same time. The model and
the certificate of the run stay those of its training. The model that plays is the trained one with
these games added. `train.py --resume` takes them into the model, which then holds the number of the
last one; no game is ever removed from the file.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tictactoe_env.files import check_file
from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore, read_games
from tictactoe_env.rules import Rules

FILE = "learned.db"
LEFT_OUT = {  # games that were not played to their end
    "early": "drawn early",
    "illegal": "ended by an illegal move",
    "resigned": "resigned",
}
AGAIN = "learned before"


def reason_against(game: Game, rules: Rules) -> str | None:
    """Why nothing is learned from a game: it has no end, or is on another board; else None."""
    return LEFT_OUT.get(game.ended) if game.rules == rules else "on another board"


def since(folder: Path, number: int) -> Sequence[Game]:
    """The games after a number, oldest first. StoreError if the file is damaged."""
    if not os.path.lexists(folder / FILE):
        return []
    # Only a store that is open for writing waits for another process that is creating the file.
    with GameStore(folder / FILE, read_only=not os.access(folder, os.W_OK)) as store:
        last = store.list(1)
        count = (last[0].id or 0) - number if last else 0
        return store.list(count)[::-1] if count > 0 else []


def teach(
    learn: Callable[[Sequence[int]], None], games: Iterable[Game], rules: Rules
) -> Counter[str]:
    """Let a player learn games; the number of games "learned", and of those left out by reason."""
    counts: Counter[str] = Counter()
    for game in games:
        reason = reason_against(game, rules)
        if reason is None:
            learn(game.moves)
        counts[reason or "learned"] += 1
    return counts


def games_in(
    path: Path, rules: Rules, records: Collection[Mapping[str, Any]] = ()
) -> tuple[list[Game], int, dict[str, Any]]:
    """The games of a file, how many at its beginning were learned before, and its record.

    records: those of the files that were learned from. A file is known by its content, not by its
    name. A game store that has grown since is read from where it ended then.
    """
    try:
        check_file(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"learn_from must be a game store or a text file, there is no file {path}"
        ) from None
    ends = {(record.get("read"), record.get("sha256")) for record in records}
    games, known, digest = list(read_games(path, rules)), 0, hashlib.sha256()
    for number, game in enumerate(games, 1):
        digest.update(f"{game.text} {game.result} {game.ended} {game.rules}\n".encode())
        if (number, digest.hexdigest()) in ends:
            known = number
    return games, known, {"file": str(path), "read": len(games), "sha256": digest.hexdigest()}


def without_id(game: Game) -> Game:
    """The game as it is outside a store, to compare games of two stores."""
    return replace(game, id=None)
