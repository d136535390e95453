"""agents/value_net.py: its examples, its arithmetic, and that it learns from itself alone."""

import numpy as np
import pytest
from learners import POSITIONS, row
from text_cases import refuses

from agents.value_net import Config, begin
from tictactoe_env.exact.tables import tabulate
from training.checkpoint import save
from training.files import write_csv
from training.selfplay import ExploringPolicy

SMALL = Config(steps=600, games=200, judge_every=200, hidden=(16,), epochs=2)
WON = ("X../.../...", "XO./.../...", "XO./X../...", "XO./X.O/...", "XO./X.O/X..")


def after(levels, **changes):
    learner = begin(SMALL.replace(**changes))
    learner.advance(levels * 200)
    return learner


@pytest.fixture(scope="module")
def learner():
    return after(3, temperature=0.05)


@pytest.mark.parametrize(("cut", "first"), [(True, 0.95 * 0.6), (False, 0.95**2)])
def test_results_are_discounted_and_cut_before_a_move_that_was_not_the_best(cut, first):
    """X values c3 more than its second move a2, 0.6 and 0.3; O's moves are as good as any."""
    learner = begin(SMALL.replace(cut=cut))
    path = np.array([0, *map(row, WON), *[-1] * 6])[:, None]
    plain = [-(0.95**2), 0.95**2, -0.95, 0.95, -1, 1]
    nothing = np.zeros(len(POSITIONS))
    assert learner.returns(path, nothing)[:6, 0] == pytest.approx(plain, abs=0)
    values = learner.afterstates.exact.copy()
    places = [row(text) for text in ("XO./X../...", "XO./.../..X", "XO./X../O..", "XO./X.O/...")]
    values[places] = 0.3, 0.6, 0.1, 0.1
    found = learner.returns(path, values)[:6, 0]
    assert found == pytest.approx([plain[0], first, *plain[2:]], abs=0)


@pytest.mark.parametrize(("look_ahead", "temperature"), [(1, 0.0), (2, 0.3)])
def test_exploration_temperature_and_look_ahead_work_together(learner, look_ahead, temperature):
    """A move has the value of its position, or what the best answer leaves of it."""
    states, network = begin(SMALL.replace(look_ahead=look_ahead)).afterstates, learner.network
    values = learner.afterstates.values(network)
    moves, policy = states.of_moves(states.values(network)), states.policy(states.values(network))
    player = policy.softmax(temperature) if temperature else policy
    table = tabulate(ExploringPolicy(player, (0.9, 0.4), POSITIONS.rules), POSITIONS.rules).by_row()
    for at in POSITIONS.unfinished[::50].tolist():
        expected = np.full(9, -np.inf)
        for cell, child in enumerate(POSITIONS.children[at].tolist()):
            if child >= 0:
                answers = [values[end] for end in POSITIONS.children[child].tolist() if end >= 0]
                ends = look_ahead == 1 or not answers
                expected[cell] = values[child] if ends else -max(answers)
        assert moves[at].tolist() == expected.tolist()
        legal, epsilon = expected > -np.inf, 0.4 if at else 0.9
        best = np.arange(9) == expected.argmax()
        chosen = np.exp(expected / temperature) if temperature else best
        probs = epsilon * legal / legal.sum() + (1 - epsilon) * chosen / chosen.sum()
        assert table[at] == pytest.approx(probs, abs=1e-6)


def test_the_champion_has_the_least_loss_on_what_was_held_out_or_is_the_last():
    """A longer training has a champion that is as good."""
    losses = [after(1, epochs=n, learning_rate=0.02).losses for n in range(1, 7)]
    validation = [one["validation_loss"] for one in losses]
    assert validation == sorted(validation, reverse=True)
    assert len({*validation}) < 6, "an epoch that was not the best"
    assert np.isnan(after(1, validation=0.0).losses["validation_loss"])


def test_earlier_games_count_less_at_each_level():
    learner = after(1, memory=0.5)
    games = learner.results.games.sum()
    learner.advance(1)
    assert learner.results.games.sum() == pytest.approx(1.5 * games, rel=0.2)


def test_a_training_begins_from_the_network_of_a_run_of_the_same_size_and_board(tmp_path):
    first = after(2)
    save(tmp_path, "value_net", first.config, first)
    again = after(1, network=str(tmp_path), seed=1, learning_rate=1e-12, epsilons=(0.0,))
    for name, weights in first.model().items():
        assert again.model()[name] == pytest.approx(weights, abs=1e-6)
    assert again.match["won"] == pytest.approx(again.match["lost"]), "it met itself"
    for changes, mentions in (({"hidden": (8,)}, "16 8"), ({"cols": 4}, "3x3 3x4")):
        with refuses("hidden" if "hidden" in changes else "rules", *mentions.split()):
            after(1, network=str(tmp_path), **changes)
    with refuses("no/run", error=FileNotFoundError):
        after(1, network="no/run")


def test_the_first_level_learns_the_dataset_of_another_run_and_no_other_file(tmp_path):
    level, path = after(1, seed=3), tmp_path / "dataset.csv"
    (table,) = level.tables().values()
    write_csv(path, table.names, table.rows)
    again = after(1, dataset=str(path))
    assert again.results.games == pytest.approx(level.results.games, abs=1e-9)
    assert again.results.sums == pytest.approx(level.results.sums, abs=1e-9)
    for rows in ([], table.rows[1:], [[*line[:-1], np.nan] for line in table.rows], [["a"], [1]]):
        write_csv(path, table.names, rows)
        with refuses(path):
            after(1, dataset=str(path))
