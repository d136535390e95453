"""Players that lose, or play worse than the limit, with a probability close to 0."""

import numpy as np
import pytest
from json_certificates import certified, sealed, verified
from oracles.plain_game import Player
from text_cases import refuses

from tictactoe_env import plain_proof
from tictactoe_env.certificates import certificate
from tictactoe_env.certificates.certificate import CertificateError, certify, verify
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.match import Result
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.responses import best_response_player
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.notation import board_text, parse_board, parse_cell
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import SIDES, Rules

SMALL = Rules()
BIG = Rules(4, 4, 4)
# Two in a row of four: X wins from b1, and from c1.
SHORT = Rules(1, 4, 2)


def with_share(policy, rules, text, cell, share):
    """The policy with a further move of this share on one board."""
    table = tabulate(policy, rules).table.copy()
    positions = positions_of(rules)
    board = parse_board(text, rules)
    row = np.searchsorted(positions.unfinished, positions.rows(board[None]))[0]
    table[row] *= 1 - share
    table[row, parse_cell(cell, rules)] += share
    return TabularPolicy(rules, table)


@pytest.mark.parametrize("reach_only", [False, True])
@pytest.mark.parametrize("share", [1e-3, 1e-17, 5e-324])
@pytest.mark.parametrize("side", SIDES)
def test_a_player_that_loses_ever_so_rarely_can_be_beaten(side, share, reach_only):
    text = "X.O/.../..." if side == "X" else "X../.../..."
    player = with_share(MinimaxPolicy(SMALL, "first"), SMALL, text, "b1", share)
    result = evaluate(player)
    assert (result.unbeatable_x, result.unbeatable_o) == (side != "X", side != "O")
    assert 0 < result.best_responses[side].loss <= share * 1.001
    content = certified(player, "rare", SMALL, reach_only=reach_only)
    assert content[f"as_{side.lower()}"]["unbeatable"] is content["unbeatable"] is False
    verified(content)
    plain_proof.check(content)
    examples = best_response_player(player, SMALL).counterexamples
    assert text in [board_text(board, SMALL) for board in examples]


def test_a_rare_move_is_followed_on_a_board_without_a_table():
    usual = Player(lambda board: {board.index(0): 1.0})
    seldom = Player(lambda board: {board.index(0): 1.0} | ({} if any(board) else {5: 1e-300}))
    found = [certify(player, "rare", BIG, sides=("X",)) for player in (usual, seldom)]
    assert found[0].results["X"].positions < found[1].results["X"].positions
    verify(found[1])


@pytest.mark.parametrize("share", [1e-10, 1e-300])
@pytest.mark.parametrize("side", SIDES)
def test_a_player_that_seldom_plays_worse_than_the_limit_is_not_optimal(side, share):
    text, cell = (".../.../...", "b2") if side == "X" else (".X./.../...", "a1")
    player = with_share(make_opponent("maskable_ppo", SMALL), SMALL, text, cell, share)
    found = evaluate(player)
    assert found.unbeatable
    assert (found.optimal_x, found.optimal_o) == (side != "X", side != "O")
    content = certified(player, "rare", SMALL)
    assert content["optimal"] is content[f"as_{side.lower()}"]["optimal"] is False
    verified(content)
    plain_proof.check(content)


SURE = [
    (Rules(2, 3, 1), "X", Result(1.0, 0.0, 0.0), 1.0),  # wins with its first move
    (Rules(2, 3, 1), "O", Result(0.0, 0.0, 1.0), -1.0),
    (Rules(1, 6, 6), "X", Result(0.0, 1.0, 0.0), 0.0),  # nobody can complete the line
    (Rules(1, 6, 6), "O", Result(0.0, 1.0, 0.0), 0.0),
    (Rules(1, 12, 2), "O", None, -1.0),  # whom X beats from the middle, whatever it draws
]


@pytest.mark.parametrize(("rules", "side", "result", "value"), SURE)
@pytest.mark.parametrize("reach_only", [False, True])
def test_what_happens_in_every_game_has_a_share_of_exactly_one(
    rules, side, result, value, reach_only
):
    """Of random play, whose shares of 1/6 and 1/12 sum to about 1 only."""
    player = RandomPolicy(rules)
    found = certify(player, "sure", rules, reach_only=reach_only).results[side]
    assert found.vs_random == (result or found.vs_random)
    assert (found.worst_case_value, found.worst_case_loss) == (value, max(0.0, -value))
    evaluation = evaluate(player, rules)
    assert getattr(evaluation, side.lower()) == (result or getattr(evaluation, side.lower()))
    assert evaluation.best_responses[side].value == value
    content = certified(player, "sure", rules, reach_only=reach_only)
    verified(content)
    plain_proof.check(content)


@pytest.mark.parametrize("cell", ["d1", "a1"])
@pytest.mark.parametrize("share", [1e-14, 1e-300])
def test_a_player_that_seldom_draws_or_marks_a_taken_cell_does_not_win_against_everybody(
    share, cell
):
    always = Player(winning)
    assert evaluate(always, SHORT).always_wins_x
    player = with_share(always, SHORT, "OX..", cell, share)
    content = certified(player, "seldom", SHORT)
    verified(content)
    assert not evaluate(player).always_wins_x
    assert not certify(player, "seldom", SHORT, reach_only=True).results["X"].always_wins
    claim = {**content["as_x"], "vs_random": certified(always, "all", SHORT)["as_x"]["vs_random"]}
    with refuses("as_x.vs_random.", error=CertificateError):
        verified({**content, "as_x": claim})


def winning(board):
    """X opens in b1 and completes a line; O takes the first cell."""
    if not any(board):
        return {1: 1.0}
    if board.count(1) > board.count(-1):
        return {board.index(0): 1.0}
    wish = (2, 0) if board[1] == 1 else (1, 3)
    return {next((cell for cell in wish if board[cell] == 0), board.index(0)): 1.0}


def test_a_chance_that_is_too_small_for_a_number_is_refused():
    player = with_share(Player(winning), SHORT, "....", "c1", 1e-200)
    player = with_share(player, SHORT, ".OX.", "a1", 1e-200)
    assert not evaluate(player).always_wins_x
    with refuses("as X"):
        certify(player, "seldom", SHORT)
    stated = certified(Player(winning), "always", SHORT)
    forged = {**stated, "optimal": False, "as_x": {**stated["as_x"], "optimal": False}}
    with refuses("as X", error=CertificateError):
        verified(sealed({**forged, "moves": certificate.moves_of(player)}))
