"""Saved runs: the certificates below models/ and runs/, the newest and the best of an agent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tictactoe_env.certificates.certificate import FILE, check_digest, read
from tictactoe_env.rules import Rules

FOLDERS = ("models", "runs")
MAX_DEPTH = 5  # of folders below these; a run in a subfolder, such as runs/group/run, is 2 deep
_Folders = Sequence[str | os.PathLike[str]]


class _SavedRun(NamedTuple):
    """A run: the file of its certificate, and the agent and the board that the file names.

    trained: whether it has made a step; a trie that learns from people begins without any.
    rank: see `Certificate.rank`. time: when the file was written, in ns.
    """

    file: Path
    agent: str
    rules: Rules
    trained: bool
    rank: tuple[int, float]
    time: int


def place_of(file: Path) -> Path:
    """The folder of a certificate's run, or the file of one that has no folder of its own."""
    return file.parent if file.name == FILE else file


def certificates(
    folder: str | os.PathLike[str], way: Sequence[str] | None = None
) -> Iterator[Path]:
    """The certificates of all runs below a folder, and every .json file in the folder itself.

    Folders inside a run are not searched, and none that is more than MAX_DEPTH folders deep. way:
    search only the first of these folders, in it the second one, and so on.
    """
    for place, folders, files in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        is_end = FILE in files or depth >= MAX_DEPTH
        below = [one for one in folders if not (is_end or one.startswith("."))]
        if way is not None:
            below = [one for one in below if one in way[depth : depth + 1]]
        folders[:] = sorted(below)
        if FILE in files:
            yield Path(place, FILE)
        elif depth == 0:
            yield from (Path(place, name) for name in sorted(files) if name.endswith(".json"))


@cache
def _known(file: Path, time: int, size: int) -> _SavedRun | None:
    """The run of a file of this time and size; None if its certificate is damaged."""
    del size  # another size means that the file has changed
    try:
        certificate = read(file)
        check_digest(certificate)
    except (ValueError, OSError):
        return None
    stated = certificate.stated
    is_trained = stated.training.get("steps") != 0
    return _SavedRun(file, stated.agent, certificate.rules, is_trained, certificate.rank, time)


def _saved_runs(folders: _Folders = FOLDERS) -> Iterator[_SavedRun]:
    """The undamaged runs in these folders. Their results are not verified."""
    for file in chain.from_iterable(map(certificates, folders)):
        try:
            status = file.absolute().stat()
        except OSError:  # a link that leads nowhere
            continue
        run = _known(file.absolute(), status.st_mtime_ns, status.st_size)
        if run is not None:
            yield run._replace(file=file)


def run_named(
    text: str, rules: Rules | None = None, folders: _Folders = FOLDERS
) -> _SavedRun | None:
    """The run of `latest:AGENT` or `best:AGENT`, of those that have trained; None if there is none.

    The latest is the newest one on the board `rules`, or on any board if none is on this one. The
    best is on the same board, and has the highest `Certificate.rank`; among equals it is the newest
    one. Results are taken as the certificates state them.
    """
    kind, _, agent = text.partition(":")
    runs = [run for run in _saved_runs(folders) if run.agent == agent and run.trained]
    latest = max(runs, key=lambda run: (run.rules == rules, run.time), default=None)
    if latest is None or kind == "latest":
        return latest
    on_board = [run for run in runs if run.rules == latest.rules]
    return max(on_board, key=lambda run: (run.rank, run.time))


def place_named(text: str, rules: Rules | None) -> Path:
    """The place of `run_named`. Raises ValueError if there is none."""
    run = run_named(text, rules)
    agent = text.partition(":")[2]
    if run is None:
        folders = " or ".join(f"{folder}/" for folder in FOLDERS)
        known = ", ".join(agents_with_runs()) or "none"
        raise ValueError(
            f"no run of {agent!r} with a certificate in {folders} (there: {known}): train one with "
            "`python train.py AGENT`, in a clone of the repository"
        )
    return place_of(run.file)


def agents_with_runs(folders: _Folders = FOLDERS) -> list[str]:
    """The names of the agents that have a run in these folders, sorted."""
    names = {run.agent for run in _saved_runs(folders) if run.trained}
    return sorted(name for name in names if re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,59}", name))
