"""Nothing that comes from a stranger's file reaches a terminal as anything but letters."""

import io
import json
import sys

import pytest
from consoles import printed
from json_certificates import certified
from text_cases import HOSTILE, called

import evaluate
import play
from apps.players.gallery import Gallery
from apps.terminal import battle, report
from apps.terminal.game import who
from apps.terminal.progress import Display
from apps.terminal.replay import Replay
from apps.terminal.talk import Talk
from tictactoe_env.errors import printable
from tictactoe_env.exact.evaluation import evaluate as evaluated
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.games.game import Game, Participant
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules

ROW = Rules(1, 4, 2)  # random play can be beaten
POINT = {"steps": 1, "seconds": 0.5}
CERTIFICATE = certified(RandomPolicy(), "random", ROW, training={**POINT, "best_at": POINT})
AS_X = CERTIFICATE["as_x"]
MOVES = CERTIFICATE["moves"]
FORGED = {
    "agent": lambda text: {"agent": text},
    "preset": lambda text: {"training": {"preset": text, "steps": 1, "seconds": 1}},
    "config": lambda text: {"config": {"side": text, text: text}},
    "unknown result": lambda text: {"as_x": {**AS_X, text: text}},
    "losing line": lambda text: {"as_x": {**AS_X, "losing_line": [text]}},
    "board": lambda text: {"board": {"rows": text, "cols": 4, "k": 3}},
    "position": lambda text: {"moves": {**MOVES, text: "a1"}},
    "share": lambda text: {"moves": {**MOVES, "....": {text: 1.0}}},
    "sides": lambda text: {"format": 2, "sides": [text], "canonical": text, "moves": text},
}


def is_harmless(text):
    return "".join(text.split("\n")).isprintable()


@pytest.mark.parametrize("place", FORGED)
def test_certificates_print_letters_only(place, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    paths = [f"runs/{number}.json" for number in range(len(HOSTILE))]
    for path, text in zip(paths, HOSTILE, strict=True):
        (tmp_path / path).write_text(json.dumps({**CERTIFICATE, **FORGED[place](text)}))
    for arguments in (
        ["--verify", *paths],
        ["--position", "....", paths[0]],
        paths[:1],
        paths[1:2],
    ):
        _, out, err = called(evaluate, arguments, capsys)
        assert out + err
        assert is_harmless(out + err)
        assert not [line for line in out.splitlines() if line.startswith("PROVEN")]
    for entry in Gallery([tmp_path / "runs"]).entries():
        assert (entry.id + entry.description).isprintable()
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\n0\n5\n0\n9\n"))
    for arguments in (["--board", "1x4", "--k", "2"], ["--x", paths[0], "--o", "random"]):
        _, out, err = called(play, [*arguments, "--store", "games.db"], capsys)
        assert is_harmless(out + err)


TERMINAL = {"width": 10_000, "force_terminal": True}


def show_replay(game, console):
    console.print(Replay(game).picture(4, console))


def progress(text, console, is_live):
    """The progress of a training of an agent of this name."""
    display = Display(text, 10, 0, console, is_live)
    player = tabulate(RandomPolicy(), ROW)
    display.show({"steps": 10, "seconds": 1.0}, evaluated(player), player, {})
    display.stop()


SHOWN = {
    "cross table": lambda text, console: report.print_cross_table(
        report.cross_table({text: tabulate(RandomPolicy(), ROW)}, report.exact_rates),
        [text],
        console,
    ),
    "ranking": lambda text, console: report.print_ranking({text: 0.0}, {}, console),
    "battle": lambda text, console: battle.battle(
        ((text, RandomPolicy()), ("b", RandomPolicy())), ROW, 1, 0, console
    ),
    "talk": lambda text, console: Talk(console).say(printable(text), "bold"),
    "progress": lambda text, console: progress(text, console, False),
    "bar": lambda text, console: progress(text, console, True),
}


@pytest.mark.parametrize("place", SHOWN)
def test_names_are_shown_as_they_are_on_a_terminal(place):
    for text in HOSTILE:
        out = printed(SHOWN[place], text, **TERMINAL)
        for code in ("\x1b[?25l", "\x1b[?25h", "\x1b[1A", "\x1b[2K", "\r"):  # of rich's own bar
            out = out.replace(code, "")
        assert is_harmless(out)
        assert printable(text) in out


@pytest.mark.parametrize("text", HOSTILE)
def test_the_players_of_a_game_are_shown_as_they_are(text):
    assert is_harmless(who(text, "X"))
    if text.isprintable() and text == text.strip():
        x = Participant("run", text)
        o = Participant("human", text)
        game = Game(x=x, o=o, moves=(0, 1, 3, 2), rules=ROW, ended="line", origin="human")
        shown = printed(show_replay, game, **TERMINAL)
        assert text in shown
        assert is_harmless(shown)
