import numpy as np
import pytest

from tictactoe_env.errors import checked_seed, one_of, probability, unknown_name, whole_number

KNOWN = ["random", "minimax"]


def error(check, *arguments):
    """The text of the ValueError that a check raises."""
    with pytest.raises(ValueError, match=" ") as caught:
        check(*arguments)
    return str(caught.value)


def test_an_unknown_name_lists_the_known_ones_in_order_and_guesses_the_nearest():
    guesses = {"minmax": "; did you mean 'minimax'?", "RANDOM": "; did you mean 'random'?"}
    for name in ("minmax", "RANDOM", "zzz", 3):
        text = f"unknown opponent {name!r}{guesses.get(name, '')} (known: minimax, random)"
        assert str(unknown_name("opponent", name, KNOWN)) == text
        assert error(one_of, "opponent", name, KNOWN) == text
    assert one_of("opponent", "random", KNOWN) == "random"


def test_numbers_come_back_as_python_numbers():
    for value in (3, np.int8(3), np.uint64(3), np.array(3)):
        for number in (whole_number(value, "rows", 3), whole_number(value, "cell", 0, 3)):
            assert (number, type(number)) == (3, int)
    for value in (0, 1, 0.25, np.float64(0.25)):
        assert (probability(value, "slip"), type(probability(value, "slip"))) == (value, float)


def test_what_is_no_whole_number_of_the_range_is_refused():
    wrong = [(value, str(value)) for value in (-1, np.int64(9))]
    wrong += [(value, f"the bool {value!r}") for value in (True, np.True_)]
    wrong += [(value, f"{value!r} of type {type(value).__name__}") for value in (3.0, "3", None)]
    for value, got in wrong:
        text = f"cell must be a whole number from 0 to 8, got {got}"
        assert error(whole_number, value, "cell", 0, 8) == text
        text = f"rows must be a whole number of at least 10, got {got}"
        assert error(whole_number, value, "rows", 10) == text


def test_what_is_no_probability_and_no_seed_is_refused():
    for value in (-0.1, 1.1, float("nan"), float("inf"), True, "0.5", None):
        text = f"slip must be a probability from 0 to 1, got {value!r}"
        assert error(probability, value, "slip") == text
        if value is not None:
            text = f"seed must be a whole number of at least 0 or None, got {value!r}"
            assert error(checked_seed, value) == text
