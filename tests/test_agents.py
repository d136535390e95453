"""What holds for every agent of TRAINABLE, and for every player that needs no training."""

import importlib
import json
import shutil
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from small_runs import small_config

import train as command
from agents import TRAINABLE
from tictactoe_env.match import exact_result_as
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training.evaluation import silent
from training.files import DamagedFileError

RULES = Rules()
BOARDS = positions_of(RULES).boards[positions_of(RULES).unfinished]
SOME = BOARDS[::97]
READY = ["search", "mcts", "mcts-playouts=30", "search-depth=2-ties=first"]


def page_of(agent):
    return importlib.import_module(f"agents.{agent}")


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.safetensors"))}


def trained(agent, config, folder, resume=None):
    """Everything that a training saves at each judgement, in folder/0, folder/1, ...; its last table and the steps of the judgements."""
    steps = []

    def report(at, table, save, notes=None):
        save(folder / str(len(steps)))
        steps.append(at)
        return False

    table = page_of(agent).train(config, report, resume=resume, logs=folder / "logs")
    return table, steps


@pytest.fixture(scope="module", params=sorted(TRAINABLE))
def run(request, tmp_path_factory):
    """(agent, configuration, folder of the judgements, last table, steps of the judgements) of a small training."""
    agent, folder = request.param, tmp_path_factory.mktemp(request.param)
    config = small_config(agent)
    (folder / "logs").mkdir()
    table, steps = trained(agent, config, folder)
    assert len(steps) >= 2, "the contract needs a training that is judged at least twice"
    return agent, config, folder, table, steps


def last_of(run):
    agent, _, folder, table, steps = run
    return page_of(agent), folder / str(len(steps) - 1), table


# --- policies ------------------------------------------------------------------------------------------------------------


def test_what_was_trained_is_a_table_of_probabilities(run):
    _, _, table = last_of(run)
    assert isinstance(table, TabularPolicy)
    probs = table.probs(BOARDS)
    assert probs.shape == (4_520, 9)
    assert probs.dtype == np.float64
    assert (probs >= 0).all()
    assert probs.sum(axis=1) == pytest.approx(np.ones(4_520), abs=1e-12)


def test_a_board_gets_the_same_row_whatever_its_neighbours(run):
    page, folder, _ = last_of(run)
    policy, order = page.load(folder), np.random.default_rng(0).permutation(len(SOME))
    together = policy.probs(SOME)
    assert (policy.probs(SOME[order])[np.argsort(order)] == together).all()
    assert (np.concatenate([policy.probs(board[None]) for board in SOME]) == together).all()


@pytest.mark.parametrize("name", READY)
def test_a_player_that_needs_no_training_keeps_the_same_promises(name):
    boards, policy = SOME[-20:], make_opponent(name, RULES)
    together = policy.probs(boards)
    assert together.sum(axis=1) == pytest.approx(np.ones(len(boards)), abs=1e-12)
    assert (make_opponent(name, RULES).probs(boards[::-1])[::-1] == together).all()
    assert (np.concatenate([policy.probs(board[None]) for board in boards]) == together).all()


# --- the same bytes ------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(run, tmp_path):
    agent, config, folder, table, steps = run
    np.random.seed(123)  # noqa: NPY002 - what others do with the global generators does not matter
    torch.manual_seed(123)
    again, same_steps = trained(agent, config, tmp_path / "same")
    trained(agent, replace(config, seed=config.seed + 1), tmp_path / "other")
    assert same_steps == steps
    assert (again.table == table.table).all()
    for number in range(len(steps)):
        assert bytes_of(tmp_path / "same" / str(number)) == bytes_of(folder / str(number))
    assert (
        bytes_of(tmp_path / "other" / "0")["model.safetensors"]
        != bytes_of(folder / "0")["model.safetensors"]
    )


def test_a_run_goes_on_bit_by_bit_from_any_judgement(run, tmp_path):
    agent, config, folder, table, steps = run
    for number in range(len(steps) - 1):
        rest, left = trained(agent, config, tmp_path / str(number), resume=folder / str(number))
        assert (rest.table == table.table).all()
        assert bytes_of(tmp_path / str(number) / str(len(left) - 1)) == bytes_of(
            folder / str(len(steps) - 1)
        )


def test_a_longer_run_begins_as_a_shorter_one(run, tmp_path):
    agent, config, folder, _, steps = run
    trained(agent, replace(config, steps=steps[0]), tmp_path)
    assert (
        bytes_of(tmp_path / "0")["model.safetensors"] == bytes_of(folder / "0")["model.safetensors"]
    )


# --- going on and stopping -----------------------------------------------------------------------------------------------


def test_only_the_number_of_steps_may_change_when_a_run_goes_on(run):
    agent, config, folder, _, _ = run
    with pytest.raises(
        ValueError, match="was trained with another seed: go on with the same configuration"
    ):
        page_of(agent).train(replace(config, seed=config.seed + 1), silent(), resume=folder / "0")


def test_a_report_stops_the_training_and_its_table_is_the_result(run):
    agent, config, _, _, steps = run
    seen = []

    def report(at, table, save, notes=None):
        seen.append((at, table))
        return True

    table = page_of(agent).train(config, report)
    assert [at for at, _ in seen] == steps[:1]
    assert (table.table == seen[0][1].table).all()


def test_notes_are_numbers_with_the_same_names_at_every_judgement(run):
    agent, config, _, _, _ = run
    seen = []

    def report(at, table, save, notes=None):
        seen.append(dict(notes or {}))
        return False

    page_of(agent).train(config, report)
    assert len({tuple(notes) for notes in seen}) == 1
    assert all(isinstance(value, (int, float)) for notes in seen for value in notes.values())


# --- files ---------------------------------------------------------------------------------------------------------------


def test_a_saved_run_plays_the_same_table(run):
    page, folder, table = last_of(run)
    loaded = page.load(folder)
    assert (tabulate(loaded, RULES).table == table.table).all()
    assert exact_result_as(
        "X", tabulate(loaded, RULES), tabulate(RandomPolicy(), RULES)
    ) == exact_result_as("X", table, tabulate(RandomPolicy(), RULES))


def test_the_player_alone_can_be_saved(run, tmp_path):
    agent, config, _, _, _ = run
    tables = []

    def report(at, table, save, notes=None):
        save(tmp_path, False)
        tables.append(table)
        return True

    page_of(agent).train(config, report)
    assert (page_of(agent).load(tmp_path).table == tables[0].table).all()


def test_the_configuration_is_beside_the_model(run):
    agent, config, folder, _, steps = run
    about = json.loads((folder / "0" / "model.json").read_text())
    assert about["agent"] == agent
    assert about["steps"] == steps[0]
    assert {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in about["config"].items()
    } == asdict(config)


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


@pytest.mark.parametrize(
    ("suffix", "harm"),
    [("safetensors", harm) for harm in HARM]
    + [("json", harm) for harm in HARM if harm != "changed"],
)
def test_a_damaged_model_is_refused_and_named(run, tmp_path, suffix, harm):
    """The JSON holds the checksum and has none itself; what it says is checked below."""
    page, folder, _ = last_of(run)
    with pytest.raises((DamagedFileError, FileNotFoundError), match=r"model\.(safetensors|json)"):
        page.load(harmed(folder, tmp_path / "run", f"model.{suffix}", HARM[harm]))


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_state_is_refused_and_named_when_a_run_should_go_on(run, tmp_path, harm):
    agent, config, folder, _, _ = run
    names = [path.name for path in (folder / "0").glob("*.safetensors")]
    for name in names:
        with pytest.raises((DamagedFileError, FileNotFoundError), match=name.partition(".")[0]):
            page_of(agent).train(
                config, silent(), resume=harmed(folder / "0", tmp_path / name, name, HARM[harm])
            )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda about: {**about, "agent": "somebody"}, "holds no run of .*, but of 'somebody'"),
        (
            lambda about: {**about, "config": {**about["config"], "colour": 1}},
            "written by another version: colour",
        ),
        (
            lambda about: {**about, "config": {**about["config"], "seed": "one"}},
            "configuration in .* is damaged",
        ),
        (lambda about: {**about, "config": None}, "holds no run"),
        (lambda about: {**about, "config": {**about["config"], "cols": 2, "k": 2}}, "model"),
    ],
)
def test_what_is_beside_a_model_must_be_of_this_agent(run, tmp_path, change, words):
    page, folder, _ = last_of(run)
    shutil.copytree(folder, tmp_path / "run")
    path = tmp_path / "run" / "model.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(DamagedFileError, match=words):
        page.load(tmp_path / "run")


def test_a_state_that_is_something_else_is_refused(run, tmp_path):
    agent, config, folder, _, _ = run
    shutil.copytree(folder / "0", tmp_path / "run")
    if not (tmp_path / "run" / "state.safetensors").exists():
        return  # the model is all there is, and is checked above
    for suffix in ("safetensors", "json"):
        shutil.copy(tmp_path / "run" / f"model.{suffix}", tmp_path / "run" / f"state.{suffix}")
    with pytest.raises(DamagedFileError, match="state"):
        page_of(agent).train(config, silent(), resume=tmp_path / "run")


# --- the command line ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", sorted(TRAINABLE))
def test_an_unknown_option_is_answered_with_a_guess(agent, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main([agent, "--judge-evry", "5"])
    assert stopped.value.code == 2
    assert "unknown option '--judge-evry'; did you mean '--judge-every'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", READY)
def test_an_unknown_option_of_a_player_is_answered_with_a_guess(name):
    with pytest.raises(ValueError, match="did you mean"):
        make_opponent(f"{name.partition('-')[0]}-{'sede' if 'mcts' in name else 'dept'}=5", RULES)
