"""The history of learners: kept policies, all against all, and what follows from it."""

import json

import numpy as np
import pytest
from sample_players import CellPlayer, fixed_table, random_table
from small_runs import trained
from text_cases import called, refuses

import evaluate
from tictactoe_env.exact import TabularPolicy, exact_result, payoffs, tabulate
from tictactoe_env.exact.best_response import best_responses
from tictactoe_env.notation import parse_game
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Rules
from training import history
from training.history import FILE, History, arrays_of, policy_in
from training.metrics import read_metrics
from training.standings import Standings

SMALL = Rules(2, 3, 2)


@pytest.mark.parametrize("rules", [Rules(), SMALL], ids=str)
def test_all_against_all_is_each_pair_by_itself(rules, monkeypatch):
    as_x = [random_table(rules, 0), random_table(rules, 1), tabulate(CellPlayer(0), rules)]
    as_o = [fixed_table(rules), tabulate(make_opponent("minimax", rules), rules), *as_x]
    monkeypatch.setattr("tictactoe_env.exact.round_robin.MOST_BYTES", 2 * as_x[0].table.nbytes)
    found = payoffs(as_x, as_o)
    for i, x in enumerate(as_x):
        for j, o in enumerate(as_o):
            alone = exact_result(x, o)
            pair = found.x_wins[i, j], found.o_wins[i, j], found.x[i, j]
            assert pair == pytest.approx((alone.win, alone.loss, alone.value), abs=1e-12)


def test_policies_of_several_boards_do_not_play_each_other():
    with refuses("2x3"):
        payoffs([fixed_table(Rules())], [fixed_table(SMALL)])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folders of three small runs: of both sides, and of one as X and one as O."""
    folder = tmp_path_factory.mktemp("runs")
    assert trained("tabular_q", folder / "both", steps=4_000) == 0
    for side in "XO":
        only = "--side", side, "--judge-every", "512", "--num-envs", "32"
        assert trained("dqn", folder / f"as-{side}", *only, steps=1500) == 0
    return folder


def test_a_run_keeps_the_policy_of_each_evaluation(runs):
    rows = read_metrics(runs / "both" / "metrics.csv")
    entries = History.read(runs / "both" / FILE).entries
    assert [kept.steps for kept in entries] == [row["steps"] for row in rows]
    for (_, arrays), row in zip(entries, rows, strict=True):
        assert arrays["moves"].nbytes == 4_520
        policy = policy_in(arrays, Rules(), None)
        found = exact_result(policy, make_opponent("random", Rules()))
        assert (found.win, found.loss) == pytest.approx((row["x_win"], row["x_loss"]), abs=1e-12)
        worst = best_responses(policy)
        assert [worst[side].value for side in "XO"] == [-row["exploited_x"], -row["exploited_o"]]


def test_of_a_player_with_chance_every_probability_is_kept():
    """Also if it has no chance in some positions."""
    chance = random_table(SMALL)
    sure = fixed_table(SMALL)
    mixed = chance.table.copy()
    mixed[::2] = sure.table[::2]
    for policy in (chance, sure, TabularPolicy(SMALL, mixed)):
        again = policy_in(arrays_of(policy, None), SMALL, None)
        assert np.array_equal(again.table, policy.table)


def test_of_many_policies_some_are_kept_evenly_and_a_file_brings_them_back(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "MOST", 10)
    kept = History()
    for number in range(57):
        kept.add(number, 100 * number, {"moves": np.array([number], np.uint8)})
    assert [one.steps for one in kept.entries] == [800 * number for number in range(8)]
    kept.write(tmp_path / FILE)
    again = History.read(tmp_path / FILE)
    assert (again.every, again.entries) == (kept.every, kept.entries)
    monkeypatch.setattr(history, "MOST_BYTES", 100)
    large = History()
    for number in range(4):
        large.add(number, number, {"weights": np.zeros(10)})
    assert [one.steps for one in large.entries] == [0]
    assert History.read(tmp_path / "none.npz").entries == []


def test_who_beats_whom_is_read_from_the_matrix():
    rock_paper_scissors = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    circle = Standings(rock_paper_scissors)
    first, second, third = circle.circle()
    for better, worse in ((first, second), (second, third), (third, first)):
        assert circle.beats[better, worse]
    assert circle.ratings == pytest.approx([0, 0, 0], abs=1e-6)
    assert circle.misjudged() == (0, 3)
    # 0 loses to 1 and 2; 2 draws with 1 as X and loses as O, so it has forgotten something.
    assert [*Standings(np.zeros((1, 1))).ratings] == [0], "nobody to compare it with"
    line = Standings(np.array([[0, -1, -1], [1, 0, 1], [1, 0, 0]]))
    assert line.circle() is None
    assert line.scores == pytest.approx([-1, 0.75, 0.25])
    assert line.forgotten([0, 0, 0]) == (1, 3)
    assert line.forgotten([0, 1, 1]) == (1, 1)
    assert list(np.argsort(line.ratings)) == [0, 2, 1]
    # The favourite of the ratings loses to one who loses to many.
    upset = np.array([[0, 1, 1, 1, -1], *np.zeros((3, 5)), [1, -1, -1, -1, 0]])
    assert Standings(upset - upset.T).misjudged()[0] == 1


def test_the_history_of_a_run_and_an_agent_is_printed_drawn_and_written(runs, tmp_path, capsys):
    result = tmp_path / "history.json"
    picture = tmp_path / "history.png"
    line = [str(runs / "both"), "minimax", "--history", str(picture), "--json", str(result)]
    code, said, _ = called(evaluate, line, capsys)
    found = json.loads(result.read_text())
    players = found["players"]
    assert (code, len(players)) == (0, 1 + len(History.read(runs / "both" / FILE).entries))
    assert (players[-1]["name"], players[-1]["loses"]) == ("minimax", {"X": "", "O": ""})
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.with_suffix(".csv").exists()
    assert np.array(found["payoff_x"]).shape == (len(players), len(players))
    assert max(found["payoff_x"][-1]) > 0
    assert min(found["payoff_x"][-1]) >= 0
    beaten = [one for one in players if one["loses"]["O"]]
    assert all(len(parse_game(one["loses"]["O"], Rules())) % 2 for one in beaten)  # X moves last
    for word in ("can be beaten", "Forgetting", "circle", "Elo"):
        assert word in said


def test_two_learners_of_one_side_each_are_a_duel(runs, tmp_path, capsys):
    result = tmp_path / "history.json"
    line = [str(runs / "as-X"), str(runs / "as-O"), "--history", "--json", str(result)]
    assert called(evaluate, line, capsys)[0] == 0
    found = json.loads(result.read_text())
    assert (runs / "as-X" / "history.png").exists()
    assert {name.split()[0] for name in found["as_x"]} == {"as-X"}
    assert {name.split()[0] for name in found["as_o"]} == {"as-O"}
    code, _, said = called(evaluate, [str(runs / "as-X"), "--history"], capsys)
    assert (code, said.count("\n"), "other side" in said) == (1, 1, True)
