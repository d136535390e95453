"""The contract that every page of `agents/` keeps; a page's own tests are about its learning."""

import hashlib
import json
import random
import re
import shutil
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from small_runs import OPTIONS, python, small_config
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from text_cases import refuses

import agents
import train as command
from agents import TRAINABLE
from agents.dqn import BoardDQN
from tictactoe_env.certificate import load_policy, read, table_of, verify
from tictactoe_env.observation import observe
from tictactoe_env.own_values import read_values
from tictactoe_env.policy import TabularPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.vector_env import TicTacToeVectorEnv
from training import checkpoint, kernels
from training.files import (
    DamagedFileError,
    read_arrays,
    read_json,
    write_arrays,
    write_sealed,
)
from training.learner import Learner, drive
from training.options import OptionError, options_of
from training.selfplay import SelfPlay
from training.values import own_values_of

RULES = Rules()
BOARDS = positions_of(RULES).boards[positions_of(RULES).unfinished]
WITH_TORCH = {"dqn", "maskable_ppo", "value_net"}
WITHOUT_VALUES = {"maskable_ppo", "neuroevolution"}  # which have probabilities and scores of moves
MODEL, STATE = "model.safetensors", "state.safetensors"
EACH = pytest.mark.parametrize("agent", sorted(TRAINABLE))
LONG = {"value_net", "neuroevolution"}  # by a second and more
BY_SPEED = [pytest.param(a, marks=[pytest.mark.slow] * (a in LONG)) for a in sorted(TRAINABLE)]
WEIGHTS = {  # sha256 of the arrays of a small model, its first 16 digits
    "dqn": "5160e4c993ea76ac",
    "maskable_ppo": "564e99e857bb662c",
    "mcts": "951140b87ace72a2",
    "neuroevolution": "ade3ce3dc0e600d8",
    "tabular_q": "95b0a55f80e21b41",
    "tictacnet": "96e26188189b9fb0",
    "trie": "63880cab01a61b48",
    "value_net": "78780974abb25998",
}
HAVE_SELF = [a for a in TRAINABLE if hasattr(agents.page(a).Config, "opponents")]
HAVE_SELF.remove("neuroevolution")


@dataclass
class SmallRun:
    """A small training: its evaluations are saved in folder/0, folder/1, ..."""

    agent: str
    config: object
    folder: Path
    seen: list  # (table, notes, steps) of each evaluation

    def __post_init__(self):
        self.steps, self.last = [s for *_, s in self.seen], self.folder / str(len(self.seen) - 1)

    def copy(self, to):
        return shutil.copytree(self.folder / "0", to)

    def restore(self, folder, **changes):
        config = replace(self.config, **changes)
        checkpoint.restore(folder, self.agent, config, agents.page(self.agent).begin(config))


def trained(agent, config, folder, resume=None, most=None):
    """(table, notes, steps) of each evaluation of a training that saves into `folder`."""
    learner, seen = agents.page(agent).begin(config), []
    if resume is not None:
        checkpoint.restore(resume, agent, config, learner)

    def evaluate(learner):
        checkpoint.save(folder / str(len(seen)), agent, config, learner)
        seen.append((learner.policy(), learner.notes(), learner.steps))
        return len(seen) == most

    drive(learner, config, evaluate)
    return seen


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """The small run of an agent, trained when it is first asked for."""

    @cache
    def of(agent):
        config, folder = small_config(agent), tmp_path_factory.mktemp(agent)
        return SmallRun(agent, config, folder, trained(agent, config, folder))

    return of


@pytest.fixture(params=sorted(TRAINABLE))
def run(request, small_run):
    return small_run(request.param)


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@EACH
def test_a_page_defines_the_contract_and_nothing_that_the_house_does(agent):
    page = agents.page(agent)
    assert agent == page.AGENT
    assert re.fullmatch(r".+\.", page.Config.__doc__.split("\n")[0])
    assert all(re.fullmatch(r".+\.", known.sentence) for known in options_of(page.Config))
    assert isinstance(page.begin(small_config(agent)), Learner)
    source = Path(page.__file__).read_text()
    house = r"^(?:import|from) (csv|json|argparse|matplotlib|safetensors|os|shutil|training\.run)\b"
    found = set(re.findall(house, source, re.MULTILINE))
    assert found == ({"argparse"} if agent == "trie" else set()), "python -m agents.trie prints it"


def test_evaluations_come_when_due_with_the_same_notes_and_a_table_of_probabilities(run):
    table = run.seen[-1][0]
    assert isinstance(table, TabularPolicy)
    probs = table.probs(BOARDS)
    assert (probs.shape, probs.dtype, probs.min() >= 0) == ((4_520, 9), np.float64, True)
    assert probs.sum(axis=1) == pytest.approx(np.ones(4_520), abs=1e-12)
    assert (table.probs(BOARDS[::-97]) == probs[::-97]).all()
    assert len({tuple(notes) for _, notes, _ in run.seen}) == 1
    assert {type(value) for _, notes, _ in run.seen for value in notes.values()} <= {int, float}
    steps, every = [0, *run.steps], run.config.judge_every
    assert len(steps) > 2, "the contract needs a training that is evaluated at least twice"
    assert all(b // every > a // every for a, b in pairwise(steps[:-1])), "once in each interval"
    assert steps[-2] < run.config.steps <= steps[-1]


def generators():
    """The states of the global generators."""
    numpys = np.random.get_state()[1].tobytes()  # noqa: NPY002
    return random.getstate(), numpys, torch.get_rng_state().numpy().tobytes()


def test_the_bytes_follow_from_the_seed_and_the_global_generators_are_left_alone(run, tmp_path):
    np.random.seed(123)  # noqa: NPY002 - what others do with the global generators does not matter
    torch.manual_seed(123)
    before = generators()
    again = trained(run.agent, run.config, tmp_path / "same")
    agents.load(tmp_path / "same" / "0")
    assert generators() == before
    assert [steps for *_, steps in again] == run.steps
    for number in map(str, range(len(run.seen))):
        assert bytes_of(tmp_path / "same" / number) == bytes_of(run.folder / number)
    other = replace(run.config, seed=run.config.seed + 1)
    shorter = replace(run.config, steps=run.steps[0])
    models = []
    for number, config in enumerate((run.config, other, shorter)):
        trained(run.agent, config, tmp_path / str(number), most=1)
        models.append((tmp_path / str(number) / "0" / MODEL).read_bytes())
    assert models[0] != models[1]
    assert models[0] == models[2], "a longer run begins as a shorter one"


@pytest.mark.skipif(
    (np.__version__, torch.__version__.partition("+")[0]) != ("2.4.6", "2.13.0")
    or kernels.chosen() != kernels.KERNELS["numpy"] | kernels.KERNELS["torch"],
    reason="made with these versions and the kernels of AVX2",
)
def test_the_weights_are_the_same_on_every_processor(run):
    arrays = sorted(read_arrays(run.last / MODEL)[0].items())
    found = hashlib.sha256(b"".join(array.tobytes() for _, array in arrays)).hexdigest()
    assert found[:16] == WEIGHTS[run.agent]


def test_a_run_continues_bit_by_bit_from_any_evaluation(run, tmp_path):
    for number in range(1, len(run.seen)):
        folder = tmp_path / str(number)
        left = trained(run.agent, run.config, folder, resume=run.folder / str(number - 1))
        assert [steps for *_, steps in left] == run.steps[number:]
        for place in range(len(left)):
            assert bytes_of(folder / str(place)) == bytes_of(run.folder / str(number + place))


@pytest.mark.parametrize("agent", HAVE_SELF)
def test_self_as_an_opponent_is_not_random_play(agent):
    configs = [small_config(agent, opponents=opponents) for opponents in ("random", "self")]
    one, other = (agents.page(agent).begin(config) for config in configs)
    for learner, config in zip((one, other), configs, strict=True):
        drive(learner, config, lambda learner: False)
    assert (one.policy().table != other.policy().table).any()


def test_a_saved_model_plays_the_same_table_without_environment_and_opponents(run, monkeypatch):
    def refuse(*arguments, **keywords):
        raise AssertionError("loading a player needs nothing but its model")

    for needed in (TicTacToeVectorEnv, SelfPlay):
        monkeypatch.setattr(needed, "__init__", refuse)
    monkeypatch.setattr("tictactoe_env.opponents.make_opponent", refuse)
    assert (tabulate(agents.load(run.last), RULES).table == run.seen[-1][0].table).all()
    about = read_json(run.last / "model.json")
    assert (about["agent"], about["steps"]) == (run.agent, run.steps[-1])
    assert about["config"] == json.loads(json.dumps(asdict(run.config)))


def test_agents_that_do_not_need_torch_learn_and_are_loaded_without_it(small_run):
    program = """import sys, pathlib, agents
for agent, folder in zip(sys.argv[1::2], sys.argv[2::2]):
    agents.load(pathlib.Path(folder))
    agents.page(agent).begin(agents.page(agent).Config()).advance(1)
print("torch" in sys.modules)"""
    learned = [(agent, small_run(agent).last) for agent in sorted(set(TRAINABLE) - WITH_TORCH)]
    done = python("-c", program, *chain(*learned))
    assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize("agent", TRAINABLE)
def test_pauses_change_nothing_and_a_checkpoint_between_evaluations_continues(
    agent, tmp_path, monkeypatch
):
    """In pieces of a round; at the second pause another learner takes over from the files."""
    page, steps, config = agents.page(agent), [], small_config(agent)
    pieces = 4 if agent in ("maskable_ppo", "value_net") else 1  # whose rounds are that long
    enough = pieces * config.judge_every
    config = replace(config, steps=enough, judge_every=2 * enough)
    begun, whole, other = (page.begin(config) for _ in range(3))
    drive(whole, config, lambda learner: True)
    monkeypatch.setattr("training.learner.PIECE_SECONDS", 0.0)

    class Ended(Exception):
        pass

    def end_at_the_second(learner):
        steps.append(learner.steps)
        if len(steps) == 2:
            checkpoint.save(tmp_path, agent, config, learner)
            raise Ended

    with pytest.raises(Ended):
        drive(begun, config, lambda learner: True, end_at_the_second)
    checkpoint.restore(tmp_path, agent, config, other)
    drive(other, config, lambda learner: True, lambda learner: steps.append(learner.steps))
    assert len(steps) > 2
    for name, array in whole.model().items():
        assert array.tobytes() == other.model()[name].tobytes()


CUT, CHANGED = (lambda data: data[:-7]), (lambda data: data[:-1] + bytes([data[-1] ^ 1]))


@pytest.mark.parametrize("change", [CUT, CHANGED, lambda data: None], ids=["cut", "changed", "no"])
def test_damaged_files_are_refused_and_named(run, tmp_path, change):
    for name in (MODEL, "model.json", STATE, "state.json"):
        copy = run.copy(tmp_path / name)
        data = change((copy / name).read_bytes())
        (copy / name).unlink() if data is None else (copy / name).write_bytes(data)
        match = rf"{name.partition('.')[0]}\.(safetensors|json)"
        with pytest.raises((DamagedFileError, FileNotFoundError), match=match):
            run.restore(copy)
        if name.startswith("model"):
            with pytest.raises((DamagedFileError, FileNotFoundError), match=match):
                agents.load(copy)


def test_what_is_beside_a_model_must_fit_it(run, tmp_path):
    path = run.copy(tmp_path / "run") / "model.json"
    saved = {key: value for key, value in read_json(path).items() if key != "seal"}
    small, unknown = {**saved["config"], "cols": 2, "k": 2}, {**saved["config"], "colour": 1}
    for change, words in (
        ({"agent": "somebody"}, "'somebody'"),
        ({"config": unknown}, "this one does not know the options colour"),
        ({"config": small}, "model.safetensors does not fit its configuration"),
    ):
        write_sealed(path, {**saved, **change})
        with refuses(words, error=DamagedFileError):
            agents.load(path.parent)
    path.write_text(json.dumps({**saved, "steps": 1}))
    with refuses("an earlier version of this program wrote it", error=DamagedFileError):
        agents.load(path.parent)


@pytest.mark.parametrize("name", [MODEL, STATE])
def test_arrays_of_another_shape_are_refused(run, tmp_path, name):
    arrays, about = read_arrays(run.folder / "0" / name)
    for number, array in enumerate(sorted(key for key in arrays if arrays[key].size > 1)[:6]):
        copy = run.copy(tmp_path / str(number))
        wrong = {**arrays, array: arrays[array].ravel()[:1]}
        write_arrays(copy / name, wrong, {k: v for k, v in about.items() if k != "sha256"})
        is_played = name == MODEL and array != "random"  # which `mcts` needs to continue
        with pytest.raises(DamagedFileError):
            agents.load(copy) if is_played else run.restore(copy)


def test_files_that_do_not_belong_together_are_refused(run, tmp_path):
    mixed = run.copy(tmp_path / "mixed")
    for name in (MODEL, "model.json"):
        shutil.copy(run.folder / "1" / name, mixed / name)
    with pytest.raises(DamagedFileError, match="were not saved together"):
        run.restore(mixed)
    with pytest.raises(ValueError, match="was trained with another seed: continue with the same"):
        run.restore(run.folder / "0", seed=run.config.seed + 1)
    beside = run.copy(tmp_path / "older") / "state.json"
    hidden = ("state", "seal")
    content = {key: value for key, value in read_json(beside).items() if key not in hidden}
    write_sealed(beside, content)
    with refuses("state.json is damaged: the content lacks 'state'", error=DamagedFileError):
        run.restore(beside.parent)


@pytest.mark.parametrize("agent", BY_SPEED)
def test_a_run_from_the_command_line_has_all_its_files(agent, tmp_path, capsys):
    folder, path = tmp_path / "run", tmp_path / "model.zip"
    more = ["--export-sb3", str(path)] if agent == "dqn" else []
    more += [] if "--steps" in OPTIONS[agent] else ["--steps", "2048"]
    assert command.main([agent, *OPTIONS[agent], *more, "--out", str(folder)]) == 0
    content = read(folder)
    verify(content)
    assert content["agent"] == agent
    assert (agents.load(folder).table == table_of(content).table).all()
    if agent == "dqn":
        assert f"Stable-Baselines3's own file: {path}\n" in capsys.readouterr().out
        moves, _ = BoardDQN.load(path).predict(observe(BOARDS, RULES, "planes"), deterministic=True)
        assert (moves == table_of(content).table.argmax(axis=1)).all()
    check_own_values(agent, folder)
    tags = EventAccumulator(str(folder)).Reload().Tags()["scalars"]
    assert ("train/loss" in tags) == (agent in {"dqn", "maskable_ppo"})
    known = {"certificate.json", "config.json", "growth.png", "metrics.csv", "checkpoint"}
    known |= {"manifest.json", ".lock"}
    names = {path.name for path in folder.iterdir()}
    assert known <= names
    further = r"model\.\w+|values\.npz|events\.out.*|.*\.(csv|png)|level-.*"
    assert all(re.fullmatch(further, name) for name in names - known)


def check_own_values(agent, folder):
    """The file of values holds those of the model, and the player makes the moves of the best."""
    page, path, table = agents.page(agent), folder / "values.npz", load_policy(folder)
    own = own_values_of(page, *checkpoint.load_model(page, folder))
    assert path.exists() == (own is not None) == (agent not in WITHOUT_VALUES)
    if own is None:  # its network scores cells for one move; it does not estimate results
        return
    found = read_values(path, table, read(folder)["sha256_of_moves"])
    assert np.array_equal(found.values, own.values, equal_nan=True)
    assert found.values.shape == (4520, 9)
    assert (found.meaning, found.scale) == (own.meaning, (own.low, own.high))
    free = BOARDS == 0
    assert np.isnan(found.values[~free]).all()
    known = np.where(np.isnan(found.values), -np.inf, found.values)
    plays = (table.table > 0) & (known > -np.inf)  # tictacnet may play taken cells
    is_best = known == known.max(axis=1, keepdims=True)
    assert is_best[plays].all()
    assert plays.any(axis=1).mean() > 0.5 or agent in {"mcts", "trie", "tictacnet"}
    limits = {"mcts": (0, 1), "trie": (-1, 1), "value_net": (-1.5, 1.5), "tictacnet": (0, 1)}
    low, high = limits.get(agent, (-3, 3))
    assert low <= np.nanmin(found.values) < np.nanmax(found.values) <= high


def beyond(known):
    """Values just beyond the bounds of an option, and of another type."""
    step, number = (1, int) if "whole number" in known.expected else (1e-9, float)
    by = {"at least": -step, "from": -step, "above": 0, "to below": 0, "at most": step, "to": step}
    limits = re.findall(r"(at least|from|above|to below|at most|to) ([\d.]+)", known.bound)
    outside = [number(limit) + by[words] for words, limit in limits]
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
def test_the_help_says_what_every_option_and_every_preset_is(agent, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit, match="0"):
        command.main([agent, "--help"])
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    page = agents.page(agent)
    for known in options_of(page.Config):
        bound = f" [{known.bound}]" if known.bound and "|" not in known.metavar else ""
        assert f"--{known.name.replace('_', '-')}" in shown
        assert f"{known.sentence}{bound}" in shown
    for name, preset in page.PRESETS.items():
        assert page.Config(**preset.options) != page.Config()
        copy = " (a copy, weaknesses included)" if preset.weak else ""
        sentence = f"{name} {preset.sentence}{copy}"
        assert sentence in shown.partition(f"presets of {agent}:")[2]
