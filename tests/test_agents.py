"""The contract that every page of `agents/` keeps; a page's own tests are about its learning."""

import json
import os
import random
import re
import shutil
from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from small_runs import OPTIONS, python, small_config
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import agents
import train as command
from agents import TRAINABLE
from tictactoe_env.certificate import read, table_of, verify
from tictactoe_env.policy import TabularPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.vector_env import TicTacToeVectorEnv
from training import checkpoint
from training.files import DamagedFileError, read_arrays, read_json, write_arrays
from training.learner import Learner, drive
from training.options import OptionError, options_of
from training.selfplay import SelfPlay

RULES = Rules()
BOARDS = positions_of(RULES).boards[positions_of(RULES).unfinished]
WITH_TORCH = {"dqn", "maskable_ppo", "value_net"}
EACH = pytest.mark.parametrize("agent", sorted(TRAINABLE))


def bytes_of(folder):
    """The arrays of a saved training, and all that stands beside them but the versions of files."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def trained(agent, config, folder, resume=None, most=None):
    """Saves at each evaluation into folder/0, folder/1, ...; (table, notes, steps) of each."""
    page, seen = agents.page(agent), []
    learner = page.begin(config)
    if resume is not None:
        checkpoint.restore(resume, agent, config, learner)

    def evaluate(learner):
        checkpoint.save(folder / str(len(seen)), agent, config, learner)
        seen.append((learner.policy(), learner.notes(), learner.steps))
        return len(seen) == most

    drive(learner, config, evaluate)
    return seen


@pytest.fixture(scope="module", params=sorted(TRAINABLE))
def run(request, tmp_path_factory):
    """(agent, configuration, folder of the evaluations, what was seen at each) of a small training."""
    agent, folder = request.param, tmp_path_factory.mktemp(request.param)
    config = small_config(agent)
    seen = trained(agent, config, folder)
    assert len(seen) >= 2, "the contract needs a training that is evaluated at least twice"
    return agent, config, folder, seen


def last_of(run):
    agent, _, folder, seen = run
    return agent, folder / str(len(seen) - 1), seen[-1][0]


# --- the page ------------------------------------------------------------------------------------------------


@EACH
def test_a_page_defines_the_contract_and_nothing_that_the_house_does(agent):
    page = agents.page(agent)
    assert agent == page.AGENT
    assert re.fullmatch(r".+\.", page.Config.__doc__.split("\n")[0])
    assert all(re.fullmatch(r".+\.", known.sentence) for known in options_of(page.Config))
    assert isinstance(page.begin(small_config(agent)), Learner)
    source = (command.Path(page.__file__)).read_text()
    house = r"^(?:import|from) (csv|json|argparse|matplotlib|safetensors|os|shutil|training\.run)\b"
    found = set(re.findall(house, source, re.MULTILINE))
    assert found == ({"argparse"} if agent == "trie" else set()), "python -m agents.trie prints it"


@pytest.mark.parametrize(
    ("agent", "name"),
    [(agent, name) for agent in sorted(TRAINABLE) for name in agents.page(agent).PRESETS],
)
def test_a_preset_is_a_configuration_of_its_own_and_the_help_lists_it(agent, name, capsys):
    page = agents.page(agent)
    preset = page.PRESETS[name]
    assert page.Config(**preset.options) != page.Config()
    with pytest.raises(SystemExit, match="0"):
        command.main([agent, "--help"])
    shown = " ".join(capsys.readouterr().out.partition(f"presets of {agent}:")[2].split())
    assert f"{name} {preset.sentence}{' (weak on purpose)' if preset.weak else ''}" in shown


# --- policies ------------------------------------------------------------------------------------------------


def test_what_was_trained_is_a_table_of_probabilities(run):
    _, _, table = last_of(run)
    assert isinstance(table, TabularPolicy)
    probs = table.probs(BOARDS)
    assert probs.shape == (4_520, 9)
    assert probs.dtype == np.float64
    assert (probs >= 0).all()
    assert probs.sum(axis=1) == pytest.approx(np.ones(4_520), abs=1e-12)
    assert (table.probs(BOARDS[::-97]) == probs[::-97]).all()


def test_notes_are_numbers_with_the_same_names_at_every_evaluation(run):
    _, _, _, seen = run
    assert len({tuple(notes) for _, notes, _ in seen}) == 1
    assert all(isinstance(value, (int, float)) for _, notes, _ in seen for value in notes.values())


# --- the same bytes --------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(run, tmp_path):
    agent, config, folder, seen = run
    np.random.seed(123)  # noqa: NPY002 - what others do with the global generators does not matter
    torch.manual_seed(123)
    again = trained(agent, config, tmp_path / "same")
    trained(agent, replace(config, seed=config.seed + 1), tmp_path / "other", most=1)
    assert [steps for *_, steps in again] == [steps for *_, steps in seen]
    for number in range(len(seen)):
        assert bytes_of(tmp_path / "same" / str(number)) == bytes_of(folder / str(number))
    name = "model.safetensors"
    assert bytes_of(tmp_path / "other" / "0")[name] != bytes_of(folder / "0")[name]


def test_a_training_leaves_the_global_generators_as_they_are(run, tmp_path):
    agent, config, folder, _ = run

    def states():
        numpys = np.random.get_state()[1].tobytes()  # noqa: NPY002
        return random.getstate(), numpys, torch.get_rng_state().numpy().tobytes()

    before = states()
    trained(agent, config, tmp_path, most=1)
    agents.load(folder / "0")
    assert states() == before


def test_a_run_continues_bit_by_bit_from_any_evaluation(run, tmp_path):
    agent, config, folder, seen = run
    for number in range(len(seen) - 1):
        left = trained(agent, config, tmp_path / str(number), resume=folder / str(number))
        assert [steps for *_, steps in left] == [steps for *_, steps in seen[number + 1 :]]
        for place in range(len(left)):
            same = bytes_of(folder / str(number + 1 + place))
            assert bytes_of(tmp_path / str(number) / str(place)) == same


def test_a_longer_run_begins_as_a_shorter_one(run, tmp_path):
    agent, config, folder, seen = run
    trained(agent, replace(config, steps=seen[0][2]), tmp_path)
    name = "model.safetensors"
    assert bytes_of(tmp_path / "0")[name] == bytes_of(folder / "0")[name]


def test_an_evaluation_is_made_in_every_interval_and_the_loop_ends_where_it_is_told(run, tmp_path):
    agent, config, _, seen = run
    steps = [0, *(steps for *_, steps in seen)]
    assert all(b // config.judge_every > a // config.judge_every for a, b in pairwise(steps[:-1]))
    assert steps[-2] < config.steps <= steps[-1]
    assert len(trained(agent, config, tmp_path, most=1)) == 1


# --- loading ---------------------------------------------------------------------------------------------------


def test_a_saved_model_plays_the_same_table_without_environment_and_opponents(run, monkeypatch):
    def refuse(*arguments, **keywords):
        raise AssertionError("loading a player needs nothing but its model")

    _, folder, table = last_of(run)
    for needed in (TicTacToeVectorEnv, SelfPlay):
        monkeypatch.setattr(needed, "__init__", refuse)
    monkeypatch.setattr("tictactoe_env.opponents.make_opponent", refuse)
    loaded = agents.load(folder)
    assert (tabulate(loaded, RULES).table == table.table).all()


def test_a_player_is_loaded_without_torch_where_the_agent_does_not_use_it(run):
    agent, folder, _ = last_of(run)
    program = (
        "import sys\nfrom pathlib import Path\nimport agents\nagents.load(Path(sys.argv[1]))\n"
        "print('torch' in sys.modules)"
    )
    assert python("-c", program, folder).stdout == f"{agent in WITH_TORCH}\n"


def test_the_configuration_is_beside_the_model(run):
    agent, config, folder, seen = run
    about = read_json(folder / "0" / "model.json")
    assert (about["agent"], about["steps"]) == (agent, seen[0][2])
    assert about["config"] == json.loads(json.dumps(asdict(config)))


# --- damage ----------------------------------------------------------------------------------------------------

HARM = {
    "truncated": lambda data: data[:-7],
    "changed": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "empty": lambda data: b"",
    "text": lambda data: b"not a model",
    "missing": lambda data: None,
}


def harmed(folder, copy, name, change):
    shutil.copytree(folder, copy)
    data = change((copy / name).read_bytes())
    (copy / name).unlink()
    if data is not None:
        (copy / name).write_bytes(data)
    return copy


def test_damaged_files_are_refused_and_named(run, tmp_path):
    """The JSON holds the checksum and has none itself; what it says is checked below."""
    agent, config, folder, _ = run
    for harm, change in HARM.items():
        for name in ("model.safetensors", "model.json", "state.safetensors", "state.json"):
            if (harm, name[-4:]) == ("changed", "json"):
                continue
            copy = harmed(folder / "0", tmp_path / f"{harm}-{name}", name, change)
            match = rf"{name.partition('.')[0]}\.(safetensors|json)"
            with pytest.raises((DamagedFileError, FileNotFoundError), match=match):
                checkpoint.restore(copy, agent, config, agents.page(agent).begin(config))
            if name.startswith("model"):
                with pytest.raises((DamagedFileError, FileNotFoundError), match=match):
                    agents.load(copy)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda about: {**about, "agent": "somebody"}, "'somebody'"),
        (
            lambda about: {**about, "config": {**about["config"], "colour": 1}},
            "written by another version: colour",
        ),
        (
            lambda about: {**about, "config": {**about["config"], "seed": "one"}},
            "configuration in .* is damaged: seed must be a whole number of at least 0, got 'one'",
        ),
        (lambda about: {**about, "config": None}, "holds no configuration"),
        (
            lambda about: {**about, "config": {**about["config"], "cols": 2, "k": 2}},
            "model.safetensors does not fit its configuration",
        ),
    ],
)
def test_what_is_beside_a_model_must_fit_it(run, tmp_path, change, words):
    _, folder, _ = last_of(run)
    shutil.copytree(folder, tmp_path / "run")
    path = tmp_path / "run" / "model.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(DamagedFileError, match=words):
        agents.load(tmp_path / "run")


def test_arrays_of_another_shape_are_refused(run, tmp_path):
    agent, config, folder, _ = run
    for name in ("model.safetensors", "state.safetensors"):
        arrays, about = read_arrays(folder / "0" / name)
        for array in [key for key in arrays if arrays[key].size > 1][:3]:
            copy = tmp_path / f"{name}-{array.replace('/', '-')}"
            shutil.copytree(folder / "0", copy)
            wrong = {**arrays, array: arrays[array].ravel()[:1]}
            write_arrays(copy / name, wrong, {k: v for k, v in about.items() if k != "sha256"})
            fresh = agents.page(agent).begin(config)
            with pytest.raises(DamagedFileError):
                agents.load(copy) if name.startswith("model") else checkpoint.restore(
                    copy, agent, config, fresh
                )


def test_files_that_do_not_belong_together_are_refused(run, tmp_path):
    agent, config, folder, seen = run
    learner = agents.page(agent).begin(config)
    if seen[0][2] != seen[1][2]:
        shutil.copytree(folder / "0", tmp_path / "mixed")
        for suffix in ("safetensors", "json"):
            shutil.copy(folder / "1" / f"model.{suffix}", tmp_path / "mixed" / f"model.{suffix}")
        with pytest.raises(DamagedFileError, match="were not saved together"):
            checkpoint.restore(tmp_path / "mixed", agent, config, learner)
    other = replace(config, seed=config.seed + 1)
    with pytest.raises(ValueError, match="was trained with another seed: continue with the same"):
        checkpoint.restore(folder / "0", agent, other, learner)


# --- a whole run -------------------------------------------------------------------------------------------------


@EACH
def test_a_run_from_the_command_line_has_all_its_files(agent, tmp_path):
    folder = tmp_path / "run"
    steps = [] if "--steps" in OPTIONS[agent] else ["--steps", "2048"]
    assert command.main([agent, *OPTIONS[agent], *steps, "--out", str(folder)]) == 0
    content = read(folder)
    verify(content)
    assert content["agent"] == agent
    assert (agents.load(folder).table == table_of(content).table).all()
    assert (folder / "growth.png").read_bytes().startswith(b"\x89PNG")
    events = EventAccumulator(str(folder)).Reload()
    tags = set(events.Tags()["scalars"])
    rows = (folder / "metrics.csv").read_text().splitlines()
    columns = rows[0].split(",")
    assert {f"exact/{name}" for name in columns[1:14]} <= tags
    assert {f"noted/{name}" for name in columns[14:]} <= {tag.replace("_", "_") for tag in tags}
    assert len(events.Scalars("exact/x_win")) == len(rows) - 1
    assert ("train/loss" in tags) == (agent in {"dqn", "maskable_ppo"})
    known = {"certificate.json", "config.json", "growth.png", "metrics.csv", "checkpoint"}
    left = {name for name in os.listdir(folder) if not name.startswith("events.out")} - known
    page_files = {name for name in left if not name.startswith("model.")}
    assert all(name.endswith((".csv", ".png")) or name.startswith("level-") for name in page_files)


# --- options -----------------------------------------------------------------------------------------------------


def beyond(known):
    """Values just beyond the bounds of an option, and of another type."""
    inner = known.kind
    while getattr(inner, "__origin__", None) is tuple:
        inner = inner.__args__[0]
    limits = {}
    for note in getattr(inner, "__metadata__", ()):
        for limit in getattr(note, "metadata", ()):
            limits |= {n: getattr(limit, n) for n in ("ge", "gt", "le", "lt") if hasattr(limit, n)}
    step = 1 if getattr(inner, "__origin__", inner) is int else 1e-9
    outside = [limits["ge"] - step] if "ge" in limits else []
    outside += [limits["gt"]] if "gt" in limits else []
    outside += [limits["le"] + step] if "le" in limits else []
    outside += [limits["lt"]] if "lt" in limits else []
    if isinstance(known.default, float):
        outside += [float("nan"), float("inf"), True]
    if isinstance(known.default, tuple):
        return [(value,) for value in outside] + [3]
    return [*outside, None, ["x"]]


@EACH
def test_every_option_refuses_what_is_beyond_its_bounds(agent):
    kind = agents.page(agent).Config
    for known in options_of(kind):
        for value in beyond(known):
            with pytest.raises(OptionError, match=rf"({known.name} must be|unknown {known.name}) "):
                kind(**{known.name: value})


@EACH
def test_the_help_says_sentence_bound_and_default_of_every_option(agent, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit, match="0"):
        command.main([agent, "--help"])
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    for known in options_of(agents.page(agent).Config):
        bound = f" [{known.bound}]" if known.bound and "|" not in known.metavar else ""
        assert f"--{known.name.replace('_', '-')}" in shown
        assert f"{known.sentence}{bound}" in shown


@EACH
def test_a_misspelt_option_is_answered_with_a_guess(agent, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main([agent, "--judge-evry", "5"])
    assert stopped.value.code == 2
    assert "unknown option '--judge-evry'; did you mean '--judge-every'?" in capsys.readouterr().err
