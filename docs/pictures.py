"""Draw the pictures of the README again: `python docs/pictures.py` (extra `test`, and a Chromium for that of the page)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from agents import tabular_q
from terminal.battle import play
from tictactoe_env.analysis import verdicts
from tictactoe_env.certificate import FILE, certify, write
from tictactoe_env.games import Game, Player
from tictactoe_env.match import action_values
from tictactoe_env.notation import SIDES, cell_text, parse_board
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.render import BACKGROUND, COLOURS, INK, LABEL, rgb_array, svg
from tictactoe_env.rules import Rules
from training.values import ValuedTable

HERE = Path(__file__).parent
STEPS = 400_000  # of the Q-learner in the moving picture, two seconds
SEED = 0  # of its training and of its game
MILLISECONDS, LAST_MILLISECONDS = 2_000, 6_000  # that a board of the moving picture stays
STRIP = 70  # pixels below the board, for two lines of text
TEXT, SMALL = 19, 14  # pixels, the height of letters


def main() -> None:
    """Write board.svg, game.gif and page.png beside this file."""
    (HERE / "board.svg").write_text(board(), encoding="utf-8")
    with TemporaryDirectory() as folder:
        run = Path(folder, "runs", "tabular_q-0")
        player = tabular_q.train(
            tabular_q.Config(seed=SEED, steps=STEPS),
            lambda steps, table, save, *_: bool(save(run, False)),
        )
        write(certify(player, tabular_q.AGENT, seed=SEED), run / FILE)
        moves = tuple(play(player, RandomPolicy(), Rules(), SEED))
        write_gif(
            Game(
                x=Player("agent", "tabular_q"),
                o=Player("agent", "random"),
                moves=moves,
                origin="battle",
            ),
            player,
            HERE / "game.gif",
        )
        write_page(folder, "/?x=human&o=runs%2Ftabular_q-0", ("a1", "c3"), HERE / "page.png")


def board() -> str:
    """What each answer of O is worth against random play, exact, O being perfect from there on."""
    rules = Rules()
    board = parse_board("X../.O./..X", rules)
    values = action_values(
        "O", make_opponent("minimax", rules), make_opponent("random", rules), board=board
    )
    return svg(board, rules, last=8, values=values)


def write_gif(game: Game, player: ValuedTable, path: Path) -> None:
    """The game board by board: on the free cells what the player believes each move to be worth, below the verdict on the last move."""
    frames = [_frame(game, player, ply) for ply in range(len(game.moves) + 1)]
    palette = Image.fromarray(np.concatenate([np.asarray(frame) for frame in frames])).quantize(
        128
    )  # one for all, so that nothing flickers
    flat = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [MILLISECONDS] * len(game.moves) + [LAST_MILLISECONDS]
    flat[0].save(path, save_all=True, append_images=flat[1:], duration=times, loop=0, optimize=True)


def write_page(folder: str, address: str, cells: Sequence[str], path: Path) -> None:
    """The page of `play.py --web`, served from a folder, after these moves of a person; with thoughts and truth on the cells."""
    from playwright.sync_api import sync_playwright

    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None:
        raise FileNotFoundError(
            "the picture of the page needs a Chromium: apt-get install chromium"
        )
    program = [sys.executable, "-m", "web.server", "--port", "0", "--store", "games.db"]
    server = subprocess.Popen(
        program,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        host = server.stdout.readline().split()[1].rstrip("/")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(
                viewport={"width": 1180, "height": 760},
                color_scheme="light",
                reduced_motion="reduce",
            )
            page.goto(host + address)
            for switch in page.locator(".switch").all():
                switch.click()
            for ply, cell in enumerate(cells):
                page.locator(f".grid.open .cell[aria-label^='{cell},']").click()
                page.locator(f".trail li:nth-child({2 * ply + 2})").wait_for()
                page.locator(".truth").first.wait_for()
            page.mouse.move(0, 0)
            page.screenshot(path=path)
            browser.close()
    finally:
        server.terminate()
        server.wait()


def _frame(game: Game, player: ValuedTable, ply: int) -> Image.Image:
    """The board after some moves, with two lines of text below it."""
    board, side = game.boards[ply], SIDES[ply % 2]
    is_over = ply == len(game.moves)
    values = None if is_over else np.where(board == 0, player.q_values(board[None])[0], np.nan)
    pixels = rgb_array(board, game.rules, last=game.moves[ply - 1] if ply else None, values=values)
    picture = Image.new("RGB", (pixels.shape[1], pixels.shape[0] + STRIP), BACKGROUND)
    picture.paste(Image.fromarray(pixels))
    draw, middle, top = ImageDraw.Draw(picture), pixels.shape[1] / 2, pixels.shape[0] - 8
    names = {"X": game.x.name, "O": game.o.name}
    if ply == 0:
        first, colour = f"X: {names['X']}     O: {names['O']}", INK
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
