"""Draw the pictures of the README and of the documentation: `python docs/pictures.py`.

It needs the dependency group `test`, and a Chromium for the picture of the page.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from agents import tabular_q
from apps.terminal.battle import play
from tictactoe_env.exact import best_responses
from tictactoe_env.games import Game, Participant, verdicts
from tictactoe_env.notation import SIDES, cell_text, parse_game
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.render import BACKGROUND, COLOURS, INK, LABEL, rgb_array, svg_games
from tictactoe_env.rules import Rules
from training.learner import evaluations
from training.values import ValuedTable

HERE = Path(__file__).parent
STEPS = 400_000  # of the Q-learner in game.gif; two seconds
SEED = 0  # of its training and its game
MILLISECONDS = 2_000  # for which a board is shown
LAST_MILLISECONDS = 6_000
ENVIRONMENT_SEED = 0  # of the game in environment.gif
STRIP = 70  # pixels below the board, for two lines of text
TEXT = 19  # pixels, the height of letters
SMALL = 14


def main() -> None:
    """Write the pictures beside this file."""
    Image.fromarray(beaten()).save(HERE / "beaten.png", optimize=True)
    (HERE / "lost_game.svg").write_text(lost_game(), encoding="utf-8")
    write_environment(HERE / "environment.gif")
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


def write_environment(path: Path) -> None:
    """Write a game as `render()` of the environment shows it: minimax, X, against random play."""
    options = {"opponent": "random", "side": "X", "render_mode": "rgb_array"}
    env = gym.make("tictactoe_env/TicTacToe-v0", **options)
    player = make_opponent("minimax-first", Rules())
    env.reset(seed=ENVIRONMENT_SEED)
    frames = [env.render()]
    terminated = False
    while not terminated:
        board = env.unwrapped.board
        _, _, terminated, _, _ = env.step(player.probs(board[None])[0].argmax())
        frames.append(env.render())
    first, *others = map(Image.fromarray, frames)
    first.save(path, save_all=True, append_images=others, duration=1_000, loop=0, optimize=True)


def write_gif(game: Game, player: ValuedTable, path: Path) -> None:
    """Write the game as a moving picture, one frame for each board.

    The free cells show the player's action values, the text below the verdict on the last move.
    """
    frames = [_frame(game, player, ply) for ply in range(len(game.moves) + 1)]
    every = Image.fromarray(np.concatenate([np.asarray(frame) for frame in frames]))
    palette = every.quantize(128)  # one for all frames, so that nothing flickers
    flat = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [MILLISECONDS] * len(game.moves) + [LAST_MILLISECONDS]
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
        page = browser.new_page(viewport=size, color_scheme="light", reduced_motion="reduce")
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
