"""training/canonical.py: boards that are equal under symmetry become the same planes."""

import pytest
import torch

from tictactoe_env.observation import observe
from tictactoe_env.positions import positions_of, symmetries_of
from tictactoe_env.rules import Rules
from training.canonical import CanonicalBoards

RULES = pytest.mark.parametrize("rules", [Rules(), Rules(2, 4, 3), Rules(3, 4, 3)], ids=str)


def planes_of(rules, permutation=slice(None), step=1):
    boards = positions_of(rules).boards[positions_of(rules).unfinished][::step]
    return torch.as_tensor(observe(boards[:, permutation], rules)).float()


@RULES
def test_all_images_of_a_position_have_the_same_canonical_planes(rules):
    canonical, _ = CanonicalBoards(rules)(planes_of(rules, step=7))
    for permutation in symmetries_of(rules):
        again, _ = CanonicalBoards(rules)(planes_of(rules, permutation, step=7))
        assert torch.equal(again, canonical)


@RULES
@pytest.mark.parametrize("symmetry", [True, False])
def test_the_permutation_says_where_each_cell_came_from(rules, symmetry):
    planes = planes_of(rules)
    canonical, cells = CanonicalBoards(rules, symmetry)(planes)
    assert torch.equal(cells.sort(dim=1).values, torch.arange(rules.cells).expand_as(cells))
    images = planes.flatten(2).gather(2, cells[:, None].expand(-1, 2, -1))
    assert torch.equal(canonical, images.reshape(planes.shape))
    assert symmetry or torch.equal(canonical, planes)


def test_the_unfinished_positions_of_3x3_are_627_boards_and_without_symmetry_4520():
    for symmetry, expected in ((True, 627), (False, 4_520)):
        boards = CanonicalBoards(Rules(), symmetry)
        assert len(boards(planes_of(Rules()))[0].flatten(1).unique(dim=0)) == expected
        assert len(boards.distinct(planes_of(Rules()))[0]) == expected
        assert boards.state_dict() == {}  # nothing is added to what is saved


def test_a_board_of_sixteen_cells_has_an_exact_code():
    full = torch.zeros(2, 2, 4, 4)
    full[0, 1], full[1, 1] = 1, 1
    full[0, 1, 0, 1] = full[1, 1, 2, 0] = 0  # images of each other
    canonical, _ = CanonicalBoards(Rules(4, 4, 4))(full)
    assert torch.equal(canonical[0], canonical[1])
    full[1, 1], full[1, 1, 0, 0] = 1, 0  # no longer; the codes differ in their last digits
    canonical, _ = CanonicalBoards(Rules(4, 4, 4))(full)
    assert not torch.equal(canonical[0], canonical[1])
