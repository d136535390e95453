"""`python -m tictactoe_env`: a game in the terminal, typed or piped in."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tictactoe_env.__main__ import main
from tictactoe_env.names import register_opponent, unregister_opponent

ROOT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-m", "tictactoe_env"]
ASKED = "X, your move (such as c3 or 9, ? for help): "


@pytest.fixture
def play(monkeypatch, capsys):
    """Runs the program with typed lines: exit code, output, errors."""

    def run(typed, *arguments):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture(autouse=True)
def first():
    """An opponent that marks the first free cell."""

    class First:
        def probs(self, boards):
            free = boards == 0
            return (free & (free.cumsum(axis=1) == 1)).astype(float)

    class Taken:
        def probs(self, boards):
            return (boards != 0) / (boards != 0).sum(axis=1, keepdims=True)

    register_opponent("first-free", lambda rules: First())
    register_opponent("taken", lambda rules: Taken())
    yield
    unregister_opponent("first-free")
    unregister_opponent("taken")


def test_a_game_is_played_by_names_and_numbers_and_the_result_is_explained(play):
    code, out, err = play(["b2", "6", "A2"], "--opponent", "first-free")
    assert (code, err) == (0, "")
    assert out.startswith(
        "You are X against first-free on 3x3, 3 in a row. X moves first.\n\n"
        f"    a   b   c\n1   .   .   .\n2   .   .   .\n3   .   .   .\n\n{ASKED}b2\n"
        "first-free plays a1.\n\n    a   b   c\n1  [O]  .   .\n2   .   X   .\n3   .   .   .\n"
    )
    assert out.endswith(
        f"{ASKED}A2\n    a   b   c\n1   O   O   .\n2  [X*] X*  X*\n3   .   .   .\n\n"
        "You win.\n"
        "O's b1 (move 4) turned a draw into a loss: X could win at once.\n\n"
    )


@pytest.mark.parametrize(
    ("typed", "arguments", "end"),
    [
        (
            ["c3", "c2"],
            ["--side", "o"],
            "first-free wins.\nO's c2 (move 4) turned a win into a loss: X could win at once.",
        ),
        (
            ["b2", "c1", "a2", "b3", "c3"],
            [],
            "A draw.\nX's b3 (move 7) turned a win into a draw.",
        ),
        (
            ["a1"],
            ["--rows", "1", "--cols", "1", "--k", "1"],
            "You win.\nNobody made a mistake: the game was won for X throughout.",
        ),
    ],
)
def test_the_end_says_the_result_and_the_move_that_changed_it(play, typed, arguments, end):
    code, out, err = play(typed, "--opponent", "first-free", *arguments)
    assert (code, err) == (0, "")
    assert out.endswith(f"\n{end}\n\n")


@pytest.mark.parametrize(
    ("size", "name"), [(("3", "3", "3"), "minimax-slip=0.3"), (("5", "5", "4"), "search-depth=1")]
)
def test_without_a_name_the_opponent_is_an_easy_one_and_says_so(play, size, name):
    options = zip(("--rows", "--cols", "--k"), size, strict=True)
    code, out, _ = play(["quit"], *(text for pair in options for text in pair))
    assert code == 0
    easy, against, *_ = out.splitlines()
    assert easy == "An easy opponent. --list shows all with their strength, --opponent takes one."
    assert against.startswith(f"You are X against {name} on {'x'.join(size[:2])}")
    assert "easy" not in play(["quit"], "--opponent", "minimax")[1]


def test_undo_hint_and_help_work_at_any_time(play):
    typed = ["undo", "hint", "a1", "hint", "u", "?", "b2", "quit"]
    code, out, _ = play(typed, "--opponent", "first-free")
    assert code == 0
    assert "You have no move to take back yet." in out
    assert "Hint: every move draws." in out
    assert "  undo  take your last move back\n" in out
    assert out.count("X, your move") == len(typed)
    assert out.endswith("You left the game.\n")
    # After undo the board is empty again.
    assert out.count("1   .   .   .\n2   .   .   .\n3   .   .   .") == 2


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("b9", "'b9' is no move: type a1 to c3, or 1 to 9, or undo, hint, help, quit"),
        ("0", "'0' is no move"),
        ("10", "'10' is no move"),
        ("", "'' is no move"),
        ("\u00b2", "'\u00b2' is no move"),
        ("x" * 100, f"'{'x' * 40}' is no move"),
    ],
)
def test_other_text_is_answered_with_what_is_expected(play, typed, answer):
    code, out, _ = play([typed], "--opponent", "first-free")
    assert code == 0
    assert answer in out


def test_a_taken_cell_is_answered_with_the_free_ones(play):
    _, out, _ = play(["b2", "b2", "1"], "--opponent", "first-free")
    assert "b2 is taken; free are b1 c1 a2 c2 a3 b3 c3\n" in out
    assert "a1 is taken; free are" in out


def test_the_end_of_the_input_leaves_the_game(play):
    code, out, err = play(["b2"])
    assert (code, err) == (0, "")
    assert out.endswith(f"{ASKED}\nYou left the game.\n")


def test_an_opponent_that_marks_a_taken_cell_loses(play):
    code, out, _ = play(["b2"], "--opponent", "taken")
    assert code == 0
    assert (
        "b2 is taken: the illegal move loses.\nYou win.\nO's b2 (move 2) was on a taken cell" in out
    )


def test_several_games_are_counted_and_a_random_side_comes_from_the_seed(play):
    arguments = ("--opponent", "random", "--games", 12, "--side", "random", "--seed", 7)
    every_cell = [str(cell) for cell in range(1, 10)] * 200
    outputs = {play(every_cell, *arguments)[1] for _ in range(2)}
    assert len(outputs) == 1
    (out,) = outputs
    assert "\n12 games: you won " in out
    assert out.count("You are X against random") + out.count("You are O against random") == 12
    assert out.count("You are X against random") not in (0, 12)


def test_a_board_too_large_to_solve_has_hints_from_a_search_and_no_verdict(play):
    typed = ["hint", *(f"{column}1" for column in "abcd"), *"12345678"]
    code, out, _ = play(typed, "--rows", 5, "--cols", 5, "--k", 4, "--opponent", "random")
    assert code == 0
    assert "from a search of two moves; this board is too large to solve." in out
    board = ["--rows", 5, "--cols", 5, "--k", 1, "--opponent", "random"]
    assert "5x5, 1 in a row is too large to say which move decided" in play(["c3"], *board)[1]


def test_ctrl_c_leaves_the_game_with_130(monkeypatch, capsys):
    class Interrupted(io.StringIO):
        def readline(self, size=-1):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    assert main(["--opponent", "random"]) == 130
    assert capsys.readouterr().out.endswith(f"{ASKED}\nYou left the game.\n")


def test_colours_are_for_terminals_and_no_color_switches_them_off(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for variables, has_colour in (
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ):
        monkeypatch.delenv("NO_COLOR", raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        screen = Terminal()
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(sys, "stdin", Terminal("b2\nquit\n"))
        assert main(["--opponent", "random", "--seed", "1"]) == 0
        assert ("\033[" in screen.getvalue()) == has_colour
        assert "your move: b2" not in screen.getvalue()  # a terminal shows what is typed


def run(arguments, typed=b"", **variables):
    return subprocess.run(
        [*COMMAND, *arguments],
        input=typed,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, **variables},
    )


def test_the_program_runs_as_a_module_with_any_bytes_and_encoding():
    done = run(["--opponent", "first-free\u00e9"], PYTHONIOENCODING="ascii")
    assert done.returncode == 2
    assert b"unknown opponent 'first-free\\xe9'" in done.stderr
    typed = b"\xff\xfe\nb2\nquit\n"
    done = run(["--opponent", "minimax"], typed, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"is no move" in done.stdout
    assert b"minimax plays " in done.stdout


def test_the_list_and_the_help_name_every_option_and_opponent():
    listed = run(["--list"])
    assert listed.returncode == 0
    for name in (b"minimax-slip=0.1", b"trie", b"mcts-playouts=50"):
        assert name in listed.stdout
    shown = run(["--help"]).stdout.decode()
    for option in ("opponent", "side", "rows", "cols", "k", "seed", "games", "list"):
        assert f"--{option}" in shown
