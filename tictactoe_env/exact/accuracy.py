"""The accuracy of a player's moves, by the exact values of the positions in its own games.

    found = accuracy_of(policy, Rules(6, 7, 4, gravity=True))
    print(found)                                # the verdict, and a table
    found.games["itself"].right["0-11"].share   # of its moves in the first twelve plies
    found.lost["X"]                             # the shortest game that it lost as X

It is for boards that can be solved, but are too large for a proof by reach. The games are sampled.
What is said of a move in them is exact, and a game that the player lost proves that it can be
beaten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.actions import checked_probs
from tictactoe_env.errors import whole_number
from tictactoe_env.exact.match import common_rules
from tictactoe_env.exact.positions import NO_CELL
from tictactoe_env.exact.proof import Progress
from tictactoe_env.exact.sampling import clustered_interval
from tictactoe_env.exact.solver import NO_SCORE, check_solvable, solve
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
    """A mean share of a player's probability over positions.

    interval: 95 %, over the games; None if all games are the same one. positions: how many
    different ones.
    """

    share: float
    interval: tuple[float, float] | None
    positions: int


@dataclass(frozen=True)
class GamesAccuracy:
    """The accuracy of a player in games of one kind. The shares are by plies, such as "0-11".

    games, different: how many were played, and how many different ones they are.
    right: the share of moves that keep the value of the position, over the positions in which a
    legal move does not; None if there is no such position.
    best: the share of moves with the best score, which win soonest, lose latest or keep the draw,
    over the positions in which a legal move has another one.
    decisive: the number of games in which a legal move of it would have been a mistake, one that is
    not right. wrong: the number of those in which it made one.
    first_mistake: the median ply, counted from 0, of the first mistake in these.
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
    def mistakes_text(self) -> str:
        """Its mistakes in words."""
        if not self.decisive:
            return "with nothing to lose"
        text = f"errs in {self.wrong} of {self.decisive}"
        return text if self.first_mistake is None else f"{text}, median ply {self.first_mistake}"


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
        found: dict[str, tuple[int, ...]] = {}
        for side in SIDES:
            lines = [one.lost[side] for one in self.games.values() if side in one.lost]
            if lines:
                found[side] = min(lines, key=len)
        return found

    @property
    def proven(self) -> dict[str, Proven]:
        """The verdict on each side as which it lost a game."""
        names = {side: game_text(line, self.rules).split() for side, line in self.lost.items()}
        return {side: Proven(False, losing_line=line) for side, line in names.items()}

    @property
    def verdict(self) -> str:
        """The verdict in words, with what is not proven, and the side that nobody can hold."""
        lost = self.lost
        words = [verdict(self.proven)]
        if lost:
            words += [f"as {side} not proven" for side in SIDES if side not in lost]
        empty = np.zeros((1, self.rules.cells), dtype=np.int8)
        value_x = int(solve(self.rules).board_scores(empty)[0])
        if value_x:
            words.append(f"everybody can be beaten as {'O' if value_x > 0 else 'X'}")
        return "; ".join(words)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON values."""
        games = {kind: asdict(one) for kind, one in self.games.items()}
        return {"verdict": self.verdict, "games": games}

    def __str__(self) -> str:
        """A table of at most 80 columns."""
        lines = [
            f"{'its moves, in %':16}{'right':>18}{'positions':>13}{'best':>18}{'positions':>13}"
        ]
        for kind, one in self.games.items():
            lines.append(
                f"{kind}: {one.games} games, {one.different} different, {one.mistakes_text}"
            )
            for plies in one.right:
                line = f"  plies {plies:6}"
                for share in (one.right[plies], one.best[plies]):
                    line += f"{share_text(share):>24}{share.positions if share else 0:7}"
                lines.append(line)
        return "\n".join(lines)


def share_text(found: Share | None) -> str:
    """A share in per cent with its interval, such as "91.3 (88.0 to 94.1)"; "-" without one."""
    if found is None:
        return "-"
    text = f"{100 * found.share:.1f}"
    if found.interval is not None:
        low, high = found.interval
        text += f" ({100 * low:.1f} to {100 * high:.1f})"
    return text


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
    """The accuracy of a policy in games of one of `KINDS`: see `accuracy_of`."""
    games = whole_number(games, "games", 1)
    check_solvable(rules)
    is_own = np.ones((games, rules.cells), dtype=bool)
    if kind == PERFECT:  # every other game as X
        is_own[::2, 1::2] = is_own[1::2, ::2] = False
    if kind == OPENINGS:
        is_own[:, :OPENING] = False
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    played = _play(kind, policy, rules, is_own, rng, progress)
    has_mistake = played.is_mistake.any(axis=1)
    first = np.sort(played.is_mistake.argmax(axis=1)[has_mistake])
    return GamesAccuracy(
        games,
        len(np.unique(played.moves, axis=0)),
        _by_phase(played.right, played),
        _by_phase(played.best, played),
        decisive=int((has_mistake | ~np.isnan(played.right).all(axis=1)).sum()),
        wrong=len(first),
        first_mistake=int(first[(len(first) - 1) // 2]) if len(first) else None,
        lost=_shortest_lost(played, is_own),
    )


class _Played(NamedTuple):
    """Games, by ply: (games, cells), but boards (games, cells, cells) and outcome_x (games,).

    boards: before each ply. moves: NO_CELL after the end. right, best: the policy's probability of
    such moves, NaN where it does not move or all moves are such. is_mistake: of the policy.
    """

    boards: Boards
    moves: NDArray[np.intp]
    right: NDArray[np.float64]
    best: NDArray[np.float64]
    is_mistake: NDArray[np.bool_]
    outcome_x: NDArray[np.int8]


def _play(
    kind: str,
    policy: Policy,
    rules: Rules,
    is_own: NDArray[np.bool_],
    rng: np.random.Generator,
    progress: Progress | None,
) -> _Played:
    """Play games, all at once. is_own: (games, cells), the plies in which the policy moves."""
    games = len(is_own)
    played = _Played(
        np.zeros((*is_own.shape, rules.cells), dtype=np.int8),
        np.full(is_own.shape, NO_CELL, dtype=np.intp),
        np.full(is_own.shape, np.nan),
        np.full(is_own.shape, np.nan),
        np.zeros(is_own.shape, dtype=bool),
        np.zeros(games, dtype=np.int8),
    )
    boards = np.zeros((games, rules.cells), dtype=np.int8)
    going = np.arange(games)  # the games that are not over
    positions = 0
    for ply in range(rules.cells):
        mark = 1 if ply % 2 == 0 else -1
        own = is_own[going, ply]
        now = boards[going]
        played.boards[going, ply] = now
        scores = solve(rules).move_scores(now)
        legal = scores != NO_SCORE
        values = np.where(legal, np.sign(scores), NO_SCORE)
        right, best = (known == known.max(axis=1, keepdims=True) for known in (values, scores))
        others = legal if kind == OPENINGS else best
        probs = others / others.sum(axis=1, keepdims=True)
        if own.any():
            asked = policy.probs(now[own])
            probs[own] = checked_probs(asked, (int(own.sum()), rules.cells), may_be_none=True)
        for kept, shares in ((right, played.right), (best, played.best)):
            has_choice = own & (legal & ~kept).any(axis=1)
            shares[going[has_choice], ply] = (probs * kept)[has_choice].sum(axis=1)
        cells = sample(probs, rng)  # `rules.cells`, which is no cell, where it makes no move
        is_move = cells < rules.cells
        cells[~is_move] = NO_CELL
        rows = np.arange(len(going))
        played.is_mistake[going, ply] = own & ~(is_move & right[rows, cells])
        played.moves[going, ply] = cells
        is_legal = is_move & legal[rows, cells]
        played.outcome_x[going[~is_legal]] = -mark
        going = going[is_legal]
        boards[going, cells[is_legal]] = mark
        results = rules.results(boards[going])
        played.outcome_x[going] = mark * OUTCOME_NUMBERS[results]  # 0 while a game goes on
        going = going[results == ONGOING]
        positions += int(own.sum())
        if progress is not None:
            progress(kind, ply, positions)
        if not len(going):
            break
    return played


def _by_phase(shares: NDArray[np.float64], played: _Played) -> dict[str, Share | None]:
    """The mean of shares (games, cells), where they are known, in each phase of the game."""
    cells = shares.shape[1]
    return {
        f"{plies.start}-{min(plies.stop, cells) - 1}": _mean(
            shares[:, plies.start : plies.stop],
            played.boards[:, plies.start : plies.stop],
            is_one_game=bool((played.moves == played.moves[0]).all()),
        )
        for plies in PHASES
        if plies.start < cells
    }


def _mean(shares: NDArray[np.float64], boards: Boards, is_one_game: bool) -> Share | None:
    """The mean of shares (games, plies), where they are known, with its interval."""
    is_known = ~np.isnan(shares)
    counts = is_known.sum(axis=1)
    sums = np.nansum(shares, axis=1)
    if not counts.any():
        return None
    interval = None if is_one_game else clustered_interval(sums[counts > 0], counts[counts > 0])
    positions = len(np.unique(boards[is_known], axis=0))
    return Share(float(sums.sum() / counts.sum()), interval, positions)


def _shortest_lost(played: _Played, is_own: NDArray[np.bool_]) -> dict[str, tuple[int, ...]]:
    """The shortest game that the policy lost as X and as O, having made all moves of that side."""
    found = {}
    lengths = (played.moves != NO_CELL).sum(axis=1)
    for first, side in enumerate(SIDES):
        is_lost = is_own[:, first::2].all(axis=1) & (played.outcome_x == -mark_of(side))
        if is_lost.any():
            shortest = np.where(is_lost, lengths, np.inf).argmin()
            found[side] = tuple(played.moves[shortest, : lengths[shortest]].tolist())
    return found
