"""agents/value_net.py: its examples, its arithmetic, and that it learns from itself alone."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from learners import POSITIONS, row
from sample_players import CellPlayer
from text_cases import called, refuses

from agents import value_net
from agents.value_net import Config, begin, read_dataset
from players.seat import seat_of
from tictactoe_env.certificates.certificate import FILE, certify, read, verify, write
from tictactoe_env.certificates.runs import newest_run
from tictactoe_env.exact.match import wilson_interval
from tictactoe_env.rules import Rules
from training import checkpoint
from training.files import read_csv

UNITS = {"architecture": "SaintAndre_16", "epochs": 2, "match_games": 50}
SMALL = Config(steps=600, games=200, judge_every=200, **UNITS)
NAMES = ",".join([*(f"v{number}" for number in range(18)), "return"])
KINDS = ("dataset", "losses")
WON = ("X../.../...", "XO./.../...", "XO./X../...", "XO./X.O/...", "XO./X.O/X..")


def after(levels, **changes):
    learner = begin(replace(SMALL, **changes))
    learner.advance(levels * 200)
    return learner


@pytest.fixture(scope="module")
def learner():
    return after(3)


@pytest.fixture(scope="module")
def run(learner, tmp_path_factory):
    """The folder of a run of the learner."""
    folder = tmp_path_factory.mktemp("runs") / "value_net-0"
    checkpoint.save(folder, "value_net", SMALL, learner)
    write(certify(learner.policy(), "value_net"), folder / FILE)
    return folder


@pytest.mark.parametrize(("cut", "first"), [(True, 0.95 * 0.6), (False, 0.95**2)])
def test_results_are_discounted_and_cut_before_a_move_that_was_not_the_best(cut, first):
    """X values c3 more than its second move a2, 0.6 and 0.3; O's moves are as good as any."""
    learner = begin(replace(SMALL, cut=cut))
    path = np.array([0, *map(row, WON), *[-1] * 6])[:, None]
    plain = [-(0.95**2), 0.95**2, -0.95, 0.95, -1, 1]
    assert learner.returns(path)[:6, 0] == pytest.approx(plain, abs=0)
    learner.values = learner.afterstates.exact.copy()
    places = [row(text) for text in ("XO./X../...", "XO./.../..X", "XO./X../O..", "XO./X.O/...")]
    learner.values[places] = 0.3, 0.6, 0.1, 0.1
    assert learner.returns(path)[:6, 0] == pytest.approx([plain[0], first, *plain[2:]], abs=0)


@pytest.mark.parametrize(("look_ahead", "temperature"), [(1, 0.0), (2, 0.3)])
def test_exploration_temperature_and_look_ahead_work_together(learner, look_ahead, temperature):
    """A move has the value of its position, or what the best answer leaves of it."""
    states, values = begin(replace(SMALL, look_ahead=look_ahead)).afterstates, learner.values
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
    """Of several levels, in which earlier games count less."""
    learner = after(2, epochs=6, learning_rate=0.02, memory=0.5)
    for level in learner.history:
        validation = [loss for _, loss, _ in level["losses"]]
        assert validation[level["champion"] - 1] == min(validation)
    expected = learner.recent[1] + 0.5 * learner.recent[0]
    assert learner.results == pytest.approx(expected, abs=1e-12)
    (last,) = after(1, validation=0.0).history
    assert (last["champion"], np.isnan(last["losses"][0][1])) == (2, True)


def test_levels_leave_examples_losses_and_exact_and_sampled_matches_as_tables_and_charts(learner):
    tables, charts = learner.tables(), learner.charts([])
    for level in (1, 2, 3):
        dataset, losses = (tables.pop(f"level-0{level}/{name}.csv") for name in KINDS)
        assert list(dataset.names) == [*NAMES.split(","), "deviation", "games"]
        assert [line[-1] for line in losses.rows].count(True) == 1
    assert list(tables) == ["levels.csv", "against_random.csv"]
    _, exact, counts = np.split(np.array(tables["levels.csv"].rows).T, [1, 4])
    for share, count in zip(exact.flat, counts.flat, strict=True):
        low, high = wilson_interval(int(count), 100, z=4)
        assert low < share < high
    drawn = [list(ys) for _, _, ys in charts["levels.png"].curves]
    assert drawn == [*exact.tolist(), *(counts / 100).tolist()]
    many = copy(learner)
    many.history = learner.history * 15
    assert len(learner.epochs().curves) == 3 < len(many.epochs().curves) <= value_net.LEVELS


def test_a_given_run_of_this_agent_plays_by_its_values(learner, run):
    how = {"look_ahead": 2, "temperature": 0.3, "architecture": "SaintAndre_8"}
    begun = begin(replace(SMALL, first_opponent=str(run), **how))
    expected = begun.afterstates.exploring(learner.values, SMALL.epsilons, 0.3)
    assert (begun.players()[1].table == expected.table).all()


def test_a_training_begins_with_the_network_of_another_run(learner, run):
    """It is the champion of the first level, and the training continues without that run."""
    config = replace(SMALL, starting_network=str(run), learning_rate=1e-12, weight_decay=0.0)
    begun = begin(config)
    begun.advance(1)
    assert begun.values == pytest.approx(learner.values, abs=1e-6)
    restored = begin(replace(config, starting_network="gone"))
    restored.steps = begun.steps
    restored.restore(begun.model(), begun.state())
    begun.advance(1)
    restored.advance(1)
    assert (restored.values == begun.values).all()
    assert restored.history[1] == begun.history[1]


def test_what_a_training_cannot_begin_with_is_refused(run, tmp_path):
    write(certify(CellPlayer(0), "always", Rules()), tmp_path / "always.json")
    for changes, *mentions in (
        ({"starting_network": str(run), "architecture": "SaintAndre_8"}, "SaintAndre_16"),
        ({"starting_network": str(tmp_path)}, tmp_path),
        ({"first_agent": str(run), "cols": 4}, run, "3x3", "3x4"),
        ({"first_opponent": str(tmp_path / "always.json")}, "always.json"),
    ):
        with refuses(*mentions, error=(ValueError, FileNotFoundError)):
            after(1, **changes)


def test_the_commands_write_and_print_a_dataset(tmp_path, capsys):
    """That of the first level of a training with the same players and seed."""
    file, options = tmp_path / "dataset.csv", "--games 200 --epsilons 0.5,0.1 --seed 3"
    assert value_net.main(["dataset", str(file), "--agent", "minimax", *options.split()]) == 0
    same = {"first_agent": "minimax", "first_opponent": "random", "epsilons": (0.5, 0.1)}
    level = after(1, seed=3, **same).tables()["level-01/dataset.csv"]
    assert read_csv(file, level.names).tolist() == [list(map(float, line)) for line in level.rows]
    assert value_net.main(["expectations", str(file)]) == 0
    saved, _, _, *lines = capsys.readouterr().out.splitlines()
    assert f"{len(lines):,} positions of 200 games" in saved
    for line, (*_, mean, deviation, games) in zip(lines, level.rows, strict=True):
        assert line.split()[:3] == [f"{mean:+.4f}", f"{deviation:.4f}", str(games)]


def test_a_trained_network_plays_with_other_options_as_a_player_of_its_own(learner, run, capsys):
    how = ["--look-ahead", "2", "--temperature", "0.25", "--epsilons", "0.1,0"]
    assert value_net.main(["player", str(run), *how]) == 0
    folder = run.with_name("value_net-0-look-ahead-2-temperature-0.25-epsilons-0.1-0")
    states = begin(replace(SMALL, look_ahead=2)).afterstates
    expected = states.exploring(learner.values, (0.1, 0.0), 0.25)
    verify(read(folder))
    played = seat_of(str(folder), Rules()).policy.table
    assert played == pytest.approx(expected.table, abs=1e-15)
    assert newest_run("value_net", folders=[run.parent]).path == run
    code, _, err = called(value_net, ["player", str(run), *how], capsys)
    assert (code, err.count("\n"), str(folder) in err) == (2, 1, True), "it is there already"


def test_a_dataset_that_is_none_is_refused_with_a_reason(tmp_path):
    for text, *mentions in (
        (f"{NAMES}\n1\n", "line 2"),
        (f"{NAMES}\n{'1,' * 9}{'0,' * 9}1\n",),
        (f"{NAMES}\n1,{'0,' * 17}nan\n",),
        (f"{NAMES}\n{'0,' * 18}1\n", "unfinished"),
        (f"{NAMES},deviation,games\n1,{'0,' * 17}1,0,1e15\n", "1,000,000,000"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        with refuses("bad.csv", *mentions):
            read_dataset(tmp_path / "bad.csv", begin(SMALL).afterstates)
