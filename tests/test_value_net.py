"""agents/value_net.py: its examples, its arithmetic, and that it learns from itself alone."""

import numpy as np
import pytest
from learners import POSITIONS, row
from text_cases import refuses

from agents.value_net import Config, begin
from training.files import write_csv

SMALL = Config(steps=600, games=200, judge_every=200, hidden=(16,), epochs=2)
NAMES = ",".join([*(f"v{number}" for number in range(18)), "return"])
WON = ("X../.../...", "XO./.../...", "XO./X../...", "XO./X.O/...", "XO./X.O/X..")


def after(levels, **changes):
    learner = begin(SMALL.but(**changes))
    learner.advance(levels * 200)
    return learner


@pytest.fixture(scope="module")
def learner():
    return after(3)


@pytest.mark.parametrize(("cut", "first"), [(True, 0.95 * 0.6), (False, 0.95**2)])
def test_results_are_discounted_and_cut_before_a_move_that_was_not_the_best(cut, first):
    """X values c3 more than its second move a2, 0.6 and 0.3; O's moves are as good as any."""
    learner = begin(SMALL.but(cut=cut))
    path = np.array([0, *map(row, WON), *[-1] * 6])[:, None]
    plain = [-(0.95**2), 0.95**2, -0.95, 0.95, -1, 1]
    assert learner.returns(path, None)[:6, 0] == pytest.approx(plain, abs=0)
    values = learner.afterstates.exact.copy()
    places = [row(text) for text in ("XO./X../...", "XO./.../..X", "XO./X../O..", "XO./X.O/...")]
    values[places] = 0.3, 0.6, 0.1, 0.1
    found = learner.returns(path, values)[:6, 0]
    assert found == pytest.approx([plain[0], first, *plain[2:]], abs=0)


@pytest.mark.parametrize(("look_ahead", "temperature"), [(1, 0.0), (2, 0.3)])
def test_exploration_temperature_and_look_ahead_work_together(learner, look_ahead, temperature):
    """A move has the value of its position, or what the best answer leaves of it."""
    states = begin(SMALL.but(look_ahead=look_ahead)).afterstates
    values = states.values(learner.network)
    moves = states.of_moves(states.looked_ahead(values))
    table = states.exploring(values, (0.9, 0.4), temperature).by_row()
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
        assert table[at] == pytest.approx(probs, abs=1e-12)


def test_the_champion_has_the_least_loss_on_what_was_held_out_or_is_the_last():
    """A longer training has a champion that is as good; in it earlier games count less."""
    learners = [after(1, epochs=n, learning_rate=0.02, memory=0.5) for n in range(1, 7)]
    validation = [one.losses[1] for one in learners]
    assert validation == sorted(validation, reverse=True)
    assert len({*validation}) < 6, "an epoch that was not the best"
    learner = learners[-1]
    before = learner.recent
    learner.advance(1)
    assert learner.results == pytest.approx(learner.recent + 0.5 * before, abs=1e-12)
    assert np.isnan(after(1, validation=0.0).losses[1])


def test_a_level_leaves_its_examples_its_losses_and_exact_matches():
    learner, rows = begin(SMALL), []
    for _ in range(3):
        learner.advance(1)
        rows.append(learner.notes())
    tables, charts = learner.tables(), learner.charts(rows)
    assert list(tables) == ["level-03/dataset.csv", "levels.csv"]
    assert list(tables["level-03/dataset.csv"].names) == [*NAMES.split(","), "games"]
    _, *shares = np.array(tables["levels.csv"].rows).T
    assert np.sum(shares, axis=0) == pytest.approx(np.ones(3))
    assert charts["losses.png"].rows == [[*row.values()][:3] for row in rows]


def test_the_first_level_learns_the_examples_of_a_file(tmp_path):
    level = after(1, seed=3)
    table = level.tables()["level-01/dataset.csv"]
    write_csv(tmp_path / "games.csv", table.names, table.rows)
    again = after(1, dataset=str(tmp_path / "games.csv"))
    assert again.recent == pytest.approx(level.recent, abs=1e-9)


def test_a_dataset_that_is_none_is_refused_with_a_reason(tmp_path):
    for text, *mentions in (
        (f"{NAMES}\n1\n", "line 2"),
        (f"{NAMES}\n{'1,' * 9}{'0,' * 9}1\n",),
        (f"{NAMES}\n1,{'0,' * 17}nan\n",),
        (f"{NAMES}\n{'0,' * 18}1\n", "unfinished"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        with refuses("bad.csv", *mentions):
            after(1, dataset=str(tmp_path / "bad.csv"))
