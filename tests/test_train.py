"""The command line of training, and whole runs from it: continued, interrupted, killed."""

import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from rich.console import Console
from small_runs import JUDGE_EVERY, OPTIONS, ROOT, environment, metrics, python, trained

import train
from agents import TRAINABLE
from terminal.trainer import new_folder, verdict
from tictactoe_env.certificate import read, verify
from training.files import read_arrays, read_json, write_sealed

STEPS = 2 * JUDGE_EVERY
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


def last_step(folder):
    return int(metrics(folder)[-1]["steps"])


@pytest.mark.parametrize("arguments", [["--help"], [], ["-h"]])
def test_help_lists_all_agents_with_a_sentence_and_needs_no_torch(arguments):
    program = """import sys, train
try:
    code = train.main(sys.argv[1:])
except SystemExit as end:
    code = end.code
heavy = {"torch", "stable_baselines3", "sb3_contrib", "matplotlib", "tensorboard"}
print(code, heavy & {name.split(".")[0] for name in sys.modules})"""
    done = python("-c", program, *arguments)
    assert (done.stdout.endswith("\n0 set()\n"), done.stderr) == (True, "")
    shown = " ".join(done.stdout.split())
    assert all(f"{agent} {sentence}" in shown for agent, sentence in TRAINABLE.items())
    assert "AGENT --help" in shown


def test_an_error_is_one_line_and_writes_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for arguments, said in (
        ("dqm", "unknown agent 'dqm'; did you mean 'dqn'? (known: dqn, "),
        ("tabular_q --stpes 5", "unknown option '--stpes'; did you mean '--steps'?"),
        ("tabular_q --epsilon 1 --zzz=3", "unknown option '--zzz' (--help lists the options)"),
        ("tabular_q --board 3x4 --rows 3", "--board already gives the size: leave --rows out"),
        ("tabular_q --board 4", "--board: expected rows x columns x marks in a row of a board"),
        ("maskable_ppo --lr 1", "unknown option '--lr'; did you mean '--learning-rate'? (--help"),
        ("ppo", "unknown agent 'ppo'; did you mean 'maskable_ppo'? (known: dqn, "),
        ("dqn --preset duel", "did you mean 'duel-centre'?"),
        ("--seed 3 dqn", "name the agent first: train.py AGENT --seed 3 dqn (known: dqn, mask"),
        ("tabular_q --until unbeatible", "--until: unknown value 'unbeatible'; did you mean"),
        ("tabular_q --steps many", "--steps: expected a whole number of at least 1, got 'many'"),
        ("--until optimal tabular_q --seed -1", "--seed: expected a whole number of at least 0"),
        ("tabular_q --opponents minmax", "unknown opponent 'minmax'; did you mean 'minimax'?"),
        ("tabular_q --opponents runs/none", "no saved run or certificate at 'runs/none'"),
        ("tabular_q --export-sb3 x.zip", "does not use Stable-Baselines3, so there is nothing to"),
        ("trie --preset topheb", "unknown preset of trie 'topheb'; did you mean 'tophep'?"),
        (
            "maskable_ppo --preset tictac",
            "unknown preset of maskable_ppo 'tictac' (known: 3x4, 3x5",
        ),
        ("trie --learn-from no-such-games.txt", "no-such-games.txt"),
        (
            "dqn --device gpu",
            "--device: unknown value 'gpu'; did you mean 'cpu'?",
        ),
        ("dqn --device cuda", "device 'cuda' cannot be used: torch "),
        ("maskable_ppo --device cuda", "leave --device out to train on the CPU"),
        ("value_net --device cuda", "leave --device out to train on the CPU"),
    ):
        assert said in error_of(capsys, *arguments.split())
        assert list(tmp_path.iterdir()) == []


def test_an_interrupt_that_ends_at_once_leaves_no_traceback(tmp_path, capsys, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt  # as the second Ctrl-C does

    monkeypatch.setattr("agents.tabular_q.TabularQ.advance", interrupted)
    assert trained(ROUNDS, tmp_path / "run") == 130
    said = "train.py: ended at once, before anything was saved\n"
    assert capsys.readouterr().err == said


def test_a_goal_that_is_not_reached_is_said_with_the_command_to_go_on(tmp_path, capsys):
    folder = tmp_path / "a run"
    assert trained(ROUNDS, folder, "--until", "unbeatable", steps=5) == 1
    made = read(folder)["training"]["steps"]
    assert made == last_step(folder) > 10, "a round is not cut short"
    printed = capsys.readouterr().out
    assert f"unbeatable was not reached within {made} steps\n" in printed
    more = f"--steps {2 * made} --until unbeatable"
    assert f"continue with: python train.py --resume '{folder}' {more}\n" in printed
    assert train.main(["--resume", str(folder), "--steps", str(2 * made)]) == 0
    assert read(folder)["training"]["steps"] >= 2 * made


def test_a_goal_that_is_reached_ends_the_run_and_is_exit_code_0(tmp_path, capsys, monkeypatch):
    """The run is named for its agent and seed; the next one of that name gets the time."""
    monkeypatch.chdir(tmp_path)
    options = "--rows 2 --judge-every 64 --until unbeatable --opponents minimax-slip=0.6 --seed 5"
    assert train.main([ROUNDS, *OPTIONS[ROUNDS], *options.split(), "--steps", "50000"]) == 0
    printed, folder = capsys.readouterr().out, tmp_path / "runs" / "tabular_q-5"
    assert "PROVEN on 2x3, 3 in a row: unbeatable as X and as O" in printed
    check, play = (f"{way} runs/tabular_q-5" for way in ("evaluate.py --verify", "play.py --o"))
    assert re.search(rf"\ncheck: .*{check}   play: .*{play}\n", printed)
    assert "continue with" not in printed
    assert last_step(folder) < 50_000
    again = new_folder("tabular_q", 5, Console())
    said = capsys.readouterr().out
    assert f"runs/tabular_q-5 exists, so this run is written to {again}. The same seed" in said
    assert "--seed 6 trains another one, python train.py --resume runs/tabular_q-5 cont" in said
    assert re.fullmatch(r"runs/tabular_q-5-\d{8}-\d{6}", str(again))
    content = read(folder)
    assert content["unbeatable"]
    assert content["board"] == {"rows": 2, "cols": 3, "k": 3}
    assert content["config"] == read_json(folder / "config.json")["config"]


def test_a_run_that_is_optimal_is_not_told_to_go_on():
    said = []
    for reached, left in (("optimal", 0), ("unbeatable", 1)):
        rows = [{"steps": 10}]
        run = SimpleNamespace(first_reached={reached: (5, 1.0)}, rows=rows, folder="runs/x")
        run.config, run.side = SimpleNamespace(steps=10), "both"
        assert verdict(run, "steps", said.append) == 0
        assert len(said) == left


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


@pytest.mark.slow
def test_a_training_goes_on_and_is_saved_where_nobody_reads_its_progress(tmp_path):
    options = f"trie --steps 1000 --judge-every 100 --out {tmp_path / 'run'}"
    command = f"{sys.executable} train.py {options} | head -n 1"
    printed = subprocess.check_output(command, shell=True, cwd=ROOT, env=environment())
    assert printed.count(b"\n") == 1
    assert read(tmp_path / "run")["training"]["steps"] == 1_000


def test_only_steps_and_until_may_change_when_a_run_continues(finished, tmp_path, capsys):
    before = contents(finished)
    for arguments, said in (
        (("--resume", finished, "--seed", "1"), "trained with another seed; only --steps and"),
        (("--resume", finished, "--games", "8", "--seed", "1"), "another seed, games; only"),
        (("--resume", finished, "--out", tmp_path / "new"), "itself: leave --out out"),
        (("dqn", "--resume", finished), f"{finished} is a run of tabular_q, not of dqn"),
    ):
        assert said in error_of(capsys, *arguments)
    assert contents(finished) == before


def contents(folder):
    """The bytes of all files of a run but its lock."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path): path.read_bytes() for path in files}


def test_a_run_that_is_complete_says_so_and_stays_as_it_is(finished, capsys):
    before, made = contents(finished), last_step(finished)
    for more in ([], ["--steps", str(made)], ["--until", "unbeatable"]):
        assert train.main(["--resume", str(finished), *more]) == (1 if "--until" in more else 0)
        said = f"complete: {finished} has trained {made:,} steps, and nothing of it is missing"
        assert said in capsys.readouterr().out
    assert contents(finished) == before


def test_a_folder_that_is_no_run_is_refused(tmp_path, capsys):
    assert "is missing: is" in error_of(capsys, "--resume", tmp_path)
    path, known = tmp_path / "config.json", {"config": {}, "versions": {}}
    for content in ("[]", '{"agent": "dqn", "config": {}}'):
        path.write_text(content)
        said = f"{path} is damaged, or an earlier version of this program wrote it: it has no"
        assert said in error_of(capsys, "--resume", tmp_path)
    for content, said in (
        ({"agent": "dqn"}, "config.json is damaged: the content lacks 'config' (its entries: "),
        ({**known, "agent": 3}, "config.json is damaged: agent must be text of at most 100"),
        ({**known, "agent": "dqn", "rival": "../x"}, "rival must be text of at most 255 letters"),
        ({**known, "agent": "dqn", "rival": ".."}, "rival must be text of at most 255 letters"),
        ({**known, "agent": "os"}, "unknown agent 'os'"),
        ({**known, "agent": "tictacnet", "config": {"hidden": 3}}, "hidden must be values sepa"),
        ({**known, "agent": "trie"}, "has no checkpoint to continue from"),
    ):
        write_sealed(path, content)
        assert said in error_of(capsys, "--resume", tmp_path)


# A run that writes a checkpoint at each evaluation, as one does that goes on for long.
OFTEN = "import sys, training.run as run, train; run.CHECKPOINT_SECONDS = 0; "


def stopped(folder, agent, number):
    """(what it printed, exit code) of a training that gets a signal after its second checkpoint."""
    options = [agent, *OPTIONS[agent], "--steps", "10000000", "--out", str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [sys.executable, "-c", f"{OFTEN}sys.exit(train.main(sys.argv[1:]))", *options]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), **pipes)
    end = time.monotonic() + 300
    while not (folder / "checkpoint/progress.json").exists() or len(metrics(folder)) < 2:
        if time.monotonic() > end or process.poll() is not None:
            process.kill()
            raise AssertionError(f"no checkpoint: {process.communicate()[0]}")
        time.sleep(0.01)
    process.send_signal(number)
    return process.communicate(timeout=300)[0], process.returncode


@pytest.mark.slow
def test_ctrl_c_saves_everything_and_says_how_to_go_on(tmp_path):
    folder = tmp_path / "run"
    printed, code = stopped(folder, "maskable_ppo", signal.SIGINT)
    assert code == 0
    assert "stopping at the next evaluation, where the state is saved" in printed
    assert f"continue with: python train.py --resume {folder}\n" in printed
    assert "\x1b" not in printed, "a pipe gets no escape codes"
    assert "Traceback" not in printed
    verify(read(folder))
    evaluated = [int(row["steps"]) for row in metrics(folder)]
    assert evaluated == list(range(JUDGE_EVERY, evaluated[-1] + 1, JUDGE_EVERY))
    assert read_json(folder / "checkpoint" / "progress.json") == {"steps": evaluated[-1]}


@pytest.mark.parametrize(
    ("agent", "number"), [pytest.param("dqn", 9, marks=pytest.mark.slow), ("tabular_q", 15)]
)
def test_a_killed_run_leaves_readable_files_and_continues_bit_by_bit(
    agent, number, tmp_path, capsys
):
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    assert stopped(folder, agent, number)[1] == -number
    for path in folder.rglob("[!.]*.json"):
        read_json(path)
    for path in folder.rglob("[!.]*.safetensors"):
        if ".checkpoint" not in str(path):
            read_arrays(path)
    assert not (folder / "certificate.json").exists()
    more = last_step(folder) + JUDGE_EVERY
    repeated = ("--steps", str(more), "--seed", "0")  # options may be repeated as they were
    assert train.main(["--resume", str(folder), *repeated]) == 0
    assert f"saved: {folder}" in capsys.readouterr().out
    assert trained(agent, whole, steps=more) == 0
    rows = [[{**row, "seconds": 0} for row in metrics(run)] for run in (folder, whole)]
    assert rows[0] == rows[1]
    stated, expected = read(folder), read(whole)
    verify(stated)
    for content in (stated, expected):
        content["training"] = content["training"]["best_at"]["steps"]
    assert stated == expected, "all but the clock is the same"
    for name in ("model.safetensors", "checkpoint/state.safetensors"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()
