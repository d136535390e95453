"""Pictures of a board: text for a terminal, pixels, SVG; optionally with numbers on free cells.

The pixels and the SVG come from one list of shapes (`_shapes`), whose points are complex numbers
x + yi. Pixels are drawn with signed distances: how far a pixel's centre is outside a shape.
Antialiasing is then one subtraction. Text in pixels uses a small stroke font.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from tictactoe_env.errors import whole_number
from tictactoe_env.notation import MARKS, board_text, cell_text, columns_by_name, game_text
from tictactoe_env.rules import SIDES, Boards, GameState, Rules, game_state

_GAME_COLUMNS = 5  # boards side by side in the picture of a game

# Colours that colour-blind readers can tell apart (Okabe and Ito, "Color Universal Design").
COLOURS = {"X": "#0072b2", "O": "#d55e00"}
POSITIVE = "#009e73"
NEGATIVE = "#cc79a7"
BACKGROUND = "#e4e8ec"
TILE = "#ffffff"
LAST = "#ffe9a3"
INK = "#26323b"
LABEL = "#66737d"

_PIECE = 0.38  # radius of a round piece, in cells
_CROSS = ((0.27 + 0.27j, 0.73 + 0.73j), (0.73 + 0.27j, 0.27 + 0.73j))  # strokes of an X

ANSI_COLOURS = {"X": "\033[1;38;5;39m", "O": "\033[1;38;5;208m", ".": "\033[2m"}
ANSI_RESET = "\033[0m"

_THICKNESS = {"tile": 0.0, "X": 0.13, "O": 0.13, "line": 0.05, "text": 0.9}  # of strokes, in units


def ansi(
    board: Boards,
    rules: Rules,
    *,
    last: int | None = None,
    values: Any = None,
    decimals: int = 2,
    colour: bool = False,
) -> str:
    """The board as text with coordinates; the last move in brackets, full lines with stars.

            a   b   c
        1   O   .   X*
        2   .   X*  O
        3  [X*] .   .

    A game of Connect Four that X has won:

            a   b   c   d   e   f   g
        1   .   .   .   .   .   .   .
        2   .   .   .   .   .   .   .
        3   .   .   .   .   .   .   .
        4   .   .   .   .   .   .   .
        5   .   .   O   O   O   .   .
        6   .   .   X*  X*  X* [X*] .

    board: (cells,) int8. values: (cells,) floats, NaN for none; those on free cells are written,
    with so many decimals.
    colour: add ANSI escapes. ValueError for a board, last move or values that do not fit the rules.
    """
    board, last, numbers = _checked(board, rules, last, values)
    texts = _cell_texts(board, rules, last, numbers, decimals)
    longest = max(map(len, texts))
    if values is not None:
        longest += 1
    width = max(4, longest)
    margin = len(str(rules.rows))
    letters = "".join(f" {letter}".ljust(width) for letter in columns_by_name(rules))
    lines = [" " * margin + "  " + letters]
    for row in range(rules.rows):
        cells = range(row * rules.cols, (row + 1) * rules.cols)
        line = f"{row + 1:>{margin}}  "
        for cell in cells:
            text = texts[cell].ljust(width)
            if colour:
                text = f"{ANSI_COLOURS[MARKS[board[cell]]]}{texts[cell]}{ANSI_RESET}"
                text += " " * (width - len(texts[cell]))
            line += text
        lines.append(line)
    return "\n".join(line.rstrip() for line in lines)


def _cell_texts(
    board: Boards, rules: Rules, last: int | None, values: Any, decimals: int
) -> list[str]:
    """The text of each cell, such as " .", "[X*]" or "-0.25"."""
    texts = [MARKS[mark] for mark in board.tolist()]
    for cell in np.flatnonzero(~np.isnan(values)).tolist():
        texts[cell] = _number(values[cell], decimals)
    for cell in rules.winning_cells(board):
        texts[cell] += "*"
    found = [f" {text}".replace(" -", "-") for text in texts]  # a sign takes the space's place
    if last is not None:
        found[last] = f"[{texts[last]}]"
    return found


def rgb_array(
    board: Boards,
    rules: Rules,
    *,
    last: int | None = None,
    values: Any = None,
    cell_pixels: int = 96,
) -> NDArray[np.uint8]:
    """The board as pixels: (height, width, 3) uint8, with a margin of 3/8 of a cell.

    The last move's cell is tinted and each complete line is struck through. With gravity the marks
    are round pieces. With `values`, (cells,) floats or NaN for none, each free cell shows its
    number, shaded green above and purple below 0; +1 and -1 are full shade. ValueError for a board,
    last move or values that do not fit the rules, and for less than 16 pixels a cell.
    """
    shapes, width, height = _picture(board, rules, last, values, cell_pixels)
    picture = np.full((height, width, 3), _rgb(BACKGROUND), dtype=np.float32)
    for shape in shapes:
        place, covered = _cover(shape)
        picture[place] += covered * (_rgb(shape.colour) - picture[place])
    return np.rint(picture).astype(np.uint8)


def svg(
    board: Boards,
    rules: Rules,
    *,
    last: int | None = None,
    values: Any = None,
    cell_pixels: int = 96,
) -> str:
    """The picture of `rgb_array` as a standalone SVG document; the same errors.

    The board's text is its title. Each cell is a `rect`, each mark one element of class "X" or "O",
    each complete line one of class "line".
    """
    shapes, width, height = _picture(board, rules, last, values, cell_pixels)
    title = board_text(board, rules)
    if last is not None:
        title += f", last move {cell_text(last, rules)}"
    return _document(width, height, title, map(_element, shapes))


def svg_games(games: Mapping[str, Sequence[int]], rules: Rules, *, cell_pixels: int = 48) -> str:
    """Games as one standalone SVG document: the board after each move, in rows of up to five.

        line = evaluate(mine).best_responses["O"].losing_line  # None if it cannot be beaten
        Path("lost.svg").write_text(svg_games({"loses as O": line}, Rules()))

    games: the moves of each game as cells, X's first and at least one, by its name, which stands
    above it. Each board has its move above it. An illegal last move is highlighted and leaves the
    board as it was. Raises ValueError for a number that is no cell, and for a move after the end of
    the game or after an illegal one.
    """
    parts: list[str] = []
    width = top = 0
    for name, cells in games.items():
        middle = top + cell_pixels / 2
        top += cell_pixels
        boards, wide, high = _boards(cells, rules, cell_pixels, top)
        heading = _caption(name, cell_pixels * 3 / 8, middle, cell_pixels)
        bold = '<text text-anchor="start" font-weight="bold"'
        parts += [heading.replace("<text", bold), *boards]
        width = max(width, wide)
        top += high
    title = "; ".join(f"{name}: {game_text(cells, rules)}" for name, cells in games.items())
    return _document(width, top, title, parts)


# --- what is on the picture -----------------------------------------------------------------------


class _Shape(NamedTuple):
    """A tile, an O or a round piece on a cell, strokes, or a text, which is strokes too."""

    kind: str  # "tile", "O", "X", "line" or "text"
    colour: str
    at: complex  # the corner of a cell, left and above; the middle of a text
    unit: float  # pixels: the edge of a cell; of a text a sixth of a digit's height
    strokes: tuple[tuple[complex, complex], ...] = ()  # their ends, from `at` on, in units
    text: str = ""
    is_piece: bool = False  # of an X or an O: whether it is a round piece, which falls


def _picture(
    board: Boards, rules: Rules, last: int | None, values: Any, size: int
) -> tuple[Iterator[_Shape], int, int]:
    """The shapes of the picture, back to front, and its width and height in pixels."""
    size = whole_number(size, "cell_pixels", 16)
    board, last, values = _checked(board, rules, last, values)
    margin = size * 3 // 8
    return (
        _shapes(board, rules, last, values, size, margin),
        2 * margin + rules.cols * size,
        2 * margin + rules.rows * size,
    )


def _shapes(
    board: Boards, rules: Rules, last: int | None, values: Any, size: int, margin: int
) -> Iterator[_Shape]:
    places = (divmod(cell, rules.cols) for cell in range(rules.cells))
    corners = [complex(margin + col * size, margin + row * size) for row, col in places]
    middle = complex(size / 2, size / 2)  # of a cell, from its corner on
    above = complex(size / 2, -margin / 2)
    before = complex(-margin / 2, size / 2)
    for letter, corner in zip(columns_by_name(rules), corners[: rules.cols], strict=True):
        yield _text(LABEL, corner + above, letter, size / 48)
    for row, corner in enumerate(corners[:: rules.cols], 1):
        yield _text(LABEL, corner + before, str(row), size / 48)
    colours = [_shade(value) for value in values]
    if last is not None:
        colours[last] = LAST
    for cell, corner in enumerate(corners):
        yield _Shape("tile", colours[cell], corner, size)
        if board[cell]:
            yield _mark(MARKS[board[cell]], corner, size, rules)
        elif not np.isnan(values[cell]):
            number = _number(values[cell])
            width = 2 * max(end.real for _, end in _letters(number))
            unit = min(size / 36, 0.8 * size / width)
            yield _text(INK, corner + middle, number, unit)
    for line in rules.lines:
        if abs(board[list(line)].sum()) == len(line):
            first = corners[line[0]]
            runs = _runs([(corners[cell] - first) / size for cell in line])
            yield _Shape("line", INK, first, size, tuple(map(_stroke, runs)))


def _mark(mark: str, at: complex, size: int, rules: Rules) -> _Shape:
    """An X or an O on the cell with this corner."""
    strokes = _CROSS if mark == "X" and not rules.gravity else ()
    return _Shape(mark, COLOURS[mark], at, size, strokes, is_piece=rules.gravity)


def _runs(cells: list[complex]) -> list[list[complex]]:
    """The parts of a line in which each cell touches the next one, in one direction."""
    runs = [cells[:1]]
    for cell in cells[1:]:
        run = runs[-1]
        step = cell - run[-1]
        touches = max(abs(step.real), abs(step.imag)) == 1
        goes_on = len(run) == 1 or step == run[1] - run[0]
        if touches and goes_on:
            run.append(cell)
        else:
            runs.append([cell])
    return runs


def _stroke(run: list[complex]) -> tuple[complex, complex]:
    """The ends of a stroke through cells side by side, a little beyond their middles."""
    end = run[-1] - run[0]
    over = 0.36 * end / max(len(run) - 1, 1)
    middle = run[0] + 0.5 + 0.5j
    return middle - over, middle + end + over


def _text(colour: str, middle: complex, text: str, unit: float) -> _Shape:
    return _Shape("text", colour, middle, unit, _letters(text), text)


def _shade(value: float) -> str:
    """The colour of a tile; the square root makes small values visible."""
    if np.isnan(value):
        return TILE
    full = _rgb(POSITIVE if value > 0 else NEGATIVE)
    share = 0.6 * min(1.0, abs(value)) ** 0.5
    mixed = np.rint((1 - share) * _rgb(TILE) + share * full).astype(int)
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def _number(value: float, decimals: int = 2) -> str:
    """A value as text: some decimals, or three digits from 100 on, and never "-0.00"."""
    if abs(value) >= 100:
        return f"{value:.3g}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def _checked(
    board: Any, rules: Rules, last: Any, values: Any
) -> tuple[Boards, int | None, NDArray[np.float64]]:
    """A board, its last move, and the value of each cell, NaN for none; ValueError if they err."""
    board = np.asarray(board)
    if board.shape != (rules.cells,) or not np.isin(board, (-1, 0, 1)).all():
        raise ValueError(
            f"a board of {rules} is {rules.cells} numbers 1, -1 or 0, got {board.tolist()}"
        )
    if last is not None:
        last = whole_number(last, "the last move", 0, rules.cells - 1)
    if values is None:
        values = np.full(rules.cells, np.nan)
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (rules.cells,) or np.isinf(values).any():
        raise ValueError(f"values are {rules.cells} finite numbers or NaN, got {values.tolist()}")
    return board.astype(np.int8), last, np.where(board == 0, values, np.nan)


# --- SVG ------------------------------------------------------------------------------------------


def _document(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" font-family="system-ui, sans-serif" '
            'text-anchor="middle" fill="none" stroke-linecap="round">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="{BACKGROUND}"/>',
            *parts,
            "</svg>",
        ]
    )


def _boards(cells: Sequence[int], rules: Rules, size: int, top: int) -> tuple[list[str], int, int]:
    """The boards of a game with their captions, below `top`, and their width and height."""
    game = game_state(cells, rules)
    if not 0 < len(cells) <= len(game.moves) + (game.ended == "illegal"):
        raise ValueError(f"a game has at least one move and none after its end, got {list(cells)}")
    rows = math.ceil(len(cells) / _GAME_COLUMNS)
    columns = math.ceil(len(cells) / rows)  # rows of about the same length
    _, wide, high = _picture(game.board, rules, None, None, size)
    caption = size // 2
    parts = []
    for ply, cell in enumerate(cells):
        state = game_state(cells[: ply + 1], rules)
        row, column = divmod(ply, columns)
        x = column * wide
        y = top + row * (high + caption)
        text = f"{ply + 1}. {SIDES[ply % 2]} {cell_text(int(cell), rules)}{_end(state)}"
        board = svg(state.board, rules, last=cell, cell_pixels=size)
        parts.append(_caption(text, x + wide / 2, y + caption / 2, size))
        parts.append(board.replace("<svg ", f'<svg x="{x}" y="{y + caption}" ', 1))
    return parts, columns * wide, rows * (high + caption)


def _end(game: GameState) -> str:
    """What a caption says of the last move of a game; "" while the game goes on."""
    if game.ended != "line":
        return {"full": ": a draw", "illegal": " is illegal"}.get(game.ended, "")
    return " wins" if game.winner == SIDES[(len(game.moves) - 1) % 2] else " loses"


def _caption(text: str, x: float, y: float, size: int) -> str:
    """A line of text whose middle is at x, y, beside cells of `size` pixels."""
    place = f'x="{x:g}" y="{y + 0.12 * size:g}" font-size="{size / 3:g}"'
    return f'<text {place} fill="{INK}">{escape(text)}</text>'


def _element(shape: _Shape) -> str:
    kind, colour, at, unit, strokes, text, is_piece = shape
    if kind == "tile":
        corner = f'x="{at.real + 0.03 * unit:g}" y="{at.imag + 0.03 * unit:g}"'
        edges = f'width="{0.94 * unit:g}" height="{0.94 * unit:g}" rx="{0.1 * unit:g}"'
        return f'<rect {corner} {edges} fill="{colour}"/>'
    if kind == "text":
        place = f'x="{at.real:g}" y="{at.imag + 3 * unit:g}" font-size="{8.2 * unit:g}"'
        return f'<text {place} fill="{colour}">{escape(text)}</text>'
    centre = f'cx="{at.real + unit / 2:g}" cy="{at.imag + unit / 2:g}"'
    if is_piece:
        return f'<circle class="{kind}" fill="{colour}" {centre} r="{_PIECE * unit:g}"/>'
    attributes = f'class="{kind}" stroke="{colour}" stroke-width="{_THICKNESS[kind] * unit:g}"'
    if kind == "O":
        return f'<circle {attributes} {centre} r="{0.25 * unit:g}"/>'
    ends = [[at + unit * end for end in stroke] for stroke in strokes]
    path = "".join(f"M{a.real:g} {a.imag:g}L{b.real:g} {b.imag:g}" for a, b in ends)
    return f'<path {attributes} d="{path}"/>'


# --- pixels ---------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _rgb(colour: str) -> NDArray[np.float32]:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float32)


@lru_cache(maxsize=512)
def _cover(shape: _Shape) -> tuple[tuple[slice, slice], NDArray[np.float32]]:
    """Where a shape is in the picture, and the share of each pixel there: (height, width, 1)."""
    ends = shape.at + shape.unit * np.array(shape.strokes or (0, 1 + 1j)).ravel()
    pad = 1 + shape.unit * _THICKNESS[shape.kind]
    left = int(ends.real.min() - pad)
    right = int(ends.real.max() + pad)
    top = int(ends.imag.min() - pad)
    bottom = int(ends.imag.max() + pad)
    across = np.arange(left, right) + 0.5
    down = np.arange(top, bottom) + 0.5
    share = np.clip(0.5 - _distance(shape, across + 1j * down[:, None]), 0, 1)
    return (slice(top, bottom), slice(left, right)), share[..., None].astype(np.float32)


def _distance(shape: _Shape, pixels: NDArray[np.complex128]) -> NDArray[np.float64]:
    """The distance of the pixels (height, width) from a shape; negative inside."""
    kind, _, at, unit, strokes, _, is_piece = shape
    middle = pixels - (at + unit * (0.5 + 0.5j))
    if kind == "tile":
        straight = 0.37 * unit  # from the middle to where the rounded corner begins
        x, y = (np.maximum(np.abs(part) - straight, 0) for part in (middle.real, middle.imag))
        return np.hypot(x, y) - 0.1 * unit
    if is_piece:
        return np.abs(middle) - _PIECE * unit
    thickness = max(1.0, _THICKNESS[kind] * unit)
    if kind == "O":
        return np.abs(np.abs(middle) - 0.25 * unit) - thickness / 2
    start, end = at + unit * np.array(strokes).T
    along = end - start
    from_start = pixels[..., None] - start
    share = (from_start * along.conj()).real / np.maximum(np.abs(along) ** 2, 1e-9)
    nearest = np.abs(from_start - np.clip(share, 0, 1) * along)
    return nearest.min(axis=-1) - thickness / 2


# The stroke font. Each word is one stroke, a list of points "xy"; y is 0 at the top of a digit, 6
# at the baseline and 8 at the bottom of letters such as "g".
# fmt: off
GLYPHS = {
    "0": "103041453616050110", "1": "022026", "2": "01103041420646",
    "3": "0110304142334445361605 1333", "4": "36300444", "5": "40000312324345361605",
    "6": "413010010516364544331304", "7": "004016", "8": "103041423344453616050413020110 1333",
    "9": "051636454130100102133342", ".": "0606", "-": "0333", "+": "0343 2125",
    "a": "3322120305162635 3236", "b": "0006 0312223335261605", "c": "3322120305162635",
    "d": "3036 3322120305162635", "e": "04343322120305162635", "f": "30201116 0232",
    "g": "3322120305162635 3237281807", "h": "0006 0312223336", "i": "0206 0000",
    "j": "121708 1010", "k": "0006 320436", "l": "0006", "m": "0206 03122326 23324346",
    "n": "0206 0312223336", "o": "122233352616050312", "p": "0208 0312223335261605",
    "q": "3238 3322120305162635", "r": "0206 031222", "s": "3212031424352606", "t": "10152636 0232",
    "u": "0205162635 3236", "v": "022642", "w": "0216233642", "x": "0236 3206", "y": "0226 4218",
    "z": "02320636",
}
# fmt: on


@lru_cache(maxsize=512)
def _letters(text: str) -> tuple[tuple[complex, complex], ...]:
    """A text in the stroke font: the ends of its strokes, from the middle of its digits on."""
    found: list[tuple[complex, complex]] = []
    left = 0
    for letter in text:
        strokes = [_points(word, left) for word in GLYPHS[letter].split()]
        for points in strokes:
            found += pairwise(points)
        left = 2 + max(int(point.real) for points in strokes for point in points)
    middle = (left - 2) / 2
    return tuple((start - middle, end - middle) for start, end in found)


def _points(word: str, left: int) -> list[complex]:
    """The points of a stroke of `GLYPHS`, so far to the right, around the middle of a digit."""
    pairs = zip(word[::2], word[1::2], strict=True)
    return [complex(left + int(x), int(y) - 3) for x, y in pairs]


# --- the window of render_mode="human" ------------------------------------------------------------


class Window:
    """The window of pygame, which has one in a process: several environments draw into it in turn.

    The first picture opens it, and so does the next one after another environment has closed it.
    """

    _clock: ClassVar[Any] = None  # of the window: after pygame.quit() time begins at 0 again

    def __init__(self, fps: int):
        self.fps = fps
        self._has_shown = False

    def __reduce__(self) -> Any:
        return Window, (self.fps,)

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a picture (height, width, 3). Raises DependencyNotInstalled without pygame."""
        try:
            import pygame
        except ImportError as error:
            install = 'pip install "tictactoe-env[render]"'
            raise DependencyNotInstalled(f'render_mode="human" needs pygame: {install}') from error
        screen = pygame.display.get_surface()
        size = picture.shape[1::-1]
        if screen is None or screen.get_size() != size:
            pygame.init()
            screen = pygame.display.set_mode(size)
            Window._clock = pygame.time.Clock()
        self._has_shown = True
        pygame.surfarray.blit_array(screen, picture.swapaxes(0, 1))
        pygame.event.pump()
        Window._clock.tick(self.fps)
        pygame.display.flip()

    def close(self) -> None:
        """Close the window."""
        if self._has_shown:
            import pygame

            pygame.quit()
            self._has_shown = False
