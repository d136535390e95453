"""The laws of chance by chi-square: replies, results and starts against exact probabilities.

The exact probabilities are fractions of tests/oracles/plain_game.py. What never may happen is
found at once. Else a case is a finding if its chi-square has a probability below 1e-9, so 10,000
cases of right laws give a false alarm with a chance of 1 in 100,000. With its 200,000 draws, a case
finds a result that is off by 1 % of all games with a chance above 99 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from attack.campaign import Case, Report, repeat
from attack.referee import plain
from tests.oracles.plain_game import PlainGame
from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv

LEAST = 1e-9  # the probability of a chi-square that is a finding
DRAWS, GAMES = 200_000, 20_000
SINGLE = 4_000  # draws of an environment for single games, which is slower
SIZES = ((3, 3, 3), (3, 3, 3), (2, 3, 2), (2, 4, 3), (3, 2, 3))
MODES = ("SAME_STEP", "NEXT_STEP", "DISABLED")
Law = dict[Any, Fraction]


def run(seconds: float, seed: int, folder: Path) -> Report:
    """Attack until the time is over."""
    return repeat("law", attack, seconds, seed, folder)


def attack(case: Case) -> Iterator[str]:
    """Draw from one law, and compare."""
    way = case.draw.choice((replies, replies, results, starts, single_replies))
    case.counts[way.__name__.replace("_", " ")] += 1
    told, law, counts = way(case.draw)
    case.counts["draws"] += sum(counts.values())
    wrong = deviation(law, counts)
    if wrong:
        yield f"{way.__name__} of {told}: {wrong}"


def opponents(draw: Any) -> tuple[Any, Any]:
    """An opponent, and the probability of each cell on a board, as a function of a plain game."""
    slip = draw.choice((Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)))
    weight = draw.randint(1, 5)

    def mixed(game: PlainGame, board: Any, share: Fraction) -> Law:
        best, any_cell = game.perfect(board), game.uniform(board)
        return {cell: (1 - share) * best.get(cell, 0) + share * any_cell[cell] for cell in any_cell}

    pool = [["minimax", weight], ["random", 1]]
    known = (
        ("random", lambda game, board: game.uniform(board)),
        ("minimax", lambda game, board: game.perfect(board)),
        ("minimax-first", lambda game, board: {min(game.best(board)): Fraction(1)}),
        (f"minimax-slip={float(slip)}", lambda game, board: mixed(game, board, slip)),
        (pool, lambda game, board: mixed(game, board, Fraction(1, weight + 1))),
    )
    return draw.choice(known)


def drawn_board(draw: Any, game: PlainGame) -> Any:
    """A drawn unfinished position with at least two free cells, at which a game can begin."""
    boards = [
        board for board, over in game.positions.items() if over is None and board.count(0) > 1
    ]
    boards = [
        board
        for board in boards
        if all(game.positions[game.after(board, cell)] is None for cell in game.free(board))
    ]
    return draw.choice(boards)


def replies(draw: Any) -> tuple[str, Law, dict[Any, int]]:
    """The first replies of an opponent on a board, of many games at a time."""
    size = draw.choice(SIZES)
    game, (opponent, law) = plain(size), opponents(draw)
    board, kind = drawn_board(draw, game), dict(zip(("rows", "cols", "k"), size, strict=True))
    side = "XO"[game.mover(board) > 0]  # the learner's: the opponent is to move
    count = DRAWS // 4
    env = TicTacToeVectorEnv(count, opponent, autoreset_mode=draw.choice(MODES), **kind)
    env.reset(seed=draw.randrange(2**32))
    counts = np.zeros(game.cells, dtype=np.int64)
    start = np.array(board)
    for _ in range(DRAWS // count):
        env.reset(options={"board": text_of(board, size), "side": side})
        counts += (env.boards != start).sum(axis=0)
    expected = law(game, board)
    return f"{opponent} on {board} of {size}", expected, dict(enumerate(counts.tolist()))


def single_replies(draw: Any) -> tuple[str, Law, dict[Any, int]]:
    """The same of an environment for single games."""
    size = draw.choice(SIZES)
    game, (opponent, law) = plain(size), opponents(draw)
    board, kind = drawn_board(draw, game), dict(zip(("rows", "cols", "k"), size, strict=True))
    side = "XO"[game.mover(board) > 0]
    env = TicTacToeEnv(opponent, **kind)
    env.reset(seed=draw.randrange(2**32))
    counts, start = np.zeros(game.cells, dtype=np.int64), np.array(board)
    options = {"board": text_of(board, size), "side": side}
    for _ in range(SINGLE):
        env.reset(options=options)
        counts += env.board != start
    return f"{opponent} on {board} of {size}", law(game, board), dict(enumerate(counts.tolist()))


def results(draw: Any) -> tuple[str, Law, dict[Any, int]]:
    """The results of random play against an opponent: (side, outcome) of the first games."""
    size = draw.choice(SIZES)
    game, (opponent, law) = plain(size), opponents(draw)
    expected = exact_results(game, opponent, law)
    counts = dict.fromkeys(expected, 0)
    mode, rng = draw.choice(MODES), np.random.default_rng(draw.randrange(2**32))
    kind = dict(zip(("rows", "cols", "k"), size, strict=True))
    env = TicTacToeVectorEnv(GAMES, opponent, autoreset_mode=mode, **kind)
    env.reset(seed=draw.randrange(2**32))
    for _ in range(DRAWS // GAMES):
        for side, outcome in first_results(env, rng, mode):
            counts[side, outcome] += 1
    return f"{opponent} on {size} in {mode}", expected, counts


def exact_results(game: PlainGame, opponent: Any, law: Any) -> Law:
    """The probability of each (side, outcome) of random play on a random side.

    A pool is drawn for each game, not for each move.
    """
    pool = opponent if isinstance(opponent, list) else [[opponent, 1]]
    players = {"minimax": game.perfect, "random": game.uniform}
    expected: Law = {}
    for part, weight in pool:
        choose = players.get(part, lambda board: law(game, board))
        share = Fraction(weight, 2 * sum(one for _, one in pool))
        for side, match in (
            (1, game.match(game.uniform, choose)),
            (-1, game.match(choose, game.uniform)[2::-1]),
        ):
            for outcome, chance in zip((1, 0, -1), match, strict=False):
                key = (side, outcome)
                expected[key] = expected.get(key, Fraction(0)) + share * chance
    return expected


def first_results(env: Any, rng: Any, mode: str) -> Iterator[tuple[int, int]]:
    """The side and the outcome of the first game of each row, whatever its length."""
    env.reset()
    first = np.ones(env.num_envs, dtype=bool)
    while first.any():
        masks = env.action_masks()
        _, _, ended, _, infos = env.step((masks * rng.random(masks.shape)).argmax(axis=1))
        told = infos["final_info"] if mode == "SAME_STEP" and ended.any() else infos
        for row in np.flatnonzero(first & ended).tolist():
            yield int(told["side"][row]), int(told["outcome"][row])
        first &= ~ended
        if mode == "DISABLED" and ended.any():
            env.reset(options={"reset_mask": ended})


def starts(draw: Any) -> tuple[str, Law, dict[Any, int]]:
    """The boards of start="random": every unfinished position alike."""
    size = draw.choice(SIZES)
    game, kind = plain(size), dict(zip(("rows", "cols", "k"), size, strict=True))
    side = draw.choice(("random", "X", "O"))
    boards = [
        board
        for board, over in game.positions.items()
        if over is None and side in ("random", "XO"[game.mover(board) < 0])
    ]
    law = dict.fromkeys(boards, Fraction(1, len(boards)))
    env = TicTacToeVectorEnv(DRAWS // 2, "random", side, start="random", **kind)
    counts: dict[Any, int] = dict.fromkeys(boards, 0)
    for round in range(2):
        env.reset(seed=draw.randrange(2**32) + round)
        found, numbers = np.unique(env.boards, axis=0, return_counts=True)
        for board, number in zip(found.tolist(), numbers.tolist(), strict=True):
            counts[tuple(board)] = counts.get(tuple(board), 0) + number
    return f"{side} on {size}", law, counts


def text_of(board: Any, size: tuple[int, int, int]) -> str:
    """A board as the options of `reset` take it."""
    text = "".join({1: "X", -1: "O", 0: "."}[mark] for mark in board)
    return "/".join(text[at : at + size[1]] for at in range(0, len(text), size[1]))


# --- chi-square -----------------------------------------------------------------------------------


def deviation(law: Mapping[Any, Fraction], counts: Mapping[Any, int]) -> str:
    """How counts deviate from a law; "" if they do not."""
    forbidden = [key for key, count in counts.items() if count and not law.get(key)]
    if forbidden:
        return f"{forbidden[0]} came up, which cannot be"
    total = sum(counts.values())
    parts = {key: total * float(share) for key, share in law.items() if share}
    square = sum((counts.get(key, 0) - part) ** 2 / part for key, part in parts.items())
    if len(parts) < 2:
        return ""
    chance = chance_above(square, len(parts) - 1)
    if chance >= LEAST:
        return ""
    worst = max(parts, key=lambda key: abs(counts.get(key, 0) - parts[key]) / parts[key] ** 0.5)
    return (
        f"chi-square {square:.1f} with {len(parts) - 1} degrees of freedom has a probability of "
        f"{chance:.1e}; {worst} came up {counts.get(worst, 0):,} times, not {parts[worst]:,.1f}"
    )


def chance_above(square: float, freedom: int) -> float:
    """The probability of a chi-square above a value: the sum that repeated integration gives."""
    half, is_odd = square / 2, freedom % 2
    if half == 0:
        return 1.0
    powers = (number + is_odd / 2 for number in range(freedom // 2))
    terms = (math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in powers)
    return is_odd * math.erfc(math.sqrt(half)) + sum(terms)
