import base64
import re
from collections import Counter
from dataclasses import replace
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest
from sample_players import CellPlayer, FixedPlayer
from text_cases import refuses

from tictactoe_env.certificates.certificate import certify
from tictactoe_env.exact.best_response import BestResponse
from tictactoe_env.exact.evaluation import (
    UNTIL,
    Evaluation,
    SideEvaluation,
    evaluate,
    evaluate_or_sample,
    evaluate_side,
    evaluation_of,
    fair_results,
)
from tictactoe_env.exact.match import Result
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.exact.verdict import Proven, verdict
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import CanonicalPolicy, FunctionPolicy, RandomPolicy
from tictactoe_env.rules import Rules

X_WINS = Rules(2, 3, 2)  # O must lose to perfect play, so it has no best achievable result


def evaluation(x, o, proven):
    """(win, loss) on each side, and what is proven: unbeatable X, O, optimal X, O."""
    results = (Result(win, 1 - win - loss, loss) for win, loss in (x, o))
    return Evaluation(*results, *(sign == "+" for sign in proven))


def test_sides_that_cannot_be_beaten_count_more_than_wins():
    none = evaluation((1, 0), (1, 0), "----")
    one = evaluation((0.1, 0), (0, 1), "+---")
    other = evaluation((0.2, 0.1), (0, 0.9), "-+--")
    both = evaluation((0, 0), (0, 0), "++--")
    more = evaluation((0.2, 0), (0, 0), "++++")
    ranked = sorted([more, both, other, one, none], key=lambda found: found.rank())
    assert ranked == [none, one, other, both, more]


def test_goals_are_reached_by_what_is_proven_and_steps_never_are():
    found = [evaluation((0.9, 0), (0.8, 0), proven) for proven in ("+---", "+++-", "++++")]
    reached = {goal: [one.reached(goal) for one in found] for goal in UNTIL}
    expected = {"steps": [False] * 3, "unbeatable": [False, True, True]}
    assert reached == expected | {"optimal": [False, False, True]}


def test_where_x_must_win_a_draw_reaches_no_goal_and_o_never_does():
    draws = replace(evaluation((0.9, 0), (0.8, 0.2), "+-+-"), best_play_x=1)
    wins = replace(draws, always_wins_x=True)
    for found, reached in ((draws, [False] * 3), (wins, [True, True, False])):
        assert [found.reached("unbeatable", side) for side in ("both", "X", "O")] == reached
    assert wins.rank() > draws.rank()
    sides = {"X": BestResponse("X", 0, 0, None), "O": BestResponse("O", -1, 1, (0, 1, 3, 2, 4))}
    judged = {side: SideEvaluation(Result(1, 0, 0), one) for side, one in sides.items()}
    assert evaluation_of(judged, X_WINS).best_play_x == 1
    assert fair_results(X_WINS) == {"X": 1, "O": -1}
    assert evaluate_or_sample(RandomPolicy(), X_WINS, "X").sampled == ()


def test_a_verdict_says_of_no_side_more_than_is_proven_of_it():
    safe, best, wins = Proven(True), Proven(True, True), Proven(True, True, True)
    assert verdict({"X": best, "O": safe}) == "cannot be beaten"
    assert verdict({"X": best}) == "cannot be beaten as X, optimal"
    assert verdict({"X": wins}) == "wins against everybody as X"


CARDS = [
    (make_opponent("maskable_ppo", Rules()), "cannot be beaten, optimal"),
    (make_opponent("search-depth=1", Rules()), "can be beaten as O (a1 b2 c2 a3 c1 b1 c3)"),
    (RandomPolicy(), "can be beaten as X (a1 b1 c1 b2 a2 b3) and as O (a1 b1 a2 c1 a3)"),
    (CellPlayer(0), "can be beaten as X (a1 b1 a1) and as O (a1 a1)"),
    (MinimaxPolicy(X_WINS), "wins against everybody as X, and O cannot avoid losing"),
]


@pytest.mark.parametrize(("player", "verdict"), CARDS, ids=lambda one: str(one)[:12])
def test_a_printed_evaluation_begins_with_the_verdict_and_has_the_results_of_each_side(
    player, verdict
):
    found = evaluate(player, getattr(player, "rules", None))
    text, _, table = str(found).partition("\n\n")
    lines = table.splitlines()
    assert (text, found.verdict) == (f"Proven: {verdict}", verdict)
    assert lines[0].startswith(str(found.rules))
    assert max(map(len, str(found).splitlines())) <= 80
    assert "-0.00" not in table
    for side, line in zip("XO", lines[-2:], strict=True):
        result, response = getattr(found, side.lower()), found.best_responses[side]
        shares = [result.win, result.draw, result.loss, response.loss]
        numbers, illegal = line.removeprefix(f"as {side}").split(), f"{100 * result.illegal:.2f}"
        expected = pytest.approx([*(100 * share for share in shares), response.value], abs=0.005)
        assert [float(number) for number in numbers[:5]] == expected
        assert numbers[5:] == ([illegal, "illegal"] if result.illegal else [])


class Counting:
    """Counts how often a player is asked for each board. varies: what it says of itself."""

    def __init__(self, player, varies=""):
        self.player, self.varies, self.asked = player, varies, Counter()

    def probs(self, boards):
        self.asked.update(map(tuple, boards.tolist()))
        return self.player.probs(boards)


ASKED = [("dqn", 461, 155), ("maskable_ppo", 513, 159), ("search-depth=1", 774, 109)]
"""Positions that a player can meet, and of these that are not symmetric, counted elsewhere."""


@pytest.mark.parametrize(("name", "met", "symmetric"), [*ASKED, ("random", 4_520, 627)])
def test_a_player_is_asked_once_for_each_position_that_it_can_meet_and_for_no_other(
    name, met, symmetric
):
    rules = Rules()
    player = make_opponent(name, rules)
    plain, inner, told = Counting(player), Counting(player), []
    found = evaluate(plain, progress=lambda *one: told.append(one))
    turned = evaluate(CanonicalPolicy(inner, rules))
    for counted, one, number in ((plain, found, met), (inner, turned, symmetric)):
        assert (len(counted.asked), set(counted.asked.values())) == (number, {1})
        assert one.asked == number
    table = evaluate(tabulate(player, rules))
    assert (found, found.best_responses, found.asked) == (table, table.best_responses, table.asked)
    assert [ply for side, ply, _ in told if side == "X"] == [*range(1, 10)]
    unsure = Counting(player, varies=None)
    assert evaluate(unsure) == found
    assert set(unsure.asked) == set(plain.asked)  # some again, but no others


def test_a_function_that_is_one_of_the_board_is_asked_for_each_position_once():
    asked = Counter()

    def first_free(observations, masks):
        asked.update(map(bytes, observations))
        return masks.argmax(axis=1)

    found = evaluate(FunctionPolicy(first_free, Rules(), varies=""))
    assert (len(asked), set(asked.values())) == (found.asked, {1})
    assert evaluate(FunctionPolicy(first_free, Rules())) == found
    assert min(asked.values()) == 3, "all were asked for twice by this player"


class Mute:
    """Makes no move from a number of marks on."""

    varies = ""

    def __init__(self, marks):
        self.marks = marks

    def probs(self, boards):
        silent = np.count_nonzero(boards, axis=1) >= self.marks
        return np.where(silent[:, None], 0.0, FixedPlayer(0).probs(boards))


@pytest.mark.parametrize("rules", [Rules(), Rules(3, 5, 3)], ids=str)
def test_no_move_loses_as_an_illegal_one_and_the_game_ends_before_it(rules):
    for marks in range(4):
        found = evaluate(Mute(marks), rules)
        for side, result in (("X", found.x), ("O", found.o)):
            is_own = "XO"[marks % 2] == side
            assert len(found.best_responses[side].losing_line) == marks + (not is_own)
            assert result.loss == result.illegal == pytest.approx(1)
        assert sampled_result(Mute(marks), RandomPolicy(), rules, 50).result.illegal == 1
        assert "as X" in found._repr_html_()
    with refuses("got none" if rules.cells > 12 else "sums to 0"):
        certify(Mute(2), "mute", rules)


def test_what_is_not_proven_is_not_called_so():
    sides = {"X": evaluate_side(MinimaxPolicy(Rules()), "X", Rules())}
    sides["O"] = SideEvaluation(Result(0.5, 0.25, 0.25))
    first, *_, last = str(evaluation_of(sides, Rules())).splitlines()
    assert first == "Proven: cannot be beaten as X"
    assert last.split() == ["as", "O", "50.00", "25.00", "25.00", "sampled", "games"]
    sampled = evaluation_of(dict.fromkeys("XO", sides["O"]), Rules())
    assert str(sampled).startswith("Not proven\n")
    read = evaluation((0.9, 0), (0.8, 0.1), "+-+-")
    assert str(read).startswith("Proven: can be beaten as O\n")
    assert "<img" not in read._repr_html_()


@pytest.mark.parametrize("name", ["random", "search-depth=1", "maskable_ppo"])
def test_a_notebook_shows_the_card_and_the_shortest_lost_game_of_each_side(name, tmp_path):
    found = evaluate(make_opponent(name, Rules()))
    html = found._repr_html_()
    assert str(found) in unescape(html)
    pictures = re.findall(r'<img [^>]*src="data:image/svg\+xml;base64,([^"]*)"', html)
    lost = [one.losing_line for one in found.best_responses.values() if one.losing_line]
    assert len(pictures) == bool(lost)
    if lost:
        found.save(tmp_path / "lost.svg")
        text = (tmp_path / "lost.svg").read_text(encoding="utf-8")
        assert base64.b64decode(pictures[0]).decode() == text
        boards = ElementTree.fromstring(text).findall("{*}svg")
        assert len(boards) == sum(map(len, lost))
        assert len({(board.get("x"), board.get("y")) for board in boards}) == len(boards)
    else:
        with refuses("cannot be beaten"):
            found.save(tmp_path / "lost.svg")


def test_a_lost_game_is_saved_as_svg_only():
    with refuses("lost.png", ".svg"):
        evaluate(RandomPolicy()).save("lost.png")
