"""What is printed about certificates: results, the verdict, and tables of several players."""

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
    shown, random = printed(show.certificate, content), ["58.4921", "12.6984", "28.8095"]
    assert row(shown, "X", "random") == [*random, "+0.2968"]  # 737/1260, 8/63, 121/420
    assert row(shown, "O", "random") == [*random[::-1], "-0.2968"]
    assert row(shown, "X", show.LIMIT)[:3] == ["99.4792", "0.5208", "0.0000"]
    assert row(shown, "O", show.BEST) == ["0.0000", "0.5208", "99.4792", "-0.9948"]  # 1/192
    assert row(shown, "X", show.BEST) == ["0.9524", "5.6085", "93.4392", "-0.9249"]
    assert row(shown, "X", show.MOST_WINS) == ["1.5873", "4.5503", "93.8624", "-0.9228"]
    words = ("somebody-quick on 3x3", "seed 7", "4,096 steps (8.2 s)", "2,048", "first unbeatable")
    assert [word for word in (*words, "X only", "all 4,520 positions") if word not in shown] == []
    assert shown.count("\n") < 25, "no line is broken, though the console is narrower"


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
    assert row(cell, "O", show.AGAINST["vs_minimax"])[2] == "100.0000 (100.0000 illegal)"
    won = printed(show.certificate, certify(MinimaxPolicy(X_WINS), "won", X_WINS))
    assert row(won, "O", show.LIMIT) == ["-"] * 4


def test_names_are_the_last_parts_of_paths_and_all_different():
    specs = ["runs/dqn-0", "runs/dqn-1/", "a/x", "b/x", "a/x", "random", "random"]
    names = ["dqn-0", "dqn-1", "a/x", "b/x", "a/x (2)", "random", "random (2)"]
    specs.append("best-response:runs/dqn-0")
    names.append("best-response:dqn-0")
    assert show.names_of(specs) == names
