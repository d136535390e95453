"""A trie learns from the games that people play with it: in the terminal, on the page, by --resume.

The young trie has played 20 games. A line is lost once, and then its probability is exactly zero.
"""

import re
import shutil
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from small_runs import trained
from starlette.testclient import TestClient
from text_cases import called, refuses

import agents
import evaluate
import play
import train
from apps.players import pupil as pupils
from apps.players.gallery import Gallery
from apps.players.seat import seat_of
from apps.terminal.menu import Menu
from apps.terminal.talk import Talk
from apps.web import server
from tictactoe_env.certificates.certificate import load_policy, read, verify
from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore, StoreError
from tictactoe_env.notation import parse_game, replay
from tictactoe_env.rules import Rules
from training import learned
from training.files import check_all, read_json

RULES = Rules()
BOARD = {"rows": 3, "cols": 3, "k": 3}
YOUNG = "runs/young"
LEARNER = "runs/learner"
X_WINS = Game.parse("a1 b1 a2 b2 a3", RULES)


@pytest.fixture(scope="module")
def young_run(tmp_path_factory, no_charts):
    """The run of a trie after 20 games."""
    folder = tmp_path_factory.mktemp("young") / "young"
    assert trained("trie", folder, steps=20) == 0
    return folder


@pytest.fixture
def folder(young_run, tmp_path, monkeypatch):
    """A folder with runs/young, which is the current one."""
    shutil.copytree(young_run, tmp_path / YOUNG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store(folder):
    with GameStore("games.db") as opened:
        yield opened


@pytest.fixture
def client(folder, store):
    app = server.application(store, Gallery([folder / "models", folder / "runs"]))
    with TestClient(app, "http://127.0.0.1") as client:
        yield client


def keep(client, **content):
    """Keep a game; what became of it, by player."""
    game = {"board": BOARD, "moves": list(X_WINS.moves), **content}
    return client.post("/api/games", json=game).json()["learned"]


def losing_line(side):
    """The cells of a game that the young trie may lose as this side."""
    return parse_game(" ".join(read(YOUNG).results[side].losing_line), RULES)


def chances(client, line, side):
    """The probability of the trie's moves in a line, in the terminal and on the page."""
    seat = seat_of(YOUNG, RULES)
    found = []
    for ply in range("XO".index(side), len(line), 2):
        asked = {"board": BOARD, "moves": list(line[:ply]), "agent": YOUNG}
        on_page = client.post("/api/analysis", json=asked).json()["thoughts"]["probs"]
        in_terminal = seat.policy.probs(replay(line[:ply], RULES)[-1:])[0]
        found.append((in_terminal[line[ply]], on_page[line[ply]]))
    return np.prod(found, axis=0).tolist()


@pytest.mark.parametrize("side", ["X", "O"])
def test_a_line_that_was_lost_is_not_lost_again(client, side):
    """Not in the terminal either, whose players know what the page's have learned."""
    line = losing_line(side)
    assert min(chances(client, line, side)) > 0
    x, o = (YOUNG, "human") if side == "X" else ("human", YOUNG)
    assert "1 game" in keep(client, moves=list(line), x=x, o=o)[YOUNG]
    assert chances(client, line, side) == [0, 0]
    listed = client.get("/api/agents").json()["agents"]
    assert {one["id"]: one["learned"] for one in listed}[YOUNG] == 1
    check_all(Path(YOUNG))  # model and certificate stay those of the training


def test_the_switch_decides_and_games_of_agents_count_too(client, capsys):
    watch = ["--x", "random", "--store", "games.db", "--games", "3", "--o"]
    assert "does not learn" in called(play, [*watch, YOUNG, "--no-learn"], capsys)[1]
    assert keep(client, x="human", o=YOUNG, learn=False) == {}
    resigned = {"moves": [0], "ended": "resigned", "result": "X"}
    assert "resigned" in keep(client, x="human", o=YOUNG, **resigned)[YOUNG]
    assert not Path(YOUNG, learned.FILE).exists()
    assert "3 games" in called(play, [*watch, YOUNG], capsys)[1]
    assert "4 games" in keep(client, x="minimax", o=YOUNG)[YOUNG]
    assert "Nobody here learns" in called(play, [*watch, "trie", "--learn"], capsys)[1]


@pytest.mark.usefixtures("no_charts")
def test_resume_takes_in_what_was_played_and_the_games_of_files(folder, capsys):
    games = Path("games.txt")
    played = Game.parse("b2 a1 c3 a3 a2 c2 b1 b3 c1 x=human:Ann")
    games.write_text(f"{X_WINS.line()}\na1 b2 ended=resigned result=O\n")
    pupils.Pupil(folder / YOUNG).learn(played)
    resume = ["--resume", YOUNG, "--learn-from", "games.txt"]
    assert "2 learned, 1 resigned" in called(train, resume, capsys)[1]
    assert pupils.Pupil(folder / YOUNG).games == 0, "they are in the model now"
    content = read(YOUNG)
    model = agents.load(Path(YOUNG))
    verify(content)
    assert (load_policy(YOUNG).table == model.table).all()
    taken = [(one["file"], one["games"], one["at"]) for one in content.stated.training["learned"]]
    assert (taken, model.trie.visits[0]) == ([(learned.FILE, 1, 20), ("games.txt", 1, 20)], 22)
    games.write_text(f"{games.read_text()}c1 b1 c2 b2 c3\n{played.line()}\n")
    told = called(train, [*resume, "--steps", "30"], capsys)[1]
    assert {"1 learned", "3 learned before"} <= set(re.findall(r"\d learned(?: before)?", told))
    assert read_json(folder / YOUNG / "config.json")["config"]["steps"] == 30
    assert "4 learned before" in called(train, resume, capsys)[1]


@pytest.mark.usefixtures("no_charts")
def test_the_learner_begins_with_its_first_game_and_learns_from_every_game_of_a_person(client):
    assert client.get(f"/api/agents/{LEARNER}").json()["certificate"]["unbeatable"] is False
    assert keep(client, x="human", o="minimax") == {}
    assert not Path(LEARNER).exists(), "nobody has played with it"
    for games, o in enumerate((LEARNER, "minimax", "human"), 1):
        assert f" {games} game" in keep(client, x="human", o=o)[LEARNER]
    assert keep(client, x="random", o="minimax", learn=True) == {}
    seat = seat_of("learner", RULES)
    probs = seat.policy.probs(replay(parse_game("a1", RULES), RULES)[-1:])[0]
    assert probs[1] == 0, "another reply to the first move, the second time"
    assert train.main(["--resume", LEARNER, "--steps", "10"]) == 0
    assert agents.load(Path(LEARNER)).trie.visits[0] >= 3


def test_the_learner_plays_its_own_board_only(folder):
    with refuses("3x3", "4x4"):
        seat_of("learner", Rules(4, 4, 4))


def test_a_file_that_cannot_be_kept_is_said_and_the_game_goes_on(folder):
    pupil = pupils.Pupil(folder / YOUNG)
    (folder / YOUNG / learned.FILE).mkdir()
    with pytest.raises(StoreError):
        pupils.Pupil(folder / YOUNG)
    assert learned.FILE in pupils.teach([pupil], X_WINS)[YOUNG]
    assert pupil.games == 0


def test_only_a_run_with_its_model_learns(folder):
    (folder / YOUNG / "model.safetensors").unlink()
    assert seat_of(YOUNG, RULES).pupil is None
    assert Gallery(["runs"]).entry(YOUNG).learned is None


def test_the_tree_of_a_learners_games_fits_a_screen_and_tells_proofs_from_means(
    folder, store, monkeypatch, capsys
):
    """X wins both games after b1, and O the one after c3."""
    assert "no game" in called(evaluate, ["learner", "--tree"], capsys)[1]
    for game in ("b1 a1 b2 a2 b3", "b1 a1 b2 a2 b3", "c3 b1 a1 b2 a2 b3"):
        pupils.teach([pupils.Pupil(Path(LEARNER))], Game.parse(game, RULES))
    _, text, _ = called(evaluate, ["learner", "--tree"], capsys)
    tree = [" ".join(line.split()) for line in text.splitlines()]
    assert len(tree) == 2 + 5 + 6
    assert "1. X b1 100.0 % draws 2/0/0" in tree
    assert any(re.fullmatch(r"5\. X b3 .* wins at once 2/0/0; proven win", line) for line in tree)
    assert any(re.fullmatch(r"4\. O a2 .* 0/0/2; proven loss", line) for line in tree)
    assert max(map(len, text.splitlines())) <= 80
    _, young, _ = called(evaluate, [YOUNG, "--tree"], capsys)
    assert young.count("\n") <= 22 < called(evaluate, [YOUNG, "--tree", "3"], capsys)[1].count("\n")
    monkeypatch.setattr("sys.stdin", StringIO("9\n6\n1\n\n\nq\n"))
    talk = Talk(Console(file=StringIO(), width=100))
    Menu(RULES, talk, store, 1, train.main).run()
    assert young.partition("\n")[2] in talk.console.file.getvalue()
