"""How much memory a training takes, estimated from its options before anything is allocated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import comb

MOST_BYTES = 16 << 30  # of all arrays of a training
MOST_WEIGHTS = 1 << 30  # bytes of the weights of a network: larger files are not read
COPIES = 6  # of the weights while they are trained: two networks, gradients, Adam's moments


def check_memory(parts: Mapping[str, int]) -> None:
    """Raise ValueError if a training would take more than MOST_BYTES.

    parts: the estimated bytes of its largest arrays, by the options that set them.
    """
    total = sum(parts.values())
    if total <= MOST_BYTES:
        return
    largest = max(parts, key=lambda name: parts[name])
    raise ValueError(
        f"this training would take about {text(total)} of memory, most of it for {largest} "
        f"({text(parts[largest])}): choose smaller values; the limit is {text(MOST_BYTES)}"
    )


def check_weights(name: str, sizes: Sequence[int]) -> int:
    """The bytes of the weights of a network with layers of these sizes, inputs first, float32.

    Raises ValueError, which names the option, if they are more than MOST_WEIGHTS.
    """
    found = 4 * sum((inputs + 1) * units for inputs, units in pairwise(sizes))
    if found > MOST_WEIGHTS:
        raise ValueError(
            f"{name} must be smaller: the weights of the network would take {text(found)}, the "
            f"limit is {text(MOST_WEIGHTS)}"
        )
    return found


def text(size: int) -> str:
    """A number of bytes in words: "1.5 GB"."""
    return f"{size / (1 << 30):,.1f} GB" if size >= 1 << 28 else f"{size / (1 << 20):,.1f} MB"


def most_positions(cells: int) -> int:
    """At least as many as a board has positions: boards with the right numbers of marks."""
    return sum(comb(cells, marks) * comb(marks, marks // 2) for marks in range(cells + 1))
