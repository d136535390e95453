"""terminal/battle.py: games that are played, printed and counted."""

import io

import pytest
from consoles import printed
from rich.console import Console
from sample_players import CellPlayer, FixedPlayer

from terminal import battle
from tictactoe_env import RandomPolicy, Rules
from tictactoe_env.notation import game_text
from tictactoe_env.policy import MinimaxPolicy
from tictactoe_env.standing import standing

RECTANGLE, X_WINS, PERFECT = Rules(2, 4, 3), Rules(2, 3, 2), MinimaxPolicy(Rules())


def shown_game(x, o, rules=None, width=100):
    """The example game, where the output is no terminal."""
    names, rules = ("Xena", "Otto"), rules or Rules()
    return printed(battle.example_game, x, o, names, rules, width=width)


@pytest.mark.parametrize("rules", [Rules(), RECTANGLE, Rules(4, 5, 4)], ids=str)
def test_a_game_is_legal_to_its_end_and_the_same_for_the_same_seed(rules):
    lengths = set()
    for seed in range(30):
        cells = battle.play(RandomPolicy(), FixedPlayer(seed), rules, seed)
        assert cells == battle.play(RandomPolicy(), FixedPlayer(seed), rules, seed)
        assert standing(cells, rules).ended in ("line", "full")
        assert standing(cells[:-1], rules).ended == ""
        lengths.add(len(cells))
    assert len(lengths) > 1


def test_an_example_game_shows_its_moves_its_boards_and_its_end():
    lines = shown_game(MinimaxPolicy(X_WINS, "first"), CellPlayer(2), X_WINS).splitlines()
    assert lines[1] == "an example game, Xena as X against Otto as O: a1 c1 b1"
    assert lines[-1] == "X wins"
    boards = "\n".join(lines[2:-1])
    assert (boards.count("X"), boards.count("O")) == (1 + 1 + 2, 0 + 1 + 1)
    narrow, wide = (shown_game(PERFECT, PERFECT, width=width).splitlines() for width in (30, 200))
    assert len(narrow) > len(wide)
    assert max(map(len, narrow[2:])) <= 30
    assert sum("a   b   c" in line for line in wide) == 1, "boards stand side by side"


def test_an_example_game_ends_in_words_for_every_end():
    first = MinimaxPolicy(Rules(), "first")
    for x, o, moves, end in (
        (PERFECT, PERFECT, "", "a draw"),
        (CellPlayer(0), CellPlayer(0), ": a1 a1\n", "O loses by an illegal move"),
        (CellPlayer(0), first, ": a1 b2 a1\n", "X loses by an illegal move"),
        (FixedPlayer(1), PERFECT, "", "O wins"),
    ):
        text = shown_game(x, o)
        assert (moves in text, text.splitlines()[-1]) == (True, end)


def fought(first, second, rules, games):
    console = Console(file=io.StringIO(), width=200)
    result = battle.battle((first, second), ("Anna", "Otto"), rules, games, 0, console)
    return result, console.file.getvalue()


def test_a_battle_prints_every_game_and_the_players_change_sides():
    players = (PERFECT, RandomPolicy())
    result, shown = fought(*players, Rules(), 6)
    won = {"Anna": 0, "Otto": 0, None: 0}
    for number, game in enumerate(result["games"]):
        sides = number % 2, 1 - number % 2
        cells = battle.play(*(players[side] for side in sides), Rules(), number)
        names = [("Anna", "Otto")[side] for side in sides]
        assert [game["x"], game["o"], game["moves"]] == [*names, game_text(cells, Rules())]
        header = f"game {number + 1} of 6, {names[0]} as X against {names[1]} as O"
        assert f"{header}: {game['moves']}" in shown
        won[{"X": names[0], "O": names[1], None: None}[game["winner"]]] += 1
    assert won["Otto"] == 0, "nobody beats perfect play"
    assert {**result["won"], None: result["drawn"]} == won
    counts = f"Anna won {won['Anna']}, Otto won 0, drawn {won[None]}"
    assert f"{counts}; {result['different']} of 6 games differ" in shown
    result, shown = fought(CellPlayer(0), FixedPlayer(1), RECTANGLE, 4)
    assert all(game["illegal_move"] for game in result["games"])
    assert result["won"] == {"Anna": 0, "Otto": 4}, "an illegal move loses"
    assert result["different"] == 2, "both always do the same, once on each side"
    assert shown.count("loses by an illegal move") == 4
