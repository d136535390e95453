"""The laws of chance: replies, results and starts against exact probabilities, by chi-square.

The exact probabilities are fractions of oracles/plain_game.py. What never may happen is found at
once. Else a finding is a chi-square with a probability below 1e-9, so 10,000 cases of right laws
give a false alarm with a chance of 1 in 100,000. With its 200,000 draws, a case finds a result that
is off by 1 % of all games with a chance above 99 %.
"""

from collections import Counter
from fractions import Fraction
from math import sqrt

import numpy as np
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from oracles.plain_game import plain

from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.notation import board_text
from tictactoe_env.rules import Rules

DRAWS = 200_000
SINGLE = 4_000  # draws of an environment for single games, which is slower
MOST = 6.0  # standard deviations: a probability of 1e-9
BOARDS = st.sampled_from([Rules(*size) for size in ((3, 3, 3), (2, 3, 2), (2, 4, 3), (3, 2, 3))])
MODES = st.sampled_from(("SAME_STEP", "NEXT_STEP", "DISABLED"))
SEEDS = st.integers(0, 2**31)
PLACES = st.floats(0, 1, exclude_max=True)
few = settings(max_examples=2, phases=[Phase.explicit, Phase.reuse, Phase.generate])


def mixed(game, board, share):
    """Perfect play, but a random move with this probability."""
    best = game.perfect(board)
    any_cell = game.uniform(board)
    return {cell: (1 - share) * best.get(cell, 0) + share * any_cell[cell] for cell in any_cell}


SLIPS = ("minimax-slip=0.1", lambda game, board: mixed(game, board, Fraction(1, 10)))
OPPONENTS = st.sampled_from(
    [
        ("random", lambda game, board: game.uniform(board)),
        ("minimax", lambda game, board: game.perfect(board)),
        ("minimax-first", lambda game, board: {min(game.best(board)): Fraction(1)}),
        SLIPS,
        ("minimax-slip=0.8", lambda game, board: mixed(game, board, Fraction(4, 5))),
    ]
)
"""Opponents, and the probability of each of their moves on a board."""
POOLS = st.lists(st.tuples(OPPONENTS, st.integers(1, 5)), min_size=2, max_size=3)


def check_law(law, counts):
    """Check that these counts follow these probabilities.

    The cube root of a chi-square is nearly normal (Wilson and Hilferty, 1931).
    """
    assert {key for key, count in counts.items() if count} <= {key for key in law if law[key]}
    total = sum(counts.values())
    free = sum(share > 0 for share in law.values()) - 1
    parts = {key: total * float(share) for key, share in law.items() if share}
    square = sum((counts.get(key, 0) - part) ** 2 / part for key, part in parts.items())
    if free:
        spread = 2 / (9 * free)
        assert ((square / free) ** (1 / 3) - 1 + spread) / sqrt(spread) < MOST


def position(game, place, rules):
    """A position that no move ends, and the options of a reset to it for the opponent's move."""
    boards = [
        board
        for board in game.unfinished
        if all(game.positions[game.after(board, cell)] is None for cell in game.free(board))
    ]
    board = boards[int(place * len(boards))]
    return board, {"board": board_text(board, rules), "side": "XO"[game.mover(board) == 1]}


@few
@given(BOARDS, OPPONENTS, PLACES, MODES | st.just("single"), SEEDS)
@example(Rules(), SLIPS, 0.1, "single", 0)
def test_replies_have_the_stated_probabilities(rules, opponent, place, mode, seed):
    game = plain(rules)
    name, law = opponent
    board, options = position(game, place, rules)
    if mode == "single":
        env = TicTacToeEnv(name, **rules.to_json())
        times = SINGLE
    else:
        env = TicTacToeVectorEnv(DRAWS // 4, name, autoreset_mode=mode, **rules.to_json())
        times = 4
    env.reset(seed=seed)
    counts = np.zeros(rules.cells, dtype=int)
    for _ in range(times):
        env.reset(options=options)
        boards = env.board if mode == "single" else env.boards
        counts += (boards != np.array(board)).reshape(-1, rules.cells).sum(axis=0)
    check_law(law(game, board), dict(enumerate(counts.tolist())))


@few
@given(BOARDS, POOLS, MODES, SEEDS)
def test_random_play_has_the_stated_results(rules, pool, mode, seed):
    """pool: the opponents of which one is drawn for each game, by their weights."""
    game = plain(rules)
    law = Counter()
    whole = 2 * sum(weight for _, weight in pool)
    for (_, choice), weight in pool:
        as_x = game.match(game.uniform, lambda board, choice=choice: choice(game, board))
        as_o = game.match(lambda board, choice=choice: choice(game, board), game.uniform)
        for side, chances in ((1, as_x[:3]), (-1, as_o[2::-1])):
            for outcome, chance in zip((1, 0, -1), chances, strict=True):
                law[side, outcome] += Fraction(weight, whole) * chance
    counts = Counter()
    rng = np.random.default_rng(seed)
    names = [(name, weight) for (name, _), weight in pool]
    env = TicTacToeVectorEnv(DRAWS // 10, names, autoreset_mode=mode, **rules.to_json())
    env.reset(seed=seed)
    for _ in range(10):
        counts.update(first_results(env, rng, mode))
    check_law(law, counts)


def first_results(env, rng, mode):
    """The side and the outcome of the first game of each row, whatever its length."""
    env.reset()
    first = np.ones(env.num_envs, dtype=bool)
    while first.any():
        masks = env.action_masks()
        _, _, ended, _, infos = env.step((masks * rng.random(masks.shape)).argmax(axis=1))
        told = infos["final_info"] if mode == "SAME_STEP" and ended.any() else infos
        over = first & ended
        yield from zip(told["side"][over].tolist(), told["outcome"][over].tolist(), strict=True)
        first &= ~ended
        if mode == "DISABLED" and ended.any():
            env.reset(options={"reset_mask": ended})


@few
@given(BOARDS, st.sampled_from(("random", "X", "O")), SEEDS)
def test_random_starts_are_all_unfinished_positions_alike(rules, side, seed):
    game = plain(rules)
    boards = [board for board in game.unfinished if side in ("random", "XO"[game.mover(board) < 0])]
    env = TicTacToeVectorEnv(DRAWS, "random", side, start="random", **rules.to_json())
    env.reset(seed=seed)
    counts = Counter(map(tuple, env.boards.tolist()))
    check_law(dict.fromkeys(boards, Fraction(1, len(boards))), counts)
