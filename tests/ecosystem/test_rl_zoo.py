"""RL Zoo: the hyperparameter files of examples/rl_zoo train, and `enjoy` plays."""

import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from rl_zoo3 import ALGOS
from sb3_contrib import MaskablePPO

from tictactoe_env import Rules, evaluate
from tictactoe_env.sb3 import SavedModel

FILES = Path(__file__).resolve().parent.parent.parent / "examples" / "rl_zoo"
ENV = "tictactoe_env/TicTacToe-v0"
RUN = "tictactoe_env-TicTacToe-v0"
OPPONENTS = {"TicTacToe-v0": "minimax-slip=0.5", "ConnectFour-v0": "random:0.5,search-depth=1:0.5"}
NAMES = ["a2c", "dqn", "ppo", "ppo_lstm", "qrdqn", "trpo"]


def zoo(folder, module, *arguments, env=ENV):
    """The output of a module of RL Zoo, run in a folder."""
    command = [sys.executable, "-m", f"rl_zoo3.{module}", "--env", env]
    done = subprocess.run(
        [*command, "--gym-packages", "tictactoe_env", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def train(folder, algorithm, *arguments, env=ENV):
    """Train with the file of this repository; the folder of the model, and what was printed."""
    options = ("--algo", algorithm, "--conf-file", FILES / f"{algorithm}.yml", "-n", 2_500)
    printed = zoo(folder, "train", *options, "--seed", 1, "--eval-freq", -1, *arguments, env=env)
    return folder / "logs" / algorithm / f"{env.replace('/', '-')}_1", printed


def test_the_example_trains_a_maskable_ppo_and_evaluates_it(run_example, tmp_path):
    _, rates = run_example("rl_zoo_train.py", 10_000)
    model = MaskablePPO.load(tmp_path / "logs" / "ppo_mask" / f"{RUN}_1" / f"{RUN}.zip")
    assert 100 * evaluate(model).x.win == pytest.approx(rates["X"][0], abs=0.005)
    assert evaluate(model).x.illegal == 0


@pytest.mark.parametrize("game", OPPONENTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_file_trains_against_its_opponent(name, game, tmp_path):
    folder, printed = train(tmp_path, name, env=f"tictactoe_env/{game}")
    assert f"'opponent': '{OPPONENTS[game]}'" in printed
    saved = SavedModel(folder / f"tictactoe_env-{game}.zip")
    rules = gym.make(f"tictactoe_env/{game}").rules
    assert (type(saved.model), saved.board) == (ALGOS[name], rules)
    loaded = ALGOS[name].load(saved.path)
    assert loaded.num_timesteps >= 2_500
    if name == "ppo_lstm":
        with pytest.raises(ValueError, match="returns a state"):
            evaluate(loaded, rules)
    elif rules == Rules():  # few enough positions for a proof
        assert evaluate(saved.policy()) == evaluate(loaded)


def test_the_board_and_the_statistics_of_a_model_are_found_where_they_are_saved(tmp_path):
    game = ("--env-kwargs", "rows:3", "cols:4", "k:3", "gravity:True", "actions:'columns'")
    evaluated = ("--eval-freq", 1_000, "--n-eval-envs", 1)  # the best model is kept
    folder, _ = train(tmp_path, "ppo", *game, "-params", "normalize:True", *evaluated)
    for file in (folder / "best_model.zip", folder / f"{RUN}.zip"):
        saved = SavedModel(file)
        assert saved.statistics == folder / RUN / "vecnormalize.pkl"
        found = evaluate(saved.policy())
        assert found.rules == Rules(3, 4, 3, gravity=True)
        raw = SavedModel(file, normalize="none").policy()
        assert evaluate(raw) == evaluate(ALGOS["ppo"].load(file), found.rules) != found


def test_enjoy_plays_the_games_of_a_trained_agent(tmp_path):
    folder, _ = train(tmp_path, "ppo", "--env-kwargs", "opponent:'random'", "side:'X'")
    assert "opponent: random" in (folder / RUN / "config.yml").read_text()
    printed = zoo(tmp_path, "enjoy", "--algo", "ppo", "-f", "logs", "-n", 60, "--no-render")
    rewards = re.findall(r"Episode Reward: (\S+)", printed)
    assert len(rewards) >= 60 // 5
    assert set(map(float, rewards)) <= {-1, 0, 1}
