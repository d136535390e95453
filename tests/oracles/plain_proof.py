"""A certificate recomputed in plain Python, by code that shares nothing with the package.

It is written from docs/PROOFS.md, which states the claims, and from docs/CERTIFICATE.md, which
describes the file.

    python tests/oracles/plain_proof.py runs/maskable_ppo-0/certificate.json

    content = read(path)                      # raises Refused if it is no certificate's file
    meetings = check(content)                 # raises Refused if a result or the digest is wrong
    meetings["X"].start.nearest               # moves until the nearest loss, None without one
    meetings["X"].result()["win"]             # against random play, an exact Fraction
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
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from math import isfinite, prod
from string import ascii_letters, digits
from typing import Any, NamedTuple

X_DIGITS, O_DIGITS = str.maketrans("X.O/", "1000"), str.maketrans("O.X/", "1000")
NEAR = Fraction(1, 10**12)  # how far a stated float may be from the exact number
UNDERFLOW = Fraction(1, 10**300)  # products of floats may be 0 below it
PLAIN = set(ascii_letters + digits + "_.:=+ -")  # what a name may hold
NAMES = ("win", "draw", "loss", "illegal")  # of a result, in the order of Outlook
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


def need(is_right: Any, text: str) -> None:
    """Refuse the certificate with this text unless it is right."""
    if not is_right:
        raise Refused(text)


# --- the file -------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> Any:
    """The content of a file. Refused unless it is JSON and no larger than a certificate can be."""
    need(os.path.isfile(path), "there is no such file")  # a pipe might never end
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    need(len(data) <= MOST_BYTES, f"the file is larger than {MOST_BYTES >> 20} MB")
    return json_value(data)


def json_value(data: bytes) -> Any:
    """The value of a JSON text. Refused if it has too many, or a name twice in an object."""
    signs = sum(map(data.count, (b",", b'"', b"[", b"{")))
    need(signs <= MOST_SIGNS, "there are too many values")
    try:
        return json.loads(data.decode(), object_pairs_hook=without_repeats)
    except (ValueError, RecursionError) as error:
        raise Refused(f"this is no JSON: {error}") from error


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these names and values. Readers differ in which of two values they take."""
    found = dict(pairs)
    need(len(found) == len(pairs), f"a name is repeated in an object of {list(found)[:3]}")
    return found


# --- the rules ------------------------------------------------------------------------------------


class Game:
    """The rules of a board of rows x cols cells with k in a row."""

    def __init__(self, rows: int, cols: int, k: int):
        self.cells = rows * cols
        self.empty = "/".join(["." * cols] * rows)
        self.grid = [[row * (cols + 1) + col for col in range(cols)] for row in range(rows)]
        cells = list(product(range(rows), range(cols)))
        self.place = {f"{chr(ord('a') + col)}{row + 1}": self.grid[row][col] for row, col in cells}
        self.lines: dict[int, list[list[int]]] = {place: [] for place in self.place.values()}
        for (row, col), (down, right) in product(cells, ((0, 1), (1, 0), (1, 1), (1, -1))):
            steps = [(row + i * down, col + i * right) for i in range(k)]
            if all(step in cells for step in steps):
                line = [self.grid[r][c] for r, c in steps]
                for place in line:
                    self.lines[place].append(line)

    @cached_property
    def symmetries(self) -> list[list[int]]:
        """The turns and mirror images of the board: where each letter of its text comes from."""
        grid, end, found = self.grid, len(self.grid[0]), []
        for _ in range(4):
            grid = [list(column) for column in zip(*grid[::-1], strict=True)]  # a quarter turn
            for image in (grid, [row[::-1] for row in grid]):
                if len(image) == len(self.grid):
                    found.append([place for row in image for place in (*row, end)][:-1])
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
        """The board after a move. A mark that is already there becomes a small letter."""
        mark = self.mover(board) if board[place] == "." else board[place].lower()
        return f"{board[:place]}{mark}{board[place + 1 :]}"

    def mover(self, board: str) -> str:
        return "X" if board.count("X") == board.count("O") else "O"

    def wins(self, board: str, place: int) -> bool:
        """Whether the mark on this place is in a line."""
        mark = board[place]
        return any(all(board[one] == mark for one in line) for line in self.lines[place])


# --- what a player meets on one side --------------------------------------------------------------


class Outlook(NamedTuple):
    """What can happen to a player from a position on.

    won, drawn, lost, illegal: in shares of `Meeting.weights`. nearest: moves until the nearest
    loss, or None. value, risk: win - loss, and the chance to lose, against the worst replies.
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
    instead of a board, such as its canonical form. reply: the moves of the other side for which
    games are counted, in shares that sum to the number of free cells; random moves by default.
    """

    def __init__(
        self,
        game: Game,
        side: str,
        decide: Decide,
        form: Callable[[str], str] = str,
        reply: Decide | None = None,
    ):
        self.game, self.side, self.decide, self.form = game, side, decide, form
        self.reply = reply or (lambda board: dict.fromkeys(game.free(board), 1))
        self.decisions: dict[str, Moves] = {}
        self.known: dict[str, Outlook] = {}
        # The number of replies from each ply to the last. A game that ends early counts for all
        # that could have followed, so the shares of a position are whole numbers.
        plies = range(game.cells + 1)
        replies = [1 if "XO"[ply % 2] == side else game.cells - ply for ply in plies]
        self.weights = [prod(replies[ply : game.cells]) for ply in plies]

    @cached_property
    def start(self) -> Outlook:
        return self.outlook(self.game.empty, 0)

    def outlook(self, board: str, ply: int) -> Outlook:
        if board in self.known:
            return self.known[board]
        if "XO"[ply % 2] == self.side:
            shares = self.decisions[board] = self.decide(board)
            ends = {place: self.moved(board, place, ply) for place in shares}
            value = sum(share * ends[place].value for place, share in shares.items())
            risk = sum(share * ends[place].risk for place, share in shares.items())
        else:
            shares = self.reply(board)
            ends = {place: self.moved(board, place, ply) for place in self.game.free(board)}
            value = min(end.value for end in ends.values())
            risk = max(end.risk for end in ends.values())
        games = [
            sum([share * ends[place][column] for place, share in shares.items()])
            for column in range(len(NAMES))
        ]
        lost = [end.nearest + 1 for end in ends.values() if end.nearest is not None]
        self.known[board] = Outlook(*games, min(lost, default=None), value, risk)
        return self.known[board]

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
            is_last, is_illegal = number == len(line) - 1, board[place] != "."
            if own and not self.can_move(board, place):
                return False
            board = self.game.after(board, place)
            if is_illegal or self.game.wins(board, place):
                return is_last and own == is_illegal
        return False

    def can_move(self, board: str, place: int) -> bool:
        """Whether the player can make a move, or one that leads to the same form."""
        asked = self.form(board)
        ends = [self.form(self.game.after(asked, one)) for one in self.decide(asked)]
        return self.form(self.game.after(board, place)) in ends

    def result(self) -> dict[str, Fraction]:
        """The chances to win, draw and lose, and to lose by an illegal move."""
        chances = [Fraction(games) / self.weights[0] for games in self.start[: len(NAMES)]]
        return dict(zip(NAMES, chances, strict=True))


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

    def reply(self, board: str) -> Moves:
        """Each of the best moves alike, as a `Meeting` takes them."""
        best = self.best(board)
        return dict.fromkeys(best, Fraction(board.count("."), len(best)))

    def limit(self, side: str) -> Fraction | None:
        """The most games that a player which never loses can win against random play."""
        if self.value(self.game.empty) * (1 if side == "X" else -1) < 0:
            return None

        @cache
        def wins(board: str) -> Fraction:
            own = self.game.mover(board) == side
            ends = []
            for place in self.game.free(board):
                after = self.game.after(board, place)
                if self.game.wins(after, place):
                    ends.append(Fraction(own))
                elif not own or self.worth(board, place) >= 0:
                    ends.append(wins(after) if "." in after else Fraction(0))
            return max(ends) if own else sum(ends) / Fraction(len(ends))

        return wins(self.game.empty)


# --- the moves of a certificate -------------------------------------------------------------------


def game_of(content: Mapping[str, Any]) -> Game:
    """The board of the certificate. Refused if it is none, or too large for the format."""
    board = content["board"]
    are_sizes = all(type(size) is int and size > 0 for size in board.values())
    need(set(board) == {"rows", "cols", "k"} and are_sizes, f"this is no board: {board}")
    rows, cols, k = board["rows"], board["cols"], board["k"]
    is_board = rows * (cols + 1) <= MOST_BITS and k <= max(rows, cols)
    need(is_board, f"there is no board of {rows}x{cols} with {k} in a row")
    is_small = content["format"] == 2 or rows * cols <= ALL_POSITIONS
    need(is_small, f"a board of {rows}x{cols} has too many positions for format 1")
    return Game(rows, cols, k)


def meetings_of(content: Mapping[str, Any]) -> dict[str, Meeting]:
    """What the player meets as each side of the certificate. Refused if its moves do not fit."""
    game = game_of(content)
    if content["format"] == 1:
        table = all_moves(content["moves"], game)
        return {side: Meeting(game, side, table.__getitem__) for side in "XO"}
    need(type(content["canonical"]) is bool, "canonical is neither true nor false")
    form = game.canonical if content["canonical"] else str
    moves, sides = json_value(text_of(content)), content["sides"]
    is_of_sides = list(moves) == sides and sides in (["X"], ["O"], ["X", "O"])
    need(is_of_sides, f"there are moves of {list(moves)}, and results of {sides}")
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
    need(not reader.unconsumed_tail, f"the moves are larger than {MOST_TEXT >> 20} MB")
    is_whole = reader.eof and not reader.unused_data
    need(is_whole, "the moves are cut, or bytes follow after their end")
    return text


def all_moves(moves: Mapping[str, Any], game: Game) -> dict[str, Moves]:
    """Format 1: the moves on every unfinished board, by its text."""
    table = {board: chances_of(move, str, game.place) for board, move in moves.items()}
    is_whole = set(table) == set(game.perfect.values)
    need(is_whole, "the boards are not those on which a move can be made")
    return table


def moves_on_lines(
    plies: list[list[Any]], game: Game, side: str, form: Callable[[str], str]
) -> dict[str, Moves]:
    """Format 2: the moves in the positions that can be met, ply by ply, in the order of `rank`."""
    places = {str(cell): place for cell, place in enumerate(game.place.values())}
    table: dict[str, Moves] = {}
    boards, given = [game.empty], iter(plies)
    for ply in range(game.cells):
        own = "XO"[ply % 2] == side
        if own and boards:
            moves = [chances_of(move, int, places) for move in next(given, [])]
            is_whole = len(moves) == len(boards)
            need(is_whole, f"{len(moves)} moves in {len(boards)} positions of ply {ply}")
            table |= zip(boards, moves, strict=True)
        following = set()
        for board in boards:
            for place in table[board] if own else game.free(board):
                after = game.after(board, place)
                if board[place] == "." and "." in after and not game.wins(after, place):
                    following.add(form(after))
        boards = sorted(following, key=game.rank)
    need(not list(given), "plies have moves, but are never reached")
    return table


def chances_of(move: Any, kind: type, places: Mapping[str, int]) -> Moves:
    """The probability of each place. move: one place, of this kind, or {name: probability}."""
    chances = {str(move): 1} if type(move) is kind else move
    is_move = isinstance(chances, Mapping) and all(
        name in places and is_number(chance) and 0 < chance <= 1 for name, chance in chances.items()
    )
    need(is_move, f"no move: {move}")
    total = sum(map(Fraction, chances.values()))
    need(abs(total - 1) <= NEAR, f"the probabilities of a move sum to {float(total)}")
    if len(chances) == 1:
        return {places[name]: 1 for name in chances}  # faster than a fraction
    return {places[name]: Fraction(one) / total for name, one in chances.items()}


# --- the information, which cannot be verified ----------------------------------------------------


def check_information(content: Mapping[str, Any]) -> None:
    """Refused unless the entries that cannot be verified are safe to print."""
    seed, training = content["seed"], content.get("training", {})
    groups = [content["config"], training, content["versions"]]
    need(all(isinstance(one, Mapping) for one in groups), "a group of information is no object")
    are_names = is_name(content["agent"]) and is_name(training.get("preset", "none"))
    need(are_names, "the agent or the preset is no name")
    is_seed = seed is None or (type(seed) is int and 0 <= seed < MOST_NUMBER)
    need(is_seed, "the seed is no number of at least 0")
    are_points = all(isinstance(training.get(name, {}), Mapping) for name in POINTS)
    need(are_points, f"an entry of the training is no object: {', '.join(POINTS)}")
    for number, (value, depth) in enumerate(values_in(groups, 0)):
        is_small = number <= 10_000 and depth <= 21  # the list of groups is one of both
        need(is_small, "the information has too many entries, or is nested too deeply")
        check_value(value)
    check_numbers(training)


def values_in(value: Any, depth: int) -> Iterator[tuple[Any, int]]:
    """A JSON value and all values in it, with the number of objects and lists around each."""
    yield value, depth
    parts = value.values() if isinstance(value, Mapping) else value
    for part in parts if isinstance(value, (Mapping, list)) else ():
        yield from values_in(part, depth + 1)


def check_value(value: Any) -> None:
    """Refused unless a value is as CERTIFICATE.md bounds it, whatever is in it."""
    if isinstance(value, Mapping):
        need(all(map(is_name, value)), "a name in the information is none")
    elif isinstance(value, str):
        is_printable = value.isprintable() and len(value) <= 100_000
        need(is_printable, "a text in the information is not printable, or too long")
    elif not (value is None or isinstance(value, (bool, list))):
        need(is_number(value), "a number in the information is not finite, or too large")


def check_numbers(training: Mapping[str, Any]) -> None:
    """Refused if an amount in the training, or in an object in it, is below 0."""
    for value, _ in values_in(training, 0):
        for name in set(NUMBERS) & set(value) if isinstance(value, Mapping) else ():
            is_amount = is_number(value[name]) and value[name] >= 0
            need(is_amount, f"the {name} of the training are no number of at least 0")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; true and false are none."""
    return (type(value) is int and abs(value) < MOST_NUMBER) or (
        type(value) is float and isfinite(value)
    )


def is_name(text: Any) -> bool:
    """Whether a text is plain words of at most 100 letters, with one space between them."""
    is_short = isinstance(text, str) and 0 < len(text) <= 100
    return is_short and set(text) <= PLAIN and text == " ".join(text.split())


# --- the results ----------------------------------------------------------------------------------


def check(content: Mapping[str, Any]) -> dict[str, Meeting]:
    """What the player meets. Refused unless the certificate states its results and its digest."""
    try:
        return checked(content)
    except WRONG_FORM as error:
        raise Refused(f"this is not the form of a certificate: {error!r}") from error


def checked(content: Mapping[str, Any]) -> dict[str, Meeting]:
    """What `check` returns. Some values of a wrong type raise what they raise in Python."""
    number = content["format"]
    need(type(number) is int and number in ENTRIES, f"the format is {number}, expected 1 or 2")
    check_information(content)
    digest = hashlib.sha256(text_of(content)).hexdigest()
    need(digest == content["sha256_of_moves"], "the digest is not that of the moves")
    meetings = meetings_of(content)
    results = {f"as_{side.lower()}": side_results(one, content) for side, one in meetings.items()}
    results |= all_results(meetings, results) if number == 1 else line_results(meetings, results)
    unknown = set(content) - set(results) - set(INFORMATION) - set(ENTRIES[number])
    need(not unknown, f"there are unknown entries: {sorted(unknown)}")
    for name, value in results.items():
        compare(value, content.get(name, "nothing"), name)
    return meetings


def all_results(meetings: Mapping[str, Meeting], sides: Mapping[str, Any]) -> dict[str, Any]:
    """Further results of format 1: against perfect play, and measured by it."""
    game, decide = meetings["X"].game, meetings["X"].decide
    perfect = game.perfect
    for side, found in zip("XO", sides.values(), strict=True):
        limit = perfect.limit(side)
        found["optimal"] = found["unbeatable"] and found["vs_random"]["win"] == limit
        found["vs_minimax"] = Meeting(game, side, decide, reply=perfect.reply).result()
        best = limit is not None and (limit, 1 - limit, Fraction(0), Fraction(0))
        found["limit_vs_random"] = dict(zip(NAMES, best, strict=True)) if best else None
    share = {
        board: sum(decide(board).get(place, 0) for place in perfect.best(board))
        for board in perfect.values
    }
    met = {board for meeting in meetings.values() for board in meeting.decisions}
    shares = {
        "everywhere": Fraction(sum(share.values())) / len(share),
        "reachable": Fraction(sum(share[board] for board in met)) / len(met),
    }
    names = ("unbeatable", "optimal")
    return {name: all(found[name] for found in sides.values()) for name in names} | {
        "optimal_moves": shares
    }


def line_results(meetings: Mapping[str, Meeting], sides: Mapping[str, Any]) -> dict[str, Any]:
    """Further results of format 2."""
    for meeting, found in zip(meetings.values(), sides.values(), strict=True):
        found["always_wins"] = meeting.start.value == 1
        found["positions"] = len(meeting.known)
        found["decisions"] = len(meeting.decisions)
    never_loses = all(found["unbeatable"] for found in sides.values())
    return {"unbeatable": never_loses if len(sides) == 2 or not never_loses else None}


def side_results(meeting: Meeting, content: Mapping[str, Any]) -> dict[str, Any]:
    """What both formats state of one side. Its losing line may be any shortest one."""
    start, line = meeting.start, content[f"as_{meeting.side.lower()}"]["losing_line"]
    if line is not None or start.nearest is not None:
        is_line = isinstance(line, list) and len(line) == start.nearest and meeting.loses(line)
        text = f"as {meeting.side} the nearest loss takes {start.nearest} moves"
        need(is_line, f"{text}, and the player does not lose so by {line}")
    return {
        "unbeatable": start.nearest is None,
        "losing_line": line,
        "worst_case_value": Fraction(start.value),
        "worst_case_loss": Fraction(start.risk),
        "vs_random": meeting.result(),
    }


def compare(exact: Any, stated: Any, name: str) -> None:
    """Refused unless the stated value is the exact one, or a float next to it."""
    if isinstance(exact, dict) and isinstance(stated, Mapping):
        unknown = set(stated) - set(exact)
        need(not unknown, f"{name} has unknown entries: {sorted(unknown)}")
        for part, value in exact.items():
            compare(value, stated.get(part, "nothing"), part)
    elif isinstance(exact, Fraction):
        is_same = is_number(stated) and abs(Fraction(stated) - exact) <= NEAR
        # 0 is stated for 0 only, or for what is 0 in floating point; a value may cancel out.
        if name != "worst_case_value" and is_same and 0 in (exact, stated):
            is_same = stated == 0 and exact < UNDERFLOW
        need(is_same, f"{name} is {float(exact)}, the certificate states {stated}")
    else:
        is_same = type(exact) is type(stated) and exact == stated
        need(is_same, f"{name} is {exact}, the certificate states {stated}")


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
