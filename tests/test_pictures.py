import importlib.util
from pathlib import Path

import numpy as np
from PIL import Image

from tictactoe_env.render import rgb_array, svg

DOCS = Path(__file__).parent.parent / "docs"
spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
pictures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pictures)


def test_the_pictures_of_the_readme_and_of_the_index_are_what_the_command_draws():
    drawn = pictures.board()
    assert svg(**drawn) == (DOCS / "board.svg").read_text(encoding="utf-8")
    with Image.open(DOCS / "board.png") as picture:
        assert (np.asarray(picture) == rgb_array(**drawn)).all()


def test_the_board_of_the_readme_shows_the_exact_result_of_every_move():
    """In .XO/X../... O wins with c3, draws with b2 and b3, and loses with every other move."""
    values = dict(zip(range(9), pictures.board()["values"], strict=True))
    expected = {8: 1, 4: 0, 7: 0, 0: -1, 5: -1, 6: -1}
    assert {cell: value for cell, value in values.items() if not np.isnan(value)} == expected


def test_the_picture_of_the_lost_game_is_the_game_that_the_page_prints():
    assert pictures.lost_game() == (DOCS / "lost_game.svg").read_text(encoding="utf-8")
    assert "as O (b1 a3 a1 c1 b2 b3 c3)" in (DOCS / "exact_evaluation.md").read_text()


def test_the_picture_of_the_environment_is_a_game_that_it_renders(tmp_path):
    pictures.write_environment(tmp_path / "environment.gif")
    with (
        Image.open(tmp_path / "environment.gif") as drawn,
        Image.open(DOCS / "environment.gif") as kept,
    ):
        assert drawn.n_frames == kept.n_frames > 3
        for number in range(kept.n_frames):
            drawn.seek(number), kept.seek(number)
            assert (np.asarray(drawn.convert("RGB")) == np.asarray(kept.convert("RGB"))).all()
