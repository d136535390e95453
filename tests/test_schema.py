"""The layouts that tell what a state, a configuration and other saved values look like."""

import math

import numpy as np
import pytest
from text_cases import refuses

from training import checkpoint
from training.schema import (
    Array,
    Either,
    Entries,
    Flag,
    Free,
    LayoutError,
    Many,
    Named,
    Number,
    Random,
    Text,
    Whole,
    check,
    generator_of,
    like,
)

RNG = np.random.default_rng(5).bit_generator.state
ONES = np.ones((2, 3))


@pytest.mark.parametrize(
    ("layout", "right", "wrong"),
    [
        (Whole(1, 5), [1, 5], [0, 6, 1.0, True, "1", None]),
        (Number(is_finite=False), [math.nan, -3.5], ["nan"]),
        (Flag(), [True], [1]),
        (Named(Whole(), 2), [{"a": 1}], [{"a": 1, "b": 2, "c": 3}, {"a": ""}]),
        (Array(float, (2,), sums=1), [ONES[0, :2] / 2], [ONES[0, :2], ONES[0, :2] * math.nan]),
        (Number(0, 1), [0, 0.5, 1], [1.1, math.nan, True, "0"]),
        (Text(3, "[ab]+"), ["a", "bab"], ["", "abab", "c", "a\n", 1]),
        ([Whole(), None], [[1, None]], [[1], [1, 0], {}]),
        (Many(Whole(), 2), [[], [1, 2]], [[1, 2, 3], [-1], {}]),
        (Entries({"a": Whole()}, {"b": None}), [{"a": 2}], [{}, {"a": 1, "c": 1}, []]),
        (Either((None, Whole())), [None, 3], ["", -1]),
        (Array(float, (2, Free(3, 1)), 0, 1, 3), [ONES], [ONES[:1], ONES * 2, ONES[:, :0], 1]),
        (Random(is_bare=True), [RNG], [{}, {**RNG, "has_uint32": 2}, "PCG64"]),
        (Random(), [{"$generator": RNG}], [{"$generator": {**RNG, "bit_generator": "MT"}}, 1]),
    ],
)
def test_a_layout_accepts_what_it_says_and_names_what_is_wrong(layout, right, wrong):
    for value in right:
        check(value, layout, "entry")
    for value in wrong:
        with refuses("entry", error=LayoutError):
            check(value, layout, "entry")


def test_the_layout_of_a_value_is_that_of_all_values_like_it():
    value = {
        "a": np.zeros(3),
        "b": [np.int64(1), 0.5, "x", None, True],
        "rng": np.random.default_rng(1),
    }
    layout = like(value)
    assert layout["a"] == Array(np.float64, (3,))
    check({"a": np.ones(3), "b": [7, -1.0, "y", None, False], "rng": {"$generator": RNG}}, layout)
    arrays = {}
    tree = checkpoint.with_arrays(checkpoint.pack(value, "value", arrays), arrays)
    check(tree, layout)
    assert generator_of(RNG).random() == np.random.default_rng(5).random()
    with pytest.raises(TypeError):
        like({1})
