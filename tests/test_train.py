"""The command line of training, and whole runs from it: continued, interrupted, killed."""

import csv
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from small_runs import JUDGE_EVERY, OPTIONS, ROOT, environment, python, trained

import agents.dqn
import train
from agents import TRAINABLE
from tictactoe_env.certificate import read, table_of, verify
from tictactoe_env.observation import observe
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training.files import read_arrays, read_json

STEPS = 2 * JUDGE_EVERY
POSITIONS = positions_of(Rules())
ROUNDS = "tabular_q"  # the quickest agent with all kinds of options


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished small run, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert trained(ROUNDS, folder, steps=STEPS) == 0
    return folder


def error_of(capsys, *arguments):
    """The error that a command line ends with, on one line and with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        train.main([str(argument) for argument in arguments])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("train.py: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    return printed.err


def metrics(folder):
    with open(folder / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def without_seconds(folder):
    return [{**row, "seconds": None} for row in metrics(folder)]


def last_step(folder):
    return int(metrics(folder)[-1]["steps"])


def files_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# --- help and errors -----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--help"], [], ["-h"]])
def test_help_lists_all_agents_with_a_sentence_and_needs_no_torch(arguments):
    program = (
        "import sys, train\n"
        "try:\n    code = train.main(sys.argv[1:])\n"
        "except SystemExit as end:\n    code = end.code\n"
        "assert code == 0, code\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "heavy = {'torch', 'stable_baselines3', 'sb3_contrib', 'matplotlib', 'tensorboard'}\n"
        "assert not heavy & loaded, heavy & loaded\n"
    )
    done = python("-c", program, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    for agent, sentence in TRAINABLE.items():
        assert f"{agent} {sentence}" in shown
    assert "AGENT --help" in shown
    pages = {path.stem for path in (ROOT / "agents").glob("*.py")} - {"__init__"}
    assert pages == set(TRAINABLE)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("dqm", "unknown agent 'dqm'; did you mean 'dqn'? (known: dqn, "),
        ("tabular_q --stpes 5", "unknown option '--stpes'; did you mean '--steps'?"),
        ("tabular_q --rows 1 --cols 13 --k 3 --opponents random", "at most 12 cells"),
        ("tabular_q --epsilon 1 --zzz=3", "unknown option '--zzz' (known: --anneal-steps, "),
        ("tabular_q random", "unexpected argument 'random'"),
        ("--seed 3 dqn", "name the agent first: train.py AGENT --seed 3 dqn (known: dqn, mask"),
        ("tabular_q --until unbeatible", "--until: unknown value 'unbeatible'; did you mean"),
        ("tabular_q --steps many", "--steps: expected a whole number of at least 1, got 'many'"),
        ("tabular_q --steps", "--steps needs a value: --steps INT"),
        ("--until optimal tabular_q --seed -1", "--seed: expected a whole number of at least 0"),
        ("tabular_q --turns drwn", "--turns: unknown value 'drwn'; did you mean 'drawn'?"),
        ("tabular_q --opponents minmax", "unknown opponent 'minmax'; did you mean 'minimax'?"),
        ("tabular_q --opponents random:x", "opponents must be written as name:weight,name:weight"),
        ("tabular_q --opponents runs/none", "no saved run or certificate at 'runs/none'"),
        ("tabular_q --k 4", "k must be at most max(rows, cols) = 3, got 4"),
        ("tabular_q --export-sb3 x.zip", "does not use Stable-Baselines3, so there is nothing to"),
        ("trie --preset topheb", "unknown preset of trie 'topheb'; did you mean 'tophep'?"),
        ("maskable_ppo --preset tictac", "maskable_ppo has no presets: leave --preset tictac out"),
        ("trie --learn-from no-such-games.txt", "no-such-games.txt"),
    ],
)
def test_an_error_is_one_line_and_nothing_is_written(
    arguments, said, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert said in error_of(capsys, *arguments.split())
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_that_ends_at_once_leaves_no_traceback(tmp_path, capsys, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("agents.tabular_q.TabularQ.advance", interrupted)
    assert trained(ROUNDS, tmp_path / "run") == 130
    said = "train.py: ended at once; --resume continues from the last checkpoint\n"
    assert capsys.readouterr().err == said


# --- what a run leaves ---------------------------------------------------------------------------


def test_runs_are_named_for_agent_and_seed_and_a_taken_name_gets_the_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(train.new_folder("dqn", 7)) == "runs/dqn-7"
    (tmp_path / "runs" / "dqn-7").mkdir(parents=True)
    assert re.fullmatch(r"runs/dqn-7-\d{8}-\d{6}", str(train.new_folder("dqn", 7)))
    board = ("--rows", "2", "--cols", "3", "--k", "3", "--steps", "64", "--seed", "5")
    assert train.main([ROUNDS, *OPTIONS[ROUNDS], *board]) == 0
    folder = tmp_path / "runs" / "tabular_q-5"
    content = read(folder)
    assert content["board"] == {"rows": 2, "cols": 3, "k": 3}
    assert content["config"] == read_json(folder / "config.json")["config"]
    assert content["training"]["steps"] == last_step(folder)


def test_a_goal_that_is_not_reached_is_said_with_the_command_to_go_on(tmp_path, capsys):
    folder = tmp_path / "a run"
    assert trained(ROUNDS, folder, "--until", "unbeatable", steps=5) == 1
    made = read(folder)["training"]["steps"]
    assert made > 10, "a round is not cut short"
    printed = capsys.readouterr().out
    assert f"unbeatable was not reached within {made} steps\n" in printed
    more = f"--steps {2 * made} --until unbeatable"
    assert f"continue with: python train.py --resume '{folder}' {more}\n" in printed
    assert train.main(["--resume", str(folder), "--steps", str(2 * made)]) == 0
    assert read(folder)["training"]["steps"] >= 2 * made


def test_a_goal_that_is_reached_ends_the_run_and_is_exit_code_0(tmp_path, capsys):
    board = ("--rows", "2", "--cols", "3", "--k", "3", "--judge-every", "64")
    options = (*board, "--until", "unbeatable", "--opponents", "minimax-slip=0.6")
    assert trained(ROUNDS, tmp_path / "run", *options, steps=50_000) == 0
    printed = capsys.readouterr().out
    assert "PROVEN: unbeatable as X and as O" in printed
    assert "continue with" not in printed
    assert last_step(tmp_path / "run") < 50_000
    assert read(tmp_path / "run")["unbeatable"]


def test_a_preset_names_the_run_and_other_options_override_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert train.main(["trie", "--preset", "tophep", "--steps", "300", "--side", "X"]) == 0
    assert "example game, trie-tophep as X against random as O" in capsys.readouterr().out
    run = tmp_path / "runs" / "trie-tophep-0"
    saved = read_json(run / "config.json")
    chosen = {name: saved["config"][name] for name in ("rule", "opponents", "side", "steps")}
    assert chosen == {"rule": "one-tie", "opponents": "minimax", "side": "X", "steps": 300}
    assert train.main(["--resume", str(run), "--steps", "400"]) == 0
    assert saved["preset"] == read_json(run / "config.json")["preset"] == "tophep"
    assert read(run)["training"]["preset"] == "tophep"
    capsys.readouterr()
    said = error_of(capsys, "--resume", run, "--steps", "500", "--preset", "tictac")
    assert "continues with its own configuration: leave --preset out" in said


def test_a_run_is_an_opponent_for_the_next_one(finished, tmp_path):
    opponents = f"{finished}:0.5,random:0.5"
    assert trained(ROUNDS, tmp_path / "run", "--opponents", opponents, steps=64) == 0
    assert read(tmp_path / "run")["config"]["opponents"] == opponents


def test_a_training_goes_on_and_is_saved_where_nobody_reads_its_progress(tmp_path):
    options = f"trie --steps 3000 --judge-every 100 --out {tmp_path / 'run'}"
    command = f"{sys.executable} train.py {options} | head -n 1"
    printed = subprocess.check_output(command, shell=True, cwd=ROOT, env=environment())
    assert printed.count(b"\n") == 1
    assert read(tmp_path / "run")["training"]["steps"] == 3_000


# --- continuing ----------------------------------------------------------------------------------


def test_a_run_that_continued_is_the_run_that_never_stopped(tmp_path, capsys):
    folder, whole = tmp_path / "stopped", tmp_path / "whole"
    assert trained("mcts", folder, steps=400) == 0
    capsys.readouterr()
    repeated = ("--judge-every", "200", "--seed", "0")  # options may be repeated as they were
    assert train.main(["--resume", str(folder), "--steps", "800", *repeated]) == 0
    assert f"saved: {folder}" in capsys.readouterr().out
    assert trained("mcts", whole, steps=800) == 0
    stated, expected = read(folder), read(whole)
    assert stated["config"] == read_json(folder / "config.json")["config"]
    for content in (stated, expected):  # all but the clock is the same
        content["training"] = [
            content["training"]["steps"],
            content["training"]["best_at"]["steps"],
        ]
    assert stated == expected
    assert without_seconds(folder) == without_seconds(whole)
    for name in ("model", "checkpoint/model", "checkpoint/state"):
        path = f"{name}.safetensors"
        assert (folder / path).read_bytes() == (whole / path).read_bytes()


def test_only_steps_and_until_may_change_when_a_run_continues(finished, tmp_path, capsys):
    before, made = files_of(finished), last_step(finished)
    over = f"has trained {made:,} steps already: give --steps more than that"
    for arguments, said in (
        (("--resume", finished, "--seed", "1"), "trained with another seed; only --steps and"),
        (("--resume", finished, "--games", "8", "--seed", "1"), "another seed, games; only"),
        (("--resume", finished, "--out", tmp_path / "new"), "itself: leave --out out"),
        (("--resume", finished, "--steps", made), over),
        (("--resume", finished), over),
        (("dqn", "--resume", finished), f"{finished} is a run of tabular_q, not of dqn"),
    ):
        assert said in error_of(capsys, *arguments)
    assert files_of(finished) == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is missing: is"),
        ("[]", "is not the configuration of a run: --resume needs the folder of a run"),
        ('{"agent": "dqn"}', "is not the configuration of a run"),
        ('{"agent": 3, "config": {}}', "is not the configuration of a run"),
        ('{"agent": "os", "config": {}}', "unknown agent 'os'"),
        ('{"agent": "trie", "config": {"sead": 3}}', "by another version: sead are unknown"),
        ('{"agent": "trie", "config": {"steps": "many"}}', "steps must be a whole number of at le"),
        ('{"agent": "tictacnet", "config": {"hidden": 3}}', "hidden must be values separated"),
        ('{"agent": "trie", "config": {}}', "has no checkpoint to continue from"),
    ],
)
def test_a_folder_that_is_no_run_is_refused(content, said, tmp_path, capsys):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    assert said in error_of(capsys, "--resume", tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "model.json", "checkpoint/state.json"])
def test_damaged_files_are_named_when_a_run_should_continue(finished, tmp_path, capsys, name):
    path = shutil.copytree(finished, tmp_path / "run") / name
    resume = ("--resume", tmp_path / "run", "--steps", 2 * STEPS)
    path.write_bytes(path.read_bytes()[:100])
    assert f"{path} is damaged" in error_of(capsys, *resume)
    path.unlink()
    assert f"{path} is missing" in error_of(capsys, *resume)


# --- being stopped -------------------------------------------------------------------------------

# A run that writes a checkpoint at each evaluation, as one does that goes on for long.
OFTEN = (
    "import sys, training.run, train\n"
    "training.run.CHECKPOINT_SECONDS = 0\n"
    "sys.exit(train.main(sys.argv[1:]))"
)


def stopped(folder, agent, number):
    """(what it printed, exit code) of a training that gets a signal after its second checkpoint."""
    options = [agent, *OPTIONS[agent], "--steps", "10000000", "--out", str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [sys.executable, "-c", OFTEN, *options]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), **pipes)
    end = time.monotonic() + 300
    while not (folder / "checkpoint/progress.json").exists() or len(metrics(folder)) < 2:
        if time.monotonic() > end or process.poll() is not None:
            process.kill()
            raise AssertionError(f"no checkpoint: {process.communicate()[0]}")
        time.sleep(0.01)
    process.send_signal(number)
    return process.communicate(timeout=300)[0], process.returncode


def test_ctrl_c_saves_everything_and_says_how_to_go_on(tmp_path):
    folder = tmp_path / "run"
    printed, code = stopped(folder, "maskable_ppo", signal.SIGINT)
    assert code == 0
    assert "stopping at the next evaluation, where the state is saved" in printed
    assert f"continue with: python train.py --resume {folder}\n" in printed
    assert "\x1b" not in printed, "a pipe gets no escape codes"
    assert "Traceback" not in printed
    verify(read(folder))
    steps = last_step(folder)
    assert read_json(folder / "checkpoint" / "progress.json") == {"steps": steps}
    assert train.main(["--resume", str(folder), "--steps", str(steps + JUDGE_EVERY)]) == 0
    evaluated = [int(row["steps"]) for row in metrics(folder)]
    assert evaluated == list(range(JUDGE_EVERY, steps + 2 * JUDGE_EVERY, JUDGE_EVERY))


@pytest.mark.parametrize(
    ("agent", "number"), [("dqn", signal.SIGKILL), ("tabular_q", signal.SIGTERM)]
)
def test_a_killed_run_leaves_readable_files_and_continues_bit_by_bit(agent, number, tmp_path):
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    assert stopped(folder, agent, number)[1] == -number
    for path in folder.rglob("[!.]*.json"):
        read_json(path)
    for path in folder.rglob("[!.]*.safetensors"):
        if ".checkpoint" not in str(path):
            read_arrays(path)
    assert not (folder / "certificate.json").exists()
    more = last_step(folder) + JUDGE_EVERY
    assert train.main(["--resume", str(folder), "--steps", str(more)]) == 0
    assert trained(agent, whole, steps=more) == 0
    assert without_seconds(folder) == without_seconds(whole)
    assert read(folder)["moves"] == read(whole)["moves"]
    verify(read(folder))


# --- Stable-Baselines3's own file ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "model_class"), [("dqn", agents.dqn.BoardDQN), ("maskable_ppo", MaskablePPO)]
)
def test_the_exported_zip_is_loaded_by_stable_baselines3_and_plays_the_certified_moves(
    agent, model_class, tmp_path, capsys
):
    folder, path = tmp_path / "run", tmp_path / "model.zip"
    assert trained(agent, folder, "--export-sb3", str(path), steps=JUDGE_EVERY) == 0
    assert f"Stable-Baselines3's own file: {path}\n" in capsys.readouterr().out
    model = model_class.load(path)
    boards = POSITIONS.boards[POSITIONS.unfinished]
    masks = {"action_masks": boards == 0} if agent == "maskable_ppo" else {}
    moves, _ = model.predict(observe(boards, Rules()), deterministic=True, **masks)
    certified = table_of(read(folder)).table.argmax(axis=1)
    other = np.flatnonzero(moves != certified)
    if len(other):  # equal cells of a symmetric board, between which the last bit decides
        assert agent == "maskable_ppo", "DQN has one value for cells that are equal under symmetry"
        observations = torch.as_tensor(observe(boards[other], Rules()))
        scores = model.policy.log_probs_and_values(observations)[0].detach().numpy()
        rows = np.arange(len(other))
        assert scores[rows, moves[other]] == pytest.approx(scores[rows, certified[other]], abs=1e-6)
