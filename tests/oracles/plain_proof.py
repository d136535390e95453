"""A certificate recomputed in plain Python, by code that shares nothing with the package.

It is written from docs/PROOFS.md, which states the claims, and from docs/CERTIFICATE.md, which
describes the file.

    python tests/oracles/plain_proof.py runs/maskable_ppo-0/certificate.json

    content = read(path)                      # raises Refused if it is no certificate's file
    meetings = check(content)                 # raises Refused if a result or the digest is wrong
    meetings["X"].start.nearest               # moves until the nearest loss, None without one
    meetings["X"].against_random()["win"]     # an exact Fraction
    len(meetings["X"].decisions)              # positions in which the player decides

A board is its text, "X../.O./...", and a place is an index into this text. The positions that a
player can meet are found by recursion, with a dictionary of those that are known. Results are
whole numbers, or Fractions where a player draws its moves. It is written to be read; 200,000
decisions take some seconds.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from math import isfinite, prod
from typing import Any, NamedTuple

X_DIGITS, O_DIGITS = str.maketrans("X.O/", "1000"), str.maketrans("O.X/", "1000")
NEAR = Fraction(1, 10**12)  # how far a stated float may be from the exact number
UNDERFLOW = Fraction(1, 10**300)  # products of floats may be 0 below it
INFORMATION = ("agent", "seed", "config", "training", "versions")  # cannot be verified
GIVEN = ("format", "board", "moves", "sha256_of_moves")
ENTRIES = {1: GIVEN, 2: (*GIVEN, "sides", "canonical")}  # beside the results, by format
NUMBERS = ("steps", "seconds", "games", "entries")  # of a training, at least 0
POINTS = ("best_at", "first_unbeatable", "first_optimal")  # of a training, objects
ALL_POSITIONS = 12  # cells of the largest board of format 1
MOST_BITS = 64  # of a board: rows * (cols + 1)
MOST_NUMBER = 2**128  # above all whole numbers of the information
MOST_BYTES = 32 << 20  # of a file
MOST_TEXT = 128 << 20  # bytes of the moves of format 2, decompressed
MOST_SIGNS = 10_000_000  # commas, quotes, [ and { of a JSON text: then its values need below 1 GB
# What Python raises where a value has another type or name than the one that is described.
WRONG_FORM = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
Moves = dict[int, Any]  # the probability of each place
Decide = Callable[[str], Moves]


class Refused(Exception):
    """The certificate does not state what its moves do."""


# --- the file -------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> Any:
    """The content of a file. Refused unless it is JSON and no larger than a certificate can be."""
    if not os.path.isfile(path):  # a pipe might never end
        raise Refused("there is no such file")
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Refused(f"the file is larger than {MOST_BYTES >> 20} MB")
    return json_value(data)


def json_value(data: bytes) -> Any:
    """The value of a JSON text. Refused if it has too many, or a name twice in an object."""
    if sum(map(data.count, (b",", b'"', b"[", b"{"))) > MOST_SIGNS:
        raise Refused("there are too many values")
    try:
        return json.loads(data.decode(), object_pairs_hook=without_repeats)
    except (ValueError, RecursionError) as error:
        raise Refused(f"this is no JSON: {error}") from error


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these names and values. Readers differ in which of two values they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Refused(f"a name is repeated in an object of {list(found)[:3]}")
    return found


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

    @cached_property
    def symmetries(self) -> list[list[int]]:
        """The turns and mirror images of the board: where each letter of its text comes from."""
        grid = [
            [row * (self.cols + 1) + col for col in range(self.cols)] for row in range(self.rows)
        ]
        found = []
        for _ in range(4):
            grid = [list(column) for column in zip(*grid[::-1], strict=True)]  # a quarter turn
            for image in (grid, [row[::-1] for row in grid]):
                if len(image) == self.rows:
                    found.append([place for row in image for place in (*row, self.cols)][:-1])
        return found

    def canonical(self, board: str) -> str:
        """Of all images of a board the first in the order of `rank`."""
        images = ["".join([board[place] for place in image]) for image in self.symmetries]
        return min(images, key=self.rank)

    @staticmethod
    def rank(board: str) -> tuple[str, str]:
        """The order of positions: by X's marks as a binary number, then by O's.

        The last cell is the highest digit.
        """
        reverse = board[::-1]
        return reverse.translate(X_DIGITS), reverse.translate(O_DIGITS)

    @cached_property
    def perfect(self) -> Perfect:
        """Perfect play, for boards of up to 12 cells."""
        return Perfect(self)

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

    decide: its moves on a board. decisions: the boards on which it was asked. form: what is asked
    instead of a board, such as its canonical form.
    """

    def __init__(self, game: Game, side: str, decide: Decide, form: Callable[[str], str] = str):
        self.game, self.side, self.decide, self.form = game, side, decide, form
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
        return self.outlook(self.form(after), ply + 1)

    def loses(self, line: list[str]) -> bool:
        """Whether a line of moves, by their names, is a game that the player can lose."""
        board = self.game.empty
        for number, name in enumerate(line):
            place, own = self.game.place[name], self.game.mover(board) == self.side
            is_last = number == len(line) - 1
            if own and not self.can_move(board, place):
                return False
            if board[place] != ".":
                return own and is_last
            board = self.game.after(board, place)
            if self.game.wins(board, place):
                return not own and is_last
        return False

    def can_move(self, board: str, place: int) -> bool:
        """Whether the player can make a move, or one that leads to the same form."""
        asked = self.form(board)
        moves = [one for one, chance in self.decide(asked).items() if chance]
        if self.form is str:
            return place in moves
        taken = [board[place] != "."] + [asked[one] != "." for one in moves]
        if any(taken):
            return taken[0] and any(taken[1:])
        ends = [self.form(self.game.after(asked, one)) for one in moves]
        return self.form(self.game.after(board, place)) in ends

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
        """The exact result of a player as `side` against perfect play that picks at random."""
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

        names = ("win", "draw", "loss", "illegal")
        return dict(zip(names, map(Fraction, result(self.game.empty)), strict=True))


# --- the moves of a certificate -------------------------------------------------------------------


def game_of(content: Mapping[str, Any]) -> Game:
    """The board of the certificate. Refused if it is none, or too large for the format."""
    board = content["board"]
    are_sizes = all(type(size) is int and size > 0 for size in board.values())
    if set(board) != {"rows", "cols", "k"} or not are_sizes:
        raise Refused(f"a board has rows, cols and k, whole numbers above 0, not {board}")
    rows, cols, k = board["rows"], board["cols"], board["k"]
    if rows * (cols + 1) > MOST_BITS or k > max(rows, cols):
        raise Refused(f"there is no board of {rows}x{cols} with {k} in a row")
    if content["format"] == 1 and rows * cols > ALL_POSITIONS:
        raise Refused(f"a board of {rows}x{cols} has too many positions for format 1")
    return Game(rows, cols, k)


def meetings_of(content: Mapping[str, Any]) -> dict[str, Meeting]:
    """What the player meets as each side of the certificate. Refused if its moves do not fit."""
    game = game_of(content)
    if content["format"] == 1:
        table = all_moves(content["moves"], game)
        return {side: Meeting(game, side, table.__getitem__) for side in "XO"}
    if type(content["canonical"]) is not bool:
        raise Refused("canonical is neither true nor false")
    form = game.canonical if content["canonical"] else str
    moves, sides = json_value(text_of(content)), content["sides"]
    if list(moves) != sides or sides not in (["X"], ["O"], ["X", "O"]):
        raise Refused(f"there are moves of {list(moves)}, and results of {sides}")
    tables = {side: moves_on_lines(moves[side], game, side, form) for side in sides}
    return {side: Meeting(game, side, table.__getitem__, form) for side, table in tables.items()}


def text_of(content: Mapping[str, Any]) -> bytes:
    """The text of the moves, of which the certificate holds the digest."""
    if content["format"] == 1:
        return json.dumps(content["moves"], sort_keys=True, separators=(",", ":")).encode()
    reader = zlib.decompressobj()
    try:
        packed = base64.b64decode(content["moves"], validate=True)
        text = reader.decompress(packed, MOST_TEXT)
    except (zlib.error, ValueError) as error:
        raise Refused(f"the moves cannot be decompressed: {error}") from error
    if reader.unconsumed_tail:
        raise Refused(f"the moves are larger than {MOST_TEXT >> 20} MB")
    if not reader.eof or reader.unused_data:
        raise Refused("the moves are cut, or bytes follow after their end")
    return text


def all_moves(moves: Mapping[str, Any], game: Game) -> dict[str, Moves]:
    """Format 1: the moves on every unfinished board, by its text."""
    table = {board: chances_of(move, str, game.place) for board, move in moves.items()}
    if set(table) != set(game.perfect.values):
        raise Refused("the boards are not those on which a move can be made")
    return table


def moves_on_lines(
    plies: list[list[Any]], game: Game, side: str, form: Callable[[str], str]
) -> dict[str, Moves]:
    """Format 2: the moves in the positions that can be met, ply by ply, in the order of `rank`."""
    places = {str(cell): place for cell, place in enumerate(game.place.values())}
    table: dict[str, Moves] = {}
    boards, number = [game.empty], 0
    for ply in range(game.cells):
        following = set()
        own = "XO"[ply % 2] == side
        if own and boards:
            given = plies[number] if number < len(plies) else []
            if len(given) != len(boards):
                raise Refused(f"{len(given)} moves in {len(boards)} positions of ply {ply}")
            table |= {
                board: chances_of(move, int, places)
                for board, move in zip(boards, given, strict=True)
            }
            number += 1
        for board in boards:
            for place in table[board] if own else game.free(board):
                after = game.after(board, place) if board[place] == "." else ""
                if "." in after and not game.wins(after, place):
                    following.add(form(after))
        boards = sorted(following, key=game.rank)
    if number < len(plies):
        raise Refused(f"{len(plies) - number} plies have moves, but are never reached")
    return table


def chances_of(move: Any, kind: type, places: Mapping[str, int]) -> Moves:
    """The probability of each place. move: one place, of this kind, or {name: probability}."""
    chances = {str(move): 1} if type(move) is kind else move
    if not isinstance(chances, Mapping) or not all(
        name in places and is_number(chance) and 0 < chance <= 1 for name, chance in chances.items()
    ):
        raise Refused(f"no move: {move}")
    total = sum(map(Fraction, chances.values()))
    if abs(total - 1) > NEAR:
        raise Refused(f"the probabilities of a move sum to {float(total)}")
    return {places[name]: Fraction(one) / total for name, one in chances.items()}


# --- the results ----------------------------------------------------------------------------------


def check(content: Mapping[str, Any]) -> dict[str, Meeting]:
    """What the player meets. Refused unless the certificate states its results and its digest."""
    try:
        return checked(content)
    except WRONG_FORM as error:
        raise Refused(f"this is not the form of a certificate: {error!r}") from error


def checked(content: Mapping[str, Any]) -> dict[str, Meeting]:
    """What `check` returns. Some values of a wrong type raise what they raise in Python."""
    if type(content["format"]) is not int or content["format"] not in ENTRIES:
        raise Refused(f"the format is {content['format']}, expected 1 or 2")
    check_information(content)
    if hashlib.sha256(text_of(content)).hexdigest() != content["sha256_of_moves"]:
        raise Refused("the digest is not that of the moves")
    meetings = meetings_of(content)
    results = recomputed(content, meetings)
    unknown = set(content) - set(results) - set(INFORMATION) - set(ENTRIES[content["format"]])
    if unknown:
        raise Refused(f"there are unknown entries: {sorted(unknown)}")
    compare(results, content)
    return meetings


def check_information(content: Mapping[str, Any]) -> None:
    """Refused unless the entries that cannot be verified are safe to print."""
    seed, training = content["seed"], content.get("training", {})
    groups = [content["config"], training, content["versions"]]
    if not all(isinstance(one, Mapping) for one in groups):
        raise Refused("the configuration, the training or the versions are no objects")
    if not (is_words(content["agent"]) and is_words(training.get("preset", "none"))):
        raise Refused("the agent or the preset is no short printable words")
    if seed is not None and not (type(seed) is int and 0 <= seed < MOST_NUMBER):
        raise Refused("the seed is no number of at least 0")
    check_values(groups)
    if not all(isinstance(training.get(name, {}), Mapping) for name in POINTS):
        raise Refused(f"an entry of the training is no object: {', '.join(POINTS)}")
    check_numbers(training)


def check_values(groups: list[Any]) -> None:
    """Refused unless these values are as CERTIFICATE.md bounds them, and all values in them."""
    waiting, number = [(group, 0) for group in groups], 0
    while waiting:
        value, depth = waiting.pop()
        number += 1
        if number > 10_000 or depth > 20:
            raise Refused("the information has too many entries, or is nested too deeply")
        if isinstance(value, Mapping):
            if not all(map(is_words, value)):
                raise Refused("a name in the information is no words")
            waiting += [(part, depth + 1) for part in value.values()]
        elif isinstance(value, list):
            waiting += [(part, depth + 1) for part in value]
        elif isinstance(value, str):
            if not (value.isprintable() and len(value) <= 100_000):
                raise Refused("a text in the information is not printable, or too long")
        elif not (value is None or isinstance(value, bool) or is_number(value)):
            raise Refused("a number in the information is not finite, or too large")


def check_numbers(training: Mapping[str, Any]) -> None:
    """Refused if an amount in the training, or in an object in it, is below 0."""
    for name, value in training.items():
        if name in NUMBERS and not (is_number(value) and value >= 0):
            raise Refused(f"the {name} of the training are no number of at least 0")
        if isinstance(value, Mapping):
            check_numbers(value)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; true and false are none."""
    return (type(value) is int and abs(value) < MOST_NUMBER) or (
        type(value) is float and isfinite(value)
    )


def is_words(text: Any) -> bool:
    """Whether a text is printable words of at most 100 letters, with one space between them."""
    is_short = isinstance(text, str) and 0 < len(text) <= 100
    return is_short and text.isprintable() and text == " ".join(text.split())


def recomputed(content: Mapping[str, Any], meetings: Mapping[str, Meeting]) -> dict[str, Any]:
    """Every result of a certificate, from its moves."""
    results = {side: side_results(one, content) for side, one in meetings.items()}
    never_loses = all(one["unbeatable"] for one in results.values())
    found = {f"as_{side.lower()}": one for side, one in results.items()}
    if content["format"] == 2:
        known = never_loses if len(meetings) == 2 or not never_loses else None
        return {"unbeatable": known} | found
    perfect = meetings["X"].game.perfect
    for side, meeting in meetings.items():
        found[f"as_{side.lower()}"] |= against_perfect(meeting, perfect)
    optimal = all(one["optimal"] for one in found.values())
    found["optimal_moves"] = optimal_moves(meetings, perfect)
    return {"unbeatable": never_loses, "optimal": optimal} | found


def side_results(meeting: Meeting, content: Mapping[str, Any]) -> dict[str, Any]:
    """What both formats state, and the entries of format 2."""
    start = meeting.start
    found = {
        "unbeatable": start.nearest is None,
        "losing_line": checked_line(meeting, content[f"as_{meeting.side.lower()}"]["losing_line"]),
        "worst_case_value": Fraction(start.value),
        "worst_case_loss": Fraction(start.risk),
        "vs_random": meeting.against_random(),
    }
    if content["format"] == 2:
        found |= {
            "always_wins": start.value == 1,
            "positions": len(meeting.known),
            "decisions": len(meeting.decisions),
        }
    return found


def checked_line(meeting: Meeting, stated: list[str] | None) -> list[str] | None:
    """The stated line. Refused unless it is a shortest game that the player can lose, or null."""
    nearest = meeting.start.nearest
    if (stated is None) != (nearest is None):
        raise Refused(f"as {meeting.side} the nearest loss takes {nearest} moves, not {stated}")
    is_line = isinstance(stated, list) and len(stated) == nearest
    if stated is not None and not (is_line and meeting.loses(stated)):
        raise Refused(f"as {meeting.side} the player does not lose by {stated} in {nearest} moves")
    return stated


def against_perfect(meeting: Meeting, perfect: Perfect) -> dict[str, Any]:
    """Further results of format 1: against perfect play, and measured by it."""
    wins, limit = meeting.against_random()["win"], perfect.limit(meeting.side)
    never = {"loss": Fraction(0), "illegal": Fraction(0)}
    best = None if limit is None else {"win": limit, "draw": 1 - limit, **never}
    return {
        "optimal": meeting.start.nearest is None and wins == limit,
        "vs_minimax": perfect.against(meeting.side, meeting.decide),
        "limit_vs_random": best,
    }


def optimal_moves(meetings: Mapping[str, Meeting], perfect: Perfect) -> dict[str, Fraction]:
    """The mean probability of optimal moves, in all positions and in those that are met."""
    decide = meetings["X"].decide
    share = {
        board: sum(decide(board).get(place, 0) for place in perfect.best(board))
        for board in perfect.values
    }
    met = {board for one in meetings.values() for board in one.decisions}
    return {
        "everywhere": Fraction(sum(share.values())) / len(share),
        "reachable": Fraction(sum(share[board] for board in met)) / len(met),
    }


def compare(exact: Any, stated: Any, name: str = "the certificate") -> None:
    """Refused unless the stated value is the exact one, or a float next to it."""
    if isinstance(exact, dict) and isinstance(stated, Mapping):
        unknown = set(stated) - set(exact)
        if unknown and name != "the certificate":
            raise Refused(f"{name} has unknown entries: {sorted(unknown)}")
        for part, value in exact.items():
            compare(value, stated.get(part, "nothing"), part)
        return
    if isinstance(exact, Fraction):
        is_same = is_number(stated) and abs(Fraction(stated) - exact) <= NEAR
        # 0 is stated for 0 only, or for what is 0 in floating point; a value may cancel out.
        if name != "worst_case_value" and is_same and 0 in (exact, stated):
            is_same = stated == 0 and exact < UNDERFLOW
    else:
        is_same = type(exact) is type(stated) and exact == stated
    if not is_same:
        shown = float(exact) if isinstance(exact, Fraction) else exact
        raise Refused(f"{name} is {shown}, the certificate states {stated}")


# --- the command line -----------------------------------------------------------------------------


def main(paths: list[str]) -> int:
    """Check the certificates in these files and print what each proves; 1 if one is refused."""
    for path in paths:
        try:
            meetings = check(read(path))
        except (Refused, OSError) as refusal:
            # What is quoted from the file stays on one line, without signs that a terminal obeys.
            print(f"{path}: REFUSED: {ascii(str(refusal))[1:-1]:.300}")
            return 1
        for side, meeting in meetings.items():
            nearest, value = meeting.start.nearest, meeting.start.value
            proven = "wins against everybody" if value == 1 else "unbeatable"
            text = proven if nearest is None else f"can be beaten in {nearest} moves"
            print(f"{path}: as {side} {text}, {len(meeting.decisions):,} decisions")
    return 0


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python tests/oracles/plain_proof.py CERTIFICATE...")
    sys.exit(main(sys.argv[1:]))
