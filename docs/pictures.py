"""Draw the pictures of the README again: `python docs/pictures.py`."""

from pathlib import Path

from tictactoe_env.match import move_values
from tictactoe_env.notation import parse_board
from tictactoe_env.opponents import make_opponent
from tictactoe_env.render import svg
from tictactoe_env.rules import Rules


def main() -> None:
    """docs/board.svg: what each answer of O is worth against random play, exact, O being perfect from there on."""
    rules = Rules()
    board = parse_board("X../.O./..X", rules)
    values = move_values("O", make_opponent("minimax", rules), make_opponent("random", rules), board=board)
    Path(__file__).with_name("board.svg").write_text(svg(board, rules, last=8, values=values), encoding="utf-8")


if __name__ == "__main__":
    main()
