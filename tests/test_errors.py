import numpy as np
import pytest
from text_cases import refuses

from tictactoe_env.errors import checked_seed, one_of, probability, whole_number

KNOWN = ["random", "minimax"]


@pytest.mark.parametrize("name", ["minmax", "RANDOM", "zzz", 3])
def test_an_unknown_name_is_refused_with_the_nearest_known_ones(name):
    guess = {"minmax": "did you mean 'minimax'", "RANDOM": "did you mean 'random'"}.get(name, "")
    with refuses("opponent", repr(name), *KNOWN, guess):
        one_of("opponent", name, KNOWN)
    assert one_of("opponent", "random", KNOWN) == "random"


def test_numbers_come_back_as_python_numbers():
    for value in (3, np.int8(3), np.uint64(3), np.array(3)):
        for number in (whole_number(value, "rows", 3), whole_number(value, "cell", 0, 3)):
            assert (number, type(number)) == (3, int)
    for value in (0, 1, 0.25, np.float64(0.25)):
        assert (probability(value, "slip"), type(probability(value, "slip"))) == (value, float)


@pytest.mark.parametrize("wrong", [-1, np.int64(9), True, np.True_, 3.0, "3", None])
def test_what_is_no_whole_number_of_the_range_is_refused(wrong):
    for name, lowest in (("cell", 0), ("rows", 10)):
        with refuses(name, lowest, wrong):
            whole_number(wrong, name, lowest, 8 if lowest == 0 else None)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", None])
def test_what_is_no_probability_and_no_seed_is_refused(wrong):
    with refuses("slip", repr(wrong)):
        probability(wrong, "slip")
    if wrong is not None:
        with refuses("seed", repr(wrong)):
            checked_seed(wrong)
