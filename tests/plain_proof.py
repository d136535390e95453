"""A certificate recomputed in plain Python, by code that shares nothing with the package.

    recomputed(content)     # the results of the certificate's moves, exact, as JSON values
    check(content)          # raises Refused unless the certificate states these, and its digest

A board is its text, "X../.O./...", and a place is an index into this text. The positions that a
player can meet are found by recursion with a dictionary as memo. Results are exact: integers, or
Fractions where a player draws its moves. Nothing here is fast on purpose; 200,000 decisions take
some seconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

NEAR = Fraction(1, 10**12)  # how far a stated float may be from the exact number
Moves = dict[int, Any]  # the probability of each place
Decide = Callable[[str], Moves]


class Refused(Exception):
    """The certificate does not state what its moves do."""


# --- the rules ------------------------------------------------------------------------------------


class Game:
    """The rules of a board of rows x cols cells with k in a row."""

    def __init__(self, rows: int, cols: int, k: int):
        self.rows, self.cols, self.k = rows, cols, k
        self.cells = rows * cols
        self.empty = "/".join(["." * cols] * rows)
        self.place = {
            f"{chr(ord('a') + col)}{row + 1}": row * (cols + 1) + col
            for row in range(rows)
            for col in range(cols)
        }
        self.lines: dict[int, list[list[int]]] = {place: [] for place in self.place.values()}
        for row in range(rows):
            for col in range(cols):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    steps = [(row + i * down, col + i * right) for i in range(k)]
                    if all(0 <= r < rows and 0 <= c < cols for r, c in steps):
                        line = [r * (cols + 1) + c for r, c in steps]
                        for place in line:
                            self.lines[place].append(line)

    def free(self, board: str) -> list[int]:
        return [place for place, letter in enumerate(board) if letter == "."]

    def after(self, board: str, place: int) -> str:
        return f"{board[:place]}{self.mover(board)}{board[place + 1 :]}"

    def mover(self, board: str) -> str:
        return "X" if board.count("X") == board.count("O") else "O"

    def wins(self, board: str, place: int) -> bool:
        """Whether the mark on this place is in a line."""
        mark = board[place]
        return any(all(board[one] == mark for one in line) for line in self.lines[place])


# --- what a player meets on one side --------------------------------------------------------------


class Outlook(NamedTuple):
    """What can happen to a player from a position on.

    won, drawn, lost, illegal: against random play, in shares of `Meeting.weights`. nearest: moves
    until the nearest loss, or None. value, risk: win - loss, and the chance to lose, against the
    reply that is worst for it.
    """

    won: Any
    drawn: Any
    lost: Any
    illegal: Any
    nearest: int | None
    value: Any
    risk: Any


class Meeting:
    """All positions that a player can meet as one side, whatever the other side does.

    decide: its moves on a board. decisions: the boards on which it was asked.
    """

    def __init__(self, game: Game, side: str, decide: Decide):
        self.game, self.side, self.decide = game, side, decide
        self.decisions: dict[str, Moves] = {}
        self.known: dict[str, Outlook] = {}
        # The number of random replies from each ply to the last. A game that ends early counts for
        # all that could have followed, so the shares of a position are whole numbers.
        plies, other = range(game.cells + 1), "O" if side == "X" else "X"
        replies = [game.cells - ply if "XO"[ply % 2] == other else 1 for ply in plies]
        self.weights = [prod(replies[ply : game.cells]) for ply in plies]

    @cached_property
    def start(self) -> Outlook:
        return self.outlook(self.game.empty, 0)

    def outlook(self, board: str, ply: int) -> Outlook:
        if board not in self.known:
            own = "XO"[ply % 2] == self.side
            self.known[board] = self.own_turn(board, ply) if own else self.others_turn(board, ply)
        return self.known[board]

    def own_turn(self, board: str, ply: int) -> Outlook:
        moves = self.decisions[board] = self.decide(board)
        ends = [(chance, self.moved(board, place, ply)) for place, chance in moves.items()]
        if len(ends) == 1:
            (_, end), *_ = ends
            return end._replace(nearest=farther(end.nearest))
        won, drawn, lost, illegal, value, risk = (
            sum(chance * getattr(end, name) for chance, end in ends)
            for name in ("won", "drawn", "lost", "illegal", "value", "risk")
        )
        nearest = farther(soonest([end for _, end in ends]))
        return Outlook(won, drawn, lost, illegal, nearest, value, risk)

    def others_turn(self, board: str, ply: int) -> Outlook:
        ends = [self.moved(board, place, ply) for place in self.game.free(board)]
        won, drawn, lost, illegal = (sum(end[column] for end in ends) for column in range(4))
        value, risk = min(end.value for end in ends), max(end.risk for end in ends)
        return Outlook(won, drawn, lost, illegal, farther(soonest(ends)), value, risk)

    def moved(self, board: str, place: int, ply: int) -> Outlook:
        """What can happen after a move."""
        weight = self.weights[ply + 1]
        if board[place] != ".":
            return Outlook(0, 0, weight, weight, 0, -1, 1)
        after = self.game.after(board, place)
        if self.game.wins(after, place):
            if after[place] == self.side:
                return Outlook(weight, 0, 0, 0, None, 1, 0)
            return Outlook(0, 0, weight, 0, 0, -1, 1)
        if ply + 1 == self.game.cells:
            return Outlook(0, weight, 0, 0, None, 0, 0)
        return self.outlook(after, ply + 1)

    def loses(self, line: list[str]) -> bool:
        """Whether a line of moves, by their names, is a game that the player can lose."""
        board = self.game.empty
        for number, name in enumerate(line):
            place, own = self.game.place[name], self.game.mover(board) == self.side
            is_last = number == len(line) - 1
            if own and not self.decide(board).get(place):
                return False
            if board[place] != ".":
                return own and is_last
            board = self.game.after(board, place)
            if self.game.wins(board, place):
                return not own and is_last
        return False

    def against_random(self) -> dict[str, Fraction]:
        start, all_games = self.start, self.weights[0]
        names = {"win": start.won, "draw": start.drawn, "loss": start.lost}
        names["illegal"] = start.illegal
        return {name: Fraction(games) / all_games for name, games in names.items()}


def soonest(ends: list[Outlook]) -> int | None:
    return min((end.nearest for end in ends if end.nearest is not None), default=None)


def farther(nearest: int | None) -> int | None:
    return None if nearest is None else nearest + 1


# --- perfect play, on boards of up to 12 cells ----------------------------------------------------


class Perfect:
    """Perfect play, by recursion over all positions."""

    def __init__(self, game: Game):
        self.game = game
        self.values: dict[str, int] = {}  # for the side to move, of every unfinished position
        self.value(game.empty)

    def value(self, board: str) -> int:
        if board not in self.values:
            self.values[board] = max(self.worth(board, place) for place in self.game.free(board))
        return self.values[board]

    def worth(self, board: str, place: int) -> int:
        """The value of a move for the side that makes it."""
        after = self.game.after(board, place)
        if self.game.wins(after, place):
            return 1
        return -self.value(after) if "." in after else 0

    def best(self, board: str) -> list[int]:
        value = self.value(board)
        return [place for place in self.game.free(board) if self.worth(board, place) == value]

    def limit(self, side: str) -> Fraction | None:
        """The most games that a player which never loses can win against random play."""
        if self.value(self.game.empty) * (1 if side == "X" else -1) < 0:
            return None
        known: dict[str, Fraction] = {}

        def wins(board: str) -> Fraction:
            if board not in known:
                own = self.game.mover(board) == side
                free = self.game.free(board)
                if own:
                    known[board] = max(
                        after(board, one) for one in free if self.worth(board, one) >= 0
                    )
                else:
                    known[board] = sum(after(board, one) for one in free) / Fraction(len(free))
            return known[board]

        def after(board: str, place: int) -> Fraction:
            then = self.game.after(board, place)
            if self.game.wins(then, place):
                return Fraction(then[place] == side)
            return wins(then) if "." in then else Fraction(0)

        return wins(self.game.empty)

    def against(self, side: str, decide: Decide) -> dict[str, Fraction]:
        """The exact result of a player as `side` against perfect play with random ties."""
        known: dict[str, tuple[Any, ...]] = {}

        def result(board: str) -> tuple[Any, ...]:
            if board not in known:
                if self.game.mover(board) == side:
                    moves = decide(board)
                else:
                    best = self.best(board)
                    moves = dict.fromkeys(best, Fraction(1, len(best)))
                ends = [
                    [chance * one for one in after(board, place)] for place, chance in moves.items()
                ]
                known[board] = tuple(map(sum, zip(*ends, strict=True)))
            return known[board]

        def after(board: str, place: int) -> tuple[Any, ...]:
            if board[place] != ".":
                return 0, 0, 1, 1
            then = self.game.after(board, place)
            if self.game.wins(then, place):
                return (1, 0, 0, 0) if then[place] == side else (0, 0, 1, 0)
            return result(then) if "." in then else (0, 1, 0, 0)

        return dict(zip(("win", "draw", "loss", "illegal"), result(self.game.empty), strict=True))


# --- certificates of all positions ----------------------------------------------------------------


def game_of(content: Mapping[str, Any]) -> Game:
    return Game(*(content["board"][name] for name in ("rows", "cols", "k")))


def table_of(content: Mapping[str, Any]) -> dict[str, Moves]:
    """The player's moves on each board of the certificate."""
    game = game_of(content)
    table = {}
    for board, move in content["moves"].items():
        chances = move if isinstance(move, Mapping) else {move: 1}
        unknown = set(chances) - set(game.place)
        if unknown or not all(0 <= chance <= 1 for chance in chances.values()):
            raise Refused(f"no moves of {board}: {move}")
        total = sum(map(Fraction, chances.values()))
        if abs(total - 1) > Fraction(1, 10**5):
            raise Refused(f"the moves of {board} have a probability of {float(total)}")
        table[board] = {
            game.place[name]: Fraction(one) / total for name, one in chances.items() if one
        }
    return table


def recomputed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Every result of a certificate, from its moves. Raises Refused for missing or unknown boards.

    `decisions` is the number of positions in which the player decides, by side; it is no entry of
    a certificate.
    """
    game, table = game_of(content), table_of(content)
    perfect = Perfect(game)
    if set(table) != set(perfect.values):
        raise Refused("the boards are not those on which a move can be made")
    meetings = {side: Meeting(game, side, table.__getitem__) for side in "XO"}
    sides = {side: side_results(one, perfect, content) for side, one in meetings.items()}
    met = {board for one in meetings.values() for board in one.decisions}
    share = {
        board: sum(table[board].get(place, 0) for place in perfect.best(board)) for board in table
    }
    return {
        "unbeatable": all(one["unbeatable"] for one in sides.values()),
        "optimal": all(one["optimal"] for one in sides.values()),
        "as_x": sides["X"],
        "as_o": sides["O"],
        "optimal_moves": {
            "everywhere": Fraction(sum(share.values())) / len(share),
            "reachable": Fraction(sum(share[board] for board in met)) / len(met),
        },
    }


def side_results(meeting: Meeting, perfect: Perfect, content: Mapping[str, Any]) -> dict[str, Any]:
    found, side = meeting.start, meeting.side
    random, limit = meeting.against_random(), perfect.limit(side)
    is_optimal = found.nearest is None and limit is not None and random["win"] >= limit - NEAR
    best = None if limit is None else {"win": limit, "draw": 1 - limit, "loss": 0, "illegal": 0}
    return {
        "unbeatable": found.nearest is None,
        "optimal": is_optimal,
        "losing_line": checked_line(meeting, content[f"as_{side.lower()}"].get("losing_line")),
        "worst_case_value": Fraction(found.value),
        "worst_case_loss": Fraction(found.risk),
        "vs_random": random,
        "vs_minimax": perfect.against(side, meeting.decide),
        "limit_vs_random": best,
    }


def checked_line(meeting: Meeting, stated: list[str] | None) -> list[str] | None:
    """The stated line. Refused unless it is a shortest game that the player can lose, or null."""
    nearest = meeting.start.nearest
    if (stated is None) != (nearest is None):
        raise Refused(f"as {meeting.side} the nearest loss takes {nearest} moves, not {stated}")
    if stated is not None and not (len(stated) == nearest and meeting.loses(stated)):
        raise Refused(f"as {meeting.side} the player does not lose by {stated} in {nearest} moves")
    return stated


# --- stated and recomputed ------------------------------------------------------------------------


def check(content: Mapping[str, Any]) -> dict[str, Any]:
    """The results, recomputed. Raises Refused unless the certificate states them and its digest."""
    text = json.dumps(content["moves"], sort_keys=True, separators=(",", ":"))
    if hashlib.sha256(text.encode()).hexdigest() != content["sha256_of_moves"]:
        raise Refused("the digest is not that of the moves")
    found = recomputed(content)
    for name, exact in found.items():
        compare(name, exact, content.get(name))
    return found


def compare(name: str, exact: Any, stated: Any) -> None:
    """Refused unless the stated value is the exact one, or a float next to it."""
    if isinstance(exact, dict) and isinstance(stated, Mapping):
        if set(exact) != set(stated):
            raise Refused(f"{name} has {sorted(stated)}, expected {sorted(exact)}")
        for part, value in exact.items():
            compare(f"{name}.{part}", value, stated[part])
        return
    if isinstance(exact, Fraction) or (isinstance(stated, float) and exact is not None):
        is_near = isinstance(stated, (int, float)) and abs(Fraction(stated) - exact) <= NEAR
    else:
        is_near = type(exact) is type(stated) and exact == stated
    if not is_near:
        shown = float(exact) if isinstance(exact, Fraction) else exact
        raise Refused(f"{name} is {shown}, the certificate states {stated}")
