"""The ranges that --optimize searches: those of every agent fit its options."""

from dataclasses import replace

import pytest

import agents
from training.options import BoardConfig, options_of
from training.search_space import Choice, text_of


@pytest.mark.parametrize("agent", agents.TRAINABLE)
def test_the_ranges_of_an_agent_are_within_the_bounds_of_its_options_and_hold_the_defaults(agent):
    page = agents.page(agent)
    known = {option.name: option for option in options_of(page.Config)}
    assert set(page.SEARCH) <= set(known) - {option.name for option in options_of(BoardConfig)}
    lowest, highest = {}, {}
    for name, place in page.SEARCH.items():
        option = known[name]
        if isinstance(place, Choice):
            assert len(set(place.texts)) == len(place.texts) > 1
            values = [option.parsed(text) for text in place.texts]
            assert [text_of(option, value) for value in values] == list(place.texts)
            assert option.default in values
        else:
            values = [option.checked(place.low), option.checked(place.high)]
            assert values[0] <= option.default <= values[1]
            assert values[0] < values[1]
            assert values[0] > 0 or not place.log
        lowest[name], highest[name] = values[0], values[-1]
    for options in (lowest, highest):
        assert replace(page.Config(), **options) != page.Config()


def test_numbers_are_rounded_to_the_digits_that_are_typed():
    known = {option.name: option for option in options_of(agents.page("maskable_ppo").Config)}
    assert text_of(known["learning_rate"], 0.00123456, digits=3) == "0.00123"
    assert text_of(known["learning_rate"], 0.00123456) == "0.00123456"
    assert text_of(known["epochs"], 12345, digits=3) == "12345"
    assert text_of(known["hidden"], (128, 64)) == "128,64"
