"""The history of a learner: the policies of its evaluations, in the file history.npz of its run.

    history = History.read(run / FILE)
    history.entries[0].steps, history.entries[0].arrays

An array of the file is called STEPS/NAME. On boards of up to 12 cells that is

    8192/moves    (U,) uint8, the cell that is marked in each unfinished position, in the order of
                  `Positions.unfinished`; 2 to 3 kB on 3x3
    8192/probs    (U, cells), the probabilities of the moves, if these are not deterministic

and on larger boards an array of the model. `every` says that each evaluation was kept, or each
second, fourth and so on: there are never more than MOST, and they take at most MOST_BYTES.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.files import DamagedFileError, write_file
from tictactoe_env.policy import Policy, one_hot
from tictactoe_env.rules import Rules
from training.files import read_bytes
from training.learner import Arrays, BoardPlayer, Learner

FILE = "history.npz"
EVERY = "every"
MOST = 256  # policies
MOST_BYTES = 16 << 20


class Kept(NamedTuple):
    """The policy of an evaluation after so many steps, as arrays: see `policy_in`."""

    steps: int
    arrays: Arrays


@dataclass
class History:
    """The kept policies, the oldest first. every: one of so many evaluations is kept."""

    entries: list[Kept] = field(default_factory=list)
    every: int = 1

    def add(self, number: int, steps: int, arrays: Arrays) -> None:
        """Keep the policy of an evaluation, unless it is left out. number: how many were before."""
        if number % self.every:
            return
        self.entries.append(Kept(steps, arrays))
        while len(self.entries) > 1 and (len(self.entries) > MOST or self.bytes > MOST_BYTES):
            self.entries = self.entries[::2]
            self.every *= 2

    @property
    def bytes(self) -> int:
        """The size of all arrays, before they are compressed."""
        return sum(array.nbytes for kept in self.entries for array in kept.arrays.values())

    def write(self, path: Path) -> None:
        """Write the file. The same policies give the same bytes."""
        arrays = {EVERY: np.array(self.every)}
        for steps, kept in self.entries:
            arrays |= {f"{steps}/{name}": array for name, array in kept.items()}
        write_file(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: Path) -> History:
        """The history of a file; an empty one if there is none, as in older runs.

        Raises DamagedFileError for what no run writes.
        """
        if not path.exists():
            return cls()
        found: dict[int, dict[str, Any]] = {}
        try:
            with np.load(io.BytesIO(read_bytes(path)), allow_pickle=False) as content:
                every = int(content[EVERY])
                for key in content.files:
                    steps, _, name = key.partition("/")
                    if name:
                        found.setdefault(int(steps), {})[name] = content[key]
        except Exception as error:  # an archive may be damaged in many ways
            raise DamagedFileError(f"{path} is damaged: {error!r:.200}") from None
        return cls([Kept(*one) for one in found.items()], every)


def packed(policy: TabularPolicy) -> NDArray[Any]:
    """The moves (U,) uint8 of a deterministic table, the probabilities (U, cells) of another."""
    moves = policy.table.argmax(axis=1)
    is_deterministic = (policy.table == one_hot(moves, policy.rules.cells)).all()
    return moves.astype(np.uint8) if is_deterministic else policy.table


def unpacked(array: NDArray[Any], rules: Rules) -> TabularPolicy:
    """The policy of which this is the `packed` table."""
    table = one_hot(array.astype(np.intp), rules.cells) if array.ndim == 1 else array
    return TabularPolicy(rules, table)


def arrays_of(policy: BoardPlayer, learner: Learner) -> Arrays:
    """What is kept of a policy: its moves, or the model of its learner if it is no table."""
    if not isinstance(policy, TabularPolicy):
        return {name: array.copy() for name, array in learner.model().items()}
    array = packed(policy)
    return {"moves" if array.ndim == 1 else "probs": array}


def policy_in(arrays: Arrays, rules: Rules, load: Callable[[Arrays], Policy]) -> Policy:
    """The policy that was kept as these arrays. load: makes the player of a model."""
    table = arrays.get("moves", arrays.get("probs"))
    return load(arrays) if table is None else unpacked(table, rules)
