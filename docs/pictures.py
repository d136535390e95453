"""Draw the pictures of the README and of the documentation: `python docs/pictures.py`.

It needs the dependency group `test`, and a Chromium for the picture of the page.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from agents import tabular_q
from apps.players.seat import VALUES_FOLDER
from apps.terminal.battle import play
from tictactoe_env import TabularPolicy, evaluate
from tictactoe_env.exact import best_responses, positions_of, solve
from tictactoe_env.exact.match import action_values
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.games import Game, Participant, verdicts
from tictactoe_env.notation import SIDES, cell_text, parse_board, parse_game
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.render import (
    BACKGROUND,
    COLOURS,
    INK,
    LABEL,
    NEGATIVE,
    POSITIVE,
    TILE,
    rgb_array,
    svg,
    svg_games,
)
from tictactoe_env.rules import Boards, Rules, game_state
from tictactoe_env.trained import certificate_of
from training.charts import growth
from training.learner import evaluations
from training.metrics import row_of
from training.record import Record
from training.values import ValuedTable, read_values

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))

from doc_pages import blocks, printed  # noqa: E402

STEPS = 400_000  # of the Q-learner in game.gif; two seconds
SEED = 0  # of its training and its game
MILLISECONDS = 2_000  # for which a board is shown
LAST_MILLISECONDS = 6_000
ENVIRONMENT_SEED = 0  # of the games of environments
FOUR = {"rows": 4, "cols": 4, "k": 4}
CONNECT_FOUR = {"rows": 6, "cols": 7, "k": 4, "gravity": True}
STRIP = 70  # pixels below the board, for two lines of text
TEXT = 19  # pixels, the height of letters
SMALL = 14
WIDE = 1_660  # pixels of growth.gif, twice as wide as it is shown
CELL = 120
BOARD = CELL * 15 // 4
BELOW = 110  # where its boards begin
NEXT_CHECK = 1.6  # times as many steps as the one before
PALE = {NEGATIVE: "#f2cfe0", POSITIVE: "#a8dccb"}  # of cells
DARK = {NEGATIVE: "#8f2f66", POSITIVE: "#00614a"}  # of text


def main() -> None:
    """Write the pictures beside this file."""
    Image.fromarray(beaten()).save(HERE / "beaten.png", optimize=True)
    (HERE / "lost_game.svg").write_text(lost_game(), encoding="utf-8")
    write_growth(HERE / "growth.gif")
    write_curve(HERE / "stable_baselines3.svg")
    for name, picture in drawings().items():
        (HERE / name).with_suffix(".svg").write_text(picture, encoding="utf-8")
    write_environment(HERE / "environment.gif", "minimax-first", opponent="random")
    write_environment(HERE / "larger_boards.gif", "alphazero", opponent="search-depth=1", **FOUR)
    write_environment(
        HERE / "connect_four.gif", "search-depth=4", opponent="search-depth=1", **CONNECT_FOUR
    )
    with TemporaryDirectory() as folder:
        config = tabular_q.Config(seed=SEED, steps=STEPS)
        learner = tabular_q.begin(config)
        for _ in evaluations(learner, config):
            pass
        player = learner.policy()
        moves = tuple(play(player, RandomPolicy(), Rules(), SEED))
        x = Participant("agent", "tabular_q")
        o = Participant("agent", "random")
        game = Game(x=x, o=o, moves=moves, origin="battle")
        write_gif(game, player, HERE / "game.gif")
        write_page(folder, "/?x=human&o=tabular_q", ("a1", "c3"), HERE / "page.png")


def beaten() -> NDArray[np.uint8]:
    """The shortest game that the trained O loses which wins most against random play: pixels."""
    rules = Rules()
    line = best_responses(make_opponent("dqn-duel-second", rules))["O"].losing_line
    assert line is not None
    boards = zip(Game(moves=line, origin="file").boards[1:], line, strict=True)
    return np.concatenate([rgb_array(board, rules, last=cell) for board, cell in boards], axis=1)


def lost_game() -> str:
    """The game of docs/exact_evaluation.md, which an O with the best mean reward loses: SVG."""
    moves = parse_game("b1 a3 a1 c1 b2 b3 c3", Rules())
    return svg_games({"loses as O in 7 moves": moves}, Rules())


def drawings() -> dict[str, str]:
    """The pictures of boards side by side, as SVG by the name of the page that shows them."""
    rules = Rules()
    gambler = make_opponent("dqn-duel-second", rules)
    digest = certificate_of("dqn-duel-second").sha256_of_moves
    own = read_values(VALUES_FOLDER / "dqn-duel-second.npz", gambler, digest)
    board = parse_board("OX./.X./...", rules)
    lesson = {
        "what it thinks": own.q_values(board[None])[0],
        "the truth": solve(rules).move_values(board[None])[0],
        "against random moves": action_values("O", gambler, RandomPolicy(), rules, board),
    }
    fork = parse_board("X../.O./..X", rules)
    names = ("random", "minimax-slip=0.5", "search-depth=1", "minimax")
    chances = {name: make_opponent(name, rules).probs(fork[None])[0] for name in names}
    line = best_responses(program("own_player")["CornersFirst"](), rules)["O"].losing_line
    return {
        "lesson": in_a_row(board, lesson),
        "opponents": in_a_row(fork, chances),
        "own_player": svg_games({f"CornersFirst loses as O in {len(line)} moves": line}, rules),
        "exact_evaluation": tree(),
    }


def program(page: str, having: str = "") -> dict[str, Any]:
    """The names that the programs of a page define, up to the first one that has this text."""
    names: dict[str, Any] = {}
    with TemporaryDirectory() as folder, chdir(folder):
        for block in blocks(HERE / f"{page}.md"):
            printed(block.code, page, names)
            if having in block.code:
                break
    return names


def write_curve(path: Path) -> None:
    """Draw the exact results over the training of docs/stable_baselines3.md until it's optimal."""
    judged = program("stable_baselines3", 'stop_at="optimal"')["exact"].evaluations
    rows = [row_of(one.steps, 0, one.evaluation, Rules()) for one in judged]
    first = Record(Rules(), "both", rows).first_reached
    reached = {goal: time["steps"] for goal, time in first.items()}
    growth(rows, Rules(), path, "MaskablePPO of Stable-Baselines3, seed 0", reached)


class Part(NamedTuple):
    """A board of a picture: its caption, its SVG document, and where its middle and its top are."""

    caption: str
    board: str
    middle: float
    top: float
    colour: str = INK  # of the caption


def composed(parts: Sequence[Part], size: int, width: float, height: float, lines: str = "") -> str:
    """One SVG document of boards, whose cells are `size` pixels, each below its caption.

    lines: the path between the boards.
    """
    edge = 3 * size + 2 * (size * 3 // 8)
    letters = max(15, size / 4)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="system-ui, sans-serif" '
        f'font-size="{letters:g}" text-anchor="middle">',
        f'<rect width="100%" height="100%" fill="{BACKGROUND}"/>',
    ]
    if lines:
        drawn.append(f'<path d="{lines}" stroke="{LABEL}" fill="none"/>')
    for caption, board, middle, top, colour in parts:
        place = f'x="{middle:g}" y="{top - 4:g}" fill="{colour}"'
        drawn.append(f"<text {place}>{caption}</text>")
        drawn.append(board.replace("<svg ", f'<svg x="{middle - edge / 2:g}" y="{top:g}" ', 1))
    return "\n".join([*drawn, "</svg>"])


def in_a_row(board: Boards, values: Mapping[str, Any]) -> str:
    """A board of 3x3 with several numbers on its free cells, side by side by their captions."""
    size = 56
    edge = 210
    parts = [
        Part(name, svg(board, Rules(), values=one, cell_pixels=size), edge * (at + 0.5), 30)
        for at, (name, one) in enumerate(values.items())
    ]
    return composed(parts, size, edge * len(values), 30 + edge)


def tree() -> str:
    """What an X can do after two moves of the game in docs/exact_evaluation.md, as SVG.

    Below each of its moves with the only reply of that page's O is the end of the game, if X then
    plays as well as it can against this O.
    """
    rules = Rules()
    player = program("exact_evaluation")["best_against_random"](1, 0, -1)

    def ending(line: list[int]) -> list[int]:
        now = game_state(line, rules)
        if now.ended:
            return line
        if now.mover == "O":
            return ending([*line, int(player.probs(now.board[None])[0].argmax())])
        return min((ending([*line, cell]) for cell in np.flatnonzero(now.board == 0)), key=worth)

    def worth(line: list[int]) -> tuple[int, int]:
        """The less, the better for X: it wins soon or loses late."""
        result = {"X": -1, None: 0, "O": 1}[game_state(line, rules).winner]
        return result, -result * len(line)

    size = 28
    edge = 104
    wide = 112
    high = 160
    start = parse_game("b1 a3", rules)
    cells = np.flatnonzero(game_state(start, rules).board == 0)
    middle = wide * len(cells) / 2
    top = 34
    board = svg(game_state(start, rules).board, rules, cell_pixels=size)
    parts = [Part("X to move", board, middle, top)]
    lines = ""
    for number, cell in enumerate(cells):
        x = wide * (number + 0.5)
        line = ending([*start, cell])
        now = game_state(line, rules)
        lines += f"M{middle:g} {top + edge}L{x:g} {top + high - 20}"
        lines += f"M{x:g} {top + high + edge}v{high - edge - 20}"
        replied = svg(game_state(line[:4], rules).board, rules, last=line[3], cell_pixels=size)
        ended = svg(now.board, rules, last=line[-1], cell_pixels=size)
        moves = f"X {cell_text(line[2], rules)}, O {cell_text(line[3], rules)}"
        end = f"{now.winner} wins" if now.winner else "a draw"
        parts.append(Part(moves, replied, x, top + high))
        parts.append(Part(end, ended, x, top + 2 * high, COLOURS.get(now.winner, INK)))
    return composed(parts, size, wide * len(cells), top + 2 * high + edge, lines)


def write_growth(path: Path) -> None:
    """Write how a Q-learner grows until it is proven: where it can be beaten, exactly."""
    config = tabular_q.Config(seed=SEED, steps=1_000_000, judge_every=1, symmetry=False)
    learner = tabular_q.begin(config)
    checks: list[Check] = []
    for _ in evaluations(learner, config):
        player = tabulate(learner.policy(), Rules())
        found = evaluate(player)
        if found.unbeatable or not checks or learner.steps > NEXT_CHECK * checks[-1].steps:
            sides = {side: losses(player, side) for side in SIDES}
            checks.append(Check(learner.steps, player, sides))
        if found.unbeatable:
            break
    frames = [
        _growth_frame(checks[: number + 1], checks[-1].steps) for number in range(len(checks))
    ]
    write_frames(frames, path, 1_000, colours=24)


class Losses(NamedTuple):
    """By row of the positions: the share of games lost against random play, and whether one is."""

    share: NDArray[np.float64]
    beaten: NDArray[np.bool_]


class Check(NamedTuple):
    """A learner after its steps: the moves that it makes, and what it loses on each side."""

    steps: int
    player: TabularPolicy
    sides: dict[str, Losses]


def losses(player: TabularPolicy, side: str) -> Losses:
    """The exact losses of a player on a side from each position on."""
    game = positions_of(Rules())
    share = (game.outcome_x == (-1 if side == "X" else 1)).astype(float)
    beaten = share > 0
    for number, row in reversed(list(enumerate(game.unfinished))):
        possible = game.children[row] >= 0
        if game.x_to_move[row] == (side == "X"):
            possible &= player.table[number] > 0
        after = game.children[row, possible]
        share[row] = share[after].mean()
        beaten[row] = beaten[after].any()
    return Losses(share, beaten)


def _growth_frame(checks: list[Check], last_step: int) -> Image.Image:
    """Both sides of the newest check as boards, and the losses of all of them as curves."""
    now = checks[-1]
    picture = Image.new("RGB", (WIDE, BELOW + BOARD), BACKGROUND)
    draw = ImageDraw.Draw(picture)
    first_move = int(now.player.table[0].argmax())
    for left, side, what in ((0, "O", "X begins here"), (BOARD, "X", "O replies here")):
        board = np.zeros(9, np.int8)
        board[first_move] = side == "X"
        picture.paste(Image.fromarray(rgb_array(board, Rules(), cell_pixels=CELL)), (left, BELOW))
        row = positions_of(Rules()).rows(board[None])[0]
        for cell, after in enumerate(positions_of(Rules()).children[row]):
            if after >= 0:
                lost = now.sides[side]
                _write_cell(draw, left, cell, lost.share[after], lost.beaten[after])
        title = f"It plays {side}, and {what}"
        draw.text((left + BOARD / 2, 34), title, INK, ImageFont.load_default(30), anchor="ma")
    beaten = [side for side in SIDES if now.sides[side].beaten[0]]
    verdict = "Proven: nobody can beat it"
    if beaten:
        verdict = f"Can be beaten as {' and as '.join(beaten)}"
    colour = DARK[NEGATIVE if beaten else POSITIVE]
    right = 2 * BOARD
    draw.text((right, 34), f"Q-learning, {now.steps:,} moves", INK, ImageFont.load_default(30))
    draw.text((right, 76), verdict, colour, ImageFont.load_default(34))
    _draw_curves(draw, checks, last_step)
    return picture


def _write_cell(
    draw: ImageDraw.ImageDraw, left: int, cell: int, share: float, beaten: bool
) -> None:
    """Colour a free cell by whether the learner can be beaten after it, with what it loses."""
    row, col = divmod(cell, 3)
    x = left + CELL * (col + 3 / 8)
    y = BELOW + CELL * (row + 3 / 8)
    edge = 0.03 * CELL
    box = (x + edge, y + edge, x + CELL - edge, y + CELL - edge)
    draw.rounded_rectangle(box, 0.1 * CELL, PALE[NEGATIVE if beaten else POSITIVE])
    text = f"{100 * share:.1f} %" if beaten else "safe"
    middle = (x + CELL / 2, y + CELL / 2)
    draw.text(middle, text, INK, ImageFont.load_default(CELL / 4), anchor="mm")


def _draw_curves(draw: ImageDraw.ImageDraw, checks: list[Check], last_step: int) -> None:
    """The losses against random play over the moves, both scaled so that small ones are seen."""
    left = 2 * BOARD + 80
    top = BELOW + 90
    wide = WIDE - 2 * BOARD - 170
    high = BOARD - 170
    small = ImageFont.load_default(24)
    most = 0.35  # at the top

    def place(steps: int, share: float) -> tuple[float, float]:
        along = math.log(steps / checks[0].steps) / math.log(last_step / checks[0].steps)
        return left + wide * along, top + high * (1 - math.sqrt(share / most))

    x = left - 80.0
    named = {f"as {side}": COLOURS[side] for side in SIDES}
    for text, colour in {"games lost against random moves:": LABEL, **named}.items():
        draw.text((x, top - 60), text, colour, small)
        x += small.getlength(text) + 14
    for share in (0, 0.01, 0.05, 0.1, 0.2):
        ends = place(checks[0].steps, share), place(last_step, share)
        draw.line(ends, TILE, 3)
        draw.text((left - 12, ends[0][1]), f"{100 * share:.0f} %", LABEL, small, anchor="rm")
    for steps in (5_000, 50_000, 500_000):
        x, y = place(steps, 0)
        draw.text((x, y + 14), f"{steps:,}", LABEL, small, anchor="ma")
    for side in SIDES:
        points = [place(one.steps, one.sides[side].share[0]) for one in checks]
        draw.line(points, COLOURS[side], 6, joint="curve")
        x, y = points[-1]
        draw.ellipse((x - 8, y - 8, x + 8, y + 8), COLOURS[side])


def write_environment(path: Path, name: str, **options: Any) -> None:
    """Write a game of a player as X, as `render()` of the environment shows it.

    name: the player, as an opponent is named. options: those of the environment.
    """
    env = gym.make("tictactoe_env/TicTacToe-v0", side="X", render_mode="rgb_array", **options)
    player = make_opponent(name, env.unwrapped.rules)
    env.reset(seed=ENVIRONMENT_SEED)
    frames = []  # without the empty board: a picture that does not move shows the first one
    terminated = False
    while not terminated:
        board = env.unwrapped.board
        _, _, terminated, _, _ = env.step(player.probs(board[None])[0].argmax())
        frames.append(env.render())
    write_frames([Image.fromarray(frame) for frame in frames], path, 1_000)


def write_gif(game: Game, player: ValuedTable, path: Path) -> None:
    """Write the game as a moving picture, one frame for each board.

    The free cells show the player's action values, the text below the verdict on the last move.
    """
    write_frames(
        [_frame(game, player, ply) for ply in range(len(game.moves) + 1)], path, MILLISECONDS
    )


def write_frames(
    frames: Sequence[Image.Image], path: Path, milliseconds: int, colours: int = 128
) -> None:
    """Write a moving picture that shows its last frame for longer."""
    every = Image.fromarray(np.concatenate([np.asarray(frame) for frame in frames]))
    palette = every.quantize(colours)  # one for all frames, so that nothing flickers
    flat = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [milliseconds] * (len(frames) - 1) + [LAST_MILLISECONDS]
    flat[0].save(path, save_all=True, append_images=flat[1:], duration=times, loop=0, optimize=True)


def write_page(folder: str, address: str, cells: Sequence[str], path: Path) -> None:
    """Write the page of `play.py --web` after these moves of a person, with all values shown.

    folder: where the server runs.
    """
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        raise FileNotFoundError(
            "the picture of the page needs a Chromium: apt-get install chromium"
        )
    with served(folder) as host, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        size = {"width": 1180, "height": 800}
        looks = {"color_scheme": "light", "reduced_motion": "reduce", "device_scale_factor": 2}
        page = browser.new_page(viewport=size, **looks)
        page.goto(host + address)
        page.get_by_text("Show what it thinks").click()
        page.get_by_text("Show the truth").click()
        for ply, cell in enumerate(cells):
            page.locator(f".grid.open .cell[aria-label^='{cell},']").click()
            page.locator(".stage-board .new").nth(2 * ply + 1).wait_for()
            page.locator(".truth").first.wait_for()
        page.mouse.move(0, 0)
        page.screenshot(path=path)
        browser.close()
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(48, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


@contextmanager
def served(folder: str) -> Iterator[str]:
    """The address of a server that runs in `folder`; it ends with the context."""
    play = str(HERE.parent / "play.py")
    program = [sys.executable, play, "--web", "--port", "0", "--store", "games.db"]
    server = subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[1].rstrip("/")
    finally:
        server.terminate()
        server.wait()


def _frame(game: Game, player: ValuedTable, ply: int) -> Image.Image:
    """The board after `ply` moves, with two lines of text below it."""
    board = game.boards[ply]
    side = SIDES[ply % 2]
    is_over = ply == len(game.moves)
    values = None if is_over else np.where(board == 0, player.q_values(board[None])[0], np.nan)
    pixels = rgb_array(board, game.rules, last=game.moves[ply - 1] if ply else None, values=values)
    picture = Image.new("RGB", (pixels.shape[1], pixels.shape[0] + STRIP), BACKGROUND)
    picture.paste(Image.fromarray(pixels))
    draw = ImageDraw.Draw(picture)
    middle = pixels.shape[1] / 2
    top = pixels.shape[0] - 8
    names = {"X": game.x.name, "O": game.o.name}
    if ply == 0:
        first = f"X: {names['X']}     O: {names['O']}"
        colour = INK
    else:
        verdict = verdicts(game)[ply - 1]
        first = f"{verdict.side} {cell_text(verdict.cell, game.rules)}: {verdict.text}"
        colour = COLOURS[verdict.side]
    second = f"on the cells: what each move of {side} is worth, as learned"
    if is_over:
        second = "a draw" if game.result == "draw" else f"{names[game.result]} wins"
    draw.text((middle, top), first, colour, ImageFont.load_default(TEXT), anchor="ma")
    draw.text((middle, top + TEXT + 12), second, LABEL, ImageFont.load_default(SMALL), anchor="ma")
    return picture


if __name__ == "__main__":
    main()
