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
            values = [option.parsed(text) for text in place.texts]
            assert [text_of(option, value) for value in values] == list(place.texts)
            assert option.default in values
        else:
            values = [option.checked(place.low), option.checked(place.high)]
            assert values[0] <= option.default <= values[1]
            assert values[0] > 0 or not place.log
        lowest[name], highest[name] = values[0], values[-1]
    for options in (lowest, highest):
        assert replace(page.Config(), **options) != page.Config()
