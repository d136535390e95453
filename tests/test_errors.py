import re

import numpy as np
import pytest

from tictactoe_env.errors import probability, unknown_name, whole_number


def test_an_unknown_name_lists_the_known_ones_in_order_and_guesses_the_nearest():
    error = unknown_name("opponent", "minmax", ["random", "minimax"])
    assert isinstance(error, ValueError)
    assert (
        str(error) == "unknown opponent 'minmax'; did you mean 'minimax'? (known: minimax, random)"
    )


def test_an_unknown_name_that_resembles_none_gets_no_guess():
    assert (
        str(unknown_name("opponent", "zzz", ["random", "minimax"]))
        == "unknown opponent 'zzz' (known: minimax, random)"
    )


def test_a_name_of_another_type_is_shown_as_it_came():
    assert str(unknown_name("side", 3, ["X", "O"])) == "unknown side 3 (known: O, X)"


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), np.array(3)])
def test_a_whole_number_comes_back_as_a_python_int(value):
    number = whole_number(value, "rows", 1)
    assert number == 3
    assert type(number) is int


def test_both_ends_of_the_range_are_allowed():
    assert whole_number(0, "cell", 0, 8) == 0
    assert whole_number(8, "cell", 0, 8) == 8


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "cell must be a whole number from 0 to 8, got the bool True"),
        (np.True_, f"cell must be a whole number from 0 to 8, got the bool {np.True_!r}"),
        (-1, "cell must be a whole number from 0 to 8, got -1"),
        (np.int64(9), "cell must be a whole number from 0 to 8, got 9"),
        (3.0, "cell must be a whole number from 0 to 8, got 3.0 of type float"),
        ("3", "cell must be a whole number from 0 to 8, got '3' of type str"),
        (None, "cell must be a whole number from 0 to 8, got None of type NoneType"),
    ],
)
def test_what_is_no_whole_number_of_the_range_is_refused(value, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        whole_number(value, "cell", 0, 8)


def test_a_range_without_an_upper_end_is_named_so():
    with pytest.raises(ValueError, match=r"^rows must be a whole number of at least 1, got 0$"):
        whole_number(0, "rows", 1)


@pytest.mark.parametrize("value", [0, 1, 0.25, np.float64(0.25)])
def test_a_probability_comes_back_as_a_float(value):
    assert probability(value, "slip") == value
    assert isinstance(probability(value, "slip"), float)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", None])
def test_what_is_no_probability_is_refused(value):
    with pytest.raises(
        ValueError, match=f"^slip must be a probability from 0 to 1, got {re.escape(repr(value))}$"
    ):
        probability(value, "slip")
