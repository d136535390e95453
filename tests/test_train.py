import csv
import dataclasses
import importlib
import json
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
import agents.maskable_ppo
import train
from agents import TRAINABLE
from tictactoe_env.certificate import read, table_of, verify
from tictactoe_env.observation import observe
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training.files import read_json, read_tensors
from training.run import COLUMNS

AGENTS = ("dqn", "maskable_ppo")
PAGES = {"dqn": agents.dqn, "maskable_ppo": agents.maskable_ppo}
STEPS = 2 * JUDGE_EVERY


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished small run of each agent, not to be changed."""
    folders = {agent: tmp_path_factory.mktemp("runs") / f"{agent}-0" for agent in AGENTS}
    assert [trained(agent, folder, steps=STEPS) for agent, folder in folders.items()] == [0, 0]
    return folders


@pytest.fixture
def dqn(finished, tmp_path):
    """A finished small run of DQN, to be changed."""
    return shutil.copytree(finished["dqn"], tmp_path / "dqn-0")


def refused(*arguments):
    """The error that a command line ends with, on one line and with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        train.main([str(argument) for argument in arguments])
    assert ended.value.code == 2


def error_of(capsys, *arguments):
    refused(*arguments)
    printed = capsys.readouterr()
    assert printed.err.startswith("train.py: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    return printed.err


def metrics(folder):
    with open(folder / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def is_for_tensorboard(path):
    return path.name.startswith("events.out.tfevents") or (
        path.is_dir() and all(is_for_tensorboard(inner) for inner in path.iterdir())
    )


def without_seconds(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


# --- help and errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_help_lists_all_agents_with_a_sentence_and_needs_no_torch(arguments):
    program = (
        "import sys, train\n"
        "try:\n    code = train.main(sys.argv[1:])\n"
        "except SystemExit as end:\n    code = end.code\n"
        "assert code == 0, code\n"
        "heavy = {'torch', 'stable_baselines3', 'sb3_contrib', 'matplotlib', 'tensorboard', 'rich'} & {name.split('.')[0] for name in sys.modules}\n"
        "assert not heavy, heavy\n"
    )
    done = python("-c", program, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    for agent, sentence in TRAINABLE.items():
        assert f"{agent} " in done.stdout
        assert sentence in done.stdout
    assert "AGENT --help" in done.stdout
    assert {
        path.stem for path in (ROOT / "agents").glob("*.py") if "class Config" in path.read_text()
    } == set(TRAINABLE)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_help_of_an_agent_explains_every_field_with_its_default(agent, capsys):
    assert train.main([agent, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    for field in dataclasses.fields(PAGES[agent].Config):
        default = (
            ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
        )
        assert f"--{field.name.replace('_', '-')}" in shown
        assert f"{field.metadata['help']} (default: {default})".replace("- ", "-") in shown
    assert all(option in shown for option in ("--until", "--out", "--resume", "--export-sb3"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("dqm", "unknown agent 'dqm'; did you mean 'dqn'? (known: dqn, "),
        ("dqn --stpes 5", "unknown option '--stpes'; did you mean '--steps'?"),
        ("dqn --step 5", "unknown option '--step'; did you mean '--steps'?"),
        (
            "dqn --rows 1 --cols 13 --k 3 --opponents random",
            "too many positions for a certificate: at most 12 cells",
        ),
        ("dqn --learning-rate 5 --zzz=3", "unknown option '--zzz' (known: --activation, "),
        ("dqn random", "unexpected argument 'random'"),
        (
            "--seed 3 dqn",
            "name the agent first: train.py AGENT --seed 3 dqn (known: maskable_ppo, dqn, ",
        ),
        ("dqn --until unbeatible", "argument --until: invalid choice: 'unbeatible'"),
        ("dqn --steps many", "argument --steps: invalid int value: 'many'"),
        ("dqn --steps", "argument --steps: expected one argument"),
        (
            "dqn --hidden 3,x",
            "argument --hidden: expected whole numbers separated by commas, such as 128,128, got '3,x'",
        ),
        ("dqn --steps 0", "steps must be a whole number of at least 1, got 0"),
        ("maskable_ppo --seed -1", "seed must be a whole number of at least 0, got -1"),
        (
            "maskable_ppo --exploring-starts 1.5",
            "exploring_starts must be a probability from 0 to 1, got 1.5",
        ),
        ("dqn --learning-rate nan", "learning_rate must be a number above 0, got nan"),
        ("dqn --opponents minmax", "unknown opponent 'minmax'; did you mean 'minimax'?"),
        ("dqn --opponents random:x", "opponents must be written as name:weight,name:weight"),
        ("dqn --opponents runs/none", "no saved run or certificate at 'runs/none'"),
        ("dqn --k 4", "k must be at most max(rows, cols) = 3, got 4"),
        ("dqn --rows 5 --cols 5", "are too many to enumerate: at most 16 cells"),
        ("maskable_ppo --activation rulu", "relu"),
        ("trie --preset topheb", "unknown preset of trie 'topheb'; did you mean 'tophep'?"),
        ("maskable_ppo --preset tictac", "maskable_ppo has no presets: leave --preset tictac out"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in error_of(capsys, *arguments.split())
    assert list(tmp_path.iterdir()) == []


def test_an_agent_may_follow_the_options_that_all_have(capsys):
    assert "steps must be a whole number" in error_of(
        capsys, "--until", "optimal", "dqn", "--steps", "0"
    )


def test_an_interrupt_that_ends_at_once_leaves_no_traceback(tmp_path, capsys, monkeypatch):
    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(agents.dqn, "train", interrupted)
    with pytest.raises(SystemExit) as ended:
        trained("dqn", tmp_path / "run")
    assert ended.value.code == 130
    assert (
        capsys.readouterr().err
        == "train.py: ended at once; --resume goes on from the last checkpoint\n"
    )


# --- what a run leaves -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_is_a_folder_of_files_that_agree_with_each_other(agent, finished):
    folder = finished[agent]
    names = sorted(path.name for path in folder.iterdir())
    files = (
        "certificate.json",
        "checkpoint",
        "config.json",
        "growth.png",
        "metrics.csv",
        "model.json",
        "model.safetensors",
    )
    assert [
        name for name in names if name not in files and not is_for_tensorboard(folder / name)
    ] == []
    assert set(files) < set(names)
    assert (folder / "growth.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    content, rows, config = read(folder), metrics(folder), read_json(folder / "config.json")
    verify(content)
    assert (content["agent"], content["seed"], config["agent"]) == (agent, 0, agent)
    assert content["config"] == config["config"]
    assert config["config"]["hidden"] == [32]
    assert {field.name for field in dataclasses.fields(PAGES[agent].Config)} == set(
        config["config"]
    )
    assert content["versions"]["torch"]
    assert tuple(rows[0])[: len(COLUMNS)] == COLUMNS
    steps = [int(row["steps"]) for row in rows]
    assert steps == sorted(set(steps))
    assert steps[-1] == content["training"]["steps"] >= STEPS
    (best,) = (row for row in rows if int(row["steps"]) == content["training"]["best_at"]["steps"])
    for side in ("x", "o"):
        for rate, stated in content[f"as_{side}"]["vs_random"].items():
            assert float(best[f"{side}_{rate}"]) == stated
        assert best[f"unbeatable_{side}"] == str(int(content[f"as_{side}"]["unbeatable"]))
    assert content["training"]["best_at"]["seconds"] == float(best["seconds"])


@pytest.mark.parametrize("agent", AGENTS)
def test_the_saved_network_makes_the_certified_moves(agent, finished):
    assert np.array_equal(
        PAGES[agent].load(finished[agent]).table, table_of(read(finished[agent])).table
    )
    assert (
        read_json(finished[agent] / "model.json")["steps"]
        == read(finished[agent])["training"]["best_at"]["steps"]
    )


def test_a_folder_that_is_not_empty_is_refused_and_nothing_in_it_is_touched(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    said = error_of(capsys, "dqn", "--out", tmp_path)
    assert (
        f"{tmp_path} is not an empty folder: give another --out, or go on with --resume {tmp_path}"
        in said
    )
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("mine.txt", "mine")]


def test_runs_are_named_for_agent_and_seed_and_a_taken_name_gets_the_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(train.new_folder("dqn", 7)) == "runs/dqn-7"
    (tmp_path / "runs" / "dqn-7").mkdir(parents=True)
    assert re.fullmatch(r"runs/dqn-7-\d{8}-\d{6}", str(train.new_folder("dqn", 7)))
    board = ("--rows", "2", "--cols", "3", "--k", "3")
    assert train.main(["dqn", *OPTIONS["dqn"], *board, "--seed", "5", "--steps", "64"]) == 0
    assert read(tmp_path / "runs" / "dqn-5")["board"] == {"rows": 2, "cols": 3, "k": 3}


def test_a_goal_that_is_not_reached_is_said_and_is_exit_code_1(tmp_path, capsys):
    assert trained("dqn", tmp_path / "a run", "--until", "unbeatable", steps=64) == 1
    printed = capsys.readouterr().out
    assert "unbeatable was not reached within 64 steps\n" in printed
    assert (
        f"go on: python train.py --resume '{tmp_path / 'a run'}' --steps 128 --until unbeatable\n"
        in printed
    )


def test_the_command_to_go_on_asks_for_more_steps_than_were_made(tmp_path, capsys):
    folder = tmp_path / "run"
    assert trained("maskable_ppo", folder, steps=5) == 0
    made = read(folder)["training"]["steps"]
    assert made > 10, "a rollout is not cut short"
    (command,) = (
        line for line in capsys.readouterr().out.splitlines() if line.startswith("go on: ")
    )
    assert command == f"go on: python train.py --resume {folder} --steps {2 * made}"
    assert train.main(command.split()[4:]) == 0
    assert read(folder)["training"]["steps"] >= 2 * made


def test_a_goal_that_is_reached_ends_the_run_and_is_exit_code_0(tmp_path, capsys):
    board = ("--rows", "2", "--cols", "3", "--k", "3", "--judge-every", "64")
    assert trained("dqn", tmp_path / "run", "--until", "unbeatable", *board, steps=50_000) == 0
    printed = capsys.readouterr().out
    assert "PROVEN: unbeatable as X and as O" in printed
    assert "go on" not in printed
    assert int(metrics(tmp_path / "run")[-1]["steps"]) < 50_000
    assert read(tmp_path / "run")["unbeatable"]


# --- going on ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_that_went_on_is_the_run_that_never_stopped(agent, finished, tmp_path, capsys):
    folder = shutil.copytree(finished[agent], tmp_path / "stopped")
    assert train.main(["--resume", str(folder), "--steps", str(2 * STEPS)]) == 0
    assert f"saved: {folder}" in capsys.readouterr().out
    assert trained(agent, tmp_path / "whole", steps=2 * STEPS) == 0
    stopped, whole = read(folder), read(tmp_path / "whole")
    assert stopped["moves"] == whole["moves"]
    assert stopped["config"] == whole["config"] == read_json(folder / "config.json")["config"]
    assert stopped["training"]["best_at"]["steps"] == whole["training"]["best_at"]["steps"]
    assert without_seconds(metrics(folder)) == without_seconds(metrics(tmp_path / "whole"))
    for file in ("model", "checkpoint/model", "checkpoint/state"):
        assert (folder / f"{file}.safetensors").read_bytes() == (
            tmp_path / "whole" / f"{file}.safetensors"
        ).read_bytes()


def test_only_steps_and_until_may_change_when_a_run_goes_on(finished, tmp_path, capsys):
    folder = finished["dqn"]
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    for arguments, said in (
        (
            ("--seed", "1"),
            "was trained with another seed; only --steps and --until may change when a run goes on",
        ),
        (("--hidden", "8", "--no-symmetry"), "was trained with another symmetry, hidden; only"),
        (("--out", tmp_path / "new"), "itself: leave --out out"),
        (("--steps", STEPS), f"has trained {STEPS:,} steps already: give --steps more than that"),
        ((), f"has trained {STEPS:,} steps already: give --steps more than that"),
    ):
        assert said in error_of(capsys, "--resume", folder, *arguments)
    assert f"{folder} is a run of dqn, not of maskable_ppo" in error_of(
        capsys, "maskable_ppo", "--resume", folder
    )
    assert {
        path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    } == before


def test_options_may_be_repeated_as_they_were_when_a_run_goes_on(dqn):
    assert (
        train.main(
            [
                "dqn",
                "--resume",
                str(dqn),
                "--hidden",
                "32",
                "--seed",
                "0",
                "--steps",
                str(STEPS + JUDGE_EVERY),
            ]
        )
        == 0
    )
    assert int(metrics(dqn)[-1]["steps"]) == STEPS + JUDGE_EVERY


def test_a_folder_that_is_no_run_is_refused(tmp_path, capsys):
    assert "is missing: is" in error_of(capsys, "--resume", tmp_path / "none")
    for content in ("[]", "{}", '{"agent": "dqn"}', '{"agent": 3, "config": {}}'):
        (tmp_path / "config.json").write_text(content)
        assert "is not the configuration of a run: --resume needs the folder of a run" in error_of(
            capsys, "--resume", tmp_path
        )
    (tmp_path / "config.json").write_text('{"agent": "os", "config": {}}')
    assert "unknown agent 'os'" in error_of(capsys, "--resume", tmp_path)
    (tmp_path / "config.json").write_text('{"agent": "dqn", "config": {"sead": 3}}')
    assert "was written by another version: unknown configuration sead" in error_of(
        capsys, "--resume", tmp_path
    )
    (tmp_path / "config.json").write_text('{"agent": "dqn", "config": {"steps": "many"}}')
    assert "steps must be a whole number of at least 1, got 'many'" in error_of(
        capsys, "--resume", tmp_path
    )
    (tmp_path / "config.json").write_text('{"agent": "dqn", "config": {"hidden": 3}}')
    assert "config.json is damaged" in error_of(capsys, "--resume", tmp_path)
    (tmp_path / "config.json").write_text('{"agent": "dqn", "config": {}}')
    assert "has no checkpoint to go on from" in error_of(capsys, "--resume", tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors",
        "model.json",
        "checkpoint/model.safetensors",
        "checkpoint/state.safetensors",
    ],
)
@pytest.mark.parametrize("agent", AGENTS)
def test_damaged_files_are_named_when_a_run_should_go_on(agent, name, finished, tmp_path, capsys):
    folder = shutil.copytree(finished[agent], tmp_path / "run")
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2])
    assert f"{folder / name} is damaged" in error_of(
        capsys, "--resume", folder, "--steps", 2 * STEPS
    )
    (folder / name).unlink()
    assert f"{folder / name} is missing" in error_of(
        capsys, "--resume", folder, "--steps", 2 * STEPS
    )


# --- being stopped -----------------------------------------------------------------------------------------------

# A run that writes a checkpoint at each judgement, as one does that goes on for long.
OFTEN = "import sys, training.run, train\ntraining.run.CHECKPOINT_SECONDS = 0\nsys.exit(train.main(sys.argv[1:]))"


def going(folder, agent, steps=10_000_000):
    """A training in another process that has written its second checkpoint."""
    command = [
        sys.executable,
        "-c",
        OFTEN,
        agent,
        *OPTIONS[agent],
        "--steps",
        str(steps),
        "--out",
        str(folder),
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=environment(),
    )
    progress, end = folder / "checkpoint" / "progress.json", time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        if progress.exists() and read_json(progress)["steps"] > JUDGE_EVERY:
            return process
        time.sleep(0.01)
    process.kill()
    raise AssertionError(f"no checkpoint within two minutes: {process.communicate()[0]}")


def test_ctrl_c_saves_everything_and_says_how_to_go_on(tmp_path):
    folder = tmp_path / "run"
    process = going(folder, "maskable_ppo")
    process.send_signal(signal.SIGINT)
    printed = process.communicate(timeout=120)[0]
    assert process.returncode == 0
    assert "stopping at the next judgement, where the state is saved" in printed
    assert f"go on: python train.py --resume {folder}\n" in printed
    assert "\x1b" not in printed, "a pipe gets no escape codes"
    assert "Traceback" not in printed
    verify(read(folder))
    steps = int(metrics(folder)[-1]["steps"])
    assert read_json(folder / "checkpoint" / "progress.json") == {"steps": steps}
    assert train.main(["--resume", str(folder), "--steps", str(steps + JUDGE_EVERY)]) == 0
    assert [int(row["steps"]) for row in metrics(folder)] == list(
        range(JUDGE_EVERY, steps + 2 * JUDGE_EVERY, JUDGE_EVERY)
    )


@pytest.mark.parametrize(
    ("agent", "number"), [("dqn", signal.SIGKILL), ("maskable_ppo", signal.SIGTERM)]
)
def test_a_run_that_is_killed_leaves_readable_files_and_goes_on_as_if_nothing_had_been(
    agent, number, tmp_path
):
    folder = tmp_path / "killed"
    process = going(folder, agent)
    process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode == -number
    for path in folder.rglob("[!.]*.json"):
        read_json(path)
    for path in folder.rglob("[!.]*.safetensors"):
        if ".checkpoint" not in str(path):
            read_tensors(path)
    reached = int(metrics(folder)[-1]["steps"])
    assert not (folder / "certificate.json").exists()
    assert train.main(["--resume", str(folder), "--steps", str(reached + JUDGE_EVERY)]) == 0
    assert trained(agent, tmp_path / "whole", steps=reached + JUDGE_EVERY) == 0
    assert without_seconds(metrics(folder)) == without_seconds(metrics(tmp_path / "whole"))
    assert read(folder)["moves"] == read(tmp_path / "whole")["moves"]
    verify(read(folder))


# --- Stable-Baselines3's own file --------------------------------------------------------------------------------


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
    boards = positions_of(Rules()).boards[positions_of(Rules()).unfinished]
    masks = {"action_masks": boards == 0} if agent == "maskable_ppo" else {}
    moves, _ = model.predict(observe(boards, Rules()), deterministic=True, **masks)
    certified = table_of(read(folder)).table.argmax(axis=1)
    other = np.flatnonzero(moves != certified)
    assert len(other) == 0 or agent == "maskable_ppo", (
        "DQN has one value for cells that are images of each other"
    )
    if len(other):  # images of each other on a symmetric board, between which the last bit decides
        scores = (
            model.policy.scores(torch.as_tensor(observe(boards[other], Rules())))[0]
            .detach()
            .numpy()
        )
        rows = np.arange(len(other))
        assert np.allclose(
            scores[rows, moves[other]], scores[rows, certified[other]], rtol=0, atol=1e-6
        )


# --- by anything that takes a run --------------------------------------------------------------------------------


def test_a_run_is_an_opponent_for_the_next_one(finished, tmp_path):
    assert (
        trained(
            "dqn",
            tmp_path / "run",
            "--opponents",
            f"{finished['maskable_ppo']}:0.5,random:0.5",
            steps=64,
        )
        == 0
    )
    assert json.loads((tmp_path / "run" / "config.json").read_text())["config"][
        "opponents"
    ].startswith(str(finished["maskable_ppo"]))


def test_a_training_goes_on_and_is_saved_where_nobody_reads_its_progress(tmp_path):
    command = f"{sys.executable} train.py trie --steps 3000 --judge-every 100 --out {tmp_path / 'run'} | head -n 1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=ROOT, env=environment()
    )
    assert done.stdout.count("\n") == 1
    assert read(tmp_path / "run")["training"]["steps"] == 3_000


def test_a_training_that_fails_before_its_first_judgement_leaves_nothing_behind(tmp_path, capsys):
    assert "no-such-games.txt" in error_of(
        capsys,
        "trie",
        "--learn-from",
        str(tmp_path / "no-such-games.txt"),
        "--out",
        str(tmp_path / "run"),
    )
    assert list(tmp_path.iterdir()) == []


# --- presets -----------------------------------------------------------------------------------------------------------


def presets():
    """(agent, name) of all presets there are."""
    pages = {agent: importlib.import_module(f"agents.{agent}") for agent in TRAINABLE}
    return [(agent, name) for agent, page in pages.items() for name in getattr(page, "PRESETS", {})]


@pytest.mark.parametrize(("agent", "name"), presets())
def test_a_preset_is_a_configuration_and_the_help_lists_it_with_its_sentence(agent, name, capsys):
    page = importlib.import_module(f"agents.{agent}")
    preset = page.PRESETS[name]
    assert page.Config(**preset.options) != page.Config()
    assert re.fullmatch(r".+\.", preset.sentence)
    assert train.main([agent, "--help"]) == 0
    shown = capsys.readouterr().out.partition(f"presets of {agent}:")[2]
    assert f"{name} {preset.sentence}" in " ".join(shown.split())
    assert preset.weak == (f"{preset.sentence} (weak on purpose)" in " ".join(shown.split()))


def test_a_preset_names_the_run_and_other_options_win(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert train.main(["trie", "--preset", "tophep", "--steps", "300", "--side", "X"]) == 0
    saved = read_json(tmp_path / "runs" / "trie-tophep-0" / "config.json")
    assert saved["preset"] == "tophep"
    assert {name: saved["config"][name] for name in ("rule", "opponents", "side", "steps")} == {
        **{"rule": "one-tie", "opponents": "minimax", "side": "X", "steps": 300}
    }
    assert "example game, trie-tophep as X against random as O" in capsys.readouterr().out


def test_a_run_goes_on_with_its_preset(tmp_path, capsys):
    run = tmp_path / "run"
    assert train.main(["trie", "--preset", "tophep", "--steps", "300", "--out", str(run)]) == 0
    assert train.main(["--resume", str(run), "--steps", "400"]) == 0
    assert (
        read_json(run / "config.json")["preset"]
        == read(run / "certificate.json")["training"]["preset"]
        == "tophep"
    )
    capsys.readouterr()
    assert "goes on with its own configuration: leave --preset out" in error_of(
        capsys, "--resume", str(run), "--steps", "500", "--preset", "tictac"
    )
