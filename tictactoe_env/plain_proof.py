"""Check a certificate in plain Python: a second verifier, which shares no code with the package.

    python -m tictactoe_env.plain_proof runs/maskable_ppo-0/certificate.json

It's written from docs/certificates.md and tictactoe_env/certificates/FORMAT.md alone and needs
nothing but this file and Python: a copy of it runs anywhere. It recomputes every result and
compares it with the one in the certificate. What no program can verify (who made the agent, and
how) it doesn't read; only a name that holds the word "proven" is refused.

    content = read(path)                      # raises Refused if the file is no certificate
    meetings = check(content)                 # raises Refused if a result or the digest is wrong
    meetings["X"].start.nearest               # moves until the nearest loss, inf without one
    meetings["X"].result()["win"]             # against random play, a Fraction
    len(meetings["X"].decisions)              # positions in which the player decides

A position is one number: the page's number of X times 2**64, plus that of O. So the order of the
page is the order of numbers. Positions are found from the first ply to the last, and judged from
the last to the first.

Of formats 2 and 3 it reads at most 700,000 positions, of both sides together, unless another limit
is given by `--max-positions`. A file that states more is refused at once, and a file that leads to
more than it states is refused where it does. So many take about ten seconds and 300 MB; if the
player draws its moves, up to twice as much.
"""

import argparse
import base64
import hashlib
import json
import os.path
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache, partial
from itertools import chain, islice
from math import fsum, inf, isfinite, lcm, prod
from operator import floordiv, mul, or_, truediv
from string import ascii_lowercase
from typing import Any, NamedTuple

NEAR = Fraction(1, 10**12)  # how far a stated float may be from the exact number
UNDERFLOW = Fraction(1, 10**300)  # products of floats may be 0 below it
NAMES = ("win", "draw", "loss", "illegal")  # of a result
UNREAD = ("agent", "seed", "config", "training", "versions")  # nobody can verify them
READ = ("format", "board", "moves", "sha256_of_moves")
OF_LINES = (*UNREAD, *READ, "sides", "canonical")
GIVEN = {1: (*UNREAD, *READ), 2: OF_LINES, 3: OF_LINES}  # beside the results, by format
ALL_POSITIONS = 12  # cells of the largest board of format 1
MOST_BITS = 64  # of a board: rows * (cols + 1)
MOST_POSITIONS = 700_000  # of formats 2 and 3, of both sides together
MOST_BYTES = 32 << 20  # of a file, and of the moves of format 2 when decompressed
MOST_SIGNS = 4_000_000  # of a file and of the moves in it: see `signs`
TOO_MANY_SIGNS = "there are more than {:,} commas, quotes and brackets"
XZ_MEMORY = 100 << 20  # bytes that reading the moves of format 3 may take
ONE = 2.0**1000  # chances that are floats are numbers of 1 / ONE, and so reach down to 1e-600
TAKEN, LINE, FULL = -1, -2, -3  # how a move ends the game; positions are numbers from 0
ENDS = (TAKEN, LINE, FULL)
WORTHS = {LINE: 1, FULL: 0}  # of ends, for the side that makes the move
# What is raised where a value has another form than the one that is described.
WRONG_FORM = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
Moves = Mapping[int, float]  # the probability of each cell that is chosen, from 0 row by row
Decide = Callable[[Collection[int]], Iterable[Moves]]


class Refused(Exception):
    """The certificate does not state what its moves do."""


def need(is_right: Any, text: str) -> None:
    """Refuse the certificate with this text unless it is right."""
    if not is_right:
        raise Refused(text)


# --- the rules ------------------------------------------------------------------------------------


class Mark(NamedTuple):
    """A mark of one side on one cell, as a number.

    images: under the symmetries of the board, itself first. cell: the marks of both sides on this
    cell. below: with gravity those on the cell below, of which there must be one, else 0. lines:
    the lines of this side through it.
    """

    images: list[int]
    cell: int
    below: int
    lines: list[int]


class Game:
    """The rules of a board of rows x cols cells with k in a row.

    is_canonical: symmetric positions are one. gravity: a mark needs another one below it, or the
    lowest row.
    """

    def __init__(
        self, rows: int, cols: int, k: int, is_canonical: bool = False, gravity: bool = False
    ):
        self.cols = cols
        self.gravity = gravity
        self.cells = rows * cols
        where = [(row, col) for row in range(rows) for col in range(cols)]
        letters = [*ascii_lowercase, *(a + b for a in ascii_lowercase for b in ascii_lowercase)]
        self.cell = {f"{letters[col]}{row + 1}": cell for cell, (row, col) in enumerate(where)}
        bits = {(row, col): 1 << row * (cols + 1) + col for row, col in where}
        lines = []
        for row, col in where:
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + down * step, col + right * step) for step in range(k)]
                if set(line) <= set(where):
                    lines.append(sum(bits[one] for one in line))
        both = [bit << 64 | bit for bit in bits.values()]
        below = both[cols:] + [0] * cols if gravity else [0] * self.cells
        images = symmetries(rows, cols, 1 if gravity else 4)
        if not is_canonical:
            images = images[:1]
        self.marks: dict[str, list[Mark]] = {}
        for side, shift in (("X", 64), ("O", 0)):
            self.marks[side] = [
                Mark(
                    [bits[where[image[cell]]] << shift for image in images],
                    both[cell],
                    below[cell],
                    [line << shift for line in lines if line & bit],
                )
                for cell, bit in enumerate(bits.values())
            ]
        self.images_of_marks = [
            (mark.images[0], mark.images) for marks in self.marks.values() for mark in marks
        ]
        self.values: dict[int, int] = {}  # of unfinished positions, as soon as they are asked for

    def text(self, position: int) -> str:
        """The text of a position, such as "X../.O./..."."""
        letters = ["."] * self.cells
        for side, marks in self.marks.items():
            for cell, mark in enumerate(marks):
                if position & mark.images[0]:
                    letters[cell] = side
        rows = range(0, self.cells, self.cols)
        return "/".join("".join(letters[start : start + self.cols]) for start in rows)

    def free(self, position: int) -> list[int]:
        """The cells of the legal moves."""
        return [cell for cell, mark in enumerate(self.marks["X"]) if is_legal(position, mark)]

    def cell_of(self, position: int, move: int) -> int:
        """The cell that a byte of format 3 stands for."""
        if not self.gravity:
            need(move < self.cells, f"no cell: {move}")
            return move
        need(move < self.cols, f"no column: {move}")
        column = range(move, self.cells, self.cols)  # from the top
        free = [cell for cell in column if not position & self.marks["X"][cell].cell]
        return max(free, default=move)

    def replies(self, ply: int) -> int:
        """A number that every number of legal moves after so many moves divides."""
        return lcm(*range(1, self.cols + 1)) if self.gravity else self.cells - ply

    def images(self, position: int) -> list[int]:
        """A position under the symmetries of the board, as it is first."""
        marks = [images for mark, images in self.images_of_marks if position & mark]
        if not marks or len(marks[0]) == 1:
            return [position] * len(self.marks["X"][0].images)
        return list(map(sum, zip(*marks, strict=True)))

    def after(self, position: int, cells: Iterable[int]) -> list[int]:
        """What follows each move: a position, or TAKEN, LINE or FULL, which end the game.

        Of symmetric positions it's the first by number.
        """
        ply = position.bit_count()
        images = self.images(position)
        marks = self.marks["XO"[ply % 2]]
        found = []
        for cell in cells:
            mark = marks[cell]
            end = self.end(position, mark)
            found.append(min(map(or_, images, mark.images)) if end is None else end)
        return found

    def end(self, position: int, mark: Mark) -> int | None:
        """How a mark ends the game, or None."""
        if not is_legal(position, mark):
            return TAKEN
        marked = position | mark.images[0]
        for line in mark.lines:
            if marked & line == line:
                return LINE
        return FULL if marked.bit_count() == self.cells else None

    # Perfect play, on boards of up to 12 cells.

    def value(self, position: int) -> int:
        """The value of an unfinished position for the side to move."""
        if position not in self.values:
            self.values[position] = max(self.worths(position).values())
        return self.values[position]

    def worths(self, position: int) -> dict[int, int]:
        """The value of each legal move for the side that makes it."""
        cells = self.free(position)
        after = self.after(position, cells)
        worths = [WORTHS[one] if one in WORTHS else -self.value(one) for one in after]
        return dict(zip(cells, worths, strict=True))

    def best(self, position: int) -> list[int]:
        """The legal moves that keep the value of a position."""
        worths = self.worths(position)
        return [cell for cell, worth in worths.items() if worth == max(worths.values())]

    def most_wins(self, side: str) -> dict[int, Fraction]:
        """The largest chance to win against random moves of a player that never loses.

        By what follows a move; without the empty board if every player can lose.
        """
        found = {LINE: Fraction(1), FULL: Fraction(0)}

        def wins(position: int) -> Fraction:
            if position in found:
                return found[position]
            if "XO"[position.bit_count() % 2] == side:
                safe = [cell for cell, worth in self.worths(position).items() if worth >= 0]
                found[position] = max(map(wins, self.after(position, safe)))
            else:
                chances = [wins(one) for one in self.after(position, self.free(position))]
                found[position] = sum(chances, Fraction()) / len(chances)
            return found[position]

        values = {"X": self.value(0), "O": -self.value(0)}
        if values[side] >= 0:
            wins(0)
        return found


def is_legal(position: int, mark: Mark) -> bool:
    """True if the cell of a mark is free, and with gravity the cell below it taken."""
    return not position & mark.cell and (not mark.below or bool(position & mark.below))


def symmetries(rows: int, cols: int, turns: int) -> list[list[int]]:
    """The cells in the order of each turn and mirror image of a board, as they are first."""
    found: list[list[int]] = []
    board = [[*range(row * cols, row * cols + cols)] for row in range(rows)]
    for _ in range(turns):
        for image in (board, [row[::-1] for row in board]):
            cells = [*chain.from_iterable(image)]
            if len(image) == rows and cells not in found:
                found.append(cells)
        board = [[*column] for column in zip(*board[::-1], strict=True)]  # a quarter turn
    return found


# --- what a player meets on one side --------------------------------------------------------------


class Outlook(NamedTuple):
    """The future of a player from a position on.

    nearest: moves until the nearest loss, inf without one. worst, risk: the largest loss - win, and
    the largest loss, that any replies bring about. win, draw, loss, illegal: against replies that
    are drawn; illegal is the part of loss by moves on taken cells.
    """

    nearest: float
    worst: Any
    risk: Any
    win: Any
    draw: Any
    loss: Any
    illegal: Any


class Meeting:
    """All positions that a player can meet as one side, whatever the other side does.

    decide: its moves in the positions of a ply, in their order. most: positions; Refused if there
    are more. plies: the positions of each ply, with what can follow. decisions: those in which the
    player moves. ends: whether the player moves, and how that ends the game, of all that happens.
    start: the future from the empty board on, against random replies.
    """

    def __init__(self, game: Game, side: str, decide: Decide, most: float = inf):
        self.game = game
        self.side = side
        self.decide = decide
        self.plies: list[dict[int, list[int]]] = []
        self.decisions: dict[int, Moves] = {}
        self.ends: set[tuple[bool, int]] = set()
        positions = [0]
        while positions:
            positions = self.following(positions, most - self.positions)
        self.start = self.outlook()

    @property
    def positions(self) -> int:
        """The number of unfinished positions that the player can meet."""
        return sum(map(len, self.plies))

    @property
    def always_wins(self) -> bool:
        """True if every game ends with a line of the player."""
        return self.ends == {(True, LINE)}

    def moves_at(self, ply: int) -> bool:
        """True if the player moves after so many moves."""
        return "XO"[ply % 2] == self.side

    def following(self, positions: list[int], most: float) -> list[int]:
        """Add the positions of a ply. Returns those of the next; Refused if both exceed `most`."""
        own = self.moves_at(len(self.plies))
        if own:
            self.decisions.update(zip(positions, self.decide(positions), strict=True))
        found: dict[int, int] = {}  # one object for each position, which saves memory
        followed = {}
        for position in positions:
            cells = self.decisions[position] if own else self.game.free(position)
            after = self.game.after(position, cells)
            followed[position] = [found.setdefault(one, one) for one in after]
            if len(positions) + len(found) > most + len(ENDS):  # which may be found too
                raise Refused(f"as {self.side} the moves lead to more positions than are stated")
        self.plies.append(followed)
        self.ends |= {(own, end) for end in ENDS if end in found}
        return sorted(found.keys() - set(ENDS))

    def outlook(self, best: Callable[[int], list[int]] | None = None) -> Outlook:
        """The future from the empty board on.

        best: the cells of which the other side draws one; every free cell by default, and then the
        chances of a player that draws no moves are exact. Others are rounded as floats.
        """
        game = self.game
        if best or any(len(moves) > 1 for moves in self.decisions.values()):
            one = ONE
            divide = truediv
        else:  # all games as a number that every number of replies divides
            one = prod(game.replies(ply) for ply in range(game.cells) if not self.moves_at(ply))
            divide = floordiv
        won = Outlook(inf, -one, 0, one, 0, 0, 0)
        drawn = Outlook(inf, 0, 0, 0, one, 0, 0)
        lost = Outlook(0, one, one, 0, 0, one, 0)
        futures: dict[int, Outlook] = {}
        for ply in reversed(range(len(self.plies))):
            own = self.moves_at(ply)
            line = won if own else lost
            futures |= {TAKEN: lost._replace(illegal=one), LINE: line, FULL: drawn}
            before = {}
            for position, after in self.plies[ply].items():
                shares: Collection[float] = [1] * len(after)
                if own:
                    shares = self.decisions[position].values()
                elif best:
                    kept = best(position)
                    shares = [int(cell in kept) for cell in game.free(position)]
                ends = [futures[one] for one in after]
                before[position] = mean(ends, shares, own, divide)
            futures = before
        nearest, *chances = futures[0]
        return Outlook(nearest, *(Fraction(chance) / Fraction(one) for chance in chances))

    def result(self, best: Callable[[int], list[int]] | None = None) -> dict[str, Fraction]:
        """The chances to win, draw and lose, and to lose by an illegal move: see `outlook`."""
        outlook = self.outlook(best) if best else self.start
        return {name: getattr(outlook, name) for name in NAMES}

    def loses(self, line: list[str]) -> bool:
        """True if these moves, by the names of cells, are a possible game that the player loses.

        A move on a position that some symmetries leave as it is stands for its images under these.
        """
        game = self.game
        position = 0
        for ply, name in enumerate(line):
            cell = game.cell[name]
            own = self.moves_at(ply)
            marks = game.marks["XO"[ply % 2]]
            if own:
                images = game.images(position)
                known = min(images)
                chosen = {marks[one].images[0] for one in self.decisions[known]}
                turned = zip(images, marks[cell].images, strict=True)
                if not any(image == known and mark in chosen for image, mark in turned):
                    return False
            [end] = game.after(position, [cell])
            if end in ENDS:
                return ply + 1 == len(line) and end == (TAKEN if own else LINE)
            position |= marks[cell].images[0]
        return False


def mean(futures: list[Outlook], shares: Collection[float], own: bool, divide: Any) -> Outlook:
    """The future before one of several, which come in these shares, or which the other side picks.

    own: whether the player moves. divide: how to divide by the sum of the shares.
    """
    if len(futures) == 1:
        return futures[0]._replace(nearest=futures[0].nearest + 1)
    total = sum(shares)

    def drawn(values: Iterable[float]) -> float:
        return divide(sum(map(mul, shares, values)), total)

    nearest, worst, risk, *chances = zip(*futures, strict=True)
    against: Callable[[Iterable[float]], float] = drawn if own else max
    return Outlook(min(nearest) + 1, against(worst), against(risk), *map(drawn, chances))


# --- the file and its moves -----------------------------------------------------------------------


def read(path: str) -> Any:
    """The content of a file. Refused unless it is JSON and no larger than a certificate can be."""
    need(os.path.isfile(path), "there is no such file")  # a pipe might never end
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    need(len(data) <= MOST_BYTES, f"the file has more than {MOST_BYTES:,} bytes")
    return json_value(data)


def json_value(data: bytes) -> Any:
    """The value of a JSON text. Refused if it has too many, or a name twice in an object."""
    need(signs(data) <= MOST_SIGNS, TOO_MANY_SIGNS.format(MOST_SIGNS))
    try:
        return json.loads(data.decode(), object_pairs_hook=without_repeats)
    except (ValueError, RecursionError) as error:
        raise Refused(f"this is no JSON: {error}") from error


def signs(data: bytes) -> int:
    """The number of signs that make values of a JSON text: 4,000,000 make at most 400 MB."""
    return sum(map(data.count, (b",", b'"', b"[", b"{")))


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these names and values. Readers differ in which of two values they take."""
    found = dict(pairs)
    need(len(found) == len(pairs), f"a name is repeated in an object of {list(found)[:3]}")
    return found


def game_of(content: Mapping[str, Any]) -> Game:
    """The board of the certificate. Refused if it is none, or too large for the format."""
    board = content["board"]
    number = content["format"]
    sizes = {name: size for name, size in board.items() if name != "gravity"}
    are_sizes = all(type(size) is int and size > 0 for size in sizes.values())
    gravity = board.get("gravity", False)
    are_known = set(sizes) == {"rows", "cols", "k"} and type(gravity) is bool
    need(are_known and are_sizes, f"this is no board: {board}")
    rows, cols, k = sizes["rows"], sizes["cols"], sizes["k"]
    is_board = rows * (cols + 1) <= MOST_BITS and k <= max(rows, cols)
    is_small = number > 1 or rows * cols <= ALL_POSITIONS
    need(is_board and is_small, f"there is no such board, or it needs format 2: {board}")
    is_canonical = number > 1 and content["canonical"]
    need(type(is_canonical) is bool, "canonical is neither true nor false")
    return Game(rows, cols, k, is_canonical, gravity)


def meetings_of(content: Mapping[str, Any], most: int = MOST_POSITIONS) -> dict[str, Meeting]:
    """The meetings of each side of the certificate. Refused if its moves do not fit.

    most: positions of formats 2 and 3, of both sides together.
    """
    game = game_of(content)
    if content["format"] == 1:
        moves = content["moves"]
        text = json.dumps(moves, sort_keys=True, separators=(",", ":")).encode()
        check_digest(content, text)
        decide = partial(map, moves_everywhere(moves, game).__getitem__)
        return {side: Meeting(game, side, decide) for side in "XO"}
    sides = content["sides"]
    need(sides in (["X"], ["O"], ["X", "O"]), f"these are no sides: {sides}")
    stated = counts_of(content, "positions", 1)
    too_many = f"more than {most:,} positions, which this verifier does not read"
    need(sum(stated.values()) <= most, f"the certificate states {too_many}")
    if content["format"] == 2:
        plies = lines_of(content)
        return {side: meeting_on_lines(plies[side], game, side, stated[side]) for side in sides}
    left = bytes_of(content)
    return {side: meeting_of_bytes(left, game, side, stated[side]) for side in sides}


def counts_of(content: Mapping[str, Any], name: str, least: int) -> dict[str, int]:
    """A number of positions, at least so many, that is stated for each side."""
    found = {side: content[f"as_{side.lower()}"][name] for side in content["sides"]}
    are_counts = all(type(count) is int and count >= least for count in found.values())
    need(are_counts, f"these are no numbers of {name}: {[*found.values()]}")
    return found


def check_digest(content: Mapping[str, Any], text: bytes) -> None:
    """Refuse moves that are not those of the digest."""
    digest = hashlib.sha256(text).hexdigest()
    need(digest == content["sha256_of_moves"], "the digest is not that of the moves")


def lines_of(content: Mapping[str, Any]) -> Any:
    """Format 2: the moves of each side."""
    reader = zlib.decompressobj()
    text = reader.decompress(base64.b64decode(content["moves"], validate=True), MOST_BYTES)
    need(not reader.unconsumed_tail, f"the moves have more than {MOST_BYTES:,} bytes")
    need(reader.eof and not reader.unused_data, "the moves are cut, or bytes follow their end")
    check_digest(content, text)
    beside = json.dumps({**content, "moves": ""}).encode()
    need(signs(text) + signs(beside) <= MOST_SIGNS, TOO_MANY_SIGNS.format(MOST_SIGNS))
    moves: Any = json_value(text)
    need(
        list(moves) == content["sides"],
        f"there are moves of {list(moves)}, and results of {content['sides']}",
    )
    return moves


def bytes_of(content: Mapping[str, Any]) -> Iterator[int]:
    """Format 3: the bytes of all sides."""
    import lzma  # not every Python has it, and few certificates need it

    count = sum(counts_of(content, "decisions", 0).values())
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
    try:
        data = reader.decompress(base64.b85decode(content["moves"]), min(count, MOST_BYTES) + 1)
    except (EOFError, lzma.LZMAError) as error:
        raise Refused(f"the moves are no xz data: {error}") from error
    need(len(data) == count, f"there are {len(data):,} bytes or more, and {count:,} decisions")
    need(reader.eof and not reader.unused_data, "the moves are cut, or bytes follow their end")
    check_digest(content, data)
    return iter(data)


def moves_everywhere(moves: Mapping[str, Any], game: Game) -> dict[int, Moves]:
    """Format 1: the moves in all unfinished positions."""
    game.value(0)
    texts = {game.text(position): position for position in game.values}
    need(moves.keys() == texts.keys(), "the boards are not those of unfinished games")
    return {texts[text]: chances_of(move, str, game.cell) for text, move in moves.items()}


def meeting_on_lines(plies: Any, game: Game, side: str, stated: int) -> Meeting:
    """Format 2: the positions that can be met, by the moves in them, ply by ply."""
    need(type(plies) is list and all(type(ply) is list for ply in plies), "moves are no lists")
    cells = {str(cell): cell for cell in range(game.cells)}
    given: Iterator[list[Any]] = iter(plies)

    def decide(positions: Collection[int]) -> list[Moves]:
        moves = next(given, [])
        counts = f"{len(moves)} moves in {len(positions)} positions of a ply"
        need(len(moves) == len(positions), f"as {side} there are {counts}")
        return [chances_of(move, int, cells) for move in moves]

    meeting = Meeting(game, side, decide, stated)
    need(not list(given), f"as {side} plies have moves, but are never reached")
    return meeting


def meeting_of_bytes(left: Iterator[int], game: Game, side: str, stated: int) -> Meeting:
    """Format 3: the positions that can be met, by the next bytes that are left."""

    def decide(positions: Collection[int]) -> list[Moves]:
        moves = bytes(islice(left, len(positions)))
        need(len(moves) == len(positions), f"there are fewer decisions of {side} than positions")
        found = map(game.cell_of, positions, moves)
        return [surely(cell) for cell in found]

    return Meeting(game, side, decide, stated)


def chances_of(move: Any, kind: type, cells: Mapping[str, int]) -> Moves:
    """The probability of each cell. move: one cell, of this kind, or {name: probability}."""
    if type(move) is kind:
        need(str(move) in cells, f"no cell: {move}")
        return surely(cells[str(move)])
    is_move = isinstance(move, Mapping) and all(
        name in cells and is_number(chance) and 0 < chance <= 1 for name, chance in move.items()
    )
    need(is_move, f"no move: {move}")
    total = fsum(move.values())
    need(abs(total - 1) <= NEAR, f"the probabilities of a move sum to {total}")
    return {cells[name]: chance for name, chance in move.items()}


@cache
def surely(cell: int) -> Moves:
    """The move on one cell; one object for all positions."""
    return {cell: 1}


def is_number(value: Any) -> bool:
    """True for a finite number; true and false are none."""
    return type(value) in (int, float) and isfinite(value)


# --- the results ----------------------------------------------------------------------------------


def check(content: Mapping[str, Any], most: int = MOST_POSITIONS) -> dict[str, Meeting]:
    """The meetings by side. Refused unless the certificate states its results and its digest.

    most: positions of formats 2 and 3, of both sides together.
    """
    try:
        return checked(content, most)
    except (*WRONG_FORM, zlib.error) as error:
        raise Refused(f"this is not the form of a certificate: {error!r}") from error


def checked(content: Mapping[str, Any], most: int) -> dict[str, Meeting]:
    """The meetings by side. Some values of a wrong type raise what they raise in Python."""
    number = content["format"]
    need(type(number) is int and number in GIVEN, f"the format is {number}, expected 1, 2 or 3")
    named = str(content.get("agent")).lower()
    need("proven" not in named, f"a name must not speak of a proof: {content.get('agent')}")
    meetings = meetings_of(content, most)
    results = {f"as_{side.lower()}": side_results(one, content) for side, one in meetings.items()}
    further = all_results if number == 1 else line_results
    results |= further(meetings, results)
    entries = {name: content[name] for name in content if name not in GIVEN[number]}
    compare(results, entries, "")
    return meetings


def side_results(meeting: Meeting, content: Mapping[str, Any]) -> dict[str, Any]:
    """The results of one side in both formats. Its losing line may be any shortest one."""
    start = meeting.start
    line = content[f"as_{meeting.side.lower()}"]["losing_line"]
    never_loses = start.nearest == inf
    if line is not None or not never_loses:
        is_line = isinstance(line, list) and len(line) == start.nearest and meeting.loses(line)
        text = f"as {meeting.side} the nearest loss takes {start.nearest} moves"
        need(is_line, f"{text}, and the player does not lose so by {line}")
    return {
        "unbeatable": never_loses,
        "losing_line": line,
        "worst_case_value": -start.worst,
        "worst_case_loss": start.risk,
        "vs_random": meeting.result(),
    }


def all_results(meetings: Mapping[str, Meeting], sides: Mapping[str, Any]) -> dict[str, Any]:
    """Further results of format 1: against perfect play, and measured by it."""
    for meeting, found in zip(meetings.values(), sides.values(), strict=True):
        game = meeting.game
        most = game.most_wins(meeting.side)
        found["optimal"] = found["unbeatable"] and all(
            most[after] == most[position]
            for position, moves in meeting.decisions.items()
            for after in game.after(position, moves)
        )
        found["limit_vs_random"] = None
        if 0 in most:
            rest = (1 - most[0], Fraction(0), Fraction(0))
            found["limit_vs_random"] = dict(zip(NAMES, (most[0], *rest), strict=True))
        found["vs_minimax"] = meeting.result(game.best)
    both = {name: all(one[name] for one in sides.values()) for name in ("unbeatable", "optimal")}
    met = {position for meeting in meetings.values() for position in meeting.decisions}
    shares = {"everywhere": best_share(meeting, game.values), "reachable": best_share(meeting, met)}
    return {**both, "optimal_moves": shares}


def best_share(meeting: Meeting, positions: Collection[int]) -> Fraction:
    """The mean probability of moves that keep the value of these positions."""
    kept = []
    for position, moves in zip(positions, meeting.decide(positions), strict=True):
        best = meeting.game.best(position)
        share = fsum(chance for cell, chance in moves.items() if cell in best)
        kept.append(ONE * share / fsum(moves.values()))
    return Fraction(fsum(kept)) / Fraction(ONE) / len(kept)


def line_results(meetings: Mapping[str, Meeting], sides: Mapping[str, Any]) -> dict[str, Any]:
    """Further results of formats 2 and 3."""
    for meeting, found in zip(meetings.values(), sides.values(), strict=True):
        found["always_wins"] = meeting.always_wins
        found["positions"] = meeting.positions
        found["decisions"] = len(meeting.decisions)
    never_loses = all(found["unbeatable"] for found in sides.values())
    if never_loses and len(sides) == 1:
        return {"unbeatable": None}
    return {"unbeatable": never_loses}


def compare(exact: Any, stated: Any, name: str) -> None:
    """Refused unless the stated value is the exact one, or a float next to it."""
    if isinstance(exact, dict) and isinstance(stated, Mapping):
        unknown = set(stated) - set(exact)
        need(not unknown, f"{name or 'the certificate'} has unknown entries: {sorted(unknown)}")
        for part, value in exact.items():
            compare(value, stated.get(part, "nothing"), f"{name}.{part}".lstrip("."))
        return
    is_same = type(exact) is type(stated) and exact == stated
    if isinstance(exact, Fraction):
        is_same = is_near(exact, stated, name)
        exact = float(exact)
    need(is_same, f"{name} is {exact}, the certificate states {stated}")


def is_near(exact: Fraction, stated: Any, name: str) -> bool:
    """True if a stated value is the float of an exact number, as near as floats are.

    0 is stated of a chance for 0 only, or for what floats may take for 0.
    """
    if not is_number(stated) or abs(Fraction(stated) - exact) > NEAR:
        return False
    if "worst_case_value" in name or "limit_vs_random" in name:
        return True
    return exact < UNDERFLOW if stated == 0 else float(exact) > 0


# --- the command line -----------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Check the certificates in files and print what each proves. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tictactoe_env.plain_proof",
        description="Compute every result of certificates again from the moves in them, and print "
        "what they prove. The exit code is 0, or 1 if a certificate is refused.",
    )
    parser.add_argument("paths", nargs="+", metavar="CERTIFICATE", help="a certificate.json")
    parser.add_argument(
        "--proven",
        action="store_true",
        help="also ask whether the players can be beaten: the exit code is 0 if none can, as any "
        "side that its certificate states, 3 if one can, and 1 if a certificate is refused",
    )
    parser.add_argument(
        "--max-positions",
        type=int,
        default=MOST_POSITIONS,
        metavar="N",
        help="refuse a certificate of more positions, of both sides together (default: "
        "%(default)s)",
    )
    given = parser.parse_args(arguments)
    refused = False
    beaten = False
    for path in given.paths:
        try:
            meetings = check(read(path), given.max_positions)
        except (Refused, OSError, MemoryError) as refusal:
            reason = printable(str(refusal)) or "there is not enough memory"
            print(f"{printable(path)}: REFUSED: {reason:.300}")
            refused = True
            continue
        for side, meeting in meetings.items():
            text = "wins against everybody" if meeting.always_wins else "unbeatable"
            if meeting.start.nearest < inf:
                text = f"can be beaten in {meeting.start.nearest} moves"
                beaten = True
            print(f"{printable(path)}: as {side} {text}, {len(meeting.decisions):,} decisions")
    if refused:
        return 1
    return 3 if given.proven and beaten else 0


def printable(text: str) -> str:
    """A text on one line, without signs that a terminal obeys."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


if __name__ == "__main__":
    sys.exit(main())
