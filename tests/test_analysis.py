import numpy as np
import pytest
from text_cases import cases, refuses

from tictactoe_env.games.analysis import analyse, turning_point, verdicts
from tictactoe_env.games.game import Game
from tictactoe_env.notation import parse_board
from tictactoe_env.rules import Rules, game_state

MARKS = {"X": 1, "O": -1, "draw": 0}


def test_a_board_shows_which_moves_win_draw_and_lose_and_when():
    def shown(text):
        position, moves = analyse(parse_board(text, Rules()), Rules())
        return position.text, [move and move.text for move in moves]

    drawn = "draws"
    lost = "loses in 2"
    taken = None  # O must take an edge
    moves = [taken, drawn, lost, drawn, taken, drawn, lost, drawn, taken]
    assert shown("X../.O./..X") == ("draws", moves)
    position, moves = shown("XX./OO./...")
    assert (position, moves[2]) == ("wins at once", "wins at once")
    assert moves[6] == "loses to the next move"
    assert shown("XXX/OO./...") == ("lost", [None] * 9)
    assert shown("XOX/XOO/OXX") == ("drawn", [None] * 9)


def test_boards_that_cannot_be_enumerated_are_refused():
    with refuses("5x5"):
        analyse(np.zeros(25, dtype=np.int8), Rules(5, 5, 4))
    played = Game(moves=(0,), rules=Rules(5, 5, 4), origin="human", ended="resigned", result="X")
    for ask in (verdicts, turning_point):
        with refuses("5x5"):
            ask(played)


JUDGED = ["keeps the draw", "gives away the draw and loses in 3", "wins in 3", "is lost anyway"]
JUDGED += ["gives away the win and only draws", *["keeps the draw"] * 4]


def test_every_move_is_judged_by_the_position_before_it():
    found = verdicts(Game.parse("b2 b1 a1 c3 c1 a3 b3 c2 a2"))
    assert [(one.side, one.text) for one in found] == list(zip("XOXOXOXOX", JUDGED, strict=True))
    assert [verdict.ply for verdict in found if not verdict.optimal] == [1, 4]
    assert [verdict.ply for verdict in found if verdict.threw_away] == [4]
    texts = [verdict.text for verdict in verdicts(Game.parse("a1 b1 b2 c1 c3"))]
    assert texts[3:] == ["is lost anyway, and loses in 1 instead of 2", "wins at once"]


@pytest.mark.parametrize(
    ("line", "ply", "sentence"),
    cases("""
    b2 b1 a1 c3 a3 c1 a2 | 1 | O's b1 (move 2) turned a draw into a loss: X could win in 3
    a1 c3 b1 c1 a2 c2 | 2 | X's b1 (move 3) turned a win into a loss: O could win in 3
    b2 a1 c3 c1 b1 b3 a3 a2 c2 | - | (no move) a draw throughout
    a1 a1 ended=illegal | 1 | O's a1 (move 2) was an illegal move, which loses
    a1 b1 ended=resigned result=O | - | X resigned a position that was won
    ended=resigned result=X | - | O resigned a position that was a draw
    b1 a1 a2 board=2x2 k=2 | - | (no move) won for X throughout
    """),
)
def test_the_move_that_decided_the_game_is_found(line, ply, sentence):
    played = Game.parse(line)
    decided = [] if ply == "-" else [int(ply)]
    sentence = sentence.replace("(no move)", "nobody made a mistake: the game was")
    assert turning_point(played) == sentence
    assert [verdict.ply for verdict in verdicts(played) if verdict.threw_away] == decided


@pytest.mark.parametrize("rules", [Rules(), Rules(2, 3, 2)], ids=str)
def test_in_random_games_the_result_is_the_value_after_the_move_that_decided_it(rules):
    rng = np.random.default_rng(0)
    for _ in range(40):
        cells = rng.permutation(rules.cells).tolist()
        ends = (game_state(cells[:plies], rules) for plies in range(rules.cells + 1))
        played = Game(moves=next(end.moves for end in ends if end.ended), rules=rules, origin="web")
        values = [MARKS[played.result]]
        found = verdicts(played)
        for verdict, board in zip(found[::-1], played.boards[-2::-1], strict=True):
            position, moves = analyse(board, rules)
            assert (verdict.before, verdict.after) == (position, moves[verdict.cell])
            values.insert(0, position.value * MARKS[verdict.side])
        decided = [verdict.ply for verdict in found if verdict.threw_away]
        assert set(values[decided[0] + 1 if decided else 0 :]) == {values[-1]}
        assert values[-1] not in [values[ply] for ply in decided]
