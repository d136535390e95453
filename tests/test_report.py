"""What is printed about certificates: results, the verdict, and tables of several players."""

import re

import numpy as np
import pytest
from consoles import printed
from sample_players import CellPlayer, best_player
from text_cases import rows_of

from apps.terminal import report as show
from tictactoe_env import RandomPolicy, Rules, make_opponent, tabulate
from tictactoe_env.certificates.certificate import certify
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy

X_WINS, SQUARE = Rules(2, 3, 2), Rules()
MINIMAX, RANDOM, CELL = MinimaxPolicy(SQUARE), RandomPolicy(), CellPlayer(0)


def perfect_as_x():
    """Perfect as X; as O it always marks the first cell, which may be taken."""
    boards = positions_of(SQUARE).boards[positions_of(SQUARE).unfinished]
    is_x = (boards.sum(axis=1) == 0)[:, None]
    tables = (tabulate(player, SQUARE).table for player in (MINIMAX, CELL))
    return TabularPolicy(SQUARE, np.where(is_x, *tables))


ON = "on 3x3, 3 in a row"
SAFE, BEATEN = f"PROVEN {ON}: cannot be beaten", f"{ON} it can be beaten"
VERDICTS = {  # a player and its board, the side that it was trained for; words of the verdict
    "best": (best_player, Rules(2, 4, 3), None, ["PROVEN", "cannot be beaten, optimal"]),
    "safe": (lambda _: MINIMAX, SQUARE, None, [SAFE]),
    "wins": (MinimaxPolicy, X_WINS, None, ["PROVEN", "wins against everybody", "O cannot avoid"]),
    "wins as X": (
        MinimaxPolicy,
        X_WINS,
        "X",
        ["PROVEN", "as X only, it can be beaten as O"],
    ),
    "safe as X": (
        lambda _: perfect_as_x(),
        SQUARE,
        "X",
        [f"{SAFE} as X", "it can be beaten as O"],
    ),
    "not as O": (
        lambda _: perfect_as_x(),
        SQUARE,
        "O",
        [f"{BEATEN} as O", "it cannot be beaten as X"],
    ),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_the_verdict_names_what_is_proven_and_the_sides_that_can_be_beaten(case):
    make, rules, side, words = VERDICTS[case]
    config = {} if side is None else {"config": {"side": side}}
    content = certify(make(rules), "somebody", rules, **config)
    found = content.claim
    assert [one for one in words if one not in found] == []
    lines = certify(make(rules), "somebody", rules, lines_only=True, **config)
    # The best achievable results are not in it.
    assert lines.claim.partition(";")[0] == found.replace(", optimal", "").partition(";")[0]


@pytest.mark.parametrize(
    ("player", "rules", "side", "words"),
    [
        (MINIMAX, SQUARE, "X", ["unbeatable", "draws every game"]),
        (RANDOM, Rules(1, 3, 2), "X", ["unbeatable", "+0.3333"]),
        (MinimaxPolicy(X_WINS), X_WINS, "X", ["wins against everybody"]),
        (CELL, SQUARE, "O", ["can be beaten", "up to 1.0000", "a1 a1"]),
        (MinimaxPolicy(X_WINS), X_WINS, "O", ["can be beaten", "no O can avoid it", "a1 b1 a2"]),
    ],
)
def test_the_best_response_to_a_side_is_a_value_or_a_losing_game(player, rules, side, words):
    text = show.best_response_text(certify(player, "somebody", rules), side)
    assert [word for word in words if word not in text] == []


def test_a_small_chance_of_a_loss_is_not_shown_as_none():
    content = certify(make_opponent("minimax-slip=1e-9", SQUARE), "slips")
    found = re.search(r"up to (\S+);", show.best_response_text(content, "O"))
    assert float(found[1]) == float(f"{content.results['O'].worst_case_loss:.1g}") > 0


def test_a_certificate_is_shown_with_its_training_all_rates_and_the_best_achievable():
    best, first = {"steps": 2048, "seconds": 4.0}, {"steps": 1024, "seconds": 2.0}
    training = {"steps": 4096, "seconds": 8.25, "best_at": best, "first_unbeatable": first}
    about = {"seed": 7, "training": {**training, "preset": "quick"}, "config": {"side": "X"}}
    content = certify(RANDOM, "somebody", **about)
    shown, random = printed(show.certificate, content), ["58.4921", "12.6984", "28.8095"]
    assert ["X", "random", *random, "0.0000"] in rows_of(shown)  # 737/1260, 8/63, 121/420
    assert ["O", "random", *random[::-1], "0.0000"] in rows_of(shown)
    assert rows_of(shown)[2][2:] == ["99.4792", "0.5208", "0.0000", "0.0000"]
    words = ("somebody-quick on 3x3", "seed 7", "4,096 steps in 8.2 s", "2,048 (4.0 s)", "2.0 s")
    words += ("as O (not trained for): can be beaten", "all 4,520 positions")
    assert [word for word in words if word not in shown] == []
    assert shown.count("\n") < 25, "no line is broken, though the console is narrower"
    narrow = printed(show.certificate, content, width=40, force_terminal=True)
    assert max(map(len, narrow.splitlines())) <= 40
    assert f"win {random[0]} %, draw {random[1]} %" in " ".join(narrow.split())


def test_names_are_the_last_parts_of_paths_and_all_different():
    specs = ["runs/dqn-0", "runs/dqn-1/", "a/x", "b/x", "a/x", "random (2)", "random", "random"]
    names = ["dqn-0", "dqn-1", "a/x", "b/x", "a/x (2)", "random (2)", "random", "random (3)"]
    assert show.names_of(specs) == names
