"""RL Zoo: the hyperparameter files of examples/rl_zoo train, `enjoy` plays, Optuna searches."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rl_zoo3 import ALGOS
from sb3_contrib import MaskablePPO

from tictactoe_env import evaluate

FILES = Path(__file__).resolve().parent.parent.parent / "examples" / "rl_zoo"
ENV = "tictactoe_env/TicTacToe-v0"
RUN = "tictactoe_env-TicTacToe-v0"
NAMES = ["a2c", "dqn", "ppo", "ppo_lstm", "qrdqn", "trpo"]


def zoo(folder, module, *arguments, packages=("--gym-packages", "tictactoe_env")):
    """The output of a module of RL Zoo, run in a folder."""
    command = [sys.executable, "-m", f"rl_zoo3.{module}", "--env", ENV, *packages]
    return subprocess.run(
        [*command, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def train(folder, algorithm, *arguments):
    """Train with the file of this repository; the path of the model, and what was printed."""
    files = ("--conf-file", FILES / f"{algorithm}.yml", "--seed", 1, "--eval-freq", -1)
    done = zoo(folder, "train", "--algo", algorithm, *files, *arguments)
    assert done.returncode == 0, done.stdout
    return folder / "logs" / algorithm / f"{RUN}_1" / f"{RUN}.zip", done.stdout


def test_the_example_trains_a_maskable_ppo_and_evaluates_it(run_example, rates_of, tmp_path):
    won, _ = rates_of(run_example("rl_zoo_train.py", 10_000))["X"]
    model = MaskablePPO.load(tmp_path / "logs" / "ppo_mask" / f"{RUN}_1" / f"{RUN}.zip")
    assert 100 * evaluate(model).x.win == pytest.approx(won, abs=0.005)
    assert evaluate(model).x.illegal == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_file_trains_against_its_opponent(name, tmp_path):
    model, printed = train(tmp_path, name, "-n", 2_500)
    assert "'opponent': 'minimax-slip=0.5'" in printed
    loaded = ALGOS[name].load(model)
    assert loaded.num_timesteps >= 2_500
    if name == "ppo_lstm":
        with pytest.raises(ValueError, match="returns a state"):
            evaluate(loaded)
    else:
        result = evaluate(loaded).x
        assert result.win + result.draw + result.loss == pytest.approx(1)


def test_enjoy_plays_the_games_of_a_trained_agent(tmp_path):
    train(tmp_path, "ppo", "-n", 2_500, "--env-kwargs", "opponent:'random'", "side:'X'")
    options = ("--algo", "ppo", "-f", "logs", "-n", 60, "--no-render")
    done = zoo(tmp_path, "enjoy", *options)
    assert done.returncode == 0, done.stdout
    rewards = [float(one) for one in re.findall(r"Episode Reward: (\S+)", done.stdout)]
    assert len(rewards) >= 60 // 5
    assert set(rewards) <= {-1.0, 0.0, 1.0}
    saved = tmp_path / "logs" / "ppo" / f"{RUN}_1" / RUN / "config.yml"
    assert "opponent: random" in saved.read_text()


def test_optuna_searches_hyperparameters(tmp_path):
    files = ("--conf-file", FILES / "a2c.yml", "-n", 500, "--seed", 1)
    search = ("-optimize", "--n-trials", 2, "--n-evaluations", 1, "--no-optim-plots")
    done = zoo(tmp_path, "train", "--algo", "a2c", *files, *search)
    assert done.returncode == 0, done.stdout
    assert "Number of finished trials:  2" in done.stdout
