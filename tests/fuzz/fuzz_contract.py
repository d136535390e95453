"""Environments against a referee in plain Python: more games of `tests/test_contract.py`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_contract import MAKERS, Games


@pytest.mark.parametrize("form", MAKERS)
@given(st.integers(0, 2**40))
def test_every_game_goes_by_the_rules_and_the_arguments(form, seed):
    Games(seed, form)
