"""The encodings of boards as networks see them."""

import numpy as np
import pytest
import torch

from tictactoe_env import Rules
from tictactoe_env.observation import observation_space, observe
from tictactoe_env.rules import to_move
from training.board_network import Lines

BOARDS = [Rules(3, 3, 3), Rules(2, 4, 3), Rules(5, 5, 4), Rules(2, 2, 1)]


def random_boards(rules, number=40):
    rng = np.random.default_rng(0)
    boards = np.zeros((number, rules.cells), dtype=np.int8)
    for board, marks in zip(boards, rng.integers(0, rules.cells, number), strict=True):
        cells = rng.permutation(rules.cells)[:marks]
        board[cells[::2]], board[cells[1::2]] = 1, -1
    return boards


def encoded(boards, rules):
    made = Lines(observation_space(rules, "planes"), rules)
    assert not made.state_dict(), "nothing of it belongs to a model"
    features = made(torch.from_numpy(observe(boards, rules, "planes")).float())
    assert features.shape == (len(boards), made.features_dim)
    return features.numpy()


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_lines_tell_how_many_marks_stand_on_each_line_that_can_be_completed(rules):
    boards = random_boards(rules)
    found = encoded(boards, rules)
    for board, features in zip(boards, found, strict=True):
        own = board * to_move(board[None])[0]
        expected = [own == 1, own == -1]
        for side in (1, -1):
            for number in range(1, rules.k):
                marks = [[own[cell] for cell in line] for line in rules.lines]
                is_so = [line.count(side) == number and -side not in line for line in marks]
                expected.append(np.array(is_so, dtype=bool))
        np.testing.assert_array_equal(features, np.concatenate(expected))
