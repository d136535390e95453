"""A game that a person types: one contract for `play.py` and for `python -m tictactoe_env`."""

import io
import re
import sys

import pytest
from sample_players import CellPlayer

import play
from apps.terminal import game as terminal
from tictactoe_env import __main__ as package
from tictactoe_env import register_opponent, unregister_opponent
from tictactoe_env.session import GameSession

COMMANDS = {
    "play.py": terminal.TerminalSession.commands,
    "python -m tictactoe_env": GameSession.commands,
}


@pytest.fixture(params=COMMANDS)
def program(request):
    return request.param


@pytest.fixture
def typed(program, monkeypatch, capsys, tmp_path):
    """What the program says to the words that are typed, after each question."""

    def run(words, opponent="minimax-first", side="X", board="3x3x3", games=1, seed=0, code=0):
        if isinstance(words, str):
            words = io.StringIO("".join(f"{word}\n" for word in words.split(" ")))
        monkeypatch.setattr(sys, "stdin", words)
        options = ["--seed", str(seed), "--games", str(games), "--board", board]
        if program == "play.py":
            players = ("human", opponent) if side == "X" else (opponent, "human")
            options += ["--x", players[0], "--o", players[1]]
            ended = play.main([*options, "--store", str(tmp_path / "games.db")])
        else:
            ended = package.main([*options, "--opponent", opponent, "--side", side])
        text, error = capsys.readouterr()
        assert (ended, error) == (code, "")
        return text.split("? for help): ")

    register_opponent("cell", lambda rules: CellPlayer(0))
    yield run
    unregister_opponent("cell")


GAMES = [  # what is typed; against whom, as which side, on which board; words of the end
    ("b2 1 6 C1", "minimax-first", "X", "3x3x3", "Perfect wins c1 (move draw loss"),
    ("b2 c1 a2 b3 c3", "minimax-first", "X", "3x3x3", "draw Nobody"),
    ("a1", "cell", "X", "3x3x3", "a1 taken illegal win"),
    ("1", "random", "X", "1x1x1", "win Nobody"),
    ("a", "cell", "X", "3x3x3-gravity=true", "a1 not legal illegal win"),
    ("2 b 2 3 a", "search-depth=1", "X", "4x4x3-gravity=true", "ahead wins b1 (move 5"),
    ("b2 resign", "minimax-first", "X", "3x3x3", "X resigns Perfect wins draw"),
]


@pytest.mark.parametrize(("words", "opponent", "side", "board", "said"), GAMES)
def test_the_end_of_a_game_says_who_has_won_and_what_decided_it(
    typed, words, opponent, side, board, said
):
    end = typed(words, opponent, side, board)[-1]
    assert [word for word in said.split() if word not in end] == []


@pytest.mark.parametrize(
    "wrong", ["b9", "0", "10", "9" * 20, "\N{SUPERSCRIPT TWO}", "b2", "", "xxx"]
)
def test_what_is_no_move_is_asked_for_again_with_what_is_allowed(typed, wrong):
    answer = typed(f"b2 {wrong} quit", opponent="cell")[-2]
    expected = ("b2", "taken", "b1") if wrong == "b2" else (repr(wrong), "a1", "c3", "1", "9")
    assert [word for word in expected if word not in answer] == []


def rows(text):
    """The lines of the boards in a text."""
    return re.findall(r"^ *\d .*", text, re.MULTILINE)


def test_a_move_is_taken_back_with_the_answer_to_it(typed):
    empty, nothing, moved, back, again, _ = typed("undo b2 u a1 quit")
    assert "no move" in nothing
    assert rows(moved) != rows(empty) == rows(back)
    assert rows(again) == rows(typed("a1 quit")[1])


def test_hints_name_the_best_moves_and_help_every_command(typed, program):
    _, first, _, second, told, _ = typed("hint b2 h ? quit")
    assert "every move draws" in first
    assert "every move draws" in second
    assert [word for word in COMMANDS[program] if word not in told] == []
    assert "c2 wins" in typed("b2 hint quit", "cell", board="3x4x3")[-2]
    assert re.search("[a-e][1-5],? .*search", typed("hint quit", "random", board="5x5x4")[1])


def test_a_game_is_left_at_the_end_of_the_input_and_by_ctrl_c(typed, program):
    class Interrupted(io.StringIO):
        def readline(self, size=-1):
            raise KeyboardInterrupt

    assert "b2" in typed("b2", "random")[1]
    assert "left" in typed(Interrupted(), code=130)[-1]


def test_games_are_counted_and_the_same_seed_makes_the_same_moves(typed):
    words = " ".join(str(cell) for cell in [*range(1, 10)] * 200)
    first, again, other = (typed(words, "random", games=12, seed=seed) for seed in (7, 7, 8))
    assert rows("".join(first)) == rows("".join(again)) != rows("".join(other))
    assert "12 games: " in first[-1]
