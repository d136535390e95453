"""Small networks in NumPy: their layers as views of one array of weights, and their activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float32]


class Activation(NamedTuple):
    """An activation function.

    of: its values (B, units) for sums (B, units). slope: its derivative, from these values.
    gain: the variance of new weights, times the number of inputs, that keeps signals at their size.
    """

    of: Callable[[Weights], Any]
    slope: Callable[[Weights], Any]
    gain: float = 1.0


ACTIVATIONS = {
    "relu": Activation(lambda sums: np.maximum(sums, 0), lambda values: values > 0, gain=2.0),
    "tanh": Activation(np.tanh, lambda values: 1 - values**2),
    "sigmoid": Activation(
        lambda sums: 1 / (1 + np.exp(-np.clip(sums, -30, 30))),
        lambda values: values * (1 - values),
    ),
    "linear": Activation(lambda sums: sums, np.ones_like),
}


def layers_of(weights: Weights, shapes: Sequence[tuple[int, int]]) -> list[Weights]:
    """The layers (..., inputs, units) of networks with weights (..., P), as views of these.

    shapes: (inputs, units) of each layer. The last input of a layer with biases is always 1.
    """
    starts = accumulate((inputs * units for inputs, units in shapes), initial=0)
    return [
        weights[..., start : start + inputs * units].reshape(*weights.shape[:-1], inputs, units)
        for start, (inputs, units) in zip(starts, shapes, strict=False)
    ]
