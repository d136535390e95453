"""Files that survive a crash and execute nothing: tensors as safetensors, the rest as JSON, a sha256 beside each.

Every file is written to a temporary name, flushed and renamed, so that a file is either the old one or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as tensor_bytes

MAX_BYTES = 1 << 30  # of a file that is read


class DamagedFileError(ValueError):
    """A file that is truncated, changed, or not what its name says."""


def write_file(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file so that a crash leaves either the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_json(path: Path, content: Any) -> None:
    """Write JSON."""
    write_file(path, lambda file: file.write(json.dumps(content, indent=1).encode()))


def read_json(path: Path) -> Any:
    """Read JSON; DamagedFileError if it is none."""
    try:
        return json.loads(_read(path))
    except ValueError as error:
        raise DamagedFileError(f"{path} is damaged, it is not JSON: {error}") from None


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor], about: Mapping[str, Any] | None = None) -> None:
    """Write tensors as safetensors, and beside them `<name>.json` with their sha256 and `about`."""
    data = tensor_bytes({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    write_file(path, lambda file: file.write(data))
    write_json(path.with_suffix(".json"), {"sha256": hashlib.sha256(data).hexdigest(), **(about or {})})


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The tensors, and what was written beside them. DamagedFileError if the sha256 differs or the file is none."""
    data, about = _read(path), read_json(path.with_suffix(".json"))
    if not isinstance(about, dict) or about.get("sha256") != hashlib.sha256(data).hexdigest():
        raise DamagedFileError(f"{path} is damaged: its sha256 is not the one in {path.with_suffix('.json').name}; train again or use another copy")
    try:
        return load_tensors(data), about
    except SafetensorError as error:
        raise DamagedFileError(f"{path} is not a safetensors file: {error}") from None


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: is {path.parent} the folder of a run?")
    if path.stat().st_size > MAX_BYTES:
        raise DamagedFileError(f"{path} is larger than {MAX_BYTES >> 20} MB, so no run wrote it")
    return path.read_bytes()
