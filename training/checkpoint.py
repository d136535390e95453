"""Saving, resuming and loading: the same files for every agent.

    model.safetensors    the arrays of `Learner.model`: what plays
    model.json           agent, configuration, steps, and the sha256 of model.safetensors
    state.safetensors    the arrays of `Learner.state`: what else is needed to continue
    state.json           agent, configuration, steps, sha256, and the rest of the state

Reading these files executes nothing. A player needs only the two files of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tictactoe_env.files import DamagedFileError, check_files
from training.files import Saved, read_arrays, write_arrays
from training.learner import AgentModule, Arrays, BoardPlayer, Learner
from training.options import BoardConfig, check_unchanged, read_config

MODEL = "model.safetensors"
STATE = "state.safetensors"
BEST = "best.safetensors"
ARRAY = "$array"  # {"$array": its name} is an array in the JSON
GENERATOR = "$generator"


class Header(Saved):
    """The JSON beside a model; `state` is there beside a state only."""

    agent: str
    config: dict[str, Any]
    steps: int
    state: dict[str, Any] = {}


class Model(NamedTuple):
    """A saved model: its arrays, its configuration, and the steps after which it was saved."""

    config: BoardConfig
    arrays: Arrays
    steps: int


def write_model(path: Path, agent: str, model: Model, **more: Any) -> None:
    """Write the arrays of a model, with its agent, configuration and steps in the JSON beside."""
    header = {"agent": agent, "config": model.config.saved(), "steps": model.steps, **more}
    write_arrays(path, model.arrays, header)


def read_model(path: Path, agent: str, kind: type[BoardConfig]) -> Model:
    """A saved model. Raises DamagedFileError if it is damaged, or of another agent."""
    header = header_of(path)
    if header.agent != agent:
        raise DamagedFileError(f"{path} is of {header.agent!r}: expected a model of {agent}")
    return Model(read_config(kind, header.config, path), read_arrays(path), header.steps)


def header_of(path: Path) -> Header:
    """A saved model or state, without its arrays."""
    return Header.read(path.with_suffix(".json"))


def save(folder: Path, agent: str, config: BoardConfig, learner: Learner) -> None:
    """Write model and state: all that is needed to continue."""
    write_model(folder / MODEL, agent, Model(config, learner.model(), learner.steps))
    arrays: Arrays = {}
    tree = pack(learner.state(), "state", arrays)
    write_model(folder / STATE, agent, Model(config, arrays, learner.steps), state=tree)


def restore(folder: Path, agent: str, config: BoardConfig, learner: Learner) -> None:
    """Put a saved training into a new learner, which then continues it.

    Raises DamagedFileError if the files are damaged, or if the learner then has another model,
    ValueError if they were saved with another configuration.
    """
    state = read_model(folder / STATE, agent, type(config))
    check_unchanged(config, state.config, folder)
    model = read_model(folder / MODEL, agent, type(config))
    with _explained(f"{folder / STATE} is not a saved training of {agent} with this configuration"):
        learner.steps = state.steps
        learner.restore(model.arrays, unpack(header_of(folder / STATE).state, state.arrays))
        _check_restored(learner.model(), model.arrays)


def _check_restored(found: Arrays, saved: Arrays) -> None:
    """Raise ValueError unless a learner has the model that was saved."""
    for name in {**saved, **found}:
        is_in_both = name in saved and name in found
        if not is_in_both or not np.array_equal(found[name], saved[name], equal_nan=True):
            raise ValueError(f"{name!r} of the model is not restored: name it in MODEL or STATE")


def load(module: AgentModule, folder: Path, **options: Any) -> BoardPlayer:
    """The player of a saved model, which uses a part of its configuration only.

    options: get another value than in the run, such as `simulations=50`. Raises OptionError for a
    wrong one, DamagedFileError if the files are damaged or hold the model of another agent.
    """
    saved, arrays = load_model(module, folder)
    config = saved.replace(**options)
    with _explained(f"{folder / MODEL} does not fit its configuration"):
        return module.player(config, arrays)


def load_model(module: AgentModule, folder: Path) -> tuple[BoardConfig, Arrays]:
    """The configuration and the arrays of a saved model. Raises DamagedFileError as `load` does."""
    check_files(folder, [MODEL, "model.json", "config.json"])
    model = read_model(folder / MODEL, module.AGENT, module.Config)
    return model.config, model.arrays


@contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except (DamagedFileError, OSError):
        raise
    except Exception as error:  # a changed file may lead to any exception
        raise DamagedFileError(f"{what}: {error!r}") from error


# --- a state as arrays and JSON ------------------------------------------------------------------


def pack(value: Any, name: str, arrays: Arrays) -> Any:
    """The JSON of a state. Its arrays are added to `arrays`, each under its path: "state/rng/0"."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {ARRAY: name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.Generator):
        return {GENERATOR: value.bit_generator.state}
    if isinstance(value, dict):
        return {key: pack(item, f"{name}/{key}", arrays) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(item, f"{name}/{number}", arrays) for number, item in enumerate(value)]
    return value


def unpack(tree: Any, arrays: Arrays) -> Any:
    """The state that `pack` turned into this JSON and these arrays."""
    if isinstance(tree, list):
        return [unpack(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if ARRAY in tree:
        return arrays[tree[ARRAY]]
    if GENERATOR in tree:
        generator = np.random.Generator(np.random.PCG64())
        generator.bit_generator.state = tree[GENERATOR]
        return generator
    return {key: unpack(item, arrays) for key, item in tree.items()}
