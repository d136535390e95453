"""Games between two players that are printed and counted."""

import io

import pytest
from consoles import printed
from rich.console import Console
from sample_players import CellPlayer, FixedPlayer

from terminal import battle
from tictactoe_env import RandomPolicy, Rules
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.notation import game_text
from tictactoe_env.rules import standing

PERFECT, FIRST = MinimaxPolicy(Rules()), MinimaxPolicy(Rules(), "first")


@pytest.mark.parametrize("rules", [Rules(), Rules(2, 4, 3), Rules(4, 5, 4)], ids=str)
def test_a_game_is_legal_to_its_end_and_the_same_for_the_same_seed(rules):
    games = [battle.play(RandomPolicy(), FixedPlayer(seed), rules, seed) for seed in range(30)]
    assert games == [battle.play(RandomPolicy(), FixedPlayer(s), rules, s) for s in range(30)]
    assert {standing(cells, rules).ended for cells in games} <= {"line", "full"}
    assert {standing(cells[:-1], rules).ended for cells in games} == {""}
    assert len(set(map(len, games))) > 1


@pytest.mark.parametrize(
    ("x", "o", "moves", "end"),
    [
        (PERFECT, PERFECT, "", "a draw"),
        (CellPlayer(0), CellPlayer(0), ": a1 a1\n", "O loses by an illegal move"),
        (CellPlayer(0), FIRST, ": a1 b2 a1\n", "X loses by an illegal move"),
        (FixedPlayer(1), PERFECT, "", "O wins"),
    ],
)
def test_an_example_game_shows_its_moves_its_boards_and_its_end(x, o, moves, end):
    for width in (30, 200):
        text = printed(battle.example_game, x, o, ("Xena", "Otto"), Rules(), width=width)
        assert ("Xena as X against Otto as O" in text, moves in text) == (True, True)
        assert text.splitlines()[-1] == end
        boards = text.splitlines()[2:]
        assert max(map(len, boards)) <= width
        assert "a   b   c" in boards[0] + boards[1]


def test_a_battle_prints_every_game_and_the_players_change_sides():
    players, names = (PERFECT, RandomPolicy()), ("Anna", "Otto")
    console = Console(file=io.StringIO(), width=200)
    result = battle.battle(players, names, Rules(), 6, 0, console)
    shown, won = console.file.getvalue(), dict.fromkeys([*names, None], 0)
    for number, game in enumerate(result["games"]):
        x, o = number % 2, 1 - number % 2
        cells = battle.play(players[x], players[o], Rules(), number)
        text = game_text(cells, Rules())
        assert [game["x"], game["o"], game["moves"]] == [names[x], names[o], text]
        header = f"game {number + 1} of 6, {names[x]} as X against {names[o]} as O"
        assert f"{header}: {text}" in shown
        won[{"X": names[x], "O": names[o], None: None}[game["winner"]]] += 1
    assert won["Otto"] == 0, "nobody beats perfect play"
    assert {**result["won"], None: result["drawn"]} == won
    assert f"Anna won {won['Anna']}, Otto won 0, drawn {won[None]}" in shown


def test_a_battle_is_lost_by_illegal_moves_and_says_how_many_games_differ():
    console = Console(file=io.StringIO(), width=200)
    players = (CellPlayer(0), FixedPlayer(1))
    result = battle.battle(players, ("Anna", "Otto"), Rules(2, 4, 3), 4, 0, console)
    assert result["won"] == {"Anna": 0, "Otto": 4}
    assert result["different"] == 2, "both always do the same, once on each side"
    assert console.file.getvalue().count("illegal move") == 4
