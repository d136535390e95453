"""Saving, resuming and loading: the same files for every agent.

    model.safetensors    the arrays of `Learner.model`: what plays
    model.json           agent, configuration, steps, and the sha256 of model.safetensors
    state.safetensors    the arrays of `Learner.state`: what else is needed to continue
    state.json           agent, configuration, steps, sha256, and the rest of the state

The JSON is sealed by a checksum, and names that of the arrays. Reading these files executes
nothing. A player needs only the two files of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.files import open_file
from training.files import (
    HEX,
    DamagedFileError,
    bytes_of_arrays,
    checked,
    read_arrays,
    write_arrays,
    write_bytes_of_arrays,
)
from training.learner import Arrays, BoardPlayer, Learner, Page
from training.manifest import CHUNK, has_manifest, missing_of
from training.options import BoardConfig, check_unchanged, playing, read_config
from training.schema import Anything, Entries, Text, Whole

MODEL, STATE, BEST = "model.safetensors", "state.safetensors", "best.safetensors"
ARRAY = "$array"  # an array is {"$array": its name} in the JSON
GENERATOR = "$generator"  # a NumPy generator is {"$generator": its state}
ABOUT = {"agent": Text(100), "config": Anything(), "steps": Whole(), "sha256": HEX}
ABOUT_MODEL = Entries(ABOUT)
ABOUT_STATE = Entries({**ABOUT, "state": Anything()})


def save_model(folder: Path, agent: str, config: BoardConfig, learner: Learner) -> None:
    """Write the model: all that is needed to play."""
    write_arrays(folder / MODEL, learner.model(), _about(agent, config, learner))


def copy_model(source: Path, target: Path) -> None:
    """Copy a model and the JSON beside it."""
    write_bytes_of_arrays(target, *bytes_of_arrays(source))


def is_same_model(one: Path, other: Path) -> bool:
    """Whether two models have the same bytes, those of the JSON beside them included."""
    pairs = [(path, path.with_suffix(".json")) for path in (one, other)]
    try:
        return all(_is_same_file(mine, its) for mine, its in zip(*pairs, strict=True))
    except (FileNotFoundError, NotADirectoryError, DamagedFileError):
        return False


def _is_same_file(one: Path, other: Path) -> bool:
    """Whether two regular files have the same bytes, of which a part is in memory at a time."""
    with open_file(one, DamagedFileError) as mine, open_file(other, DamagedFileError) as its:
        while part := mine.read(CHUNK):
            if its.read(CHUNK) != part:
                return False
        return not its.read(1)


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
    model, of_model = _read(folder / MODEL, ABOUT_MODEL)
    arrays, about = _read(folder / STATE, ABOUT_STATE)
    check_unchanged(config, _config(type(config), agent, about, folder / STATE), folder)
    if of_model["steps"] != about["steps"]:
        raise DamagedFileError(
            f"{folder / MODEL} and {STATE} were not saved together: train again or use another copy"
        )
    with _explained(f"{folder / STATE} is not a saved training of {agent} with this configuration"):
        learner.steps = about["steps"]
        learner.restore(model, unpacked(about["state"], arrays))


def load(page: Page, folder: Path) -> BoardPlayer:
    """The player of a saved model. Of its configuration only what a player needs is used.

    Raises DamagedFileError if the files are damaged or hold the model of another agent.
    """
    config, model = load_model(page, folder)
    with _explained(f"{folder / MODEL} does not fit its configuration"):
        return page.player(playing(config), model)


def load_model(page: Page, folder: Path) -> tuple[BoardConfig, Arrays]:
    """The configuration and the arrays of a saved model. Raises DamagedFileError as `load` does."""
    if has_manifest(folder):
        missing_of(folder, [MODEL, "model.json"])
    model, about = _read(folder / MODEL, ABOUT_MODEL)
    return _config(page.Config, page.AGENT, about, folder / MODEL), model


def load_best(page: Page, folder: Path) -> tuple[BoardPlayer, int]:
    """The player of the best model of a checkpoint, and the steps after which it was saved."""
    model, about = _read(folder / BEST, ABOUT_MODEL)
    config = _config(page.Config, page.AGENT, about, folder / BEST)
    with _explained(f"{folder / BEST} does not fit its configuration"):
        return page.player(playing(config), model), about["steps"]


def _read(path: Path, layout: Entries) -> tuple[Arrays, dict[str, Any]]:
    arrays, about = read_arrays(path)
    checked(about, layout, path.with_suffix(".json"))
    return arrays, about


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
    if about["agent"] != agent:
        raise DamagedFileError(f"{path} is of {about['agent']!r}: expected a model of {agent}")
    return read_config(kind, about["config"], path)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except (DamagedFileError, OSError):
        raise
    except Exception as error:  # whatever the content of a file leads to is an error of the file
        reason = error if isinstance(error, ValueError) else repr(error)
        raise DamagedFileError(f"{what}: {reason}") from error


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


def unpacked(tree: Any, arrays: Arrays) -> Any:
    """The state that `pack` turned into this JSON and these arrays."""
    if isinstance(tree, list):
        return [unpacked(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if set(tree) == {ARRAY}:
        return arrays[tree[ARRAY]]
    if set(tree) == {GENERATOR}:
        generator = np.random.Generator(np.random.PCG64())
        generator.bit_generator.state = tree[GENERATOR]
        return generator
    return {key: unpacked(item, arrays) for key, item in tree.items()}
