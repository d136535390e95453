import re

import numpy as np
import pytest

from tictactoe_env.errors import checked_seed, one_of, probability, unknown_name, whole_number


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minmax", "unknown opponent 'minmax'; did you mean 'minimax'? (known: minimax, random)"),
        ("RANDOM", "unknown opponent 'RANDOM'; did you mean 'random'? (known: minimax, random)"),
        ("zzz", "unknown opponent 'zzz' (known: minimax, random)"),
        (3, "unknown opponent 3 (known: minimax, random)"),
    ],
)
def test_an_unknown_name_lists_the_known_ones_in_order_and_guesses_the_nearest(name, message):
    assert str(unknown_name("opponent", name, ["random", "minimax"])) == message
    with pytest.raises(ValueError, match=re.escape(message)):
        one_of("opponent", name, ["random", "minimax"])
    assert one_of("opponent", "random", ["random", "minimax"]) == "random"


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), np.array(3)])
def test_a_whole_number_comes_back_as_a_python_int(value):
    for number in (whole_number(value, "rows", 3), whole_number(value, "cell", 0, 3)):
        assert number == 3
        assert type(number) is int


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (True, "the bool True"),
        (np.True_, f"the bool {np.True_!r}"),
        (-1, "-1"),
        (np.int64(9), "9"),
        (3.0, "3.0 of type float"),
        ("3", "'3' of type str"),
        (None, "None of type NoneType"),
    ],
)
def test_what_is_no_whole_number_of_the_range_is_refused(value, got):
    message = f"^cell must be a whole number from 0 to 8, got {re.escape(got)}$"
    with pytest.raises(ValueError, match=message):
        whole_number(value, "cell", 0, 8)
    with pytest.raises(ValueError, match=r"^rows must be a whole number of at least 10, got "):
        whole_number(value, "rows", 10)


@pytest.mark.parametrize("value", [0, 1, 0.25, np.float64(0.25)])
def test_a_probability_comes_back_as_a_float(value):
    assert probability(value, "slip") == value
    assert isinstance(probability(value, "slip"), float)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", None])
def test_what_is_no_probability_and_no_seed_is_refused(value):
    got = re.escape(repr(value))
    with pytest.raises(ValueError, match=f"^slip must be a probability from 0 to 1, got {got}$"):
        probability(value, "slip")
    if value is not None:
        with pytest.raises(ValueError, match=f"^seed must be a .* at least 0 or None, got {got}$"):
            checked_seed(value)
