"""The search for the strategy of `connect-four-x`, from a position late in the game."""

from itertools import islice
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from oracles.plain_game import plain
from sample_players import random_boards

from benchmarks import connect_four_x as search
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.solver import solve
from training.strategy import Strategy, keys_of

pytest.importorskip("bitbully")


def test_each_pass_finds_a_strategy_that_wins_against_every_reply(tmp_path):
    boards = random_boards(CONNECT_FOUR, 2000)
    boards = boards[np.count_nonzero(boards, axis=1) == 22]
    scores = solve(CONNECT_FOUR).board_scores(boards)
    board = boards[scores > 0][scores[scores > 0].argmin()]  # the win that takes longest
    first, _ = keys_of(board[None])
    known = search.Scores(tmp_path, ThreadPool(1))
    for strategy in islice(search.passes(known, first), 5):
        search.write(strategy, tmp_path / "strategy.npz")
        with np.load(tmp_path / "strategy.npz") as arrays:
            player = Strategy(arrays["keys"], arrays["columns"])
        assert len(met(player, tuple(board.tolist()))) == search.decisions(strategy)


def met(player, board):
    """The positions in which X has to move against every reply, first images; it wins them all."""
    game = plain(CONNECT_FOUR)
    left, seen = [board], set()
    while left:
        image = game.first_image(left.pop())
        if image in seen:
            continue
        seen.add(image)
        after = game.after(image, int(player.probs(np.array([image], dtype=np.int8)).argmax()))
        if game.outcome(after) is None:
            replies = [game.after(after, cell) for cell in game.legal(after)]
            assert {game.outcome(reply) for reply in replies} == {None}
            left += replies
        else:
            assert game.outcome(after) == 1
    return seen
