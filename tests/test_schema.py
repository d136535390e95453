"""The layouts that tell what a state, a configuration and other saved values look like."""

import math

import pytest
from text_cases import refuses

from training.schema import (
    Entries,
    Flag,
    LayoutError,
    Named,
    Number,
    Text,
    Whole,
    check,
)


@pytest.mark.parametrize(
    ("layout", "right", "wrong"),
    [
        (Whole(1, 5), [1, 5], [0, 6, 1.0, True, "1", None]),
        (Number(is_finite=False), [math.nan, -3.5], ["nan"]),
        (Flag(), [True], [1]),
        (Named(Whole(), 2), [{"a": 1}], [{"a": 1, "b": 2, "c": 3}, {"a": ""}]),
        (Number(0, 1), [0, 0.5, 1], [1.1, math.nan, True, "0"]),
        (Text(3, "[ab]+"), ["a", "bab"], ["", "abab", "c", "a\n", 1]),
        (Entries({"a": Whole()}, {"b": None}), [{"a": 2}], [{}, {"a": 1, "c": 1}, []]),
    ],
)
def test_a_layout_accepts_what_it_says_and_names_what_is_wrong(layout, right, wrong):
    for value in right:
        check(value, layout, "entry")
    for value in wrong:
        with refuses("entry", error=LayoutError):
            check(value, layout, "entry")
