from functools import lru_cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.plain_game import Player, plain
from text_cases import refuses

from tictactoe_env.exact.best_response import best_responses
from tictactoe_env.exact.match import Result, action_values, exact_result
from tictactoe_env.exact.optimality import optimal_share
from tictactoe_env.exact.proof import Limit, ProofLimitError
from tictactoe_env.exact.sampling import sampled_result, wilson_interval
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules

BOARDS = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(2, 4, 3)]
RATES = ("win", "draw", "loss", "illegal", "illegal_other")


@lru_cache
def choice_of(seed, rules, kind):
    """An arbitrary player as chances in eighths, so that floats hold them and products exactly.

    "legal" and "any" spread them over free or all cells, "sure" and "rash" choose one such cell.
    """
    rng, chances, size = np.random.default_rng(seed), {}, 1 if kind in ("sure", "rash") else 8
    for board in plain(rules).unfinished:
        is_legal = kind in ("legal", "sure") or rng.random() < 0.7
        cells = plain(rules).free(board) if is_legal else range(rules.cells)
        picked = rng.choice(list(cells), size=size).tolist()
        chances[board] = {cell: picked.count(cell) / size for cell in sorted(set(picked))}
    return chances.__getitem__


def rates(result):
    return tuple(getattr(result, name) for name in RATES)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kinds", ["legal legal", "any any", "sure any", "rash legal", "any rash"])
def test_a_result_is_that_of_plain_enumeration_to_the_last_bit_illegal_moves_included(kinds, rules):
    x, o = (choice_of(seed, rules, kind) for seed, kind in enumerate(kinds.split()))
    found = exact_result(Player(x), Player(o), rules)
    assert rates(found) == plain(rules).match(x, o)
    assert exact_result(Player(o), Player(x), rules, side="O") == found.other_side


FINISHED = np.array([1, 1, 1, -1, -1, 0, 0, 0, 0])
RANDOM, HALVES = 2 * [RandomPolicy()], 2 * [Player(lambda board: {0: 0.5})]


@pytest.mark.parametrize(
    ("ask", "arguments", "mentions"),
    [
        *((action_values, (side, *RANDOM), f"side {side!r}") for side in ("x", None)),
        (lambda side: exact_result(*RANDOM, side=side), ("Y",), "side 'Y' X O"),
        (action_values, ("X", *RANDOM, Rules(), FINISHED), "board"),
        (sampled_result, (*RANDOM, Rules(), 0), "games 0"),
        (sampled_result, (*HALVES, Rules(), 2), "row 0.5"),
    ],
)
def test_what_has_no_result_is_refused(ask, arguments, mentions):
    with refuses(*mentions.split()):
        ask(*arguments)


def test_the_board_is_the_policies_own_or_the_given_one_or_three_by_three():
    rules, one = Rules(2, 3, 2), RandomPolicy()
    table = tabulate(one, rules)
    for ask in (optimal_share, best_responses):
        assert repr(ask(table)) == repr(ask(one, rules))
    assert exact_result(one, one) == exact_result(one, one, Rules())
    for ask in (exact_result, partial(action_values, "O")):
        for players in ((table, one), (one, table)):
            assert repr(ask(*players)) == repr(ask(*players, rules))
    with refuses("2x3, 2 in a row", "3x3, 3 in a row"):
        exact_result(table, MinimaxPolicy(Rules()))
    with refuses("2x3, 2 in a row", "3x2, 2 in a row"):
        best_responses(table, Rules(3, 2, 2))


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["legal", "any"])
def test_the_value_of_an_action_is_that_of_playing_on_after_it_and_a_taken_cell_has_none(
    kind, rules
):
    game, own, other = plain(rules), choice_of(4, rules, kind), choice_of(5, rules, kind)
    for board in (game.empty, *game.unfinished[:: len(game.unfinished) // 3]):
        mark, expected = game.mover(board), np.full(rules.cells, np.nan)
        players = (own, other)[::mark]
        for cell in game.free(board):
            x_wins, _, o_wins, _, _ = game.match(*players, game.after(board, cell))
            expected[cell] = (x_wins - o_wins) * mark
        asked = ("X" if mark == 1 else "O", Player(own), Player(other), rules)
        found = action_values(*asked, np.array(board) if any(board) else None)
        assert found.dtype == np.float64
        assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize(("kind", "side"), [("legal", "X"), ("any", "O")])
def test_a_sample_agrees_with_the_exact_result_within_its_interval(kind, side, rules):
    x, o = (tabulate(Player(choice_of(seed, rules, kind)), rules) for seed in (6, 7))
    found = sampled_result(x, o, rules, 4000, 1, side=side)
    truth = exact_result(x, o, rules, side=side)
    assert (found.games, list(found.intervals)) == (4000, list(RATES[:3]))
    for name in RATES:
        rate = getattr(found.result, name)
        low, high = found.intervals.get(name, wilson_interval(round(rate * 4000), 4000, 3))
        assert low <= min(rate, getattr(truth, name)) <= max(rate, getattr(truth, name)) <= high


def test_the_limit_of_a_proof_is_that_of_boards_of_more_than_12_cells():
    for ask in (partial(exact_result, *RANDOM), partial(best_responses, RandomPolicy())):
        ask(Rules(1, 12, 2), Limit(positions=1))
        with refuses("1x13", "1 positions", error=ProofLimitError):
            ask(Rules(1, 13, 2), Limit(positions=1))


def test_a_sample_has_1000_games_of_seed_0_and_one_game_is_played_to_its_end():
    for rules in (Rules(), Rules(7, 8, 5)):
        found = sampled_result(*RANDOM, rules)
        assert found == sampled_result(*RANDOM, rules, 1000, 0)
        assert found != sampled_result(*RANDOM, rules, 1000, 1)
    assert sampled_result(*RANDOM, Rules(2, 2, 2), 1).result == Result(1.0, 0.0, 0.0)


Z = 1.959963984540054


@given(st.integers(1, 10**6), st.data())
def test_the_ends_of_a_wilson_interval_solve_its_equation_and_have_the_published_values(
    total, data
):
    # Wilson 1927: the p with (count / total - p)^2 = z^2 p (1 - p) / total.
    count = data.draw(st.integers(0, total))
    rate = count / total
    low, high = wilson_interval(count, total)
    assert 0 <= low <= rate <= high <= 1
    for end in (low, high):
        assert abs((rate - end) ** 2 - Z * Z * end * (1 - end) / total) < 1e-12
    assert [round(end, 4) for end in wilson_interval(5, 10)] == [0.2366, 0.7634]
    assert [round(end, 4) for end in wilson_interval(0, 10)] == [0, 0.2775]
