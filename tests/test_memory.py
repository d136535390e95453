"""Options that need too much memory are refused before anything is allocated."""

import pytest
from text_cases import refuses

import agents
from agents import TRAINABLE
from training.options import options_of, playing

BILLION = 1_000_000_000


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        ("dqn", {"hidden": (60_000, 60_000)}),
        ("tictacnet", {"hidden": (100_000, 100_000)}),
        ("value_net", {"architecture": "SaintAndre_99999_99999"}),
        ("dqn", {"buffer_size": BILLION}),
        ("maskable_ppo", {"rollout_steps": BILLION}),
        ("tabular_q", {"tables": 10_000, "rows": 3, "cols": 4}),
        ("neuroevolution", {"league": 100_000}),
        ("dqn", {"threads": 1_000_000}),
    ],
)
def test_a_training_that_needs_too_much_is_refused_by_the_option(agent, options):
    with refuses(next(iter(options))):
        agents.page(agent).Config(**options)


@pytest.mark.parametrize("agent", sorted(TRAINABLE))
def test_a_default_training_needs_little_and_a_player_only_the_options_in_plays(agent):
    """Files, opponents, sizes of buffers and threads are of the training alone."""
    page = agents.page(agent)
    every = [page.Config(), *(page.Config(**preset.options) for preset in page.PRESETS.values())]
    assert max(sum(config.bytes_needed().values()) for config in every) < 1 << 30
    found = playing(page.Config(seed=7, judge_every=13))
    names = {known.name for known in options_of(page.Config)}
    for name in names - {*page.Config.PLAYS, "rows", "cols", "k"}:
        assert getattr(found, name) == getattr(page.Config(), name)
    files = {"opponents", "value", "dataset", "starting_network", "learn_from", "threads", "device"}
    assert not files & set(page.Config.PLAYS)
