"""The command line `play.py`: piped, at a pseudo-terminal, interrupted."""

import os
import re
import select
import signal
import subprocess
import sys
import types

import pytest
from small_runs import ROOT, environment, without
from text_cases import called, cases

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
PATIENCE = 60  # seconds, for a busy machine


class AtTerminal:
    """play.py at a pseudo-terminal of 80x30, as a context: type keys, wait for words."""

    def __init__(self, *arguments):
        self.ours, theirs = pty.openpty()
        size = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "30"}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        self.text, self.process = (
            "",
            subprocess.Popen(
                [sys.executable, "play.py", *map(str, arguments)],
                cwd=ROOT,
                env=environment() | size,
                start_new_session=True,
                # Tests in the background may ignore Ctrl-C, and so would their children.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                **streams,
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
        start = len(self.text)
        while not all(word in self.text[start:] for word in words):
            assert self._read(), f"it ended before {words} came: {self.text!r}"
        return self.text[start:]

    def interrupt(self):
        """Press Ctrl-C, and again if nothing happens.

        CPython misses a signal that comes after its last check and before it waits for the input.
        """
        os.killpg(self.process.pid, signal.SIGINT)
        while not select.select([self.ours], [], [], PATIENCE / 3)[0]:
            os.killpg(self.process.pid, signal.SIGINT)

    def _read(self):
        """Take in what is there; False at the end."""
        assert select.select([self.ours], [], [], PATIENCE)[0], f"nothing came after {self.text!r}"
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
        return self.process.wait(timeout=PATIENCE)


def test_a_piped_game_is_kept_and_what_is_no_text_is_asked_for_again(path, capsys):
    command = [sys.executable, "play.py", "--x", "human:Ann", "--values", "--store", str(path)]
    typed = b"\xff\xfe\nb2\na1\nc3\nb1\na3\nc1\n"
    done = subprocess.run(command, input=typed, capture_output=True, **HERE)
    assert (done.returncode, done.stderr, b"\x1b" in done.stdout) == (0, b"", False)
    text = done.stdout.decode()
    assert ("is no move" in text, "O wins" in text) == (True, True)
    with GameStore(path) as store:
        assert store.get(1).x.name == "Ann"
    for option, words in (("--list", "b2 a1 c3 b1 a3 c1"), ("--replay=1", text.splitlines()[-2])):
        code, shown, _ = called(play, [option, "--store", str(path)], capsys)
        assert (code, words in shown) == (0, True)


def test_torch_is_not_needed(path):
    program = "from players.gallery import Gallery; Gallery().entries(); import play\n"
    players = "--x", "minimax", "--o", "mcts-playouts=5", "--store", path
    packages = "torch stable_baselines3 matplotlib tensorboard"
    without(f"{packages} starlette", f"{program}sys.exit(play.main(sys.argv[1:]))", *players)
    assert without(f"{packages} rich", "import web.server") == ""


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
    --x random --o random --delay 9 | └ | C
    --replay 1 | q: quit | C
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
            ("n", "move 2 of 7"),
            ("\x1b[D", "move 1 of 7"),
            ("v", "exact result"),
            ("\x1b[F", "move 7 of 7"),
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
