"""Models that Stable-Baselines3, sb3-contrib and RL Zoo saved: what is read, and the programs."""

import base64
import json
import pickle
import shlex
import shutil
from dataclasses import replace
from zipfile import ZipFile

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import ARS, QRDQN, TRPO, MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from text_cases import called, cases, refuses

import evaluate as evaluator
import play
from tictactoe_env import Rules, evaluate
from tictactoe_env.certificates.certificate import read
from tictactoe_env.sb3 import ExactEvaluation, MaskableDQN, SavedModel, TicTacToeVecEnv
from tictactoe_env.sb3 import __main__ as module

FALLING = {"rows": 3, "cols": 4, "k": 3, "gravity": True}
COLUMNS = {"actions": "columns", **FALLING}
LEARNED = {PPO: {"n_steps": 16}, MaskablePPO: {"n_steps": 16}, TRPO: {"n_steps": 16}, A2C: {}}
LEARNED |= {kind: {"learning_starts": 16} for kind in (DQN, QRDQN, MaskableDQN)}
LEARNED |= {ARS: {"n_delta": 2}}


def games(**arguments):
    return TicTacToeVecEnv(8, opponent="random", **arguments)


def learned(kind=PPO, env=None, callback=None):
    """A model that has learned a little, by default on 3x3."""
    env = env or games()
    options = {"batch_size": 64} if "n_steps" in LEARNED[kind] else {}
    model = kind("MlpPolicy", env, seed=0, **options, **LEARNED[kind])
    return model.learn(128, callback)


def normalized(**arguments):
    return learned(env=VecNormalize(games(**arguments), clip_obs=2.0))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a model, one of columns, and a normalized one without its statistics."""
    folder = tmp_path_factory.mktemp("models")
    learned(MaskablePPO).save(folder / "model")
    learned(MaskablePPO, games(**COLUMNS)).save(folder / "columns")
    normalized().save(folder / "alone")
    (folder / "text.zip").write_text("text")
    (folder / "cut.zip").write_bytes((folder / "model.zip").read_bytes()[:9_000])
    shutil.make_archive(str(folder / "other"), "zip", folder, "text.zip")
    return folder


@pytest.mark.parametrize("kind", LEARNED)
def test_the_algorithm_is_known_and_the_results_are_those_of_the_loaded_model(kind, tmp_path):
    learned(kind).save(tmp_path / "model")
    saved = SavedModel(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
    assert type(saved.model) is kind
    assert f"{kind.__name__}, trained for {loaded.num_timesteps} steps" in str(saved)
    assert evaluate(saved.policy()) == evaluate(loaded)


def flat(**arguments):
    """Games whose observations are one row, and whose space says no more than that."""
    env = gym.make("TicTacToe-v0", opponent="random", **arguments)
    return DummyVecEnv([lambda: gym.wrappers.FlattenObservation(env)])


IMAGES = {"observation": "planes", "symmetric": True}
SEEN = [
    (games, IMAGES, {}),
    (games, COLUMNS, {}),
    (games, {**COLUMNS, "observation": "planes"}, {}),
    (games, FALLING, {}),
    (flat, {"observation": "grid"}, {}),
    (flat, IMAGES, {"symmetric": True}),
]


@pytest.mark.parametrize(("make", "arguments", "told"), SEEN)
def test_a_model_is_the_player_that_it_was_in_its_environment(make, arguments, told, tmp_path):
    """One that chooses columns needs no word that pieces fall."""
    model = learned(MaskablePPO, make(**arguments))
    model.save(tmp_path / "model")
    rules = Rules.among(arguments)
    given = replace(rules, gravity=False) if arguments is COLUMNS else rules
    found = evaluate(SavedModel(tmp_path / "model", **told).policy(given))
    assert (found, found.rules) == (evaluate(model), rules)


# The names of the model and of its statistics, then those of others beside them.
PLACES = """
    model.zip              | vecnormalize.pkl              | none
    model.zip              | stats.pkl                     | none
    model.zip              | model_vec_normalize.pkl       | vecnormalize.pkl
    a_1_steps.zip          | a_vecnormalize_1_steps.pkl    | a_2_steps.zip a_vecnormalize_2.pkl
    game_1/best_model.zip  | game_1/game/vecnormalize.pkl  | game_1/game/args.yml
"""


@pytest.mark.parametrize(("name", "statistics", "others"), cases(PLACES))
def test_statistics_beside_a_model_are_those_by_which_it_is_normalized(
    name, statistics, others, tmp_path
):
    model, other = normalized(), normalized(symmetric=True)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    model.save(tmp_path / name)
    (tmp_path / statistics).parent.mkdir(exist_ok=True)
    model.get_vec_normalize_env().save(tmp_path / statistics)
    for file in others.replace("none", "").split():
        (tmp_path / file).touch()
        if file.endswith(".pkl"):
            other.get_vec_normalize_env().save(tmp_path / file)
    saved = SavedModel(tmp_path / name)
    assert saved.statistics == tmp_path / statistics
    found = evaluate(saved.policy())
    assert found == evaluate(model)
    raw = evaluate(SavedModel(tmp_path / name, normalize="none").policy())
    assert raw == evaluate(PPO.load(tmp_path / name)) != found


def test_statistics_of_rewards_only_and_those_of_another_model_change_nothing(models, tmp_path):
    model = learned(env=VecNormalize(games(), norm_obs=False))
    model.save(tmp_path / "rewards")
    model.get_vec_normalize_env().save(tmp_path / "rewards_vecnormalize.pkl")
    shutil.copy(models / "model.zip", tmp_path)
    normalized().get_vec_normalize_env().save(tmp_path / "vecnormalize.pkl")
    for name in ("rewards", "model"):
        assert SavedModel(tmp_path / name).normalizer is None
    with refuses("model.zip", "vecnormalize.pkl"):
        SavedModel(tmp_path / "model.zip", normalize=tmp_path / "vecnormalize.pkl")
    shutil.copy(models / "alone.zip", tmp_path)
    normalized().get_vec_normalize_env().save(tmp_path / "vec_normalize.pkl")
    with refuses("vec_normalize.pkl", "vecnormalize.pkl", "--normalize"):
        SavedModel(tmp_path / "alone.zip")


ZOO = "!!python/object/apply:collections.OrderedDict\n- - - algo\n    - ppo\n  - - env\n    - {}\n"
CONFIG = "!!python/object/apply:collections.OrderedDict\n- - - env_kwargs\n    - cols: 4\n      "


def test_the_board_is_read_from_what_the_trainers_write_beside_a_model(tmp_path):
    exact = ExactEvaluation(every=64, verbose=0, best_model_save_path=str(tmp_path / "best"))
    learned(PPO, games(**FALLING), exact)
    zoo = tmp_path / "Game-v0_1" / "Game-v0"
    zoo.mkdir(parents=True)
    (zoo / "args.yml").write_text(ZOO.format("tictactoe_env/TicTacToe-v0"))
    (zoo / "config.yml").write_text(CONFIG + "gravity: true\n      k: 3\n      opponent: random\n")
    shutil.copy(tmp_path / "best" / "best_model.zip", zoo.parent)
    for folder in (tmp_path / "best", zoo.parent):
        saved = SavedModel(folder / "best_model.zip")
        assert evaluate(saved.policy()).rules == Rules(**FALLING)
        with refuses("3x4, 3 in a row, gravity", "3x4, 4"):
            saved.policy(Rules(3, 4, 4))


# --- the command lines ----------------------------------------------------------------------------

LINES = {
    "evaluate.py": evaluator,
    "play.py": play,
    "python -m tictactoe_env.sb3": module,
}
ASKED = """
    evaluate.py                 | '{}/my model.zip' minimax
    evaluate.py                 | '{}/my model.zip' random --tree
    play.py                     | --x random --o '{}/my model.zip' --store {}/games.db
    python -m tictactoe_env.sb3 | '{}/my model.zip' --certificate {}/made.json
"""


def poisoned(path, mark):
    """Write a model that makes a file when it is read."""

    class Poison:
        def __reduce__(self):
            return open, (str(mark), "w")

    code = base64.b64encode(pickle.dumps(Poison())).decode()
    with ZipFile(path, "w") as model:
        model.writestr("data", json.dumps({"policy_class": {":serialized:": code}}))
    with refuses(path):
        SavedModel(path)
    mark.unlink()  # it works


@pytest.mark.parametrize(("program", "words"), cases(ASKED))
def test_without_trust_nothing_is_read_and_the_error_has_the_line_to_type(
    program, words, models, tmp_path, capsys
):
    poisoned(tmp_path / "my model.zip", tmp_path / "mark")
    typed = shlex.split(words.format(tmp_path, tmp_path))
    code, out, err = called(LINES[program], typed, capsys)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert not (tmp_path / "mark").exists()
    shutil.copy(models / "model.zip", tmp_path / "my model.zip")
    pasted = shlex.split(err.partition("trust it: ")[2])
    assert pasted[-1 - len(typed) :] == [*typed, "--trust"]
    code, out, err = called(LINES[program], pasted[-1 - len(typed) :], capsys)
    assert (code, err) == (0, "")
    assert "my model.zip" in out
    if "--certificate" in typed:
        found = evaluate(SavedModel(models / "model.zip").policy())
        assert out.endswith(f"{found}\n")
        assert read(tmp_path / "made.json").results["X"].vs_random == found.x


def test_saved_models_have_their_exact_results_in_the_matrix(models, tmp_path, capsys):
    words = f"{models}/model.zip {models}/columns.zip random --trust --json {tmp_path}/found.json"
    for board, name in (("3x3", "model.zip"), ("3x4x3", "columns.zip")):
        code, out, err = called(evaluator, [*words.split(), "--board", board], capsys)
        assert (code, err, out.count(": left out\n")) == (0, "", 1)
        assert "MaskablePPO, trained for 128 steps" in out
        table = json.loads((tmp_path / "found.json").read_text())["cross_table"]
        rules = Rules(3, 4, 3, gravity=True) if "x4" in board else Rules()
        found = evaluate(MaskablePPO.load(models / name), rules)
        assert table[name]["random"]["win"] == found.x.win
        assert table["random"][name]["loss"] == found.o.win


REFUSED = """
    model.zip --board 4x4x4     | (18,) 4x4
    columns.zip                 | (24,) --board 3x4x3 --gravity
    alone.zip                   | alone.zip --normalize
    alone.zip --normalize model.zip | model.zip
    text.zip                    | text.zip
    cut.zip                     | cut.zip
    other.zip                   | other.zip
"""


@pytest.mark.parametrize(("words", "mentions"), cases(REFUSED))
def test_what_cannot_be_proven_as_it_was_saved_is_refused_in_one_line(
    words, mentions, models, capsys, monkeypatch
):
    monkeypatch.chdir(models)
    for program in (evaluator, module):
        code, _, err = called(program, [*words.split(), "--trust"], capsys)
        assert (code, err.count("\n")) == (1, 1)
        assert [word for word in mentions.split() if word not in err] == []
    assert np.array_equal(sorted(models.glob("*.pkl")), [])
