"""training/canonical.py: boards that are equal under symmetry become the same planes."""

import numpy as np
import pytest
import torch

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.observation import observe
from tictactoe_env.rules import Rules
from training.canonical import CanonicalBoards

RULES = pytest.mark.parametrize("rules", [Rules(), Rules(2, 4, 3)], ids=str)


def planes_of(rules):
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    return torch.as_tensor(observe(boards, rules, "planes")).float()


@RULES
@pytest.mark.parametrize("symmetry", [True, False])
def test_each_class_has_one_canonical_board_and_a_permutation_leads_there(rules, symmetry):
    planes, positions = planes_of(rules), positions_of(rules)
    network_input = CanonicalBoards(rules, symmetry)
    canonical, cells = network_input(planes)
    assert torch.equal(cells.sort(dim=1).values, torch.arange(rules.cells).expand_as(cells))
    images = planes.flatten(2).gather(2, cells[:, None].expand(-1, 2, -1))
    assert torch.equal(canonical, images.reshape(planes.shape))
    rows = positions.canonical[positions.unfinished] if symmetry else positions.unfinished
    pairs = np.unique(np.column_stack([rows, canonical.flatten(1).numpy()]), axis=0)
    assert len(pairs) == len(np.unique(rows)) == len(network_input.distinct(planes)[0])
    assert len(np.unique(rows)) == {True: 627, False: 4_520}[symmetry] or rules != Rules()
    assert network_input.state_dict() == {}  # nothing is added to what is saved


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
