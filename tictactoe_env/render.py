"""Pictures of a board: text for a terminal, pixels, SVG; optionally with numbers on free cells.

The pixels and the SVG come from one list of shapes (`_shapes`). Pixels are drawn with signed
distances: how far a pixel's centre is outside a shape. Antialiasing is then one subtraction. Text
in pixels uses a small stroke font.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.error import DependencyNotInstalled
from gymnasium.wrappers import HumanRendering
from numpy.typing import NDArray

from tictactoe_env.errors import whole_number
from tictactoe_env.notation import MARKS, board_text, cell_text, game_text
from tictactoe_env.rules import SIDES, Boards, Rules, standing

GAME_COLUMNS = 5  # boards side by side in the picture of a game
ENDS = {"line": " wins", "full": ": a draw", "illegal": " is taken"}  # of a game, after its move

# Colours that colour-blind readers can tell apart (Okabe and Ito, "Color Universal Design").
COLOURS = {"X": "#0072b2", "O": "#d55e00"}
POSITIVE, NEGATIVE = "#009e73", "#cc79a7"
BACKGROUND, TILE, LAST, INK, LABEL = "#e4e8ec", "#ffffff", "#ffe9a3", "#26323b", "#66737d"

ANSI_COLOURS = {"X": "\033[1;38;5;39m", "O": "\033[1;38;5;208m", ".": "\033[2m"}
ANSI_RESET = "\033[0m"

Coverage = NDArray[np.float32]  # (height, width), the share of each pixel that a shape covers
Segment = tuple[float, float, float, float]  # x0, y0, x1, y1


def ansi(
    board: Boards,
    rules: Rules,
    *,
    last: int | None = None,
    values: Any = None,
    colour: bool = False,
) -> str:
    """The board as text with coordinates; the last move in brackets, full lines with stars.

        a   b   c
    1   O   .   X*
    2   .   X*  O
    3  [X*] .   .

    board: (cells,) int8. values: (cells,) floats, NaN for none; those on free cells are written.
    colour: add ANSI escapes. ValueError for a board, last move or values that do not fit the rules.
    """
    board, last, values = _checked(board, rules, last, values)
    texts = _cell_texts(board, rules, last, values)
    width = max(4, max(map(len, texts)) + (values is not None))
    margin = len(str(rules.rows))
    letters = "".join(f" {_column(col, rules)}".ljust(width) for col in range(rules.cols))
    lines = [" " * margin + "  " + letters]
    for row in range(rules.rows):
        cells = range(row * rules.cols, (row + 1) * rules.cols)
        line = f"{row + 1:>{margin}}  "
        for cell in cells:
            line += _coloured(texts[cell], MARKS[board[cell]], colour)
            line += " " * (width - len(texts[cell]))
        lines.append(line)
    return "\n".join(line.rstrip() for line in lines)


def _cell_texts(board: Boards, rules: Rules, last: int | None, values: Any) -> list[str]:
    """The text of each cell, such as " .", "[X*]" or "-0.25"."""
    won = rules.winning_cells(board)
    texts = []
    for cell, mark in enumerate(board.tolist()):
        number = "" if mark or values is None or np.isnan(values[cell]) else _number(values[cell])
        text = number or MARKS[mark] + "*" * (cell in won)
        texts.append(f"[{text}]" if cell == last else text if text.startswith("-") else f" {text}")
    return texts


def rgb_array(
    board: Boards,
    rules: Rules,
    *,
    last: int | None = None,
    values: Any = None,
    cell_pixels: int = 96,
) -> NDArray[np.uint8]:
    """The board as pixels: (height, width, 3) uint8, with a margin of 3/8 of a cell.

    The last move's cell is tinted and each complete line is struck through. With `values`, (cells,)
    floats or NaN for none, each free cell shows its number, shaded green above and purple below 0;
    +1 and -1 are full shade. ValueError for a board, last move or values that do not fit the rules,
    and for less than 16 pixels a cell.
    """
    shapes, width, height = _picture(board, rules, last, values, cell_pixels)
    picture = np.full((height, width, 3), _rgb(BACKGROUND), dtype=np.float32)
    for shape in shapes:
        coverage, left, top = _coverage(shape)
        region = picture[top : top + coverage.shape[0], left : left + coverage.shape[1]]
        region += coverage[..., None] * (_rgb(shape.colour) - region)
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
    moved = "" if last is None else f", last move {cell_text(last, rules)}"
    return _document(width, height, board_text(board, rules) + moved, map(_element, shapes))


def svg_game(cells: Sequence[int] | None, rules: Rules, *, cell_pixels: int = 48) -> str:
    """A game as one standalone SVG document: the board after each move, in rows of up to five.

        line = evaluate(mine).best_responses["O"].losing_line  # None if it cannot be beaten
        Path("lost.svg").write_text(svg_game(line, Rules()))

    cells: the moves as cells, X's first; at least one. The moves are the title, and each board has
    its move above it. An illegal last move is highlighted and leaves the board as it was.
    Raises ValueError for None, for a number that is no cell, and for a move after the end of the
    game or after an illegal one.
    """
    if cells is None:
        raise ValueError("there is no game to draw: the policy cannot be beaten on this side")
    boards, width, height = _boards(cells, rules, cell_pixels)
    return _document(width, height, game_text(cells, rules), boards)


def svg_games(games: Mapping[str, Sequence[int]], rules: Rules, *, cell_pixels: int = 48) -> str:
    """Games below each other, as `svg_game` draws them, each under its name: {name: cells}."""
    parts: list[str] = []
    width = top = 0
    for name, cells in games.items():
        middle, top = top + cell_pixels / 2, top + cell_pixels
        boards, wide, high = _boards(cells, rules, cell_pixels, top)
        heading = _caption(name, cell_pixels * 3 / 8, middle, cell_pixels)
        bold = '<text text-anchor="start" font-weight="bold"'
        parts += [heading.replace("<text", bold), *boards]
        width, top = max(width, wide), top + high
    title = "; ".join(f"{name}: {game_text(cells, rules)}" for name, cells in games.items())
    return _document(width, top, title, parts)


# --- what is on the picture -----------------------------------------------------------------------


class _Shape(NamedTuple):
    kind: str  # "tile", "X", "O", "text" or "line"
    colour: str
    x: float  # left edge of a tile or mark, centre of a text, first end of a line
    y: float
    size: float  # edge of the cell; of a text the font's grid unit, a sixth of a digit's height
    text: str = ""
    end: tuple[float, float] = (0.0, 0.0)


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
    half = size / 2
    for col in range(rules.cols):
        x, name = margin + col * size + half, _column(col, rules)
        yield _Shape("text", LABEL, x, margin / 2, size / 48, name)
    for row in range(rules.rows):
        yield _Shape("text", LABEL, margin / 2, margin + row * size + half, size / 48, str(row + 1))
    places = (divmod(cell, rules.cols) for cell in range(rules.cells))
    corners = [(margin + col * size, margin + row * size) for row, col in places]
    for cell, (x, y) in enumerate(corners):
        value = float("nan") if values is None or board[cell] else values[cell]
        yield _Shape("tile", LAST if cell == last else _shade(value), x, y, size)
        if board[cell]:
            mark = MARKS[board[cell]]
            yield _Shape(mark, COLOURS[mark], x, y, size)
        elif not np.isnan(value):
            number = _number(value)
            unit = min(size / 36, 0.8 * size / _text_units(number))
            yield _Shape("text", INK, x + half, y + half, unit, number)
    for line in rules.lines:
        if abs(board[list(line)].sum()) == rules.k:
            yield _stroke(corners[line[0]], corners[line[-1]], size)


def _stroke(first: tuple[int, int], last: tuple[int, int], size: int) -> _Shape:
    """The stroke through a line's first and last cell, extended by 0.36 cells at both ends."""
    (x0, y0), (x1, y1), half = first, last, size / 2
    over_x, over_y = 0.36 * size * np.sign(x1 - x0), 0.36 * size * np.sign(y1 - y0)
    end = (x1 + half + over_x, y1 + half + over_y)
    return _Shape("line", INK, x0 + half - over_x, y0 + half - over_y, size, end=end)


def _shade(value: float) -> str:
    """The colour of a tile; the square root makes small values visible."""
    if np.isnan(value):
        return TILE
    share = 0.6 * min(1.0, abs(value)) ** 0.5
    full = _rgb(POSITIVE if value > 0 else NEGATIVE)
    return "#{:02x}{:02x}{:02x}".format(
        *np.rint((1 - share) * _rgb(TILE) + share * full).astype(int)
    )


def _number(value: float) -> str:
    """A value as text: two decimals, or three digits from 100 on, and never "-0.00"."""
    return f"{round(value, 2) + 0.0:.2f}" if abs(value) < 100 else f"{value:.3g}"


def _column(col: int, rules: Rules) -> str:
    return cell_text(col, rules)[:-1]


def _coloured(text: str, mark: str, colour: bool) -> str:
    return f"{ANSI_COLOURS[mark]}{text}{ANSI_RESET}" if colour else text


def _checked(
    board: Any, rules: Rules, last: Any, values: Any
) -> tuple[Boards, int | None, NDArray[np.float64] | None]:
    board = np.asarray(board)
    if board.shape != (rules.cells,) or not np.isin(board, (-1, 0, 1)).all():
        got = f"{board.tolist()} of shape {board.shape}"
        raise ValueError(f"a board of {rules} must be {rules.cells} numbers 1, -1 or 0, got {got}")
    if last is not None:
        last = whole_number(last, "the last move", 0, rules.cells - 1)
    if values is not None:
        values = np.asarray(values, dtype=np.float64)
        if values.shape != (rules.cells,) or np.isinf(values).any():
            got = f"{values.tolist()} of shape {values.shape}"
            raise ValueError(f"values must be {rules.cells} finite numbers or NaN, got {got}")
    return board.astype(np.int8), last, values


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


def _boards(
    cells: Sequence[int], rules: Rules, size: int, top: int = 0
) -> tuple[list[str], int, int]:
    """The boards of a game with their captions, below `top`, and their width and height."""
    game = standing(cells, rules)
    shown = len(game.moves) + (game.ended == "illegal")
    if not len(cells) or shown < len(cells):
        got = f"{list(cells)}, which ends after {shown}"
        raise ValueError(f"a game has at least one move and none after its end, got {got}")
    columns = -(-len(cells) // -(-len(cells) // GAME_COLUMNS))  # rows of about the same length
    _, wide, high = _picture(game.board, rules, None, None, size)
    caption, parts = size // 2, []
    for ply, cell in enumerate(cells):
        state = standing(cells[: ply + 1], rules)
        row, column = divmod(ply, columns)
        x, y = column * wide, top + row * (high + caption)
        move = f"{ply + 1}. {SIDES[ply % 2]} {cell_text(int(cell), rules)}"
        text = move + ENDS.get(state.ended, "")
        board = svg(state.board, rules, last=cell, cell_pixels=size)
        parts.append(_caption(text, x + wide / 2, y + caption / 2, size))
        parts.append(board.replace("<svg ", f'<svg x="{x}" y="{y + caption}" ', 1))
    return parts, columns * wide, -(-len(cells) // columns) * (high + caption)


def _caption(text: str, x: float, y: float, size: int) -> str:
    """A line of text whose middle is at x, y, beside cells of `size` pixels."""
    place = f'x="{x:g}" y="{y + 0.12 * size:g}" font-size="{size / 3:g}"'
    return f'<text {place} fill="{INK}">{escape(text)}</text>'


def _element(shape: _Shape) -> str:
    kind, colour, x, y, size, text, (x1, y1) = shape
    thickness = (0.05 if kind == "line" else 0.13) * size
    stroke = f'stroke="{colour}" stroke-width="{thickness:g}"'
    if kind == "tile":
        gap, edge, radius = 0.03 * size, 0.94 * size, 0.1 * size
        corner = f'x="{x + gap:g}" y="{y + gap:g}"'
        edges = f'width="{edge:g}" height="{edge:g}" rx="{radius:g}"'
        return f'<rect {corner} {edges} fill="{colour}"/>'
    if kind == "X":
        low, far = 0.27 * size, 0.46 * size
        path = f"M{x + low:g} {y + low:g}l{far:g} {far:g}m0 {-far:g}l{-far:g} {far:g}"
        return f'<path class="X" d="{path}" {stroke}/>'
    if kind == "O":
        centre = f'cx="{x + size / 2:g}" cy="{y + size / 2:g}"'
        return f'<circle class="O" {centre} r="{0.25 * size:g}" {stroke}/>'
    if kind == "line":
        return f'<path class="line" d="M{x:g} {y:g}L{x1:g} {y1:g}" {stroke}/>'
    place = f'x="{x:g}" y="{y + 3 * size:g}" font-size="{8.2 * size:g}"'
    return f'<text {place} fill="{colour}">{escape(text)}</text>'


# --- pixels ---------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _rgb(colour: str) -> NDArray[np.float32]:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float32)


def _coverage(shape: _Shape) -> tuple[Coverage, int, int]:
    """The coverage of a shape's pixels, and the left and top of this region in the picture."""
    kind, _, x, y, size, text, (x1, y1) = shape
    if kind == "text":
        coverage = _text(text, size)
        return coverage, round(x - coverage.shape[1] / 2), round(y - coverage.shape[0] / 2)
    if kind == "line":
        pad = round(0.05 * size) + 1
        left, top = int(min(x, x1)) - pad, int(min(y, y1)) - pad
        width, height = int(abs(x1 - x)) + 2 * pad + 1, int(abs(y1 - y)) + 2 * pad + 1
        segment = (x - left, y - top, x1 - left, y1 - top)
        return _strokes([segment], width, height, 0.05 * size), left, top
    return _stamp(kind, int(size)), int(x), int(y)


@lru_cache(maxsize=32)
def _stamp(kind: str, size: int) -> Coverage:
    """A tile, X or O: (size, size)."""
    low, high = 0.27 * size, 0.73 * size
    if kind == "X":
        return _strokes([(low, low, high, high), (low, high, high, low)], size, size, 0.13 * size)
    y, x = np.abs(np.mgrid[:size, :size] + 0.5 - size / 2)
    if kind == "O":
        return _inside(np.abs(np.hypot(x, y) - 0.25 * size) - 0.065 * size)
    straight = 0.37 * size  # from the centre to where the rounded corner begins
    return _inside(np.hypot(np.maximum(x - straight, 0), np.maximum(y - straight, 0)) - 0.1 * size)


def _strokes(segments: list[Segment], width: int, height: int, thickness: float) -> Coverage:
    """Straight strokes with round ends: (height, width)."""
    y, x = np.mgrid[:height, :width] + 0.5
    nearest = np.full((height, width), np.inf)
    for x0, y0, x1, y1 in segments:
        dx, dy = x1 - x0, y1 - y0
        along = np.clip(((x - x0) * dx + (y - y0) * dy) / max(dx * dx + dy * dy, 1e-9), 0, 1)
        nearest = np.minimum(nearest, np.hypot(x - x0 - along * dx, y - y0 - along * dy))
    return _inside(nearest - thickness / 2)


def _inside(distance: NDArray[np.float64]) -> Coverage:
    """The share of each pixel inside a shape, from the signed distances of the pixels' centres."""
    return np.clip(0.5 - distance, 0, 1).astype(np.float32)


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


def _glyph_units(letter: str) -> int:
    return max(int(x) for stroke in GLYPHS[letter].split() for x in stroke[::2])


def _text_units(text: str) -> int:
    """The width of a text on the font's grid, with a gap of 2 between letters."""
    return sum(_glyph_units(letter) + 2 for letter in text) - 2


@lru_cache(maxsize=512)
def _text(text: str, unit: float) -> Coverage:
    """A text in the stroke font; the middle of its digits is the middle of the array."""
    left, segments = 1.0, []
    for letter in text:
        for stroke in GLYPHS[letter].split():
            pairs = zip(stroke[::2], stroke[1::2], strict=True)
            points = [((left + int(x)) * unit, (3 + int(y)) * unit) for x, y in pairs]
            segments += [start + end for start, end in pairwise(points)]
        left += _glyph_units(letter) + 2
    width, height = round((_text_units(text) + 2) * unit), round(12 * unit)
    return _strokes(segments, width, height, max(1.0, 0.9 * unit))


# --- the window of render_mode="human" ------------------------------------------------------------


class Window:
    """A window of pictures, opened by the first one. A copy opens a window of its own."""

    def __init__(self, fps: int):
        self.fps = fps
        self._source = _Picture(fps)
        self._window: Any = HumanRendering(self._source)

    def __reduce__(self) -> Any:
        return Window, (self.fps,)

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a picture (height, width, 3). Raises DependencyNotInstalled without pygame."""
        self._source.frame = picture
        try:
            self._window.step(None)
        except DependencyNotInstalled as error:
            install = 'pip install "tictactoe-env[render]"'
            raise DependencyNotInstalled(f'render_mode="human" needs pygame: {install}') from error

    def close(self) -> None:
        """Close the window."""
        self._window.close()


class _Picture(gym.Env[None, None]):
    """What Gymnasium's window shows: the picture in `frame`."""

    render_mode = "rgb_array"
    frame: Any = None

    def __init__(self, fps: int):
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": fps}

    def step(self, action: None) -> tuple[None, float, bool, bool, dict[str, Any]]:
        return None, 0.0, False, False, {}

    def render(self) -> Any:
        return self.frame
