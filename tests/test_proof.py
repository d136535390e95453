"""Proof by reach: its limits, its progress, and whose moves it is of.

`test_plain_proof` compares what it finds with the plain verifier.
"""

import tracemalloc
from itertools import groupby

import numpy as np
import pytest
from oracles.plain_game import Player
from sample_players import CellPlayer, FixedPlayer, LineCounter, random_table
from text_cases import refuses

from tictactoe_env import Rules
from tictactoe_env.certificates.certificate import certify, policy_in, verify
from tictactoe_env.exact import proof
from tictactoe_env.exact.best_response import best_responses
from tictactoe_env.exact.match import exact_result
from tictactoe_env.exact.proof import BoardReach, Limit, ProofLimitError
from tictactoe_env.policy import CanonicalPolicy, RandomPolicy, plays_symmetrically


def test_positions_are_found_alike_however_many_are_taken_at_a_time(monkeypatch):
    rules = Rules(2, 4, 3)
    player = random_table(rules)
    for policy in (player, CanonicalPolicy(player, rules)):
        found = certify(policy, "any", rules, reach_only=True)
        with monkeypatch.context() as patch:
            patch.setattr(proof, "POSITIONS_AT_ONCE", 7)
            assert certify(policy, "any", rules, reach_only=True).moves == found.moves
            verify(found)


def test_a_limit_is_the_largest_number_of_positions_that_is_allowed():
    rules = Rules()
    needed = len(BoardReach({"X": RandomPolicy()}, "X", rules))
    assert len(BoardReach({"X": RandomPolicy()}, "X", rules, Limit(positions=needed))) == needed
    with refuses("as X", "3x3", f"{needed - 1} positions", error=ProofLimitError):
        BoardReach({"X": RandomPolicy()}, "X", rules, Limit(positions=needed - 1))


def test_a_proof_is_refused_when_it_has_taken_the_memory_of_the_limit_and_no_sooner(monkeypatch):
    """As measured. Some positions at a time, so that the work on them takes little of it."""
    monkeypatch.setattr(proof, "POSITIONS_AT_ONCE", 200)
    lowest = Player(lambda board: {board.index(0): 1.0})
    tracemalloc.start()
    try:
        with refuses("7 megabytes", error=ProofLimitError):
            BoardReach({"O": lowest}, "O", Rules(6, 6, 6), Limit(megabytes=7))
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.95 * 7e6 < taken < 1.2 * 7e6


@pytest.mark.parametrize("megabytes", [12, 21])
def test_12_megabytes_hold_the_positions_of_4x4_with_up_to_8_marks_and_21_no_more(megabytes):
    """188,977 that are unfinished and in canonical form; boards of 32 bits need half the memory."""
    with refuses(
        "188,977 positions", "ply 9 of 16", f"{megabytes} megabytes", error=ProofLimitError
    ):
        BoardReach({}, "X", Rules(4, 4, 4), Limit(500_000, megabytes))


@pytest.mark.parametrize(
    ("limit", "mentions"),
    [(Limit(0), "positions 0"), (Limit(2**31), f"positions {2**31}"), (Limit(5, 0.5), "0.5")],
)
def test_a_limit_is_two_whole_numbers(limit, mentions):
    with refuses(*mentions.split()):
        best_responses(FixedPlayer(0), Rules(4, 4, 4), limit)


def test_progress_is_told_after_each_ply():
    rules, told = Rules(4, 4, 4), []
    asked = {"progress": lambda *numbers: told.append(numbers)}
    player = LineCounter(rules)
    best_responses(player, rules, **asked)
    for side, ours in groupby(told, lambda one: one[0]):
        _, plies, positions = zip(*ours, strict=True)
        assert plies == tuple(range(1, len(plies) + 1)), side
        assert list(positions) == sorted(positions)
    told.clear()
    exact_result(player, player, rules, **asked)  # one game: one more position at each move
    last = len(told)
    assert told == [("X", ply, min(ply + 1, last)) for ply in range(1, last + 1)]


@pytest.mark.parametrize("rules", [Rules(), Rules(4, 4, 4), Rules(3, 5, 3)], ids=str)
def test_a_canonical_policy_makes_the_images_of_its_moves_on_the_images_of_a_board(rules):
    player, rng = CanonicalPolicy(FixedPlayer(0), rules), np.random.default_rng(0)
    for _ in range(20):
        board = rng.permutation(np.resize([1, -1, 0, 0], rules.cells)).astype(np.int8)
        images = board[rules.symmetries]
        if len(np.unique(images, axis=0)) == len(images):  # else several moves are alike
            moves = player.probs(board[None])[0]
            assert np.array_equal(player.probs(images), moves[rules.symmetries])


def test_what_a_policy_says_of_its_symmetry_does_not_count():
    class Claiming(FixedPlayer):
        is_symmetric = True
        symmetry = "by construction"

    assert not BoardReach({"X": Claiming(0)}, "X", Rules(2, 4, 3)).is_symmetric


def test_a_proof_is_of_the_moves_of_a_subclass_or_wrapper_and_not_of_what_is_inside():
    class Changed(CanonicalPolicy):
        def probs(self, boards):
            return CellPlayer(0).probs(boards)

    class Forwarding(CellPlayer):
        def __getattr__(self, name):
            return getattr(safe, name)

    rules = Rules(4, 4, 4)
    safe = policy_in(certify(CanonicalPolicy(LineCounter(rules), rules), "test", rules))
    assert plays_symmetrically(safe)
    for player in (Changed(LineCounter(rules), rules), Forwarding(0)):
        found = best_responses(player, rules)
        assert [one.can_lose for one in found.values()] == [True, True]
