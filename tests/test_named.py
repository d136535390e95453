"""players/named.py: whom a name stands for."""

import numpy as np
import pytest
from players.named import PLAYERS, make_player

from evaluate import main
from tictactoe_env.opponents import MinimaxPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.search import SearchPolicy


def test_a_name_stands_for_a_player_with_its_options():
    player = make_player("search-depth=3-ties=first-seconds=0.5", Rules(4, 4, 3))
    assert isinstance(player, SearchPolicy)
    assert (player.depth, player.ties, player.seconds, player.rules) == (
        3,
        "first",
        0.5,
        Rules(4, 4, 3),
    )


def test_the_names_of_opponents_are_what_they_were():
    assert isinstance(make_player("minimax", Rules()), MinimaxPolicy)
    assert make_player("minimax-slip=0.25", Rules()).slip == 0.25
    assert make_player("minimax-first", Rules()).ties == "first"


@pytest.mark.parametrize("name", PLAYERS)
def test_every_player_moves_on_a_board_that_is_not_square(name):
    probs = make_player(name, Rules(2, 3, 2)).probs(np.zeros((2, 6), dtype=np.int8))
    assert probs.shape == (2, 6)
    assert np.allclose(probs.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("serch", "unknown agent 'serch'; did you mean 'search'"),
        ("minmax", "did you mean 'minimax'"),
        ("search-depht=3", "unknown option of search 'depht'; did you mean 'depth'"),
        (
            "search-depth=x",
            "depth of search must be of the type int, such as search-depth=0, got 'x'",
        ),
        ("search-depth=-1", "depth must be a whole number"),
        ("search-ties=lowest", "unknown way to break ties"),
    ],
)
def test_what_is_no_player_is_refused_with_a_reason(spec, words):
    with pytest.raises(ValueError, match=words):
        make_player(spec, Rules())


def test_evaluate_judges_a_player_by_its_name(capsys):
    assert main(["search-ties=first", "--rows", "2", "--cols", "3", "--k", "2"]) == 0
    shown = capsys.readouterr().out
    assert "search-ties=first on 2x3, 2 in a row" in shown
    assert "can be beaten as O" in shown
    assert main(["serch"]) == 1
    assert "did you mean 'search'" in capsys.readouterr().err
