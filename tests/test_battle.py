"""terminal/battle.py: games that are played, printed and counted."""

import io

import pytest
from rich.console import Console
from sample_players import CellPlayer, FixedPlayer, fixed_table

from terminal import battle
from tictactoe_env.notation import parse_game, replay
from tictactoe_env.opponents import MinimaxPolicy
from tictactoe_env.policy import RandomPolicy, tabulate
from tictactoe_env.rules import Rules

RECTANGLE = Rules(2, 4, 3)
X_WINS = Rules(2, 3, 2)


def text_of(print_it, width=100):
    """What is written where the output is no terminal."""
    console = Console(file=io.StringIO(), width=width)
    print_it(console)
    return console.file.getvalue()


@pytest.mark.parametrize("rules", [Rules(), RECTANGLE, Rules(4, 5, 4)], ids=str)
def test_a_game_is_legal_to_its_end_and_the_same_for_the_same_seed(rules):
    lengths = set()
    for seed in range(30):
        cells = battle.play(RandomPolicy(), FixedPlayer(seed), rules, seed)
        assert cells == battle.play(RandomPolicy(), FixedPlayer(seed), rules, seed)
        boards = replay(cells, rules)
        assert len(set(cells)) == len(cells)
        ended = [bool(rules.winning_cells(board)) or bool((board != 0).all()) for board in boards]
        assert ended == [False] * len(cells) + [True]
        lengths.add(len(cells))
    assert len(lengths) > 1


def test_x_moves_first_and_the_players_take_turns():
    cells = battle.play(CellPlayer(4), FixedPlayer(0), Rules(), seed=0)
    assert cells[0] == 4
    assert cells[2] == 4, "it plays its cell again, which is illegal"
    assert len(cells) == 3


def test_an_illegal_move_ends_the_game_and_is_its_last_cell():
    assert battle.play(CellPlayer(0), CellPlayer(0), RECTANGLE, seed=0) == [0, 0]


def shown_game(x, o, rules, width=100):
    return text_of(
        lambda console: battle.example_game(
            tabulate(x, rules), tabulate(o, rules), ("Xena", "Otto"), rules, console
        ),
        width,
    )


def test_an_example_game_shows_its_moves_its_boards_and_its_end():
    lines = shown_game(MinimaxPolicy(X_WINS, "first"), CellPlayer(2), X_WINS).splitlines()
    assert lines[1] == "an example game, Xena as X against Otto as O: a1 c1 b1"
    assert lines[-1] == "X wins"
    boards = "\n".join(lines[2:-1])
    assert boards.count("X") == 1 + 1 + 2
    assert boards.count("O") == 0 + 1 + 1


def test_an_example_game_ends_in_words_for_every_end():
    assert shown_game(MinimaxPolicy(Rules()), MinimaxPolicy(Rules()), Rules()).endswith(
        "\na draw\n"
    )
    assert shown_game(CellPlayer(0), CellPlayer(0), Rules()).endswith(
        "\nO loses by an illegal move\n"
    )
    assert shown_game(CellPlayer(0), MinimaxPolicy(Rules(), "first"), Rules()).endswith(
        "\nX loses by an illegal move\n"
    )
    lost = text_of(
        lambda console: battle.example_game(
            fixed_table(X_WINS, 3),
            tabulate(MinimaxPolicy(X_WINS), X_WINS),
            ("a", "b"),
            X_WINS,
            console,
            seed=1,
        )
    )
    assert lost.splitlines()[-1] in ("X wins", "O wins")


def test_boards_of_a_game_stand_side_by_side_as_far_as_the_console_is_wide():
    narrow, wide = (
        shown_game(MinimaxPolicy(Rules()), MinimaxPolicy(Rules()), Rules(), width)
        for width in (30, 200)
    )
    assert len(narrow.splitlines()) > len(wide.splitlines())
    assert max(map(len, narrow.splitlines()[2:])) <= 30
    assert sum("a   b   c" in line for line in wide.splitlines()) == 1


# --- battles -----------------------------------------------------------------------------------------------------


def fought(first, second, rules, games, seed=0):
    console = Console(file=io.StringIO(), width=200)
    return battle.battle(
        (first, second), ("Anna", "Otto"), rules, games, seed, console
    ), console.file.getvalue()


def test_a_battle_prints_every_game_and_the_players_change_sides():
    result, shown = fought(MinimaxPolicy(Rules()), RandomPolicy(), Rules(), 6)
    assert [(game["x"], game["o"]) for game in result["games"]] == [
        ("Anna", "Otto"),
        ("Otto", "Anna"),
    ] * 3
    for number, game in enumerate(result["games"], 1):
        assert (
            f"game {number} of 6, {game['x']} as X against {game['o']} as O: {game['moves']}"
            in shown
        )
        assert len(replay(parse_game(game["moves"], Rules()), Rules())) >= 6
    assert result["won"]["Otto"] == 0, "nobody beats perfect play"
    assert sum(result["won"].values()) + result["drawn"] == 6
    assert (
        f"Anna won {result['won']['Anna']}, Otto won 0, drawn {result['drawn']}; {result['different']} of 6 games differ"
        in shown
    )


def test_the_winner_is_counted_by_name_and_an_illegal_move_loses():
    result, shown = fought(CellPlayer(0), FixedPlayer(1), RECTANGLE, 4)
    assert all(
        game["illegal_move"] and game["winner"] == ("O" if game["x"] == "Anna" else "X")
        for game in result["games"]
    )
    assert result["won"] == {"Anna": 0, "Otto": 4}
    assert result["different"] == 2, "both always do the same, once on each side"
    assert shown.count("loses by an illegal move") == 4


def test_a_battle_follows_from_its_seed():
    one, again, other = (
        fought(RandomPolicy(), RandomPolicy(), Rules(4, 4, 4), 3, seed)[0] for seed in (1, 1, 50)
    )
    assert one == again
    assert one != other
