"""Saving, resuming and loading: the same files for every agent.

    model.safetensors    the arrays of `Learner.model`: what plays
    model.json           agent, configuration, steps, and the sha256 of model.safetensors
    state.safetensors    the arrays of `Learner.state`: what else is needed to continue
    state.json           agent, configuration, steps, sha256, and the rest of the state

Reading these files executes nothing. A player needs only the two files of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from training.files import DamagedFileError, read_arrays, write_arrays
from training.learner import Arrays, BoardPlayer, Learner, Page
from training.options import BoardConfig, check_unchanged, read_config

MODEL, STATE = "model.safetensors", "state.safetensors"
# An array is {"$array": its name} in the JSON, a NumPy generator {"$generator": its state}.
ARRAY, GENERATOR = "$array", "$generator"
# What `restore` or `player` may raise when a file is damaged.
DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)


def save_model(folder: Path, agent: str, config: BoardConfig, learner: Learner) -> None:
    """Write the model: all that is needed to play."""
    write_arrays(folder / MODEL, learner.model(), _about(agent, config, learner))


def save(folder: Path, agent: str, config: BoardConfig, learner: Learner) -> None:
    """Write model and state: all that is needed to continue."""
    save_model(folder, agent, config, learner)
    arrays: Arrays = {}
    tree = pack(learner.state(), "state", arrays)
    write_arrays(folder / STATE, arrays, {**_about(agent, config, learner), "state": tree})


def restore(folder: Path, agent: str, config: BoardConfig, learner: Learner) -> None:
    """Put a saved training into a new learner, which then continues it.

    Raises DamagedFileError if the files are damaged or were not saved together, ValueError if they
    were saved with another configuration.
    """
    model, of_model = read_arrays(folder / MODEL)
    arrays, about = read_arrays(folder / STATE)
    check_unchanged(config, _config(type(config), agent, about, folder / STATE), folder)
    if not isinstance(about.get("state"), dict):
        raise DamagedFileError(
            f"{folder / STATE} holds no state that this version can continue: train again with "
            "another --out"
        )
    if of_model.get("steps") != about.get("steps") or not isinstance(about.get("steps"), int):
        raise DamagedFileError(
            f"{folder / MODEL} and {STATE} were not saved together: train again or use another copy"
        )
    with _explained(f"{folder / STATE} is not a saved training of {agent} with this configuration"):
        learner.steps = about["steps"]
        learner.restore(model, unpack(about["state"], arrays))


def load(page: Page, folder: Path) -> BoardPlayer:
    """The player of a saved model.

    Raises DamagedFileError if the files are damaged or hold the model of another agent.
    """
    config, model = load_model(page, folder)
    with _explained(f"{folder / MODEL} does not fit its configuration"):
        return page.player(config, model)


def load_model(page: Page, folder: Path) -> tuple[BoardConfig, Arrays]:
    """The configuration and the arrays of a saved model. Raises DamagedFileError as `load` does."""
    model, about = read_arrays(folder / MODEL)
    return _config(page.Config, page.AGENT, about, folder / MODEL), model


def take(
    arrays: Mapping[str, Any], name: str, shape: tuple[int, ...], kind: Any = None
) -> NDArray[Any]:
    """A copy of the array of this name.

    kind: the dtype, or None for any. Raises ValueError if there is no such array, if its shape or
    dtype is another, or if it holds NaN or infinity.
    """
    array = arrays.get(name)
    is_right = array is not None and array.shape == shape and (kind is None or array.dtype == kind)
    if array is None or not is_right or not np.isfinite(array).all():
        found = "nothing" if array is None else f"{array.dtype} of the shape {array.shape}"
        if array is not None and not np.isfinite(array).all():
            found += ", with NaN or infinity in it"
        expected = f"finite {np.dtype(kind).name if kind else 'numbers'} of the shape {shape}"
        raise ValueError(f"{name} must be {expected}, got {found}")
    return array.copy()


def _about(agent: str, config: BoardConfig, learner: Learner) -> dict[str, Any]:
    return {"agent": agent, "config": asdict(config), "steps": learner.steps}


Config = TypeVar("Config", bound=BoardConfig)


def _config(kind: type[Config], agent: str, about: dict[str, Any], path: Path) -> Config:
    if about.get("agent") != agent:
        raise DamagedFileError(f"{path} is of {about.get('agent')!r}: expected a model of {agent}")
    return read_config(kind, about.get("config"), path)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except DamagedFileError:
        raise
    except DAMAGE as error:
        reason = error if isinstance(error, ValueError) else repr(error)
        raise DamagedFileError(f"{what}: {reason}") from None


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
    if set(tree) == {ARRAY}:
        return arrays[tree[ARRAY]]
    if set(tree) == {GENERATOR}:
        generator = np.random.default_rng()
        generator.bit_generator.state = tree[GENERATOR]
        return generator
    return {key: unpack(item, arrays) for key, item in tree.items()}
