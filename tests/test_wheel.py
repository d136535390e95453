"""The built wheel, alone in an empty environment outside of the checkout: what its users get."""

import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import doc_pages
import packaging_facts as facts
import pytest

pytestmark = pytest.mark.slow

MORE = f"{doc_pages.CLONE}|{doc_pages.EXTRAS}"  # than the wheel has
PAGES = {
    name: "\n".join(block.code for block in blocks)
    for name, blocks in doc_pages.pages().items()
    if not any(doc_pages.imports(block, MORE) for block in blocks)
}
ALONE = {"tictactoe-env", "numpy", "gymnasium", "cloudpickle", "farama-notifications"}
ALONE |= {"typing-extensions"}

GAMES = """
import gymnasium as gym
from tictactoe_env import Rules, evaluate, make_opponent
from tictactoe_env.certificates.trained import trained_names
from tictactoe_env.opponents import untrained_names

env = gym.make("tictactoe_env:TicTacToe-v0", render_mode="rgb_array")
env.reset()
assert env.render().shape == (360, 360, 3)
for name in (*untrained_names(), *trained_names()):
    print(name, evaluate(make_opponent(name, Rules())).unbeatable)
"""

CONSUMER = """
import numpy as np
from numpy.typing import NDArray
from tictactoe_env import Evaluation, TicTacToeEnv, best_responses, evaluate, exact_result
from tictactoe_env import RandomPolicy, Rules, make_opponent, tabulate


class Model:
    def predict(
        self,
        observation: NDArray[np.int8] | dict[str, NDArray[np.int8]],
        state: tuple[NDArray[np.float32], ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[np.int64], tuple[NDArray[np.float32], ...] | None]:
        return np.zeros(len(observation), dtype=np.int64), None


env: TicTacToeEnv = TicTacToeEnv(opponent=Model())
win: float = exact_result(Model(), RandomPolicy(), Rules()).win
line = best_responses(RandomPolicy(), Rules())["X"].losing_line
found: Evaluation = evaluate(make_opponent("minimax", Rules()))
table = tabulate(Model(), Rules()).table + 1.0
"""

TYPOS = """
import tictactoe_env

tictactoe_env.evalute
tictactoe_env.exact_result("minimax", tictactoe_env.RandomPolicy())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return facts.built(tmp_path_factory.mktemp("wheel"), "wheel")[0]


@pytest.fixture(scope="module")
def alone(tmp_path_factory, wheel):
    """The Python of an environment that has the wheel and what it requires, and nothing else."""
    folder = tmp_path_factory.mktemp("alone") / "venv"
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    install = [python, "-m", "pip", "install", "--quiet", "--no-compile", wheel]
    subprocess.run(install, check=True, cwd=folder, capture_output=True)
    return python


@pytest.fixture
def run(alone, tmp_path):
    """Run Python in the environment and an empty folder; its output. Its errors fail the test."""

    def output(*arguments):
        command = [alone, "-W", "error", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return output


def test_it_holds_every_file_of_the_package_its_types_and_its_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    (about,) = (name.split("/")[0] for name in names if name.endswith("/METADATA"))
    assert {name.split("/")[0] for name in names} == {"tictactoe_env", about}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    paths = (facts.ROOT / "tictactoe_env").rglob("*.*")
    here = {path.relative_to(facts.ROOT).as_posix() for path in paths}
    assert {name for name in here if "__pycache__" not in name} <= set(names)


def test_it_installs_two_packages_and_imports_without_a_warning_from_where_it_was_installed(
    run, alone
):
    program = "import importlib.metadata as m; print(*(one.name for one in m.distributions()))"
    names = {re.sub("[_.]", "-", name.lower()) for name in run("-c", program).split()}
    assert names - {"pip", "setuptools", "importlib-metadata", "zipp"} == ALONE
    program = "import tictactoe_env as t; print(t.__version__, t.__file__)"
    version, file = run("-c", program).split()
    assert version == facts.own_version()
    assert Path(file).is_relative_to(alone.parent.parent)
    players = ("gambler", "maskable_ppo")
    assert run("-m", "tictactoe_env.opponents", *players) in facts.read("README.md")
    program = "from tictactoe_env import certificates as c, trained; "
    run("-c", program + "c.write(trained.certificate_of('dqn'), 'dqn.json')")
    assert run("-m", "tictactoe_env.plain_proof", "dqn.json").count("unbeatable") == 2


@pytest.mark.parametrize("name", PAGES)
def test_the_programs_of_a_page_run_without_a_clone(run, name):
    assert run("-c", PAGES[name]) or "print" not in PAGES[name]


def test_a_game_is_drawn_and_every_named_opponent_is_evaluated(run):
    said = run("-c", GAMES).splitlines()
    assert {"random False", "minimax True", "search True", "trie True"} < {*said}
    assert len(said) >= 20


def test_a_strict_type_checker_accepts_models_and_policies_and_finds_typos(alone, tmp_path):
    (tmp_path / "consumer.py").write_text(CONSUMER, encoding="utf-8")
    (tmp_path / "typos.py").write_text(TYPOS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(alone)]
    command += ["--python-version", "3.12", "--no-error-summary"]
    said = {}
    for file in ("consumer.py", "typos.py"):
        done = subprocess.run([*command, file], cwd=tmp_path, capture_output=True, text=True)
        said[file] = done.stdout
    assert said["consumer.py"] == ""
    assert re.findall(r"^typos.py:(\d+): error: .*\[([a-z-]+)\]$", said["typos.py"], re.M) == [
        ("4", "attr-defined"),
        ("5", "arg-type"),
    ]
