"""Options that need too much memory are refused before anything is allocated."""

import resource
from dataclasses import replace

import pytest
from small_runs import small_config, trained
from text_cases import refuses

import agents
from agents import TRAINABLE
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training import checkpoint
from training.files import DamagedFileError, read_arrays, write_arrays
from training.memory import check_memory, check_weights, most_positions
from training.options import options_of, playing

BILLION = 1_000_000_000


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 3), (3, 3, 3), (3, 4, 3)])
def test_no_board_has_more_positions_than_estimated(shape):
    rules = Rules(*shape)
    assert len(positions_of(rules)) <= most_positions(rules.cells)


def test_three_by_three_has_6046_boards_with_right_numbers_of_marks():
    """Wins ignored: the sum over the marks m of 9! / (x! o! (9 - m)!)."""
    assert most_positions(9) == 6_046


@pytest.mark.parametrize(
    ("agent", "options", "said"),
    [
        ("dqn", {"hidden": (60_000, 60_000)}, "hidden must be smaller: the weights of the network"),
        ("maskable_ppo", {"hidden": (1_000_000, 1_000)}, "hidden must be smaller"),
        ("tictacnet", {"hidden": (100_000, 100_000)}, "hidden must be smaller"),
        ("value_net", {"architecture": "SaintAndre_99999_99999"}, "architecture must be smaller"),
        ("dqn", {"buffer_size": BILLION}, "most of it for buffer_size (52.2 GB)"),
        ("maskable_ppo", {"num_envs": BILLION}, "most of it for num_envs and rollout_steps"),
        ("maskable_ppo", {"rollout_steps": BILLION}, "most of it for num_envs and rollout_steps"),
        ("tabular_q", {"tables": 10_000, "rows": 3, "cols": 4}, "most of it for tables"),
        ("tabular_q", {"snapshots": 10_000, "rows": 3, "cols": 4}, "most of it for snapshots"),
        ("neuroevolution", {"league": 100_000}, "most of it for league"),
        ("neuroevolution", {"hidden": 1_000_000}, "most of it for league and hidden"),
        ("value_net", {"games": BILLION}, "most of it for games"),
        ("dqn", {"threads": 1_000_000}, "threads must be a whole number from 1 to 256"),
        ("tabular_q", {"tables": 100_000}, "tables must be a whole number from 1 to 10000"),
    ],
)
def test_a_training_that_needs_too_much_is_refused_by_the_option(agent, options, said):
    with refuses(said):
        agents.page(agent).Config(**options)


def test_the_error_says_how_much_it_would_be_and_what_the_limit_is():
    with refuses("would take about 23.0 GB of memory, most of it for b (20.0 GB)"):
        check_memory({"a": 3 << 30, "b": 20 << 30})
    check_memory({"a": 3 << 30})
    assert check_weights("hidden", (2, 3, 1)) == 4 * (3 * 3 + 4 * 1)


@pytest.mark.parametrize("agent", sorted(TRAINABLE))
def test_the_estimate_of_a_default_training_is_small(agent):
    page = agents.page(agent)
    every = [page.Config(), *(page.Config(**preset.options) for preset in page.PRESETS.values())]
    assert max(sum(config.bytes_needed().values()) for config in every) < 1 << 30


@pytest.mark.parametrize("agent", sorted(TRAINABLE))
def test_a_player_needs_the_options_in_plays_alone(agent, tmp_path):
    """What is about the training has its default: files, opponents, sizes of buffers, threads."""
    page, config = agents.page(agent), small_config(agent)
    names = {known.name for known in options_of(page.Config)}
    assert set(page.Config.PLAYS) < names
    found = playing(replace(config, seed=7, judge_every=13))
    default = page.Config()
    for name in names - {*page.Config.PLAYS, "rows", "cols", "k"}:
        assert getattr(found, name) == getattr(default, name)
    files = {"opponents", "value", "dataset", "starting_network", "learn_from", "threads", "device"}
    assert not files & set(page.Config.PLAYS)


def test_a_hostile_configuration_of_a_model_opens_and_allocates_nothing(tmp_path):
    folder = tmp_path / "run"
    assert trained("tabular_q", folder, steps=1000) == 0
    (folder / "manifest.json").unlink()
    arrays, about = read_arrays(folder / checkpoint.MODEL)
    table = agents.load(folder).table

    def changed(**options):
        config = {**about["config"], **options}
        write_arrays(folder / checkpoint.MODEL, arrays, {**about, "config": config})

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for options in ({"opponents": "/dev/zero"}, {"games": 10_000_000, "snapshots": 10_000}):
        changed(**options)
        assert (agents.load(folder).table == table).all()
    for options, said in (
        ({"tables": 100_000}, "tables must be a whole number from 1 to 10000"),
        ({"tables": 9_999}, "values must be finite float64 of the shape (9999, 5478)"),
        ({"seed": 10**400}, "seed must be at most"),
        ({"rows": 10**9}, "a board of 1000000000x3 needs 4000000000 bits"),
    ):
        changed(**options)
        with refuses(said, error=DamagedFileError):
            agents.load(folder)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000, "KiB"
