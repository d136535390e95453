"""The engine that walks rows against the one that walks bitboards, and both against the plain rules."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_players import CellPlayer, FixedPlayer, random_probs

from tictactoe_env.bit_engine import BitGame, BitGames
from tictactoe_env.policy import RandomPolicy, TabularPolicy, Uniforms
from tictactoe_env.positions import positions_of
from tictactoe_env.row_engine import RowGame, RowGames
from tictactoe_env.rules import DRAW, ILLEGAL, LOSS, ONGOING, OPPONENT_ILLEGAL, WIN, Rules

BOARDS = [
    Rules(3, 3, 3),
    Rules(2, 3, 2),
    Rules(2, 5, 3),
    Rules(1, 5, 3),
    Rules(5, 1, 2),
    Rules(3, 2, 3),
]
SMALL = [rules for rules in BOARDS if rules.cells < 10]
SETTINGS = [
    (early_draw, observation) for early_draw in (False, True) for observation in ("planes", "grid")
]
SEED = 0
EDGE = 1e-13  # of a column of the alias method
EXACT = 1e-11  # the alias tables leave columns within 1e-12 of full as they are


class Constant:
    """A generator whose every number is the same."""

    def __init__(self, number: float):
        self.number = number

    def random(self, size=None):
        return self.number if size is None else np.full(size, self.number)


def plain_result(board, seat, rules, early_draw):
    """How an unforfeited game stands, by looking at every line."""
    lines = [board[list(line)] for line in rules.lines]
    for mark in (1, -1):
        if any((line == mark).all() for line in lines):
            return WIN if mark == seat else LOSS
    dead = all((line == 1).any() and (line == -1).any() for line in lines)
    return DRAW if (board != 0).all() or (early_draw and dead) else ONGOING


def every_start(rules, early_draw=False):
    """Boards and seats of every unfinished position with either learner."""
    positions = positions_of(rules)
    ended = positions.is_over | (positions.is_dead if early_draw else False)
    boards = positions.boards[~ended]
    return np.concatenate([boards, boards]), np.repeat(
        np.array([1, -1], dtype=np.int8), len(boards)
    )


def learner_to_move(boards, seats):
    return (boards != 0).sum(axis=1) % 2 == (seats < 0)


def assert_same_view(rows, row_states, bits, bit_states):
    for verb in ("result", "observe", "legal", "boards", "seats", "opponent_moves"):
        seen_rows, seen_bits = getattr(rows, verb)(row_states), getattr(bits, verb)(bit_states)
        assert np.array_equal(seen_rows, seen_bits), verb
        assert seen_rows.dtype == seen_bits.dtype, verb


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize(("early_draw", "observation"), SETTINGS)
def test_rows_and_bitboards_agree_on_every_position_move_and_reply(rules, early_draw, observation):
    rows, bits = RowGames(rules, early_draw, observation), BitGames(rules, early_draw, observation)
    boards, seats = every_start(rules, early_draw)
    row_states, bit_states = rows.start(boards, seats), bits.start(boards, seats)
    assert_same_view(rows, row_states, bits, bit_states)
    going = rows.result(row_states) == ONGOING
    ours = going & learner_to_move(boards, seats)
    theirs = going & ~learner_to_move(boards, seats)
    assert np.array_equal(rows.opponent_moves(row_states), theirs)
    nobody = np.zeros(len(boards), dtype=np.intp)
    for cell in range(rules.cells):
        cells = np.full(ours.sum(), cell)
        assert_same_view(
            rows, rows.play(row_states[ours], cells), bits, bits.play(bit_states[ours], cells)
        )
        player, rng = [CellPlayer(cell)], np.random.default_rng(SEED)
        row_replies = rows.reply(row_states, rows.prepare(player), nobody, rng)
        bit_replies = bits.reply(bit_states, bits.prepare(player), nobody, rng)
        assert np.array_equal(rows.boards(row_replies[~theirs]), boards[~theirs]), (
            "a reply out of turn"
        )
        assert_same_view(rows, row_replies, bits, bit_replies)


@pytest.mark.parametrize("rules", SMALL, ids=str)
@pytest.mark.parametrize("early_draw", [False, True])
def test_one_game_walks_as_many_games_do(rules, early_draw):
    boards, seats = every_start(rules, early_draw)
    kept = np.random.default_rng(SEED).permutation(len(boards))[:700]
    boards, seats = boards[kept], seats[kept]
    rng = np.random.default_rng(SEED)
    for one_engine, many_engine in ((RowGame, RowGames), (BitGame, BitGames)):
        one, many = (
            one_engine(rules, early_draw, "planes"),
            many_engine(rules, early_draw, "planes"),
        )
        states = many.start(boards, seats)
        moving = many.opponent_moves(states)
        going = many.result(states) == ONGOING
        cells = rng.integers(rules.cells, size=len(boards))
        played, replied = (
            many.play(states, cells),
            many.reply(
                states, many.prepare([FixedPlayer(1)]), np.zeros(len(boards), dtype=int), rng
            ),
        )
        reply = one.prepare(FixedPlayer(1))
        advanced = many.reply(
            played, many.prepare([FixedPlayer(1)]), np.zeros(len(boards), dtype=int), rng
        )
        for game, (board, seat) in enumerate(zip(boards, seats, strict=True)):
            state = one.start(board, int(seat))
            assert one.opponent_moves(state) == moving[game]
            if not going[game]:
                continue
            chance = Uniforms(rng)
            after, result = (
                one.reply(state, reply, chance)
                if moving[game]
                else one.advance(state, int(cells[game]), reply, chance)
            )
            expected = (replied if moving[game] else advanced)[game : game + 1]
            assert result == many.result(expected)[0]
            assert np.array_equal(one.board(after), many.boards(expected)[0])
            observation, legal = one.view(after)
            assert np.array_equal(observation, many.observe(expected)[0])
            assert np.array_equal(legal, many.legal(expected)[0])


@pytest.mark.parametrize("rules", [*SMALL, Rules(3, 3, 2)], ids=str)
@pytest.mark.parametrize("early_draw", [False, True])
def test_a_game_stands_as_the_lines_on_the_board_say(rules, early_draw):
    rows = RowGames(rules, early_draw, "grid")
    boards, seats = every_start(rules)
    boards, seats = boards[learner_to_move(boards, seats)], seats[learner_to_move(boards, seats)]
    for cell in range(rules.cells):
        states = rows.play(rows.start(boards, seats), np.full(len(boards), cell))
        expected = []
        for board, seat in zip(boards, seats, strict=True):
            after = board.copy()
            after[cell] = seat
            expected.append(
                ILLEGAL if board[cell] else plain_result(after, seat, rules, early_draw)
            )
        going_before = rows.result(rows.start(boards, seats)) == ONGOING
        assert np.array_equal(rows.result(states)[going_before], np.array(expected)[going_before])


def test_every_standing_occurs_on_a_board_of_three_by_three():
    rules = Rules()
    rows = RowGames(rules, False, "grid")
    boards, seats = every_start(rules)
    states, nobody = rows.start(boards, seats), np.zeros(len(boards), dtype=int)
    seen = set()
    for cell in range(rules.cells):
        after = rows.reply(
            states, rows.prepare([CellPlayer(cell)]), nobody, np.random.default_rng(SEED)
        )
        seen |= set(rows.result(after).tolist())
        ours = learner_to_move(boards, seats)
        seen |= set(rows.result(rows.play(states[ours], np.full(ours.sum(), cell))).tolist())
    assert seen == {ONGOING, WIN, DRAW, LOSS, ILLEGAL, OPPONENT_ILLEGAL}


# --- sampling ---------------------------------------------------------------------------------------------------


def reply_shares(games, states, replies, which, widths):
    """The share of [0, 1) that leads to each next state, [{state: share}], found by bisection inside each 1/width of it.

    Within such a column the reply changes at most once, so its two ends and one bisection tell it all. The ends are
    taken EDGE inside, because column / width * width can round across the border.
    """
    shares = [{} for _ in states]
    for width in np.unique(widths):
        group = np.flatnonzero(widths == width)
        for column in range(width):
            below, above = (
                np.full(len(group), column / width + EDGE),
                np.full(len(group), (column + 1) / width - EDGE),
            )
            first, last = (
                games.reply(states[group], replies, which[group], Given(ends))
                for ends in (below, above)
            )
            for _ in range(44):
                middle = (below + above) / 2
                same = games.reply(states[group], replies, which[group], Given(middle)) == first
                below, above = np.where(same, middle, below), np.where(same, above, middle)
            for game, low, high, switch in zip(group, first, last, above, strict=True):
                for state, share in (
                    (low, switch - column / width),
                    (high, (column + 1) / width - switch),
                ):
                    shares[game][int(state)] = shares[game].get(int(state), 0.0) + share
    return shares


class Given:
    """A generator that gives these numbers."""

    def __init__(self, numbers):
        self.numbers = numbers

    def random(self, size=None):
        assert size is None or size == len(self.numbers)
        return self.numbers


class OneByOne:
    """`RowGame` with the verbs of `RowGames` that the test of chances needs."""

    def __init__(self, rules):
        self.rules, self.game = rules, RowGame(rules, False, "grid")

    def start(self, boards, seats):
        return np.array(
            [self.game.start(board, int(seat)) for board, seat in zip(boards, seats, strict=True)]
        )

    def prepare(self, players):
        return [self.game.prepare(player) for player in players]

    def reply(self, states, replies, which, rng):
        chances = []
        for number in rng.random(len(states)).tolist():
            chances.append(Uniforms(np.random.default_rng(SEED)))
            chances[-1].append(number)
        rows = zip(states.tolist(), which.tolist(), chances, strict=True)
        return np.array(
            [self.game.reply(state, replies[player], chance)[0] for state, player, chance in rows]
        )


def asked_and_given(games, tables, games_sampled, rng):
    """Largest difference between a table's probabilities and the shares that its replies have, over some positions."""
    rules = games.rules
    boards, seats = every_start(rules)
    theirs = np.flatnonzero(~learner_to_move(boards, seats))
    chosen = rng.choice(theirs, size=min(games_sampled, len(theirs)), replace=False)
    boards, seats = boards[chosen], seats[chosen]
    which = rng.integers(len(tables), size=len(chosen))
    players = [TabularPolicy(rules, table) for table in tables]
    states, replies = games.start(boards, seats), games.prepare(players)
    probs = np.array(
        [players[player].probs(board[None])[0] for player, board in zip(which, boards, strict=True)]
    )
    shares = reply_shares(games, states, replies, which, np.maximum((probs > 0).sum(axis=1), 1))
    worst = 0.0
    by_cell = [
        games.reply(
            states,
            games.prepare([CellPlayer(cell)]),
            np.zeros(len(states), dtype=int),
            Constant(0.5),
        )
        for cell in range(rules.cells)
    ]
    for game in range(len(boards)):
        expected = {}
        for cell in range(rules.cells):
            state = int(by_cell[cell][game])
            expected[state] = expected.get(state, 0.0) + probs[game, cell]
        assert {state for state, share in shares[game].items() if share > 10 * EDGE} <= {
            state for state, prob in expected.items() if prob > 0
        }
        worst = max(
            worst, *(abs(shares[game].get(state, 0.0) - prob) for state, prob in expected.items())
        )
    return worst


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    spread=st.sampled_from([0.02, 0.3, 1.0, 50.0]),
    opponents=st.integers(1, 3),
    illegal=st.booleans(),
)
def test_each_reply_of_many_games_has_the_probability_of_the_table(
    seed, spread, opponents, illegal
):
    rng = np.random.default_rng(seed)
    tables = [random_probs(Rules(), rng, spread, illegal) for _ in range(opponents)]
    assert asked_and_given(RowGames(Rules(), False, "grid"), tables, 60, rng) < EXACT


@pytest.mark.parametrize("rules", [Rules(2, 3, 2), Rules(2, 5, 3)], ids=str)
def test_each_reply_on_a_board_that_is_not_square_has_the_probability_of_the_table(rules):
    rng = np.random.default_rng(SEED)
    assert (
        asked_and_given(
            RowGames(rules, False, "grid"),
            [random_probs(rules, rng), random_probs(rules, rng, 0.1)],
            150,
            rng,
        )
        < EXACT
    )


def test_equally_likely_replies_are_found_exactly():
    rules = Rules()
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    assert (
        asked_and_given(
            RowGames(rules, False, "grid"),
            [RandomPolicy().probs(boards)],
            300,
            np.random.default_rng(SEED),
        )
        < 1e-11
    )


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32), spread=st.sampled_from([0.02, 0.3, 1.0, 50.0]))
def test_each_reply_of_one_game_has_the_probability_of_the_table(seed, spread):
    rng = np.random.default_rng(seed)
    tables = [random_probs(Rules(), rng, spread), random_probs(Rules(), rng, spread)]
    assert asked_and_given(OneByOne(Rules()), tables, 12, rng) < EXACT


@pytest.mark.parametrize("number", [0.0, 2**-53, 0.5, 1 - 2**-53])
def test_the_ends_of_the_unit_interval_draw_a_possible_reply(number):
    rules, rng = Rules(), np.random.default_rng(SEED)
    games, boards_seats = RowGames(rules, False, "grid"), every_start(rules)
    theirs = ~learner_to_move(*boards_seats)
    boards, seats = boards_seats[0][theirs], boards_seats[1][theirs]
    for table in (
        random_probs(rules, rng, illegal=False),
        RandomPolicy().probs(positions_of(rules).boards[positions_of(rules).unfinished]),
    ):
        player = TabularPolicy(rules, table)
        after = games.reply(
            games.start(boards, seats),
            games.prepare([player]),
            np.zeros(len(boards), dtype=int),
            Constant(number),
        )
        moved = games.boards(after) != boards
        assert (moved.sum(axis=1) == 1).all()
        assert (player.probs(boards)[moved] > 0).all()


# --- larger boards, and copies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [Rules(4, 4, 4), Rules(7, 8, 5), Rules(5, 3, 4)], ids=str)
@pytest.mark.parametrize("early_draw", [False, True])
def test_random_games_on_large_boards_follow_the_lines_move_by_move(rules, early_draw):
    rng, games = np.random.default_rng(SEED), BitGames(rules, early_draw, "grid")
    seats = np.where(np.arange(12) % 2, 1, -1).astype(np.int8)
    boards = np.zeros((12, rules.cells), dtype=np.int8)
    states, replies, nobody = (
        games.start(boards, seats),
        games.prepare([RandomPolicy()]),
        np.zeros(12, dtype=int),
    )
    ended = set()
    for _ in range(rules.cells):
        for states_next, mover in ((None, "opponent"), (None, "learner")):
            if mover == "opponent":
                states_next = games.reply(states, replies, nobody, rng)
                moved = games.opponent_moves(states)
            else:
                moved = (games.result(states) == ONGOING) & ~games.opponent_moves(states)
                cells = (games.legal(states) * rng.random((12, rules.cells))).argmax(axis=1)
                states_next = np.where(moved, games.play(states, cells), states)
            new, old = games.boards(states_next), games.boards(states)
            assert np.array_equal((new != old).sum(axis=1), moved.astype(int))
            assert np.array_equal(games.observe(states_next).reshape(12, -1), new * seats[:, None])
            for game in range(12):
                standing = plain_result(new[game], seats[game], rules, early_draw)
                assert games.result(states_next)[game] == standing
                ended.add(standing)
            states = states_next
    assert ended >= {ONGOING, WIN, LOSS}
    assert ONGOING not in games.result(states)


@pytest.mark.parametrize("engine", [RowGames, BitGames])
def test_copied_and_pickled_engines_and_opponents_play_on_alike(engine):
    rules, nobody = Rules(2, 3, 2), np.zeros(50, dtype=int)
    games = engine(rules, True, "planes")
    replies = games.prepare(
        [TabularPolicy(rules, random_probs(rules, np.random.default_rng(SEED), illegal=False))]
    )
    states = games.start(np.zeros((50, rules.cells), dtype=np.int8), np.full(50, -1, dtype=np.int8))
    expected = games.reply(states, replies, nobody, np.random.default_rng(5))
    for copied in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        again = copied(games).reply(
            copied(states), copied(replies), nobody, np.random.default_rng(5)
        )
        assert np.array_equal(again, expected)
        assert np.array_equal(copied(games).observe(again), games.observe(expected))
