"""training/canonical.py: boards that are equal under symmetry become the same planes.

`test_sb3_learner` and `test_larger_boards` have what networks make of them.
"""

import numpy as np
import pytest
import torch

from tictactoe_env.observation import observe
from tictactoe_env.rules import Rules
from training.canonical import CanonicalBoards


@pytest.mark.parametrize("rules", [Rules(5, 7, 4), Rules(7, 8, 5)], ids=str)
def test_on_the_largest_boards_only_images_share_a_canonical_board(rules):
    """Codes of 33 cells fit into a float64; a board of 7x8 has 56."""
    rng = np.random.default_rng(0)
    boards = rng.integers(-1, 2, (200, rules.cells), dtype=np.int8)
    near = boards.copy()  # another board, whose code differs in the last digit of a part
    near[:100, 0] = (near[:100, 0] + 2) % 3 - 1
    near[100:, -1] = (near[100:, -1] + 2) % 3 - 1
    images = [board[rng.choice(rules.symmetries)] for board in boards]
    every = np.concatenate([boards, near, images])
    planes = torch.as_tensor(observe(every, rules, "planes", np.ones(len(every)))).float()
    classes = {tuple(min(tuple(board[cells]) for cells in rules.symmetries)) for board in every}
    network_input = CanonicalBoards(rules)
    canonical, which, cells = network_input.distinct(planes)
    assert len(canonical) == len(classes)
    assert torch.equal(which[:200], which[400:])
    same, _, same_cells = network_input.each(planes)
    assert torch.equal(same, canonical[which])
    assert torch.equal(same_cells, cells)
