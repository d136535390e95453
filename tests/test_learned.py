"""A trie learns from the games that people play with it: in the terminal, on the page, by --resume.

The young trie has played 20 games. A line is lost once, and then its probability is exactly zero.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from small_runs import ROOT, environment, trained, without
from starlette.testclient import TestClient

import agents
import evaluate
import play
import train
from agents import trie
from players import pupil as pupils
from players.gallery import Gallery
from players.seat import seat_of
from terminal.game import Table
from terminal.menu import Menu
from terminal.talk import Talk
from tictactoe_env.certificate import load_policy, read, verify
from tictactoe_env.games import Game
from tictactoe_env.notation import game_text, parse_game, replay
from tictactoe_env.rules import Rules
from tictactoe_env.store import GameStore, StoreError
from training import learned
from web import server

RULES = Rules()
BOARD = {"rows": 3, "cols": 3, "k": 3}
YOUNG, LEARNER = "runs/young", "runs/learner"
X_WINS = "a1 b1 a2 b2 a3"


@pytest.fixture(scope="module")
def young_run(tmp_path_factory):
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
def client(folder):
    with GameStore("games.db") as store:
        app = server.application(store, Gallery([folder / "models", folder / "runs"]))
        with TestClient(app, "http://127.0.0.1") as client:
            yield client


def losing_line(side):
    """The cells of a game that the young trie may lose as this side."""
    return parse_game(" ".join(read(YOUNG)[f"as_{side.lower()}"]["losing_line"]), RULES)


def chance(probs_on, line, side):
    """The probability of the trie's moves in a line. probs_on(cells): its moves after these."""
    chance = 1.0
    for ply in range("XO".index(side), len(line), 2):
        chance *= probs_on(line[:ply])[line[ply]]
    return chance


def in_terminal(cells):
    seat = seat_of(YOUNG, RULES)
    return seat.policy.probs(replay(cells, RULES)[-1:])[0]


def files(folder=YOUNG):
    """The bytes of a run, without what is learned since."""
    return {
        str(path): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and not path.name.startswith(learned.FILE)
    }


def lose(line, side):
    """Play the line as the other side until the trie loses it; the seed, and what was said."""
    own = [f"{'abc'[cell % 3]}{cell // 3 + 1}" for cell in line[side == "X" :: 2]]
    for seed in range(500):
        shown = StringIO()
        with GameStore("games.db") as store:
            talk = Talk(Console(file=shown, width=100), StringIO("\n".join(own) + "\n"))
            specs = (YOUNG, "human") if side == "X" else ("human", YOUNG)
            seats = {mark: seat_of(spec, RULES) for mark, spec in zip("XO", specs, strict=True)}
            if not will_lose(seats[side], line, side, seed):
                continue
            Table(seats, RULES, talk, store).play_all(1, seed)
            assert list(store.list(1)[0].moves) == list(line)
            return seed, shown.getvalue()
    raise AssertionError("500 seeds did not lose the line")


def will_lose(seat, line, side, seed):
    """Whether the trie makes its moves of the line with this seed."""
    rng = np.random.default_rng(seed)
    plies = range("XO".index(side), len(line), 2)
    return all(seat.move(replay(line[:ply], RULES)[-1], rng) == line[ply] for ply in plies)


@pytest.mark.parametrize("side", ["X", "O"])
def test_a_line_that_was_lost_in_the_terminal_is_not_lost_again(folder, side):
    line, before = losing_line(side), files()
    assert chance(in_terminal, line, side) > 0
    seed, text = lose(line, side)
    assert "runs/young has learned from no game since its training." in text
    assert "runs/young has learned from 1 game since its training." in text
    assert chance(in_terminal, line, side) == 0
    assert not will_lose(seat_of(YOUNG, RULES), line, side, seed)
    assert files() == before, "model and certificate stay those of the training"


@pytest.mark.parametrize("side", ["X", "O"])
def test_a_line_that_was_lost_on_the_page_is_not_lost_again(client, side):
    line = losing_line(side)

    def ask(path, status=200, **content):
        answer = client.post(f"/api/{path}", json={"board": BOARD, **content})
        assert answer.status_code == status, answer.text
        return answer.json()

    def on_page(cells):
        asked = {"moves": list(cells), "agent": YOUNG}
        return [share or 0 for share in ask("analysis", **asked)["thoughts"]["probs"]]

    def moves(seed):
        plies = range("XO".index(side), len(line), 2)
        asked = [{"moves": list(line[:ply]), "agent": YOUNG, "seed": seed} for ply in plies]
        return [ask("move", **one)["cell"] for one in asked]

    assert chance(on_page, line, side) > 0
    own = list(line["XO".index(side) :: 2])
    seed = next(seed for seed in range(500) if moves(seed) == own)
    seats = {"x": YOUNG, "o": "human"} if side == "X" else {"x": "human", "o": YOUNG}
    kept = ask("games", 201, moves=list(line), learn=True, **seats)
    assert kept["learned"] == {YOUNG: "has learned from 1 game since its training"}
    assert chance(on_page, line, side) == 0
    assert moves(seed) != own
    listed = client.get("/api/agents").json()["agents"]
    assert {one["id"]: one["learned"] for one in listed}[YOUNG] == 1
    assert chance(in_terminal, line, side) == 0, "the terminal knows it too"


def test_the_switch_decides_and_games_of_agents_count_too(client, capsys):
    before = files()
    watch = ["--x", "random", "--o", YOUNG, "--store", "games.db"]
    assert play.main([*watch, "--no-learn", "--games", "3"]) == 0
    assert "It does not learn from these games." in capsys.readouterr().out
    game = {"board": BOARD, "moves": parse_game(X_WINS, RULES), "o": YOUNG}
    for x in ("human", "minimax"):
        off = {**game, "x": x, "learn": False}
        assert client.post("/api/games", json=off).json()["learned"] == {}
    resigned = {**game, "x": "human", "moves": [0], "ended": "resigned", "result": "X"}
    told = client.post("/api/games", json=resigned).json()["learned"]
    assert told == {YOUNG: "learns nothing from this game: resigned"}
    assert not Path(YOUNG).joinpath(learned.FILE).exists()
    assert files() == before
    assert play.main([*watch, "--games", "3"]) == 0
    assert "3 games since its training" in capsys.readouterr().out
    told = client.post("/api/games", json={**game, "x": "minimax"}).json()["learned"]
    assert told == {YOUNG: "has learned from 4 games since its training"}
    tables = ["--x", "minimax", "--o", "trie", "--learn", "--store", "games.db"]
    assert play.main(tables) == 0
    assert "Nobody here learns: a trie that was trained on this computer" in capsys.readouterr().out


def watching(*options):
    command = [sys.executable, str(ROOT / "play.py"), "--x", "random", "--o", YOUNG, "--learn"]
    place = {"env": {**environment(), "PYTHONPATH": str(ROOT)}, "stdout": subprocess.DEVNULL}
    return subprocess.Popen([*command, *map(str, options)], **place)


def test_a_kill_loses_at_most_the_game_in_hand(folder):
    running = watching("--store", "games.db", "--games", 10_000)
    until = time.monotonic() + 60
    while len(learned.since(folder / YOUNG, 0)) < 5:
        assert time.monotonic() < until
        assert running.poll() is None
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    taken = len(learned.since(folder / YOUNG, 0))
    with GameStore("games.db") as store:
        kept = store.count()
    assert kept - taken in (0, 1)
    assert pupils.Pupil(folder / YOUNG).games == taken >= 5


@pytest.mark.slow
def test_two_processes_at_once_lose_nothing_and_a_third_takes_it_all_in(folder):
    third = pupils.Pupil(folder / YOUNG)
    running = [watching("--store", f"{number}.db", "--games", 15) for number in range(2)]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    third.policy()
    assert third.games == 30
    both = [game.text for number in range(2) for game in GameStore(f"{number}.db").list(50)]
    since = learned.since(folder / YOUNG, 0)
    assert sorted(game.text for game in since) == sorted(both)
    again = pupils.Pupil(folder / YOUNG)
    assert (again.policy().table == third.policy().table).all()


def certified():
    """What the certificate says was learned; it must be true, and of the model."""
    content = read(YOUNG)
    verify(content)
    model = agents.load(Path(YOUNG))
    assert (load_policy(YOUNG).table == model.table).all()
    files = [(one["file"], one["games"], one["at"]) for one in content["training"]["learned"]]
    return files, model.trie.games


@pytest.mark.slow
def test_resume_takes_in_what_was_played_and_the_games_of_files(folder, capsys):
    (folder / "games.txt").write_text(f"{X_WINS}\na1 b2 ended=resigned result=O\n")
    played = Game.parse("b2 a1 c3 a3 a2 c2 b1 b3 c1 x=human:Ann")
    pupils.Pupil(folder / YOUNG).learn(played)
    resume = ["--resume", YOUNG]
    assert train.main([*resume, "--learn-from", "games.txt"]) == 0
    assert "took in 2 games, left out 1 resigned" in capsys.readouterr().out
    play_and_file = [(learned.FILE, 1, 20), ("games.txt", 1, 20)]
    assert certified() == (play_and_file, 22)
    assert pupils.Pupil(folder / YOUNG).games == 0, "they are in the model now"

    with open("games.txt", "a", encoding="utf-8") as file:
        file.write(f"c1 b1 c2 b2 c3\n{played.line()}\n")  # the second was learned by playing
    assert train.main([*resume, "--learn-from", "games.txt", "--steps", "30"]) == 0
    assert "took in 1 game, left out 3 learned before" in capsys.readouterr().out
    files, games = certified()
    assert files[:3] == [*play_and_file, ("games.txt", 1, 20)]
    assert games == 23 + (read(YOUNG)["training"]["best_at"]["steps"] - 20)
    config = json.loads((folder / YOUNG / "config.json").read_text())["config"]
    assert (config["steps"], config["learn_from"]) == (30, "")

    assert train.main([*resume, "--learn-from", "games.txt"]) == 0
    printed = capsys.readouterr().out
    assert "took in 0 games, left out 4 learned before\ncomplete: " in printed
    assert train.main([*resume, "--steps", "40"]) == 0, "and goes on as any run does"


@pytest.mark.slow
def test_a_file_that_a_run_began_with_is_known_when_it_is_given_again(folder, capsys):
    (folder / "games.txt").write_text(f"{X_WINS}\n{X_WINS}\n")
    begun = ["--steps", "5", "--out", "runs/begun", "--learn-from", "games.txt"]
    assert train.main(["trie", *begun]) == 0
    resume = ["--resume", "runs/begun", "--learn-from", "games.txt", "--steps", "10"]
    assert train.main(resume) == 0
    assert "took in 0 games, left out 2 learned before" in capsys.readouterr().out
    assert [one["games"] for one in read("runs/begun")["training"]["learned"]] == [2]


@pytest.mark.slow
def test_the_learner_begins_with_its_first_game_and_learns_from_every_game_of_a_person(client):
    def keep(**content):
        game = {"board": BOARD, "moves": parse_game(X_WINS, RULES), **content}
        return client.post("/api/games", json=game).json()["learned"]

    listed = {one["id"]: one for one in client.get("/api/agents").json()["agents"]}
    assert (listed[LEARNER]["kind"], listed[LEARNER]["learned"]) == ("agent", 0)
    assert client.get(f"/api/agents/{LEARNER}").json()["certificate"]["unbeatable"] is False
    assert keep(x="human", o="minimax") == {}
    assert not Path(LEARNER).exists(), "nobody has played with it"
    assert keep(x="human", o=LEARNER)[LEARNER] == "has learned from 1 game since its training"
    assert keep(x="human", o="minimax")[LEARNER] == "has learned from 2 games since its training"
    assert keep(x="human", o="human")[LEARNER] == "has learned from 3 games since its training"
    assert keep(x="random", o="minimax", learn=True) == {}
    listed = {one["id"]: one for one in client.get("/api/agents").json()["agents"]}
    assert (listed[LEARNER]["kind"], listed[LEARNER]["learned"]) == ("run", 3)
    seat = seat_of("learner", RULES)
    chances = seat.policy.probs(replay(parse_game("a1", RULES), RULES)[-1:])[0]
    assert chances[1] == 0, "another reply to the first move, the second time"
    assert train.main(["--resume", LEARNER, "--steps", "10"]) == 0
    assert agents.load(Path(LEARNER)).trie.games >= 3


def test_the_learner_needs_no_torch_and_plays_its_own_board_only(folder):
    program = (
        "from pathlib import Path; from players.pupil import Pupil\n"
        "from tictactoe_env.games import Game\n"
        f"pupil = Pupil(Path('{LEARNER}')); pupil.learn(Game.parse('{X_WINS}')); print(pupil.games)"
    )
    packages = "torch stable_baselines3 matplotlib tensorboard"
    place = f"import sys, os; sys.path.insert(0, {str(ROOT)!r}); os.chdir({str(folder)!r})\n"
    assert without(packages, place + program) == "1\n"
    shutil.rmtree(LEARNER)
    with pytest.raises(ValueError, match="3x3, 3 in a row, not on 4x4"):
        seat_of("learner", Rules(4, 4, 4))


def test_a_file_that_cannot_be_kept_is_said_and_the_game_goes_on(folder):
    (folder / YOUNG / learned.FILE).mkdir()
    with pytest.raises(StoreError):
        pupils.Pupil(folder / YOUNG)
    (folder / YOUNG / learned.FILE).rmdir()
    pupil = pupils.Pupil(folder / YOUNG)
    (folder / YOUNG / learned.FILE).mkdir()
    told = pupils.teach([pupil], Game.parse(X_WINS, RULES))
    assert "cannot keep what it learns" in told[YOUNG]
    assert pupil.games == 0


def test_only_a_run_with_its_model_learns(folder):
    (folder / YOUNG / "model.safetensors").unlink()
    assert seat_of(YOUNG, RULES).pupil is None
    assert Gallery(["runs"]).entry(YOUNG).learned is None


def menu(*answers):
    """What the menu prints when these lines are typed."""
    shown = StringIO()
    with GameStore("games.db") as store:
        talk = Talk(Console(file=shown, width=100), StringIO("\n".join(answers) + "\n"))
        Menu(RULES, talk, store, seed=1).run()
    return shown.getvalue()


def tree_in_menu():
    place = re.search(rf"(\d+)  {YOUNG}", menu("9", "0", "10"))[1]
    return menu("9", place, "1", "10")


def tree_of_module():
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as shown:
        patch.setattr(sys, "argv", ["agents.trie", YOUNG])
        trie.main()
    return shown.getvalue()


@pytest.mark.parametrize("tree", [tree_in_menu, tree_of_module])
def test_the_game_tree_of_a_run_has_the_games_of_its_training_and_those_since(folder, tree):
    assert "20 games" in tree()
    pupils.Pupil(folder / YOUNG).learn(Game.parse(X_WINS, RULES))
    assert "21 games" in tree()


@pytest.mark.parametrize("options", [[], ["--from-model"]])
def test_an_evaluation_is_of_what_a_run_plays_now(folder, capsys, options):
    line = losing_line("X")
    pupils.Pupil(folder / YOUNG).learn(Game(moves=tuple(line), rules=RULES, origin="human"))
    assert evaluate.main([YOUNG, *options, "--json", "found.json"]) == 0
    assert "learned from 1 game since its training" in capsys.readouterr().out
    found = json.loads(Path("found.json").read_text())["agents"]["young"]
    assert found["as_x"]["losing_line"] != game_text(line, RULES).split(), "it is not lost again"


def test_the_learner_is_evaluated_before_its_first_game(folder, capsys):
    assert evaluate.main(["learner"]) == 0
    assert "learned from no game" in capsys.readouterr().out
