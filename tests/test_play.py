"""The command line `play.py`: piped, at a pseudo-terminal, interrupted."""

import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from programs import ROOT, environment
from text_cases import called

import play
from apps.terminal.game import default_store
from tictactoe_env.games import Game, GameStore
from tictactoe_env.rules import Rules

pexpect = pytest.importorskip("pexpect", reason="a pseudo-terminal is needed")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "games.db"


def at_terminal(*arguments):
    """play.py at a pseudo-terminal of 80x30, which waits a minute for words."""
    return pexpect.spawn(
        sys.executable,
        ["play.py", *map(str, arguments)],
        timeout=60,
        encoding="utf-8",
        cwd=ROOT,
        env=environment() | {"TERM": "xterm-256color"},
        dimensions=(30, 80),
        # Tests in the background may ignore Ctrl-C, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def ends(terminal, code=0):
    """Wait for the end of the program; what it says until then."""
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == code
    return terminal.before


def test_a_piped_game_is_kept_and_what_is_no_text_is_asked_for_again(path, capsys):
    done = subprocess.run(
        [sys.executable, "play.py", "--x", "human:Ann", "--values", "--store", str(path)],
        input=b"\xff\xfe\nb2\na1\nc3\nb1\na3\nc1\n",
        capture_output=True,
        cwd=ROOT,
        env=environment(),
    )
    assert (done.returncode, done.stderr, b"\x1b" in done.stdout) == (0, b"", False)
    text = done.stdout.decode()
    assert ("is no move" in text, "O wins" in text) == (True, True)
    with GameStore(path) as store:
        assert store.get(1).x.name == "Ann"
    for option, words in (("--list", "Ann"), ("--replay=1", text.splitlines()[-2])):
        code, shown, _ = called(play, [option, "--store", str(path)], capsys)
        assert (code, words in shown) == (0, True)


def test_ctrl_c_leaves_cleanly(path):
    with at_terminal("--store", path) as terminal:
        terminal.expect_exact("1 to 9,")
        # CPython misses a signal that comes after its last check and before it waits for the input.
        terminal.sendintr()
        while terminal.expect(["left; ", pexpect.TIMEOUT], timeout=20) == 1:
            terminal.sendintr()
        assert "Traceback" not in ends(terminal, code=130)


def test_a_replay_goes_by_keys_until_ctrl_d_and_leaves_the_terminal_as_it_was(path):
    with GameStore(path) as store:
        store.add(Game.parse("b2 b1 a1 c3 a3 c1 a2"))
    with at_terminal("--replay", 1, "--delay", 0.05, "--store", path) as terminal:
        terminal.expect("before the first of 7 moves.*move 7 of 7.*paused.*q: quit")
        for keys, words in (
            (" ", "before the first.*running.*move 7 of 7.*paused"),
            ("\x1b[D", "move 6 of 7"),
            ("v", "exact result"),
            ("\x04", "\x1b\\[\\?25h.*end of input"),  # the cursor is back
        ):
            terminal.send(keys)
            terminal.expect(words)
        assert ends(terminal).strip() == ""


def test_the_page_keeps_its_games_in_the_same_store_and_is_for_this_computer(monkeypatch):
    server = Mock()
    monkeypatch.setitem(sys.modules, "apps.web.server", server)
    falls = ["--board=6x7x4", "--gravity"]
    for arguments, *asked in (
        ([], default_store(), 0, None, "127.0.0.1"),
        (["--store=x", "--host=::"], Path("x"), 0, None, "::"),
        (falls, default_store(), 0, Rules(6, 7, 4, gravity=True), "127.0.0.1"),
    ):
        assert play.main([*arguments, "--web", "--port", "0"]) == 0
        assert server.serve.call_args.args == tuple(asked)


def test_games_are_kept_in_the_folder_of_the_user_by_default(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert play.main(["--x", "minimax-first", "--o", "minimax-first"]) == 0
    assert (tmp_path / "tictactoe-env" / "games.db").exists() or sys.platform != "linux"
    assert "to see it again: python play.py --replay 1\n" in capsys.readouterr().out
