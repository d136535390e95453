"""Options as data: bounds in words, refused values, typed values, saved configurations."""

from contextlib import nullcontext
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import Field
from text_cases import refuses

from training import options as kinds
from training.options import BoardConfig, option, options_of, typed


class Config(BoardConfig):
    """Options of some kinds."""

    games: Annotated[int, Field(ge=2)] = option(8, "Games.")
    hidden: kinds.Layers = option((64, 64), "Units.")
    epsilon: kinds.Share = option(0.5, "Probability.")
    initial: kinds.Finite = option(0.0, "Value.")
    rewards: tuple[kinds.Share, kinds.Share, kinds.Share] = option((1.0, 0.5, 0.0), "Rewards.")
    activation: Literal["relu", "tanh"] = option("relu", "Activation.")
    discount: kinds.Share = option(1.0, "Discount factor.", rare=True)

    def check(self) -> None:
        """Raises ValueError for more units than games."""
        if self.hidden and max(self.hidden) > 1000 * self.games:
            raise ValueError("too many units for so few games")


OPTIONS = options_of(Config)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seed", 2**63), ("steps", True), ("steps", 1.5), ("games", 1), ("k", 4)),
        *(("rewards", (1.0, 2.0)), ("activation", "rleu"), ("initial", np.nan), ("discount", 1.5)),
    ],
)
def test_a_value_out_of_its_bounds_is_refused_by_name(name, value):
    with refuses(name):
        Config(**{name: value})
    with refuses("too many units"):
        Config(hidden=(9000,))


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        *(("games", "2 or more"), ("hidden", "1 to 1000000"), ("epsilon", "0 to 1")),
        *(("initial", ""), ("rewards", "0 to 1"), ("activation", "")),
    ],
)
def test_bounds_are_said_in_words_from_the_type(name, bounds):
    assert kinds.bounds_of(OPTIONS[name].rebuild_annotation()) == bounds
    assert kinds.bounds_of(kinds.Positive) == "above 0"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        *(("hidden", "128,64", (128, 64)), ("hidden", "", ()), ("steps", "1_000", 1000)),
        *(("rewards", "1, 0.5,0", (1.0, 0.5, 0.0)), ("activation", "tanh", "tanh")),
        *(("steps", "many", None), ("hidden", "3,x", None), ("epsilon", "2", None)),
        *(("initial", "nan", None), ("activation", "rulu", None)),
    ],
)
def test_what_is_typed_gets_the_type_of_its_option_or_is_refused(name, text, value):
    """None: it is refused."""
    with refuses(repr(text)) if value is None else nullcontext():
        assert typed(OPTIONS[name].rebuild_annotation(), text) == value
    assert kinds.expected_of(OPTIONS["activation"].rebuild_annotation()) == "relu or tanh"
    assert repr(Config(rewards=(1, 0, 0)).rewards) == "(1.0, 0.0, 0.0)"
