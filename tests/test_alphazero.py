"""agents/alphazero.py: the search against one in plain Python, and what a player with it does."""

import numpy as np
import pytest
import torch

import agents
from tictactoe_env.rules import Rules, to_move
from training.network_policy import scores_of

PAGE = agents.page("alphazero")


class Node:
    """A node of a tree that grows by recursion; its values are those of the side to move."""

    def __init__(self, board, network):
        rules = network.config.rules
        lines = [{int(board[cell]) for cell in line} for line in rules.lines]
        self.board, self.network, self.children = board, network, {}
        self.is_over = {1} in lines or {-1} in lines or bool(board.all())
        self.value = -1.0 if {1} in lines or {-1} in lines else 0.0
        self.visits, self.totals = np.zeros((2, rules.cells), dtype=np.float32)
        if not self.is_over:
            *log_p, self.value = scores_of(network, board[None], rules)[0]
            self.p = np.exp(np.array(log_p))

    def simulate(self):
        """Make a simulation: its value for the side to move."""
        if self.is_over:
            return self.value
        q = self.totals / np.maximum(self.visits, 1)
        visits = np.sqrt(self.visits.sum(keepdims=True) + 1)
        scores = q + self.network.config.exploration * visits * self.p / (1 + self.visits)
        cell = int(np.where(self.board == 0, scores, -np.inf).argmax())
        if cell in self.children:
            value = -self.children[cell].simulate()
        else:
            after = self.board.copy()
            after[cell] = to_move(self.board[None])[0]
            self.children[cell] = Node(after, self.network)
            value = -self.children[cell].value
        self.visits[cell] += 1
        self.totals[cell] += value
        return value


def boards_of(rules, count=12):
    """Boards of random games that nobody has won yet."""
    rng, found = np.random.default_rng(1), [np.zeros(rules.cells, dtype=np.int8)]
    while len(found) < count:
        order = rng.permutation(rules.cells)[: rng.integers(rules.cells)]
        board = np.zeros(rules.cells, dtype=np.int8)
        board[order[::2]], board[order[1::2]] = 1, -1
        if not rules.has_line(np.stack(rules.to_bits(board[None]))).any():
            found.append(board)
    return np.array(found)


@pytest.mark.parametrize("rules", [Rules(), Rules(3, 5, 3), Rules(4, 4, 4)], ids=str)
def test_the_trees_of_many_boards_are_those_of_a_plain_search(rules):
    size = {"rows": rules.rows, "cols": rules.cols, "k": rules.k}
    network = PAGE.Network(PAGE.Config(**size, simulations=40, hidden=(16,)))
    with torch.no_grad():
        for weights in network.parameters():
            weights *= 3  # values and probabilities that differ
    boards = boards_of(rules)
    trees = PAGE.Trees(network, boards)
    for number, board in enumerate(boards):
        root = Node(board, network)
        for _ in range(40):
            root.simulate()
        assert (trees.visits[number, 0] == root.visits).all()
        np.testing.assert_allclose(trees.totals[number, 0], root.totals, atol=1e-4)


def test_a_player_with_a_search_moves_alike_whatever_boards_are_asked_with_it():
    learner = PAGE.begin(PAGE.Config(rows=4, cols=4, k=4, hidden=(16,), games=8, updates=4))
    learner.advance(8)
    player = PAGE.player(learner.config.but(simulations=8), learner.model())
    boards = boards_of(Rules(4, 4, 4))
    together = player.probs(boards)
    assert (together == np.concatenate([player.probs(board[None]) for board in boards])).all()
    assert (together[boards != 0] == 0).all()
    assert (together.max(axis=1) == 1).all()
