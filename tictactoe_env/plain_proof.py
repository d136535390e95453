"""Check a certificate in plain Python: a second verifier, which shares no code with the package.

    python -m tictactoe_env.plain_proof runs/maskable_ppo-0/certificate.json

It's written from docs/certificates.md alone and needs nothing but this file and Python: a copy of
it runs anywhere. It recomputes every result and compares it with the one in the certificate. What
no program can verify (who made the agent, and how) it doesn't read.

    content = read(path)                      # raises Refused if the file is no certificate
    meetings = check(content)                 # raises Refused if a result or the digest is wrong
    meetings["X"].start.nearest               # moves until the nearest loss, None without one
    meetings["X"].result()["win"]             # against random play, an exact Fraction
    len(meetings["X"].decisions)              # positions in which the player decides

A board is its text, "X../.O./...", and a place is an index into this text. Positions are found by
recursion and kept in a dictionary. Results are whole numbers, or Fractions where a player draws
its moves. 200,000 decisions take a few seconds.
"""

import base64
import hashlib
import json
import os.path
import sys
import zlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from math import isfinite, prod
from typing import Any, NamedTuple

X_DIGITS, O_DIGITS = str.maketrans("X.O/", "1000"), str.maketrans("O.X/", "1000")
NEAR = Fraction(1, 10**12)  # how far a stated float may be from the exact number
UNDERFLOW = Fraction(1, 10**300)  # products of floats may be 0 below it
NAMES = ("win", "draw", "loss", "illegal")  # of a result, in the order of Outlook.games
UNREAD = ("agent", "seed", "config", "training", "versions")  # nobody can verify them
READ = ("format", "board", "moves", "sha256_of_moves")
GIVEN = {1: (*UNREAD, *READ), 2: (*UNREAD, *READ, "sides", "canonical")}  # beside the results
ALL_POSITIONS = 12  # cells of the largest board of format 1
MOST_BITS = 64  # of a board: rows * (cols + 1)
MOST_BYTES = 32 << 20  # of a file
MOST_TEXT = 128 << 20  # bytes of the moves of format 2, decompressed
MOST_SIGNS = 10_000_000  # commas, quotes, [ and { of a JSON text: its values need below 1 GB then
# What is raised where a value has another form than the one that is described.
WRONG_FORM = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
Moves = dict[int, Any]  # the probability of each place
Decide = Callable[[str], Moves]
Form = Callable[[str], str]


class Refused(Exception):
    """The certificate does not state what its moves do."""


def need(is_right: Any, text: str) -> None:
    """Refuse the certificate with this text unless it is right."""
    if not is_right:
        raise Refused(text)


# --- the rules ------------------------------------------------------------------------------------


class Game:
    """The rules of a board of rows x cols cells with k in a row."""

    def __init__(self, rows: int, cols: int, k: int):
        self.cells = rows * cols
        self.empty = "/".join(["." * cols] * rows)
        self.places = self.free(self.empty)
        names = [f"{chr(ord('a') + col)}{row + 1}" for row in range(rows) for col in range(cols)]
        self.place = dict(zip(names, self.places, strict=True))
        self.lines: dict[int, list[range]] = {place: [] for place in self.places}
        self.values: dict[str, int] = {}  # of every unfinished board, as soon as it is asked for
        for place in self.places:
            for step in (1, cols, cols + 1, cols + 2):  # right, down, and the two diagonals
                line = range(place, place + k * step, step)
                if set(line) <= set(self.places):  # else it leaves the board, or meets a "/"
                    for one in line:
                        self.lines[one].append(line)

    def free(self, board: str) -> list[int]:
        """The places of the legal moves."""
        return [place for place, letter in enumerate(board) if letter == "."]

    def mover(self, board: str) -> str:
        """The side to move."""
        return "X" if board.count("X") == board.count("O") else "O"

    def after(self, board: str, place: int) -> str:
        """The board after a move. A mark that is already there becomes a small letter."""
        mark = self.mover(board) if board[place] == "." else board[place].lower()
        return f"{board[:place]}{mark}{board[place + 1 :]}"

    def wins(self, board: str, place: int) -> bool:
        """True if the mark on this place is in a line."""
        mark = board[place]
        return any(all(board[one] == mark for one in line) for line in self.lines[place])

    def canonical(self, board: str) -> str:
        """The first of the turns and mirror images of a board, in the order of `rank`."""
        rows, images = board.split("/"), []
        for _ in range(4):
            rows = ["".join(column) for column in zip(*rows[::-1], strict=True)]  # a quarter turn
            images += ["/".join(rows), "/".join(rows[::-1])]
        of_the_board = [image for image in images if image.count("/") == board.count("/")]
        return min(of_the_board, key=self.rank)

    @staticmethod
    def rank(board: str) -> tuple[str, str]:
        """The order of positions: by X's marks as a binary number, then by O's.

        The last cell is the highest digit.
        """
        reverse = board[::-1]
        return reverse.translate(X_DIGITS), reverse.translate(O_DIGITS)

    # Perfect play, on boards of up to 12 cells.

    def value(self, board: str) -> int:
        """The value of an unfinished board for the side to move."""
        if board not in self.values:
            self.values[board] = max(self.worth(board, place) for place in self.free(board))
        return self.values[board]

    def worth(self, board: str, place: int) -> int:
        """The value of a move for the side that makes it."""
        after = self.after(board, place)
        if self.wins(after, place):
            return 1
        return -self.value(after) if "." in after else 0

    def best(self, board: str) -> Moves:
        """The moves that keep the value of a board, each alike, in shares as `Meeting` has them."""
        free, value = self.free(board), self.value(board)
        places = [place for place in free if self.worth(board, place) == value]
        return dict.fromkeys(places, Fraction(len(free), len(places)))

    def limit(self, side: str) -> dict[str, Fraction] | None:
        """The best result of a player that never loses against random moves, None if all lose."""
        if self.value(self.empty) * (1 if side == "X" else -1) < 0:
            return None

        @cache
        def wins(board: str) -> Fraction:
            own, ends = self.mover(board) == side, [Fraction(0)] * ("." not in board)
            for place in self.free(board):
                if not own or self.worth(board, place) >= 0:
                    after = self.after(board, place)
                    ends.append(Fraction(own) if self.wins(after, place) else wins(after))
            return max(ends) if own else sum(ends) / Fraction(len(ends))

        win = wins(self.empty)
        return dict(zip(NAMES, (win, 1 - win, Fraction(0), Fraction(0)), strict=True))


# --- what a player meets on one side --------------------------------------------------------------


class Outlook(NamedTuple):
    """The future of a player from a position on.

    games: how many are won, drawn, lost, and lost by an illegal move, in shares of
    `Meeting.weights`. nearest: moves until the nearest loss, or None. value, risk: win - loss, and
    the chance to lose, against the worst replies.
    """

    games: list[Any]
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
        self, game: Game, side: str, decide: Decide, form: Form = str, reply: Decide | None = None
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
        self.start = self.outlook(game.empty, 0)

    def outlook(self, board: str, ply: int) -> Outlook:
        """The future from a board on, after so many moves."""
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
            sum([share * ends[place].games[column] for place, share in shares.items()])
            for column in range(len(NAMES))
        ]
        lost = [end.nearest + 1 for end in ends.values() if end.nearest is not None]
        self.known[board] = Outlook(games, min(lost, default=None), value, risk)
        return self.known[board]

    def moved(self, board: str, place: int, ply: int) -> Outlook:
        """The future after a move."""
        after, is_illegal = self.game.after(board, place), board[place] != "."
        if is_illegal or self.game.wins(after, place):
            value = 1 if after[place] == self.side and not is_illegal else -1
        elif ply + 1 == self.game.cells:
            value = 0
        else:
            return self.outlook(self.form(after), ply + 1)
        lost = value < 0
        games = [self.weights[ply + 1] * one for one in (value > 0, value == 0, lost, is_illegal)]
        return Outlook(games, 0 if lost else None, value, int(lost))

    def loses(self, line: list[str]) -> bool:
        """True if a line of moves, by their names, is possible and ends in a loss, none sooner."""
        game, board = self.game, self.game.empty
        for ply, name in enumerate(line):
            place, asked = game.place[name], self.form(board)
            after = game.after(board, place)
            is_possible = board[place] == "."
            if "XO"[ply % 2] == self.side:
                ends = [game.after(asked, one) for one in self.decide(asked)]
                is_possible = self.form(after) in map(self.form, ends)
            left = len(line) - 1 - ply  # every move of a shortest line brings the loss nearer
            if not is_possible or self.moved(board, place, ply).nearest != left:
                return False
            board = after
        return True

    def result(self) -> dict[str, Fraction]:
        """The chances to win, draw and lose, and to lose by an illegal move."""
        chances = [Fraction(games) / self.weights[0] for games in self.start.games]
        return dict(zip(NAMES, chances, strict=True))


# --- the file and its moves -----------------------------------------------------------------------


def read(path: str) -> Any:
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


def game_of(content: Mapping[str, Any]) -> Game:
    """The board of the certificate. Refused if it is none, or too large for the format."""
    board = content["board"]
    are_sizes = all(type(size) is int and size > 0 for size in board.values())
    need(set(board) == {"rows", "cols", "k"} and are_sizes, f"this is no board: {board}")
    rows, cols, k = board["rows"], board["cols"], board["k"]
    is_board = rows * (cols + 1) <= MOST_BITS and k <= max(rows, cols)
    is_small = content["format"] == 2 or rows * cols <= ALL_POSITIONS
    need(is_board and is_small, f"there is no such board, or it needs format 2: {board}")
    return Game(rows, cols, k)


def meetings_of(content: Mapping[str, Any]) -> dict[str, Meeting]:
    """The meetings of each side of the certificate. Refused if its moves do not fit."""
    game, text = game_of(content), text_of(content)
    digest = hashlib.sha256(text).hexdigest()
    need(digest == content["sha256_of_moves"], "the digest is not that of the moves")
    if content["format"] == 1:
        moves = content["moves"]
        table = {board: chances_of(move, str, game.place) for board, move in moves.items()}
        game.value(game.empty)
        need(set(table) == set(game.values), "the boards are not those of unfinished games")
        return {side: Meeting(game, side, table.__getitem__) for side in "XO"}
    need(type(content["canonical"]) is bool, "canonical is neither true nor false")
    form = game.canonical if content["canonical"] else str
    moves, sides = json_value(text), content["sides"]
    need(sides in (["X"], ["O"], ["X", "O"]), f"these are no sides: {sides}")
    need(list(moves) == sides, f"there are moves of {list(moves)}, and results of {sides}")
    tables = {side: moves_on_lines(moves[side], game, side, form) for side in sides}
    return {side: Meeting(game, side, table.__getitem__, form) for side, table in tables.items()}


def text_of(content: Mapping[str, Any]) -> bytes:
    """The text of the moves, of which the certificate holds the digest."""
    if content["format"] == 1:
        return json.dumps(content["moves"], sort_keys=True, separators=(",", ":")).encode()
    reader = zlib.decompressobj()
    text = reader.decompress(base64.b64decode(content["moves"], validate=True), MOST_TEXT)
    need(not reader.unconsumed_tail, f"the moves are larger than {MOST_TEXT >> 20} MB")
    need(reader.eof and not reader.unused_data, "the moves are cut, or bytes follow their end")
    return text


def moves_on_lines(plies: list[Any], game: Game, side: str, form: Form) -> dict[str, Moves]:
    """Format 2: the moves in the positions that can be met, ply by ply, in the order of `rank`."""
    places = {str(cell): place for cell, place in enumerate(game.places)}
    table: dict[str, Moves] = {}
    boards, given = [game.empty], iter(plies)
    for ply in range(game.cells):
        own = "XO"[ply % 2] == side
        if own and boards:
            moves = [chances_of(move, int, places) for move in next(given, [])]
            counts = f"{len(moves)} moves in {len(boards)} positions of ply {ply}"
            need(len(moves) == len(boards), counts)
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
    total = sum(map(Fraction, chances.values()), Fraction())
    need(abs(total - 1) <= NEAR, f"the probabilities of a move sum to {float(total)}")
    if len(chances) == 1:
        return {places[name]: 1 for name in chances}  # faster than a fraction
    return {places[name]: Fraction(one) / total for name, one in chances.items()}


def is_number(value: Any) -> bool:
    """True for a finite number; true and false are none."""
    return type(value) in (int, float) and isfinite(value)


# --- the results ----------------------------------------------------------------------------------


def check(content: Mapping[str, Any]) -> dict[str, Meeting]:
    """The meetings by side. Refused unless the certificate states its results and its digest."""
    try:
        return checked(content)
    except (*WRONG_FORM, zlib.error) as error:
        raise Refused(f"this is not the form of a certificate: {error!r}") from error


def checked(content: Mapping[str, Any]) -> dict[str, Meeting]:
    """The meetings by side. Some values of a wrong type raise what they raise in Python."""
    number = content["format"]
    need(type(number) is int and number in (1, 2), f"the format is {number}, expected 1 or 2")
    meetings = meetings_of(content)
    results = {f"as_{side.lower()}": side_results(one, content) for side, one in meetings.items()}
    results |= all_results(meetings, results) if number == 1 else line_results(meetings, results)
    entries = {name: content[name] for name in content if name not in GIVEN[number]}
    compare(results, entries, "the certificate")
    return meetings


def side_results(meeting: Meeting, content: Mapping[str, Any]) -> dict[str, Any]:
    """The results of one side in both formats. Its losing line may be any shortest one."""
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


def all_results(meetings: Mapping[str, Meeting], sides: Mapping[str, Any]) -> dict[str, Any]:
    """Further results of format 1: against perfect play, and measured by it."""
    game, decide = meetings["X"].game, meetings["X"].decide
    for side, found in zip("XO", sides.values(), strict=True):
        best = found["limit_vs_random"] = game.limit(side)
        found["optimal"] = found["unbeatable"] and found["vs_random"] == best
        found["vs_minimax"] = Meeting(game, side, decide, reply=game.best).result()
    kept = {
        board: sum(decide(board).get(one, 0) for one in game.best(board)) for board in game.values
    }
    met = {board for meeting in meetings.values() for board in meeting.decisions}
    shares = {
        "everywhere": Fraction(sum(kept.values())) / len(kept),
        "reachable": Fraction(sum(kept[board] for board in met)) / len(met),
    }
    both = {name: all(one[name] for one in sides.values()) for name in ("unbeatable", "optimal")}
    return {**both, "optimal_moves": shares}


def line_results(meetings: Mapping[str, Meeting], sides: Mapping[str, Any]) -> dict[str, Any]:
    """Further results of format 2."""
    for meeting, found in zip(meetings.values(), sides.values(), strict=True):
        found["always_wins"] = meeting.start.value == 1
        found["positions"] = len(meeting.known)
        found["decisions"] = len(meeting.decisions)
    never_loses = all(found["unbeatable"] for found in sides.values())
    return {"unbeatable": never_loses if len(sides) == 2 or not never_loses else None}


def compare(exact: Any, stated: Any, name: str) -> None:
    """Refused unless the stated value is the exact one, or a float next to it."""
    if isinstance(exact, dict) and isinstance(stated, Mapping):
        unknown = set(stated) - set(exact)
        need(not unknown, f"{name} has unknown entries: {sorted(unknown)}")
        for part, value in exact.items():
            compare(value, stated.get(part, "nothing"), part)
        return
    is_same = type(exact) is type(stated) and exact == stated
    if isinstance(exact, Fraction):
        is_same = is_number(stated) and abs(Fraction(stated) - exact) <= NEAR
        # 0 is stated for 0 only, or for what is 0 in floating point; a value may cancel out.
        if name != "worst_case_value" and is_same and 0 in (exact, stated):
            is_same = stated == 0 and exact < UNDERFLOW
        exact = float(exact)
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
        sys.exit("usage: python -m tictactoe_env.plain_proof CERTIFICATE...")
    sys.exit(main(sys.argv[1:]))
