"""What is printed about certificates: results, the verdict, and tables of several players."""

import pytest
from consoles import printed
from sample_players import CellPlayer
from text_cases import rows_of

from apps.terminal import report as show
from tictactoe_env import RandomPolicy, Rules, make_opponent
from tictactoe_env.certificates.certificate import certify
from tictactoe_env.exact.solver import MinimaxPolicy

X_WINS, SQUARE = Rules(2, 3, 2), Rules()
RANDOM, CELL = RandomPolicy(), CellPlayer(0)


def row(text, *start):
    """The rest of the row of a printed table that begins like this."""
    (found,) = (row for row in rows_of(text) if row[: len(start)] == [*start])
    return found[len(start) :]


def test_a_certificate_is_shown_with_its_training_all_rates_and_the_best_achievable():
    best, first = {"steps": 2048, "seconds": 4.0}, {"steps": 1024, "seconds": 2.0}
    training = {"steps": 4096, "seconds": 8.25, "best_at": best, "first_unbeatable": first}
    about = {"seed": 7, "training": {**training, "preset": "quick"}, "config": {"side": "X"}}
    content = certify(RANDOM, "somebody", **about)
    shown, random = printed(show.certificates, [content]), ["58.4921", "12.6984", "28.8095"]
    assert row(shown, "X", "random") == [*random, "+0.2968"]  # 737/1260, 8/63, 121/420
    assert row(shown, "O", "random") == [*random[::-1], "-0.2968"]
    assert "ever losing: 99.4792 % as X, 91.6402 % as O\n" in shown
    assert row(shown, "O", show.BEST) == ["0.0000", "0.5208", "99.4792", "-0.9948"]  # 1/192
    assert row(shown, "X", show.BEST) == ["0.9524", "5.6085", "93.4392", "-0.9249"]
    assert row(shown, "X", show.MOST_WINS) == ["1.5873", "4.5503", "93.8624", "-0.9228"]
    words = ("somebody-quick on 3x3", "seed 7", "4,096 (8.2 s)", "2,048", "first unbeatable")
    assert [word for word in (*words, "X only", "57.97 % everywhere") if word not in shown] == []
    lines = printed(show.certificate, content, width=80, force_terminal=True).strip().splitlines()
    assert len(lines) <= 12 + shown.count(f"│ {show.MOST_WINS}")


def test_of_a_large_proof_the_best_response_and_the_most_wins_are_shown_as_far_as_stated(
    monkeypatch,
):
    content = certify(RANDOM, "somebody", reach_only=True)
    assert row(printed(show.certificate, content), "X", show.BEST)[0] == "0.9524"
    monkeypatch.setattr(show, "CHEAP", 1_000)
    shown = printed(show.certificate, content)
    assert row(shown, "X", show.BEST) == ["", "", "", "-0.9249"]
    assert row(shown, "X", show.MOST_WINS) == ["", "", "93.8624", ""]


def test_a_small_chance_of_a_loss_and_illegal_moves_are_shown_and_what_nobody_can_avoid():
    slips = printed(show.certificate, certify(make_opponent("minimax-slip=1e-9", SQUARE), "slips"))
    assert float(row(slips, "O", show.BEST)[2]) > 0
    cell = printed(show.certificate, certify(CELL, "cell"))
    assert row(cell, "O", show.AGAINST["vs_minimax"])[2:] == ["100.0000", "-1.0000", "100.0000"]
    won = printed(show.certificates, [certify(MinimaxPolicy(X_WINS), "won", X_WINS)])
    assert "ever losing: 100.0000 % as X\n" in won, "O cannot avoid losing"


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("count", [1, 3, 4, 20])
def test_any_number_of_players_is_ranked_and_compared_on_80_columns_with_nothing_broken(
    count, is_terminal
):
    """They are named from the weakest to the strongest."""
    rules = Rules(2, 4, 3)
    slips = [0.9 - number / 25 for number in range(count - 1)]
    players = {f"maskable_ppo-slip-{slip:.2f}": MinimaxPolicy(rules, slip=slip) for slip in slips}
    players["the best"] = MinimaxPolicy(rules)
    found = {name: certify(player, "somebody", rules) for name, player in players.items()}
    table = show.cross_table(players, lambda x, o: show.exact_rates(x, o, rules))
    tables = {"cross_table": table}
    text = printed(show.print_results, tables, found, players, width=80, force_terminal=is_terminal)
    assert max(map(len, text.splitlines())) <= 80
    reports, _, matrix = text.partition("exact results of each as X (rows)")
    assert reports.count(" X    │ random") == (count if count <= show.FEW else 0)
    assert reports.count(show.BEST + ":") <= 1
    if count == 1:
        return
    order = [*players][::-1]
    numbered = [f"{number} {name}" for number, name in enumerate(order, 1)]
    assert [one[0] for one in rows_of(reports)][-count:] == numbered
    cells = {}
    for name, *values in rows_of(matrix):
        cells.setdefault(name, []).extend(values)
    if count <= show.FEW:
        expected = {x: [table[x][o]["win"] for o in order] for x in order}
        assert [*cells] == order
        for x, values in expected.items():
            wins = [float(cell.split("/")[0]) / 100 for cell in cells[x]]
            assert wins == pytest.approx(values, abs=5e-4)
        return
    assert [*cells] == numbered
    for x, values in zip(order, cells.values(), strict=True):
        expected = [table[x][o]["win"] - table[x][o]["loss"] for o in order]
        assert [int(value) / 100 for value in values] == pytest.approx(expected, abs=5.01e-3)


def test_names_are_the_ends_of_paths_and_all_different():
    specs = ["runs/dqn-0", "runs/dqn-1/", "r/a/x", "r/b/x", "r/a/x", "x", "random", "random"]
    specs.append("best-response:runs/dqn-0")
    names = ["dqn-0", "dqn-1", "a/x", "b/x", "a/x (2)", "x", "random", "random (2)"]
    names.append("best-response:dqn-0")
    assert show.names_of(specs) == names
