"""Proof by reach: against plain recursion and against tables."""

import math
import tracemalloc
from contextlib import nullcontext
from dataclasses import astuple
from functools import cache

import numpy as np
import pytest
from oracles.plain_game import Player
from sample_players import CellPlayer, LineCounter
from text_cases import refuses

from tictactoe_env import Rules
from tictactoe_env.certificates.certificate import certify, policy_in
from tictactoe_env.exact import match, proof
from tictactoe_env.exact.match import best_responses
from tictactoe_env.exact.positions import symmetries_of
from tictactoe_env.exact.proof import BoardReach, Limit, ProofLimitError, TableReach, reach_of
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.symmetry import CanonicalPolicy, plays_symmetrically
from tictactoe_env.policy import RandomPolicy, one_hot

SMALL = [Rules(3, 3, 3), Rules(2, 4, 3)]


class Hashed:
    """One arbitrary move in each position, the same in every process; legal moves by default."""

    def __init__(self, rules, salt=0, legal=True):
        rng = np.random.default_rng(salt)
        self.factors = rng.integers(1, 2**62, (2, rules.cells), dtype=np.int64)
        self.legal = legal

    def probs(self, boards):
        with np.errstate(over="ignore"):
            code = ((boards == 1) * self.factors[0] + (boards == -1) * self.factors[1]).sum(axis=1)
            mixed = (code ^ (code >> 29))[:, None] * self.factors[0] ^ self.factors[1]
        weights = (mixed >> 11) & 0xFFFFF
        return one_hot(
            np.where((boards == 0) | (not self.legal), weights, -1).argmax(axis=1), boards.shape[1]
        )


class Mixed:
    """Several players, each move by one of them: few moves in each position."""

    def __init__(self, rules, legal=True):
        self.players = [Hashed(rules, salt, legal or salt > 0) for salt in range(3)]

    def probs(self, boards):
        weights = (0.5, 0.25, 0.25)
        return sum(
            weight * player.probs(boards)
            for weight, player in zip(weights, self.players, strict=True)
        )


PLAYERS = {
    "deterministic": Hashed,
    "stochastic": Mixed,
    "with illegal moves": lambda rules: Mixed(rules, legal=False),
    "only illegal moves": lambda rules: Hashed(rules, 1, legal=False),
}


def number_of(board, mark, rules):
    """The number that orders the positions of a ply, see docs/certificates.md."""
    places = (divmod(cell, rules.cols) for cell in range(rules.cells) if board[cell] == mark)
    return sum(2 ** (row * (rules.cols + 1) + col) for row, col in places)


def canonical(board, rules):
    images = [tuple(board[cell] for cell in cells) for cells in symmetries_of(rules).tolist()]
    return min(images, key=lambda one: (number_of(one, 1, rules), number_of(one, -1, rules)))


def plain(policy, side, rules):
    """The positions met, those with a decision, and the shortest loss, by plain recursion."""
    met, decisions = set(), set()
    through = [[line for line in rules.lines if cell in line] for cell in range(rules.cells)]

    @cache
    def nearest(board):
        met.add(board)
        number = rules.cells - board.count(0)
        mark, is_own = 1 - 2 * (number % 2), "XO"[number % 2] == side
        cells = [cell for cell in range(rules.cells) if not board[cell]]
        if is_own:
            decisions.add(board)
            probs = policy.probs(np.array([board], dtype=np.int8))[0]
            cells = np.flatnonzero(probs).tolist()
        losses = []
        for cell in cells:
            after = (*board[:cell], mark, *board[cell + 1 :])
            if board[cell]:
                losses.append(1)
            elif any(all(after[c] == mark for c in line) for line in through[cell]):
                losses.append(np.inf if is_own else 1)
            elif number + 1 < rules.cells:
                losses.append(1 + nearest(after))
        return min(losses, default=np.inf)

    return nearest((0,) * rules.cells), met, decisions


def boards_of(reach):
    return [
        tuple(board)
        for ply in reach.plies
        for board in reach.rules.to_boards(ply.x, ply.o).tolist()
    ]


@pytest.fixture(params=[7, 10**6])
def chunk(request, monkeypatch):
    """How many positions of a ply are taken at a time."""
    monkeypatch.setattr(proof, "CHUNK", request.param)


@pytest.mark.parametrize("rules", [*SMALL, Rules(6, 6, 1)], ids=str)
@pytest.mark.parametrize("side", ["X", "O"])
@pytest.mark.parametrize("name", PLAYERS)
def test_a_reach_holds_the_positions_of_plain_recursion(name, side, rules, chunk):
    policy = PLAYERS[name](rules)
    nearest, met, decisions = plain(policy, side, rules)
    for reach in (BoardReach({side: policy}, side, rules), reach_of({side: policy}, side, rules)):
        assert (len(reach), reach.decisions) == (len(met), len(decisions))
        assert set(boards_of(reach)) == met
        line = match.best_response(reach).losing_line
        assert nearest == (np.inf if line is None else len(line))


@pytest.mark.parametrize("rules", [*SMALL, Rules(1, 6, 3)], ids=str)
@pytest.mark.parametrize("side", ["X", "O"])
@pytest.mark.parametrize("name", PLAYERS)
def test_a_symmetric_reach_holds_the_canonical_forms_in_the_documented_order(
    name, side, rules, chunk
):
    policy = CanonicalPolicy(PLAYERS[name](rules), rules)
    nearest, met, decisions = plain(policy, side, rules)
    reach = BoardReach({side: policy}, side, rules)
    boards = boards_of(reach)
    forms = {canonical(board, rules) for board in met}
    assert sorted(boards) == sorted(forms)
    assert reach.decisions == len({canonical(board, rules) for board in decisions})
    keys = [
        (rules.cells - board.count(0), *(number_of(board, mark, rules) for mark in (1, -1)))
        for board in boards
    ]
    assert keys == sorted(keys)
    line = match.best_response(reach).losing_line
    assert nearest == (np.inf if line is None else len(line))
    table = reach_of({side: policy}, side, rules)
    assert isinstance(table, TableReach)
    one, other = match.best_response(table), match.best_response(reach)
    assert (one.value, one.loss) == pytest.approx((other.value, other.loss), abs=1e-12)
    first, second = (astuple(match.result_of(found)) for found in (table, reach))
    assert first == pytest.approx(second, abs=1e-12)
    assert one.always_wins == other.always_wins
    if line is not None:
        check_lost(line, policy, side, rules)


def check_lost(line, policy, side, rules):
    """A policy can play this game as `side`, and loses it by the last move, not before."""
    board, mark = np.zeros(rules.cells, dtype=np.int8), 1
    for ply, cell in enumerate(line):
        own = "XO"[ply % 2] == side
        assert not own or policy.probs(board[None])[0, cell] > 0
        if own and board[cell]:
            assert ply == len(line) - 1
            return
        board[cell] = mark
        won = [one for one in rules.lines if all(board[c] == mark for c in one)]
        assert bool(won) == (ply == len(line) - 1), "the game ends by the last move"
        assert not (won and own)
        mark = -mark


@pytest.mark.parametrize("side", ["X", "O"])
def test_a_table_has_all_unfinished_positions_everywhere_and_not_only_those_that_are_met(side):
    players = {side: MinimaxPolicy(Rules(), "first")}
    reach = TableReach(players, side, Rules(), everywhere=True)
    assert len(reach) == 4_520
    assert len({*boards_of(reach)}) == 4_520 > len(TableReach(players, side, Rules()))
    own = [ply for ply in reach.plies if ply.side == side]
    assert reach.decisions == sum(len(ply.probs) for ply in own)


@pytest.mark.parametrize("rules", [Rules(6, 6, 3), Rules(4, 8, 3)], ids=str)
def test_boards_of_more_than_32_bits_have_the_positions_of_plain_recursion(rules):
    """X wins in a few moves there, so that it meets few of the positions."""
    policy = LineCounter(rules, (1, 12, 100_000, 0), (0, 10, 10_000, 0))
    nearest, met, decisions = plain(policy, "X", rules)
    reach = BoardReach({"X": policy}, "X", rules)
    assert (len(reach), reach.decisions) == (len(met), len(decisions))
    assert set(boards_of(reach)) == met
    assert (nearest, match.best_response(reach).always_wins) == (np.inf, True)
    small = BoardReach({"X": CanonicalPolicy(policy, rules)}, "X", rules)
    assert match.best_response(small).always_wins
    assert small.decisions <= reach.decisions


@pytest.mark.parametrize("chunk", [7, 1000])
def test_each_row_stands_in_one_ply_and_has_its_marks_there(chunk, monkeypatch):
    monkeypatch.setattr(proof, "CHUNK", chunk)
    rules = Rules()
    table = TableReach({"O": MinimaxPolicy(rules, "first")}, "O", rules)
    reach = BoardReach({"O": MinimaxPolicy(rules)}, "O", rules)
    for found in (table, reach):
        plies = list(found.plies)
        numbers = [ply.number for ply in plies]
        assert numbers == sorted(numbers)
        rows = np.concatenate([np.r_[ply.rows] for ply in plies])
        assert len(rows) == len(np.unique(rows)) == len(found)
        for ply in plies:
            assert set(np.count_nonzero(found.rules.to_boards(ply.x, ply.o), axis=1)) == {
                ply.number
            }
    for ply in reach.plies:
        rows = list(range(ply.rows.start, ply.rows.stop))
        assert len(rows) <= chunk
        assert len(ply.x) == len(ply.o) == len(rows)


@pytest.mark.parametrize("rules", [Rules(2, 4, 3), Rules(6, 6, 3)], ids=str)
def test_each_child_is_the_position_after_the_move_and_the_last_four_rows_are_the_ends(rules):
    reach = BoardReach(
        {"X": LineCounter(rules, (1, 12, 100_000, 0), (0, 10, 10_000, 0))}, "X", rules
    )
    boards = np.array(boards_of(reach))
    for ply in reach.plies:
        at, move = np.nonzero(ply.children >= 0)
        after = reach.rules.to_boards(ply.x, ply.o)[at]
        after[np.arange(len(at)), ply.cells[at, move]] = 1 if ply.side == "X" else -1
        assert np.array_equal(boards[ply.children[at, move]], after)
    table = TableReach({"X": RandomPolicy()}, "X", Rules())
    assert reach.outcome_x.dtype == table.outcome_x.dtype == np.int8
    assert reach.outcome_x.tolist() == [*[0] * len(reach), 1, 0, -1, 0]
    assert reach.is_over.tolist() == [*[False] * len(reach), *[True] * 4]


def test_the_moves_of_a_policy_are_those_of_positive_probability_in_the_order_of_the_cells():
    cells = list(range(1, 40, 3))
    player = Player(lambda board: dict.fromkeys(cells, 1 / len(cells)))
    (ply,) = BoardReach({"X": player}, "X", Rules(1, 40, 1)).plies
    assert ply.cells.tolist() == [cells]
    for ply in BoardReach({"X": Mixed(Rules(2, 5, 3))}, "X", Rules(2, 5, 3)).plies:
        if ply.side == "X":
            assert ply.probs.shape[1] == np.count_nonzero(ply.probs, axis=1).max() <= 3


# --- sizes ----------------------------------------------------------------------------------------


def test_the_reach_of_two_players_is_one_game_and_that_of_random_play_is_everything():
    rules = Rules(4, 4, 4)
    game = BoardReach({"X": Hashed(rules), "O": Hashed(rules)}, "X", rules)
    assert len(boards_of(game)) == len(game.plies) == len(game)
    everything = BoardReach({"X": RandomPolicy()}, "X", Rules())
    assert len(everything) == 765 - 138, "canonical positions of 3x3, without the finished ones"


def test_a_limit_is_the_largest_number_of_positions_that_is_allowed():
    rules = Rules()
    needed = len(BoardReach({"X": RandomPolicy()}, "X", rules))
    assert len(BoardReach({"X": RandomPolicy()}, "X", rules, Limit(positions=needed))) == needed
    with refuses("as X", "3x3", f"{needed - 1} positions", error=ProofLimitError):
        BoardReach({"X": RandomPolicy()}, "X", rules, Limit(positions=needed - 1))


def test_the_memory_of_a_proof_is_that_of_its_positions_their_moves_and_four_results_of_each():
    rules, players = Rules(3, 4, 3), {"O": Mixed(Rules(3, 4, 3))}
    reach = BoardReach(players, "O", rules)
    moves = [(ply.children, ply.cells, ply.probs) for ply in reach.plies]
    moves_bytes = sum(array.nbytes for ply in moves for array in ply if array is not None)
    megabytes = (moves_bytes + (2 + 4) * 8 * len(reach)) / 1e6
    BoardReach(players, "O", rules, Limit(megabytes=math.ceil(megabytes)))
    with refuses(f"{int(megabytes)} megabytes", error=ProofLimitError):
        BoardReach(players, "O", rules, Limit(megabytes=int(megabytes)))


def test_a_proof_is_refused_when_it_has_taken_the_memory_of_the_limit_and_no_sooner(monkeypatch):
    """As measured. Some positions at a time, so that the work on them takes little of it."""
    monkeypatch.setattr(proof, "CHUNK", 200)
    lowest = Player(lambda board: {board.index(0): 1.0})
    tracemalloc.start()
    try:
        with refuses("7 megabytes", error=ProofLimitError):
            BoardReach({"O": lowest}, "O", Rules(6, 6, 6), Limit(megabytes=7))
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.95 * 7e6 < taken < 1.2 * 7e6


@pytest.mark.parametrize(("size", "is_allowed"), [(1_000_000, True), (1_000_001, False)])
def test_a_megabyte_is_a_million_bytes_and_a_proof_may_need_all_of_them(
    size, is_allowed, monkeypatch
):
    monkeypatch.setattr(proof.Ply, "bytes", size / 2 - 48)  # two plies: each side moves once
    with nullcontext() if is_allowed else refuses("1 megabytes", error=ProofLimitError):
        BoardReach({}, "X", Rules(1, 2, 2), Limit(megabytes=1))


def test_twelve_megabytes_hold_the_positions_of_4x4_with_up_to_8_marks():
    """188,977 that are unfinished and in canonical form; boards of 32 bits need half the memory."""
    with refuses("188,977 positions", "ply 9 of 16", "12 megabytes", error=ProofLimitError):
        BoardReach({}, "X", Rules(4, 4, 4), Limit(188_977, 12))


@pytest.mark.parametrize(
    ("limit", "mentions"),
    [
        (Limit(0), "positions got 0"),
        (Limit(2**31), f"positions 2147483643 got {2**31}"),
        (Limit(5, 0.5), "megabytes got 0.5"),
        ((200_000, 1), "4x4 1 megabytes"),
    ],
)
def test_a_limit_is_two_whole_numbers_of_every_proof(limit, mentions):
    rules = Rules(4, 4, 4)
    with refuses(*mentions.split()):
        match.best_responses(Hashed(rules), rules, limit)
    with refuses(*mentions.split()):
        match.exact_result(Hashed(rules), RandomPolicy(), rules, limit)


def test_progress_is_told_after_each_ply():
    rules, told = Rules(4, 4, 4), []
    player, asked = LineCounter(rules), {"progress": lambda *numbers: told.append(numbers)}
    found = match.best_responses(player, rules, **asked)
    sides = [side for side, _, _ in told]
    assert sides == sorted(sides, reverse=True)
    for side in "XO":
        plies, positions = zip(
            *((ply, count) for one, ply, count in told if one == side), strict=True
        )
        assert list(plies) == list(range(1, len(plies) + 1))
        assert list(positions) == sorted(positions)
        assert not found[side].can_lose
    told.clear()
    match.exact_result(player, player, rules, **asked)  # one game: one more position at each move
    last = len(told)
    assert last >= 7
    assert told == [("X", ply, min(ply + 1, last)) for ply in range(1, last + 1)]


def test_what_a_policy_says_of_its_symmetry_does_not_count():
    class Claiming(Hashed):
        is_symmetric = True
        symmetry = "by construction"

    assert not BoardReach({"X": Claiming(Rules(2, 4, 3))}, "X", Rules(2, 4, 3)).is_symmetric


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
