"""The accuracy of a player's moves, by the exact values of the positions in its own games.

    found = accuracy_of(policy, Rules(6, 7, 4, gravity=True))
    print(found)        # a table
    found.verdict       # what its lost games prove
    found.games[ITSELF].right["0-11"].share     # of its moves in the first twelve plies

It is for boards that can be solved, but are too large for a proof by reach. The games are sampled.
What is said of a move in them is exact, and a game that the player lost proves that it can be
beaten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.actions import checked_probs
from tictactoe_env.errors import whole_number
from tictactoe_env.exact.match import common_rules
from tictactoe_env.exact.positions import NO_CELL
from tictactoe_env.exact.proof import Progress
from tictactoe_env.exact.sampling import clustered_interval
from tictactoe_env.exact.solver import NO_SCORE, solve
from tictactoe_env.exact.verdict import Proven, verdict
from tictactoe_env.notation import game_text
from tictactoe_env.policy import Model, Policy, as_policy, sample
from tictactoe_env.rules import ONGOING, OUTCOME_NUMBERS, SIDES, Boards, Rules, mark_of

PERFECT = "against perfect play"
ITSELF = "against itself"
OPENINGS = "after random openings"
KINDS = (PERFECT, ITSELF, OPENINGS)
OPENING = 4  # random plies
GAMES = 40  # of each kind
PHASES = (range(12), range(12, 24), range(24, 100))  # plies


@dataclass(frozen=True)
class Share:
    """A mean share of a player's probability over the positions that it met.

    interval: 95 %, over the games; None if all games are the same one. positions: how many
    different ones.
    """

    share: float
    interval: tuple[float, float] | None
    positions: int

    def __str__(self) -> str:
        """In per cent, such as "91.3 (88.0 to 94.1)"."""
        text = f"{100 * self.share:.1f}"
        if self.interval is not None:
            low, high = self.interval
            text += f" ({100 * low:.1f} to {100 * high:.1f})"
        return text


@dataclass(frozen=True)
class GamesAccuracy:
    """The accuracy of a player in games of one kind. The shares are by plies, such as "0-11".

    games, different: how many were played, and how many different ones they are.
    right: the share of moves that keep the value of the position, over the positions in which a
    legal move does not; None if there is no such position.
    best: the share of moves with the best score, which win soonest, lose latest or keep the draw,
    over the positions in which a legal move has another one.
    decisive: the number of games with a position in which a legal move is not right, or with a
    mistake, a move of the player that is not. wrong: the number of games with a mistake.
    first_mistake: the median ply, counted from 0, of the first mistake in these, the lower of two.
    lost: the cells of the shortest game that it lost as X and as O, of those in which it made all
    moves of that side. An illegal move, or none, is a mistake and loses.
    """

    games: int
    different: int
    right: Mapping[str, Share | None]
    best: Mapping[str, Share | None]
    decisive: int
    wrong: int
    first_mistake: int | None
    lost: Mapping[str, tuple[int, ...]]

    @property
    def text(self) -> str:
        """The games and the mistakes in words."""
        text = f"{self.games} games, {self.different} different, errs in {self.wrong} of "
        text += f"{self.decisive}"
        return text if self.first_mistake is None else f"{text}, median ply {self.first_mistake}"

    @property
    def rows(self) -> list[list[str]]:
        """Of each phase the plies, the share of right moves, its positions, and of best moves."""
        rows = []
        for plies in self.right:
            row = [plies]
            for one in (self.right[plies], self.best[plies]):
                row += [str(one), str(one.positions)] if one else ["-", "0"]
            rows.append(row)
        return rows


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a player in its games of each of `KINDS`.

    They are played against perfect play, which wins as soon and loses as late as it can, half of
    them as X; against itself; and against itself after four random moves.
    """

    rules: Rules
    games: Mapping[str, GamesAccuracy]

    @property
    def lost(self) -> dict[str, tuple[int, ...]]:
        """The shortest game that it lost as X and as O: each proves that it can be beaten."""
        lines = {
            side: [one.lost[side] for one in self.games.values() if side in one.lost]
            for side in SIDES
        }
        return {side: min(some, key=len) for side, some in lines.items() if some}

    @property
    def hopeless(self) -> str:
        """The side that loses against perfect play, whoever plays it; "" if there is none."""
        empty = np.zeros((1, self.rules.cells), dtype=np.int8)
        score = int(solve(self.rules).board_scores(empty)[0])
        return {0: "", 1: "O", -1: "X"}[np.sign(score)]

    @property
    def verdict(self) -> str:
        """The verdict in words, with what is not proven, and the side that nobody can hold."""
        names = {side: game_text(line, self.rules).split() for side, line in self.lost.items()}
        words = [verdict({side: Proven(False, losing_line=line) for side, line in names.items()})]
        known = {*names, self.hopeless}
        if names:
            words += [f"as {side} not proven" for side in SIDES if side not in known]
        if self.hopeless:
            words.append(f"everybody can be beaten as {self.hopeless}")
        return "; ".join(words)

    def to_json(self) -> dict[str, Any]:
        """The verdict and all numbers as JSON values."""
        games = {kind: asdict(one) for kind, one in self.games.items()}
        return {"verdict": self.verdict, "games": games}

    def __str__(self) -> str:
        """A table of at most 80 columns."""
        columns = "{:14}{:>22}{:>11}{:>22}{:>11}"
        lines = [columns.format("moves, in %", "right", "positions", "best", "positions")]
        for kind, one in self.games.items():
            lines.append(f"{kind}: {one.text}")
            lines += [columns.format(f"  plies {plies}", *row) for plies, *row in one.rows]
        return "\n".join(lines)


def accuracy_of(
    policy: Policy | Model,
    rules: Rules | None = None,
    games: int = GAMES,
    seed: int = 0,
    progress: Progress | None = None,
    symmetric: bool | None = None,
) -> Accuracy:
    """The accuracy of a policy's moves on a board that can be solved: see `solve`.

    games: of each kind. The same seed gives the same games. rules, symmetric: see `evaluate`.
    `progress(kind, ply, positions)` is called after each ply with the positions judged so far.
    Raises ValueError for a board that cannot be solved; for 6x7 it names what is missing.
    """
    rules = common_rules(rules, policy)
    player = as_policy(policy, rules, symmetric=symmetric)
    found = {kind: games_accuracy(kind, player, rules, games, seed, progress) for kind in KINDS}
    return Accuracy(rules, found)


def games_accuracy(
    kind: str,
    policy: Policy,
    rules: Rules,
    games: int = GAMES,
    seed: int = 0,
    progress: Progress | None = None,
) -> GamesAccuracy:
    """The accuracy of a policy in games of one of `KINDS`, which are all played at once."""
    shape = (whole_number(games, "games", 1), rules.cells)
    solution = solve(rules)
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    is_own = _own_plies(kind, shape)
    boards = np.zeros((rules.cells + 1, *shape), dtype=np.int8)  # before each ply
    moves = np.full(shape, NO_CELL, dtype=np.intp)
    right, best = np.full((2, *shape), np.nan)  # shares, where there is something to lose
    is_mistake = np.zeros(shape, dtype=bool)
    loser = np.zeros(games, dtype=np.int8)  # a mark
    going = np.arange(games)  # the games that are not over
    for ply in range(rules.cells):
        mark = 1 if ply % 2 == 0 else -1
        own = is_own[going, ply]
        now = boards[ply, going]
        scores = solution.move_scores(now)
        legal = scores != NO_SCORE
        values = np.where(legal, np.sign(scores), NO_SCORE)
        is_right, is_best = (one == one.max(axis=1, keepdims=True) for one in (values, scores))
        others = legal if kind == OPENINGS else is_best
        probs = others / others.sum(axis=1, keepdims=True)
        if own.any():
            asked = policy.probs(now[own])
            probs[own] = checked_probs(asked, (int(own.sum()), rules.cells), may_be_none=True)
        for kept, shares in ((is_right, right), (is_best, best)):
            has_choice = own & (legal & ~kept).any(axis=1)
            shares[going[has_choice], ply] = (probs * kept)[has_choice].sum(axis=1)
        cells = sample(probs, rng)  # `rules.cells`, which is no cell, where it makes no move
        cells[cells == rules.cells] = NO_CELL
        moves[going, ply] = cells
        rows = np.arange(len(going))
        is_mistake[going, ply] = own & ~((cells != NO_CELL) & is_right[rows, cells])
        is_legal = (cells != NO_CELL) & legal[rows, cells]
        loser[going[~is_legal]] = mark
        going = going[is_legal]
        boards[ply + 1] = boards[ply]
        boards[ply + 1, going, cells[is_legal]] = mark
        results = rules.results(boards[ply + 1, going])
        loser[going] = -mark * OUTCOME_NUMBERS[results]  # 0 while a game goes on
        going = going[results == ONGOING]
        if progress is not None:
            progress(kind, ply, int((is_own & (moves != NO_CELL)).sum()))
    has_mistake = is_mistake.any(axis=1)
    first = np.sort(is_mistake.argmax(axis=1)[has_mistake])
    different = len(np.unique(moves, axis=0))
    by_game = boards[:-1].swapaxes(0, 1)
    return GamesAccuracy(
        games,
        different,
        _by_phase(right, by_game, different),
        _by_phase(best, by_game, different),
        decisive=int((has_mistake | ~np.isnan(right).all(axis=1)).sum()),
        wrong=len(first),
        first_mistake=int(first[(len(first) - 1) // 2]) if len(first) else None,
        lost=_shortest_lost(moves, loser, is_own),
    )


def _own_plies(kind: str, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """The plies (games, cells) in which the player moves; it is X in every other game."""
    is_own = np.ones(shape, dtype=bool)
    if kind == PERFECT:
        is_own[::2, 1::2] = False
        is_own[1::2, ::2] = False
    if kind == OPENINGS:
        is_own[:, :OPENING] = False
    return is_own


def _by_phase(
    shares: NDArray[np.float64], boards: Boards, different: int
) -> dict[str, Share | None]:
    """The mean of shares (games, cells), where they are known, in each phase of the game."""
    found: dict[str, Share | None] = {}
    cells = shares.shape[1]
    for plies in PHASES:
        if plies.start >= cells:
            break
        part = shares[:, plies.start : plies.stop]
        known = ~np.isnan(part)
        has_some = known.any(axis=1)
        name = f"{plies.start}-{min(plies.stop, cells) - 1}"
        found[name] = None
        if has_some.any():
            sums = np.nansum(part[has_some], axis=1)
            counts = known[has_some].sum(axis=1)
            interval = clustered_interval(sums, counts) if different > 1 else None
            positions = len(np.unique(boards[:, plies.start : plies.stop][known], axis=0))
            found[name] = Share(float(sums.sum() / counts.sum()), interval, positions)
    return found


def _shortest_lost(
    moves: NDArray[np.intp], loser: NDArray[np.int8], is_own: NDArray[np.bool_]
) -> dict[str, tuple[int, ...]]:
    """The shortest game that the player lost as each side, having made all moves of it."""
    found = {}
    lengths = (moves != NO_CELL).sum(axis=1)
    for first, side in enumerate(SIDES):
        is_lost = (loser == mark_of(side)) & is_own[:, first::2].all(axis=1)
        if is_lost.any():
            shortest = np.where(is_lost, lengths, np.inf).argmin()
            found[side] = tuple(moves[shortest, : lengths[shortest]].tolist())
    return found
