"""The command lines: a program that cannot do what was asked says why in one line, and ends."""

import shlex
import subprocess
import sys
from shutil import copytree
from unittest.mock import Mock

import pytest
from any_games import game
from programs import ROOT, environment, without
from small_runs import trained
from text_cases import called, cases

import evaluate
import play
import train
from agents import TRAINABLE
from tictactoe_env import __main__ as package
from tictactoe_env.certificates.certificate import certify, write
from tictactoe_env.games import __main__ as games_program
from tictactoe_env.games import store
from tictactoe_env.opponents import __main__ as opponents
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules
from training.files import read_json, write_json

MODULES = {
    "train.py": train,
    "evaluate.py": evaluate,
    "play.py": play,
    "python -m tictactoe_env": package,
    "python -m tictactoe_env.games": games_program,
    "python -m tictactoe_env.opponents": opponents,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a run, a store of a game, and files that are wrong in some way."""
    folder = tmp_path_factory.mktemp("files")
    assert trained("tabular_q", folder / "run", steps=500) == 0
    copytree(folder / "run", folder / "\x1b[31mred")
    changed_run(folder, "odd", preset="\x1b[31m")
    changed_run(folder, "half", rival="run")
    for agent in ("dqn", "tabular_q", "trie", "value_net"):  # a further run would get another name
        (folder / "runs" / f"{agent}-0").mkdir(parents=True)
    (folder / "full").mkdir()
    (folder / "full" / "file").touch()
    (folder / "letters.txt").write_text("my letters\n" * 50)
    (folder / "wrong.txt").write_text("a1 b2 a2 b1 a3\na1 a1\n")
    (folder / "cut.json").write_text((folder / "run" / "certificate.json").read_text()[:5_000])
    write(certify(RandomPolicy(), "wide", Rules(2, 4, 3)), folder / "2x4.json")
    with store.GameStore(folder / "games.db") as games:
        games.add(game())
    return folder


def changed_run(folder, name, **changes):
    """A copy of the run with other entries in its configuration."""
    path = copytree(folder / "run", folder / name) / "config.json"
    (path.parent / "manifest.json").unlink()  # it would tell the change before
    write_json(path, read_json(path) | changes)


def contents(folder):
    """The size and the time of all files of a folder but locks."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    left_out = (".lock", "games.db-")  # locks, and the log of a store that is open
    states = {path: path.stat() for path in paths if not path.name.startswith(left_out)}
    return {path: (state.st_size, state.st_mtime_ns) for path, state in states.items()}


OF_TRAINING = """
    --seed 3 dqn | 2 | dqn --resume --seed
    tabular_q --board 3x4x3 --rows 3 | 2 | --board --rows
    tabular_q --board 4x4 | 2 | --board 4x4x3 4x4x4
    tabular_q --opponents runs/none | 2 | 'runs/none'
    tabular_q --export-sb3 x.zip | 2 | tabular_q Stable-Baselines3
    tabular_q --out full | 2 | full --out --resume
    tabular_q --out letters.txt/run | 2 | letters.txt/run again --out
    trie --preset topheb | 2 | 'topheb' 'tophep'
    trie --learn-from none.txt | 2 | none.txt
    value_net --dataset letters.txt | 2 | letters.txt
    value_net --network full | 2 | full
    dqn --export-sb3 full | 2 | --export-sb3 full
    dqn --opponents minmax | 2 | 'minmax' 'minimax'
    tabular_q --seeds 0-1 --opponents minmax | 2 | 'minmax' 'minimax'
    trie --seeds 0-1 --learn-from none.txt | 2 | none.txt
    trie --optimize 2 --learn-from none.txt | 2 | none.txt
    dqn --lr 0.1 | 2 | '--lr' '--learning-rate'
    dqn --size 4 | 2 | '--size' '--board'
    dqn --device cuda | 2 | 'cuda' --device
    --resume run --seed 1 --games 8 | 2 | seed, games steps
    --resume odd | 2 | odd/config.json
    --resume half | 2 | run half
    dqn --resume run | 2 | run tabular_q dqn
    dqn --opponents rival | 2 | rival --rival
    dqn --rival trie | 2 | trie
    dqn --rival dqn --opponents random | 2 | dqn rival:0.5
    tabular_q --seeds 0 --out run | 2 | run
    trie --optimize 3 --rival dqn | 2 | --optimize --rival
"""
OF_EVALUATION = """
    none.json | 1 | none.json
    cut.json | 1 | cut.json
    letters.txt | 1 | letters.txt JSON
    minimax --jsn x | 2 | '--jsn' '--json'
    2x4.json --board 3x3 | 1 | 2x4 3x3
    \x1b[31mred | 1 | '\\x1b[31mred'
    minimax --tree --games 5 | 2 | --tree --games
    random --proven | 2 | --proven --verify
    --program ./bot random | 1 | ./bot
    minimax --answers a.jsonl | 2 | --answers --program
    minimax random --battle 1 --seconds 3 | 2 | --seconds --program
    --tree | 2 | AGENTS
    minimax random --board 5x5x4 | 1 | 5x5
    random --json none/results.json | 1 | --json none/results.json
    2x4.json --from-model | 1 | 2x4.json
    human --position .../.../... | 1 | 'human'
    minimax --position XXX/OO./... | 1 | XXX/OO./...
    search-seconds=0.01 --board 2x3x3 | 1 | clock
"""
OF_PLAY = """
    --board 4x4x5 | 2 | k 5
    --replay 3 --store games.db | 1 | 3 games.db
    --replay 3 --list | 2 | --replay --list
    --list --store none.db | 1 | none.db
    --player Ann | 2 | --player --list
    --x random --o none | 1 | 'none'
    --x random --o random --store letters.txt | 1 | letters.txt
    --web --store letters.txt | 1 | letters.txt
"""
OF_MODULES = """
    tictactoe_env --opponent minimax-slp=1 | 2 | 'slp' 'slip'
    tictactoe_env --board 5x5x4 --opponent minimax | 2 | 5x5
    tictactoe_env minimax | 2 | minimax
    tictactoe_env.opponents none | 2 | 'none'
    tictactoe_env.games none.db --check | 1 | none.db
    tictactoe_env.games new.db --import wrong.txt | 1 | wrong.txt 2
    tictactoe_env.games games.db --export csv | 2 | csv
"""
REFUSED = [("train.py", *case) for case in cases(OF_TRAINING)]
REFUSED += [("evaluate.py", *case) for case in cases(OF_EVALUATION)]
REFUSED += [("play.py", *case) for case in cases(OF_PLAY)]
for words, *case in cases(OF_MODULES):
    REFUSED.append((f"python -m {words.split()[0]}", " ".join(words.split()[1:]), *case))


@pytest.mark.parametrize(("program", "arguments", "code", "mentions"), REFUSED)
def test_what_cannot_be_done_is_said_in_one_line_and_changes_nothing(
    program, arguments, code, mentions, files, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(files)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    before = contents(files)
    ended, out, err = called(MODULES[program], shlex.split(arguments), capsys)
    assert (ended, out, err.count("\n")) == (int(code), "", 1)
    assert err.startswith(f"{program}: ")
    assert [word for word in mentions.split() if word not in err] == []
    assert contents(files) == before


WITHOUT_TORCH = """import importlib
for name in sys.argv[2:]:
    try:
        code = importlib.import_module(name).main(["--help"])
    except SystemExit as end:
        code = end.code
    assert not code, name
import play, apps.web.server
sys.exit(play.main(["--x", "minimax", "--o", "mcts-playouts=5", "--store", sys.argv[1]]))
"""


def test_every_program_has_a_help_and_games_are_played_without_torch(tmp_path):
    names = [module.__name__ for module in MODULES.values()]
    packages = "torch stable_baselines3 sb3_contrib matplotlib tensorboard"
    shown = " ".join(without(packages, WITHOUT_TORCH, tmp_path / "games.db", *names).split())
    listed = [f"{agent} {sentence}" for agent, sentence in TRAINABLE.items()]
    options = ["AGENT --help", "--from-model", "--player", "--opponent", "--import"]
    assert [text for text in (*listed, *options) if text not in shown] == []


@pytest.mark.parametrize(
    ("program", "place", "arguments"),
    [
        ("train.py", "agents.tabular_q.TabularQ.advance", "tabular_q --out run"),
        ("train.py", "apps.terminal.trainer.train", "trie"),
        ("evaluate.py", "apps.terminal.comparison.judged", "minimax"),
    ],
)
def test_ctrl_c_ends_a_program_with_130_and_one_line(
    program, place, arguments, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(place, Mock(side_effect=KeyboardInterrupt))
    code, _, err = called(MODULES[program], arguments.split(), capsys)
    assert (code, err.count("\n"), err.startswith(program)) == (130, 1, True)


@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("evaluate.py minimax random --json results.json", "results.json"),
        ("-m tictactoe_env.games games.db --export text", "games.db"),
    ],
)
def test_a_program_does_all_its_work_though_nobody_reads_what_it_prints(command, made, tmp_path):
    with store.GameStore(tmp_path / "games.db") as games:
        games.add_many([game()] * 2_000)
    script, _, rest = command.partition(" ")
    script = script if script == "-m" else ROOT / script
    line = f"{sys.executable} {script} {rest} | head -n 1"
    here = {**environment(), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=here, capture_output=True)
    assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")
    assert (tmp_path / made).exists()
