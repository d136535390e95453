"""The command line `play.py`, as a process: piped, at a pseudo-terminal, interrupted."""

import os
import re
import select
import signal
import subprocess
import sys
import time
import types

import pytest
from small_runs import ROOT, environment, without
from text_cases import cases

import play
from terminal import home
from tictactoe_env import Game, GameStore

pty = pytest.importorskip("pty", reason="a pseudo-terminal is needed")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "games.db"


@pytest.fixture
def kept(path):
    """A store with one game of seven moves."""
    with GameStore(path) as store:
        store.add(Game.parse("b2 b1 a1 c3 a3 c1 a2 x=human:Ann"))
    return path


HERE = {"cwd": ROOT, "env": environment()}


def piped(answers, *arguments):
    """What play.py says with this input, without an error."""
    done = finished([sys.executable, "play.py", *map(str, arguments)], answers)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    return done.stdout.decode()


def finished(command, answers=b""):
    return subprocess.run(command, input=answers, capture_output=True, timeout=60, **HERE)


class AtTerminal:
    """play.py at a pseudo-terminal of 80x30, as a context: type keys, wait for words."""

    def __init__(self, *arguments):
        self.ours, theirs = pty.openpty()
        size = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "30"}
        self.text, self.process = (
            "",
            subprocess.Popen(
                [sys.executable, "play.py", *map(str, arguments)],
                **{"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True},
                **{**HERE, "env": HERE["env"] | size},
                # Tests in the background may ignore Ctrl-C, and so would their children.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            ),
        )
        os.close(theirs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def wait_for(self, *words):
        """What is shown until each of these words was, since the last call."""
        until, start = time.monotonic() + 30, len(self.text)
        while not all(word in self.text[start:] for word in words):
            if not self._has_text(max(0, until - time.monotonic())):
                raise AssertionError(f"{words} did not come: {self.text[start:]!r}")
            assert self._read(), f"it ended before {words} came: {self.text!r}"
        return self.text[start:]

    def interrupt(self):
        """Press Ctrl-C, and again until something is shown.

        CPython misses a signal that comes after its last check and before it waits for the input.
        The words of the test are shown just then, and a person is not that quick.
        """
        for _ in range(10):
            os.killpg(self.process.pid, signal.SIGINT)
            if self._has_text(3):
                return
        raise AssertionError("Ctrl-C had no effect")

    def _has_text(self, seconds):
        """Whether there is something to read within this time."""
        return bool(select.select([self.ours], [], [], seconds)[0])

    def _read(self):
        """Take in what is there; False at the end."""
        try:
            data = os.read(self.ours, 65536)
        except OSError:  # how Linux tells that the other end is closed
            data = b""
        self.text += data.decode(errors="replace")
        return bool(data)

    def code(self):
        """The exit code, after all that it says at its end."""
        while self._read():
            pass
        return self.process.wait(timeout=30)


def test_a_piped_game_is_kept_and_what_is_no_text_is_asked_for_again(path):
    players = "--x", "human:Ann", "--values", "--store", path
    text = piped(b"\xff\xfe\nb2\na1\nc3\nb1\na3\nc1\n", *players)
    assert "is no move" in text
    assert "O wins." in text
    with GameStore(path) as store:
        assert store.get(1).x.name == "Ann"
    assert "b2 a1 c3 b1 a3 c1" in piped(b"", "--list", "--store", path)
    assert text.splitlines()[-2] in piped(b"", "--replay", 1, "--store", path), "what decided it"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("", "numbers: its search score of each move, exact: win 1, draw 0, loss -1; search-ti"),
        ("own", "numbers: its search score of each move, exact: win 1, draw 0, loss -1; search-t"),
        ("expected", "numbers: wins minus losses against random moves, exact; search-ties=first"),
    ],
)
def test_values_are_the_players_own_unless_those_against_random_moves_are_asked_for(
    path, option, words
):
    text = piped(
        b"h\nb1\nh\nq\n", "--o", "search-ties=first", "--values", *option.split(), "--store", path
    )
    assert words in text
    assert "Hint: every move draws.\n" in text, "its values are all the same"
    assert "c3 draws. search-ties=first gives its highest value, +0.00, to a2, b2, a3" in text


@pytest.mark.parametrize("players", ["", "--x human --o minimax", "--x human --o human"])
def test_the_end_of_the_input_and_of_its_reader_leave_cleanly(path, players):
    text = piped(b"", *players.split(), "--store", path)
    assert text.endswith("\nend of input\n")
    assert len(text) < 2_000
    play = f"{sys.executable} play.py --x random --o random --games 50 --store {path} | head -n 1"
    assert players or finished(["bash", "-c", play]).stderr == b""


def test_torch_is_not_needed(path):
    program = "from players.gallery import Gallery; Gallery().entries(); import play\n"
    players = "--x", "minimax", "--o", "mcts-playouts=5", "--store", path
    packages = "torch stable_baselines3 matplotlib tensorboard starlette"
    without(packages, f"{program}sys.exit(play.main(sys.argv[1:]))", *players)


def test_a_game_at_a_terminal_has_colours_and_a_battle_is_shown_in_one_place(path):
    with AtTerminal("--x", "human", "--o", "minimax-first", "--store", path) as terminal:
        terminal.wait_for("your move")
        terminal.type("b2\n")
        assert "\x1b[" in terminal.wait_for("plays a1", "your move")
        terminal.type("resign\n")
        terminal.wait_for("X resigns", "saved as game 1")
        assert terminal.code() == 0
    with AtTerminal("--x", "minimax", "--o", "random", "--games", 2, "--store", path) as terminal:
        terminal.wait_for("2 games: ")
        assert re.search(r"\x1b\[\d*A", terminal.text)  # the cursor goes up
        assert terminal.code() == 0


LEAVING = """
    --seed 1 | 1 to 10, | C
    --o minimax | your move | C
    --x random --o random --delay 9 | └ | C
    --replay 1 | q: quit | C
    --seed 1 | 1 to 10, | D
    --replay 1 --delay 0.05 | move 7 of 7 | D
"""
ENDS = {"C": (130, "left; an unfinished game is not saved"), "D": (0, "end of input")}


@pytest.mark.parametrize(("arguments", "word", "key"), cases(LEAVING))
def test_ctrl_c_and_ctrl_d_leave_cleanly(kept, arguments, word, key):
    with AtTerminal(*arguments.split(), "--store", kept) as terminal:
        terminal.wait_for(word)
        if key == "C":
            terminal.interrupt()
        else:
            terminal.type("\x04")
        code, words = ENDS[key]
        terminal.wait_for(words)
        assert "Traceback" not in terminal.text
        assert terminal.code() == code


def test_a_replay_goes_by_keys_and_leaves_the_terminal_as_it_was(kept):
    with AtTerminal("--replay", 1, "--store", kept) as terminal:
        terminal.wait_for("before the first of 7 moves", "paused", "q: quit")
        for keys, *words in (
            ("\x1b[C", "move 1 of 7", "keeps the draw"),
            ("n", "move 2 of 7", "this decided the game"),
            ("\x1b[D", "move 1 of 7"),
            ("v", "draw", "words: the exact result"),
            ("\x1b[F", "move 7 of 7", "wins at once"),
            ("\x1bOH", "before the first"),
            ("++++++++ ", "running, 0.05 s a move", "move 7 of 7", "paused"),
        ):
            terminal.type(keys)
            terminal.wait_for(*words)
        terminal.type("q")
        assert terminal.code() == 0
    assert terminal.text.rstrip().endswith("\x1b[?25h")  # the cursor is back


def test_the_web_page_is_given_everything_else_and_the_same_store(monkeypatch):
    given, web = [], types.ModuleType("web")
    server = types.SimpleNamespace(main=lambda arguments: given.append(arguments) or 7)
    monkeypatch.setitem(sys.modules, "web", web)
    monkeypatch.setitem(sys.modules, "web.server", server)
    assert play.main(["--web", "--port", "0"]) == 7
    assert play.main(["--port", "0", "--web", "--store=x.db"]) == 7
    stores = (["--store", str(home.default_store())], ["--store=x.db"])
    assert given == [["--port", "0", *store] for store in stores]


def test_games_are_kept_in_the_folder_of_the_user_by_default(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert play.main(["--x", "minimax-first", "--o", "minimax-first"]) == 0
    assert (tmp_path / "tictactoe-env" / "games.db").exists() or sys.platform != "linux"
    assert "to see it again: python play.py --replay 1\n" in capsys.readouterr().out
