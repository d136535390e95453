"""Draw the pictures of the README again: `python docs/pictures.py` (extra `test`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from agents import tabular_q
from agents.battle import play
from agents.values import ValuedTable
from tictactoe_env.analysis import verdicts
from tictactoe_env.games import Game, Player
from tictactoe_env.match import move_values
from tictactoe_env.notation import SIDES, cell_text, parse_board
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.render import BACKGROUND, COLOURS, INK, LABEL, rgb_array, svg
from tictactoe_env.rules import Rules

HERE = Path(__file__).parent
STEPS = 400_000  # of the Q-learner in the moving picture, two seconds
SEED = 0  # of its training and of its game
MILLISECONDS, LAST_MILLISECONDS = 2_000, 6_000  # that a board of the moving picture stays
STRIP = 70  # pixels below the board, for two lines of text
TEXT, SMALL = 19, 14  # pixels, the height of letters


def main() -> None:
    """Write board.svg and game.gif beside this file."""
    (HERE / "board.svg").write_text(board(), encoding="utf-8")
    player = tabular_q.train(tabular_q.Config(seed=SEED, steps=STEPS), lambda *_: False)
    moves = tuple(play(player, RandomPolicy(), Rules(), SEED))
    write_gif(Game(x=Player("agent", "tabular_q"), o=Player("agent", "random"), moves=moves, origin="battle"), player, HERE / "game.gif")


def board() -> str:
    """What each answer of O is worth against random play, exact, O being perfect from there on."""
    rules = Rules()
    board = parse_board("X../.O./..X", rules)
    values = move_values("O", make_opponent("minimax", rules), make_opponent("random", rules), board=board)
    return svg(board, rules, last=8, values=values)


def write_gif(game: Game, player: ValuedTable, path: Path) -> None:
    """The game board by board: on the free cells what the player believes each move to be worth, below the verdict on the last move."""
    frames = [_frame(game, player, ply) for ply in range(len(game.moves) + 1)]
    palette = Image.fromarray(np.concatenate([np.asarray(frame) for frame in frames])).quantize(128)  # one for all, so that nothing flickers
    flat = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [MILLISECONDS] * len(game.moves) + [LAST_MILLISECONDS]
    flat[0].save(path, save_all=True, append_images=flat[1:], duration=times, loop=0, optimize=True)


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
