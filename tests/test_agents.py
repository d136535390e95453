"""The contract of the modules of `agents/`; the tests of each one are about its learning."""

import hashlib
import inspect
import random
import re
import shutil
import sys
from functools import cache
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from learners import BOARDS, RULES
from learners import trained as driven
from programs import printed
from small_runs import options_of_run, small_config
from stable_baselines3 import DQN
from text_cases import refuses

import agents
import train as command
from agents import TRAINABLE
from tictactoe_env.certificates.certificate import load_policy, read, verify
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.files import DamagedFileError
from tictactoe_env.observation import observe
from training import checkpoint, kernels
from training.files import read_arrays, read_json, write_json
from training.learner import evaluations
from training.options import OptionError, is_rare, options_of, schema_of_items
from training.search_space import text_of
from training.values import read_values

LONG_ROUNDS = {"maskable_ppo", "value_net"}  # as long as from one evaluation to the next
MODEL = "model.safetensors"
EACH = pytest.mark.parametrize("agent", sorted(TRAINABLE))
LONG = {"value_net", "neuroevolution"}  # by a second and more
BY_SPEED = [pytest.param(a, marks=[pytest.mark.slow] * (a in LONG)) for a in sorted(TRAINABLE)]
WEIGHTS = {  # sha256 of the arrays of a small model, its first 16 digits
    "alphazero": "6dbe0d5832c56d36",
    "dqn": "0e14072a8a77f24f",
    "maskable_ppo": "ac838abb795e729b",
    "mcts": "951140b87ace72a2",
    "neuroevolution": "ade3ce3dc0e600d8",
    "tabular_q": "070620170cc72970",
    "tictacnet": "da84a90186ef2ca8",
    "trie": "63880cab01a61b48",
    "value_net": "78780974abb25998",
}
REFUSED = [
    ("dqn", {"exploring_starts": 0.6, "counterexamples": 0.6}, "counterexamples"),
    ("dqn", {"opening": "d1"}, "'d1'"),
    ("dqn", {"opponents": "minmax"}, "'minimax'"),
    ("maskable_ppo", {"opening": "random", "side": "O"}, "'random'"),
    ("mcts", {"playout": "decent"}, "descent"),
    ("neuroevolution", {"fitness": "footbal"}, "football"),
    ("neuroevolution", {"opponents": "self"}, "'self'"),
    ("neuroevolution", {"winners": 100}, "winners"),
    ("neuroevolution", {"hidden": 0}, "rebirth"),
    ("tictacnet", {"rewards": (1.0, -0.5, -1.0)}, "rewards"),
    ("trie", {"untried": "never"}, "tophep"),
    ("value_net", {"k": 1}, "k"),
    ("dqn", {"threads": 1_000_000}, "threads"),
]


def trained(agent, config, folder, resume=None, most=None, pause=None):
    """(table, notes, steps) of each evaluation of a training that saves into `folder`."""
    learner = agents.module(agent).begin(config)
    seen = []
    if resume is not None:
        checkpoint.restore(resume, agent, config, learner)
    for _ in islice(evaluations(learner, config, pause), most):
        checkpoint.save(folder / str(len(seen)), agent, config, learner)
        seen.append((learner.policy(), learner.notes(), learner.steps))
    return seen


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """The small run of an agent, trained when it is first asked for, saved as folder/0, 1, ..."""

    @cache
    def of(agent):
        run = SimpleNamespace(agent=agent, config=small_config(agent))
        run.folder = tmp_path_factory.mktemp(agent)
        run.seen = trained(agent, run.config, run.folder)
        run.steps = [steps for *_, steps in run.seen]
        run.last = run.folder / str(len(run.seen) - 1)
        return run

    return of


@pytest.fixture(params=sorted(TRAINABLE))
def run(request, small_run):
    return small_run(request.param)


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_evaluations_come_when_due_with_the_same_notes_and_a_table(run):
    table = run.seen[-1][0]
    assert isinstance(table, TabularPolicy)
    assert (tabulate(agents.load(run.last), RULES).table == table.table).all()
    assert len({tuple(notes) for _, notes, _ in run.seen}) == 1
    assert {type(value) for _, notes, _ in run.seen for value in notes.values()} <= {int, float}
    assert len(run.steps) > 1, "the contract needs a training that is evaluated at least twice"
    intervals = [steps // run.config.judge_every for steps in (0, *run.steps[:-1])]
    assert intervals == sorted(set(intervals)), "once in each"
    assert run.steps[-2] < run.config.steps <= run.steps[-1]


def generators():
    """The states of the global generators."""
    numpys = np.random.get_state()[1].tobytes()  # noqa: NPY002
    return random.getstate(), numpys, torch.get_rng_state().numpy().tobytes()


def test_the_bytes_follow_from_the_seed_and_a_run_continues_from_every_evaluation(run, tmp_path):
    """What others do with the global generators does not matter, and they are left alone."""
    np.random.seed(123)  # noqa: NPY002
    torch.manual_seed(123)
    before = generators()
    for number in range(len(run.steps)):
        folder = tmp_path / str(number)
        last = run.folder / str(number - 1)
        ((_, *made),) = trained(run.agent, run.config, folder, last if number else None, most=1)
        is_same = bytes_of(folder / "0") == bytes_of(run.folder / str(number))
        if not is_same or repr(made) != repr([*run.seen[number][1:]]):
            learner = agents.module(run.agent).begin(run.config)
            unsaved = vars(learner).keys() - {*learner.MODEL, *learner.STATE}
            pytest.fail(f"it goes on otherwise: does STATE lack one of {sorted(unsaved)}?")
    agents.load(tmp_path / "0" / "0")
    assert generators() == before
    trained(run.agent, run.config.replace(seed=run.config.seed + 1), tmp_path / "other", most=1)
    assert bytes_of(tmp_path / "other" / "0")[MODEL] != bytes_of(run.folder / "0")[MODEL]


def test_pauses_and_the_length_of_a_run_change_nothing_and_a_pause_continues(
    run, tmp_path, monkeypatch
):
    """In pieces of a round up to the second evaluation; another learner takes over in between."""
    monkeypatch.setattr("training.learner.PIECE_SECONDS", 0.0)
    steps = run.steps[1]
    folder = tmp_path / "pause"
    pauses = []
    config = run.config.replace(steps=steps, judge_every=2 * steps)

    def leave(learner):
        if learner.steps > run.steps[0] // 2:
            checkpoint.save(folder, run.agent, config, learner)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(run.agent, config, tmp_path, pause=leave)
    trained(run.agent, config, tmp_path, folder, pause=lambda learner: pauses.append(learner.steps))
    assert pauses or run.agent in LONG_ROUNDS
    assert bytes_of(tmp_path / "0")[MODEL] == bytes_of(run.folder / "1")[MODEL]


@pytest.mark.skipif(
    (np.__version__, torch.__version__.partition("+")[0]) != ("2.4.6", "2.13.0")
    or kernels.chosen() != kernels.KERNELS["numpy"] | kernels.KERNELS["torch"],
    reason="made with these versions and the kernels of AVX2",
)
def test_the_weights_are_the_same_on_every_processor(run):
    arrays = sorted(read_arrays(run.last / MODEL).items())
    found = hashlib.sha256(b"".join(array.tobytes() for _, array in arrays)).hexdigest()
    if run.agent not in WEIGHTS:
        pytest.skip(f"{run.agent} has no digest in WEIGHTS yet: it learns {found[:16]!r}")
    assert found[:16] == WEIGHTS[run.agent]


def test_agents_that_do_not_need_torch_learn_and_are_loaded_without_it(small_run):
    program = """import sys, pathlib, agents
for agent, folder in zip(sys.argv[1::2], sys.argv[2::2]):
    agents.load(pathlib.Path(folder))
    agents.module(agent).begin(agents.module(agent).Config()).advance(1)
print("torch" in sys.modules)"""
    modules = [(agent, inspect.getsource(agents.module(agent))) for agent in sorted(TRAINABLE)]
    learned = [(a, small_run(a).last) for a, source in modules if "import torch" not in source]
    assert printed("-c", program, *chain(*learned)) == "False\n"


def test_what_does_not_belong_together_is_refused(small_run, tmp_path):
    run = small_run("tabular_q")
    path = Path(shutil.copytree(run.last, tmp_path / "run"), "model.json")
    saved = read_json(path)
    unknown = {**saved["config"], "colour": 1}
    for change, mention in (({"agent": "somebody"}, "'somebody'"), ({"config": unknown}, "colour")):
        write_json(path, {**saved, **change})
        with refuses(mention, error=DamagedFileError):
            agents.load(path.parent)
    with refuses(MODEL, "tabular_q", "trie", error=DamagedFileError):
        checkpoint.load(agents.module("trie"), run.last)
    with refuses("seed"):
        trained("tabular_q", run.config.replace(seed=run.config.seed + 1), tmp_path, run.last)


@pytest.mark.usefixtures("no_charts")
@pytest.mark.parametrize("agent", BY_SPEED)
def test_a_run_from_the_command_line_is_proven_and_shows_the_values_of_its_model(agent, tmp_path):
    folder = tmp_path / "run"
    path = tmp_path / "model.zip"
    more = ["--export-sb3", str(path)] if agent == "dqn" else []
    assert command.main([agent, *options_of_run(agent), *more, "--out", str(folder)]) == 0
    content = read(folder)
    table = load_policy(folder)
    verify(content)
    assert content.stated.agent == agent
    assert (agents.load(folder).table == table.table).all()
    if agent == "dqn":
        moves, _ = DQN.load(path).predict(observe(BOARDS, RULES, "planes"), deterministic=True)
        assert (moves == table.table.argmax(axis=1)).all()
    module = agents.module(agent)
    path = folder / "values.npz"
    own = getattr(module.player(*checkpoint.load_model(module, folder)), "own", None)
    assert path.exists() == (own is not None)
    if own is None:  # it has no numbers that estimate the results of moves
        return
    found = read_values(path, table, content.sha256_of_moves)
    assert np.array_equal(found.own.values, own.values, equal_nan=True)
    assert found.own.scale == own.scale
    assert np.isnan(found.own.values[BOARDS != 0]).all()
    known = np.where(np.isnan(found.own.values), -np.inf, found.own.values)
    plays = (table.table > 0) & (known > -np.inf)  # tictacnet may play taken cells
    assert (known == known.max(axis=1, keepdims=True))[plays].all()
    assert plays.any(axis=1).mean() > 0.5 or agent in {"mcts", "trie", "tictacnet"}
    low, high = {"dqn": (-3, 3), "value_net": (-1.5, 1.5)}.get(agent, found.scale)
    assert low <= np.nanmin(found.own.values) < np.nanmax(found.own.values) <= high


@pytest.mark.parametrize(("agent", "options", "mention"), REFUSED)
def test_options_that_contradict_each_other_are_refused(agent, options, mention):
    module = agents.module(agent)
    with refuses(mention):
        module.begin(module.Config(**options))


@pytest.mark.parametrize("agent", ["dqn", "maskable_ppo", "tabular_q", "tictacnet"])
def test_snapshots_begin_with_the_untrained_learner_and_follow_at_fixed_steps(agent):
    """An algorithm of Stable-Baselines3 takes them at the start of its next round."""
    config = small_config(agent, opponents="self-keep=3", snapshot_every=512)
    learner = agents.module(agent).begin(config)
    untrained = getattr(learner, "snapshot", learner.policy)().table
    assert (untrained.max(axis=1) < 1).any() == (agent == "maskable_ppo"), "as it explores"
    while learner.steps < 2_048:
        learner.advance(1)
        due = learner.steps - getattr(learner, "round_steps", 0)
        assert len(learner.pool.snapshots) == min(3, 1 + due // 512)
        assert due >= 512 or (learner.pool.snapshots[0].table == untrained).all()


@pytest.mark.slow
@EACH
def test_every_agent_learns_to_be_unbeatable_or_reaches_the_best_achievable_results(agent):
    """191/192 wins as X and 866/945 as O on 3x3; an untrained player can be beaten."""
    module = agents.module(agent)
    goal = agents.facts(agent).get("GOAL", "unbeatable")
    assert evaluate(driven(module, module.Config(), goal).policy()).reached(goal)


@EACH
def test_the_help_says_what_every_option_and_every_preset_is(agent, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit, match="0"):
        command.main([agent, "--help"])
    first = capsys.readouterr().out
    assert command.main([agent, "--help-all"]) == 0
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    module = agents.module(agent)
    for name, known in options_of(module.Config).items():
        assert known.description, f"{name} needs a sentence"
        flag = f"--{name.replace('_', '-')} "
        assert flag in shown
        assert (flag in first) != is_rare(known)
        assert known.description in shown
        with refuses(name, error=OptionError):
            module.Config(**{name: np.nan if isinstance(known.default, float) else ["x"]})
    for name, preset in agents.presets(agent).items():
        assert module.Config(**preset.options) != module.Config()
        assert f"{name} {preset.sentence}" in shown


def typed_otherwise(name, field):
    """The words that give an option another value than its default, and this value."""
    spelling = f"--{name.replace('_', '-')}"
    default = field.default
    schema = schema_of_items(field.rebuild_annotation())
    if isinstance(default, bool):
        return [f"--no-{spelling[2:]}" if default else spelling], not default
    if "enum" in schema:
        value = next(one for one in schema["enum"] if one != default)
    elif schema["type"] == "string":
        value = "b2" if name == "opening" else "random:3"
    elif schema["type"] == "integer" and not isinstance(default, tuple):
        value = default - 1 if default > schema["minimum"] else default + 1
    else:
        value = 7 if schema["type"] == "integer" else 0.375
    value = (value,) * (len(default) or 3) if isinstance(default, tuple) else value
    return [spelling, text_of(value)], value


NEEDED = {  # what else has to be typed with an option
    "rows": ["--k", "3"],
    "cols": ["--k", "3"],
    ("neuroevolution", "activation"): ["--rebirth", "0"],
    ("neuroevolution", "inputs"): ["--rebirth", "0"],
}


@EACH
def test_every_option_can_be_set_from_the_command_line(agent):
    """A field without a flag could be changed by nobody but a preset."""
    module = agents.module(agent)
    line = command.command_line(module, command.PROGRAMS)
    for name, field in options_of(module.Config).items():
        words, value = typed_otherwise(name, field)
        needed = NEEDED.get((agent, name)) or NEEDED.get(name, [])
        _, typed = line.parse([agent, *words, *needed])
        config = command.experiment_of(module, typed.kwargs).config
        assert getattr(config, name) == value != field.default


def test_a_page_that_lacks_a_part_or_has_another_name_is_refused(monkeypatch):
    with refuses("'maskable-ppo'", "'maskable_ppo'"):
        agents.module("maskable-ppo")
    for found, mention in (
        (SimpleNamespace(AGENT="trie"), "Config"),
        (agents.module("tabular_q"), "'tabular_q'"),
    ):
        monkeypatch.setitem(sys.modules, "agents.trie", found)
        with refuses("agents/trie.py", mention, error=TypeError):
            agents.module("trie")
