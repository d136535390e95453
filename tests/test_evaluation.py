import base64
import re
from dataclasses import replace
from html import unescape
from xml.etree import ElementTree

import pytest
from sample_players import CellPlayer
from text_cases import refuses

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
from tictactoe_env.exact.match import BestResponse, Result
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.verdict import Proven, verdict
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
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
    found = [evaluation((0.9, 0), (0.8, 0), proven) for proven in ("+---", "++--", "++++")]
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
