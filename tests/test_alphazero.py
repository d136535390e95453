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
        self.values = [-1.0 if {1} in lines or {-1} in lines else 0.0]  # own, of each simulation
        self.free = np.flatnonzero(board == 0)
        if not self.is_over:
            *self.log_p, self.values[0] = scores_of(network, board[None], rules)[0]

    def worth(self, cell):
        """The mean value of the simulations through a move; of all of the node without one."""
        child = self.children.get(cell)
        return np.mean(self.values) if child is None else -np.mean(child.values)

    def visits(self, cell):
        return len(self.children[cell].values) if cell in self.children else 0

    def sums(self):
        scale = 0.1 * (50 + max(map(self.visits, self.free)))
        return {cell: self.log_p[cell] + scale * (self.worth(cell) + 1) / 2 for cell in self.free}

    def shares(self):
        odds = {cell: np.exp(number) for cell, number in self.sums().items()}
        return {cell: one / sum(odds.values()) for cell, one in odds.items()}

    def next(self):
        """The move of a simulation below the root."""
        total, shares = sum(map(self.visits, self.free)), self.shares()
        return max(self.free, key=lambda cell: shares[cell] - self.visits(cell) / (1 + total))

    def simulate(self, cell=None):
        """Make a simulation: its value for the side to move."""
        if self.is_over:
            self.values.append(self.values[0])
            return self.values[0]
        cell = self.next() if cell is None else cell
        if cell in self.children:
            value = -self.children[cell].simulate()
        else:
            after = self.board.copy()
            after[cell] = to_move(self.board[None])[0]
            self.children[cell] = Node(after, self.network)
            value = -self.children[cell].values[0]
        self.values.append(value)
        return value

    def search(self, simulations, noise):
        """Search 16, 8, 4 and 2 moves, each time the one that was visited least: the best move."""
        for number in range(simulations):
            searched = [16, 8, 4, 2][4 * number // simulations]
            self.simulate(min(self.ordered(noise)[:searched], key=self.visits))
        return self.ordered(noise)[0]

    def ordered(self, noise):
        sums = self.sums()
        return sorted(self.free, key=lambda cell: sums[cell] + noise[cell], reverse=True)


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


@pytest.mark.parametrize("is_self_play", [False, True])
@pytest.mark.parametrize("rules", [Rules(), Rules(3, 5, 3), Rules(4, 4, 4)], ids=str)
def test_the_trees_of_many_boards_are_those_of_a_plain_search(rules, is_self_play):
    size = {"rows": rules.rows, "cols": rules.cols, "k": rules.k, "hidden": (16,)}
    network = PAGE.Network(PAGE.Config(**size, simulations=24, self_play_simulations=24))
    with torch.no_grad():
        for weights in network.parameters():
            weights *= 3  # values and probabilities that differ
    boards = boards_of(rules)
    trees = PAGE.Trees(network, boards, np.random.default_rng(5) if is_self_play else None)
    noise = np.random.default_rng(5).gumbel(size=boards.shape) * is_self_play
    for number, board in enumerate(boards):
        root = Node(board, network)
        assert trees.moves[number] == root.search(24, noise[number])
        visits = [root.visits(cell) for cell in range(rules.cells)]
        assert (trees.visits[number, 0] == visits).all()
        shares = [root.shares().get(cell, 0) for cell in range(rules.cells)]
        np.testing.assert_allclose(trees.shares[number], shares, atol=1e-4)
        value = sum(share * root.worth(cell) for cell, share in root.shares().items())
        np.testing.assert_allclose(trees.values[number], value, atol=1e-4)


def test_a_player_with_a_search_moves_alike_whatever_boards_are_asked_with_it():
    learner = PAGE.begin(PAGE.Config(rows=4, cols=4, k=4, hidden=(16,), games=8, updates=4))
    learner.advance(8)
    player = PAGE.player(learner.config.replace(simulations=8), learner.model())
    boards = boards_of(Rules(4, 4, 4))
    together = player.probs(boards)
    assert (together == np.concatenate([player.probs(board[None]) for board in boards])).all()
    assert (together[boards != 0] == 0).all()
    assert (together.max(axis=1) == 1).all()
