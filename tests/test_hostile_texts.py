"""Nothing that comes from a file reaches a terminal as anything but letters."""

import io
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from text_cases import HOSTILE, called

import evaluate
import play
import train
from players.gallery import Gallery
from terminal import battle, position, proving, report
from terminal.game import result_text, who
from terminal.menu import Menu
from terminal.plain import plain
from terminal.replay import Replay
from terminal.talk import Talk
from terminal.trainer import warnings_on
from tictactoe_env import __main__ as package
from tictactoe_env import opponents, store
from tictactoe_env.certificate import certify, write
from tictactoe_env.evaluation import evaluate as evaluated
from tictactoe_env.games import Game, Player
from tictactoe_env.match import sampled_result
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, tabulate
from tictactoe_env.printable import printable
from tictactoe_env.rules import Rules
from tictactoe_env.standing import standing
from training.progress import Display

ROW = Rules(1, 4, 2)  # random play can be beaten
NAMES = [text.replace("/", "-") for text in HOSTILE if "\0" not in text]  # of files
FEW = [*NAMES[:2], "a\udc9bb", "[bold red]a[-]", ":skull:"]  # where a test takes a second for each
POINT = {"steps": 1, "seconds": 0.5}
CERTIFICATE = certify(RandomPolicy(), "random", ROW, training={**POINT, "best_at": POINT})


def forged(**entries):
    return json.loads(json.dumps({**CERTIFICATE, **entries}))


FORGED = {
    "agent": lambda text: forged(agent=text),
    "seed": lambda text: forged(seed=text),
    "preset": lambda text: forged(training={"preset": text, "steps": 1, "seconds": 1}),
    "config": lambda text: forged(config={"side": text, text: text}),
    "versions": lambda text: forged(versions={text: text}),
    "unknown entry": lambda text: {**CERTIFICATE, text: text},
    "unknown result": lambda text: forged(as_x={**CERTIFICATE["as_x"], text: text}),
    "losing line": lambda text: forged(as_x={**CERTIFICATE["as_x"], "losing_line": [text]}),
    "board": lambda text: forged(board={"rows": text, "cols": 4, "k": 3}),
    "format": lambda text: forged(format=text),
    "position": lambda text: forged(moves={**CERTIFICATE["moves"], text: "a1"}),
    "move": lambda text: forged(moves={**CERTIFICATE["moves"], "....": text}),
    "share": lambda text: forged(moves={**CERTIFICATE["moves"], "....": {text: 1.0}}),
    "digest": lambda text: forged(sha256_of_moves=text),
    "sides": lambda text: forged(format=2, sides=[text], canonical=text, moves=text),
}


def harmless(text):
    return "".join(text.split("\n")).isprintable()


def printed(show):
    """What is printed on a terminal of rich without colours."""
    file = io.StringIO()
    show(Console(file=file, width=10_000, force_terminal=True, color_system=None))
    return file.getvalue()


@pytest.mark.parametrize("place", FORGED)
def test_certificates_print_letters_only(place, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs"
    folder.mkdir()
    paths = [str(folder / f"{number}.json") for number in range(len(HOSTILE))]
    for path, text in zip(paths, HOSTILE, strict=True):
        Path(path).write_text(json.dumps(FORGED[place](text)))
    calls = [["--verify", *paths], ["--board", "....", paths[0]], [paths[0], "--from-model"]]
    for arguments in (*calls, *([path] for path in paths)):
        _, out, err = called(evaluate, arguments, capsys)
        assert out + err
        assert harmless(out + err)
        assert not [line for line in out.splitlines() if line.startswith("PROVEN")]
    for entry in Gallery([folder]).entries():
        assert (entry.id + entry.about).isprintable()
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\n0\n5\n0\n9\n"))
    seats = ["--x", paths[0], "--o", "random"]
    for arguments in (["--board", "1x4", "--k", "2"], seats):
        _, out, err = called(play, [*arguments, "--store", "games.db"], capsys)
        assert harmless(out + err)


@pytest.mark.parametrize("name", FEW)
def test_the_name_of_a_folder_prints_letters_only(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / name
    folder.mkdir(parents=True)
    write(CERTIFICATE, folder / "certificate.json")
    shown = printable(name)
    for arguments in (
        ["--verify", folder],
        ["--verify", folder / "none"],
        [folder],
        [folder, "minimax"],
        [folder, "random", "--battle", "1"],
        [folder, "--board", "...."],
        [folder, "--games", "2", "--json", folder / "results.json"],
        [folder, "--rows", "3", "--cols", "3"],
    ):
        _, out, err = called(evaluate, [str(one) for one in arguments], capsys)
        assert harmless(out + err)
        assert shown in out + err
    for entry in Gallery([folder.parent]).entries():
        assert (entry.id + entry.about).isprintable()
    seats = ["--x", str(folder), "--o", "random", "--seed", "1"]
    for arguments in (
        ["--board", "1x4", "--k", "2"],
        [*seats, "--store", "games.db"],
        ["--list", "--store", "games.db"],
        ["--replay", "1", "--store", "games.db"],
        ["--list", "--store", str(folder / "none.db")],
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO("3\n0\n9\n"))
        _, out, err = called(play, arguments, capsys)
        assert harmless(out + err)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_configuration_that_cannot_be_resumed_prints_letters_only(text, tmp_path, capsys):
    about = {"agent": "trie", "config": {}}
    for content in (
        {**about, "config": {text: 1}},
        {**about, "config": {"opponents": text}},
        {**about, "agent": text},
        {**about, "preset": text, "config": {}},
        {**about, "rival": text},
        {text: text},
    ):
        (tmp_path / "config.json").write_text(json.dumps(content))
        code, out, err = called(train, ["--resume", str(tmp_path)], capsys)
        assert code == 2
        assert harmless(out + err)


@pytest.mark.parametrize("name", FEW)
def test_errors_of_the_package_print_letters_only(name, tmp_path, capsys):
    path = str(tmp_path / name)
    (tmp_path / name).write_text(name.encode("utf-8", "replace").decode())
    for program, arguments in (
        (package, ["--opponent", path]),
        (opponents, [path]),
        (store, [path, "--check"]),
        (store, [str(tmp_path / "new.db"), "--import", path]),
        (play, ["--x", path, "--o", "random"]),
        (evaluate, ["--json", path, "random"]),
        (train, ["trie", "--learn-from", path]),
        (train, ["--resume", path]),
    ):
        _, out, err = called(program, arguments, capsys)
        assert harmless(out + err)


def shown_of(text):
    """What is printed of names and errors that hold a text, each on a terminal of its own."""
    players = {text: tabulate(RandomPolicy(), ROW)}
    rules, board = ROW, np.zeros(4, dtype=np.int8)
    content = {**CERTIFICATE, "agent": text, "seed": text}
    content["as_x"] = {**content["as_x"], "losing_line": [text]}
    training = {"preset": text, **POINT, "best_at": POINT}
    results = report.cross_table(players)
    sampled = report.sampled_table(players, rules, 5, 0)
    game, random = standing([0, 1, 3, 2], rules), RandomPolicy()
    evaluation = evaluated(RandomPolicy(), rules)
    assert game.ended
    assert sampled_result(random, random, rules, 2)

    def shows(console):
        def display():
            screen = Display(text, 10, 0, console, is_live=False)
            screen.show(10, 1.0, evaluation, players[text], {}, True)

        def bar():
            screen = Display(text, 10, 0, console)
            screen.stop()

        def warned():
            with warnings_on(console):
                warnings.warn(text, stacklevel=1)

        yield lambda: report.say(printable(text), console)
        yield lambda: report.certificate(content, console)
        yield lambda: report.certificate({**content, "training": training}, console)
        yield lambda: report.print_cross_table(results, console)
        yield lambda: report.print_sampled_table(sampled, rules, 5, console)
        yield lambda: battle.example_game(random, random, (text, text), rules, console)
        yield lambda: battle.battle((random, random), (text, "b"), rules, 1, 0, console)
        yield lambda: battle.of_rivals(
            {text: (players[text], "both"), "b": (players[text], "both")}, console
        )
        yield lambda: position.print_first_moves(thoughts(text), rules, console)
        yield lambda: Talk(console).say(printable(text), "bold")
        yield display
        yield bar
        yield warned

    assert board.sum() == 0
    return shows


def thoughts(text):
    from tictactoe_env.analysis import thoughts as thought

    found = thought(MinimaxPolicy(ROW), np.zeros(4, dtype=np.int8), ROW)
    return type(found)(**{**vars(found), "meaning": text})


@pytest.mark.parametrize("text", HOSTILE)
def test_names_are_shown_as_they_are_on_a_terminal(text):
    count = len(list(shown_of(text)(Console(file=io.StringIO()))))
    for number in range(count):
        out = printed(lambda console, number=number: list(shown_of(text)(console))[number]())
        out = out.replace("\x1b[?25l", "").replace("\x1b[?25h", "")  # of rich's own bar
        out = out.replace("\x1b[1A", "").replace("\x1b[2K", "").replace("\r", "")
        assert harmless(out)
        assert printable(text) in out, f"output {number}"


@pytest.mark.parametrize("text", HOSTILE)
def test_the_players_of_a_game_are_shown_as_they_are(text):
    assert harmless(who(text, "X"))
    if text.isprintable() and text == text.strip():
        x, o = Player("run", text), Player("human", text)
        game = Game(x=x, o=o, moves=(0, 1, 3, 2), rules=ROW, ended="line", origin="human")
        shown = printed(lambda console: console.print(Replay(game).picture(console)))
        assert text in shown
        assert harmless(shown)
        assert result_text(game)
    with pytest.raises(ValueError, match=r"^[^\x00-\x1f\x7f-\x9f]*$"):
        Player("run", f" {text}")


@pytest.mark.parametrize("text", HOSTILE)
def test_the_progress_of_a_proof_names_its_certificate_in_letters(text, monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    with proving.shown(text, ROW) as show:
        show("X", 1, 1)
    assert harmless(stream.getvalue().replace("\r", ""))


def test_the_texts_of_the_menu_are_shown_as_they_are():
    assert isinstance(Menu, type)
    for text in HOSTILE:
        assert plain(text).plain == printable(text, lines=True)
        assert not plain(text).spans
