"""agents/alphazero.py: the search against one in plain Python, and a round's targets by hand."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from learners import RULES
from learners import board as board_of
from sample_players import random_boards

import agents
from tictactoe_env.exact import solve
from tictactoe_env.notation import parse_game
from tictactoe_env.observation import observe
from tictactoe_env.rules import Rules, to_move

MODULE = agents.module("alphazero")


class Node:
    """A node of a tree that grows by recursion; its values are those of the side to move."""

    value_scale = 0.1

    def __init__(self, board, network):
        lines = [{int(board[cell]) for cell in line} for line in network.rules.lines]
        self.board = board
        self.network = network
        self.children = {}
        self.is_over = {1} in lines or {-1} in lines or bool(board.all())
        self.values = [-1.0 if {1} in lines or {-1} in lines else 0.0]  # own, of each simulation
        self.free = np.flatnonzero(board == 0)
        if not self.is_over:
            (self.log_p,), (self.values[0],) = MODULE.predict(network, board[None])

    def worth(self, cell):
        """The mean value of the simulations through a move; of all of the node without one."""
        child = self.children.get(cell)
        return np.mean(self.values) if child is None else -np.mean(child.values)

    def visits(self, cell):
        return len(self.children[cell].values) if cell in self.children else 0

    def sums(self):
        scale = self.value_scale * (50 + max(map(self.visits, self.free)))
        return {cell: self.log_p[cell] + scale * (self.worth(cell) + 1) / 2 for cell in self.free}

    def shares(self):
        odds = {cell: np.exp(number) for cell, number in self.sums().items()}
        return {cell: one / sum(odds.values()) for cell, one in odds.items()}

    def next(self):
        """The move of a simulation below the root."""
        total = sum(map(self.visits, self.free))
        shares = self.shares()
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


@pytest.mark.parametrize("is_self_play", [False, True])
@pytest.mark.parametrize("rules", [Rules(), Rules(3, 5, 3), Rules(4, 4, 4)], ids=str)
def test_the_search_of_many_boards_is_that_of_a_plain_search(rules, is_self_play, monkeypatch):
    monkeypatch.setattr(Node, "value_scale", 0.1 if is_self_play else 0.3)
    size = {"rows": rules.rows, "cols": rules.cols, "k": rules.k, "hidden": (16,)}
    network = MODULE.Network(MODULE.Config(**size))
    with torch.no_grad():
        for weights in network.parameters():
            weights *= 3  # values and probabilities that differ
    boards = random_boards(rules, 12)
    rng = np.random.default_rng(5) if is_self_play else None
    found = MODULE.search(network, boards, 24, rng, value_scale=Node.value_scale)
    noise = np.random.default_rng(5).gumbel(size=boards.shape) * is_self_play
    for number, board in enumerate(boards):
        root = Node(board, network)
        assert found.moves[number] == root.search(24, noise[number])
        visits = [root.visits(cell) for cell in range(rules.cells)]
        assert (found.visits[number] == visits).all()
        shares = [root.shares().get(cell, 0) for cell in range(rules.cells)]
        np.testing.assert_allclose(found.policies[number], shares, atol=1e-4)
        value = sum(share * root.worth(cell) for cell, share in root.shares().items())
        np.testing.assert_allclose(found.values[number], value, atol=1e-4)


@pytest.mark.parametrize("rules", [Rules(), Rules(4, 4, 4, gravity=True)], ids=str)
def test_a_solver_is_right_where_it_comes_to_the_end_of_all_games(rules):
    """With a sign wrong, or a result kept too early, a value would be another one."""
    boards = random_boards(rules, 400)
    boards = boards[np.count_nonzero(boards == 0, axis=1) <= 4]
    network = MODULE.Network(MODULE.Config(**rules.to_json(), hidden=(16,)))
    exact = solve(rules)
    for rng in (None, np.random.default_rng(0)):
        found = MODULE.search(network, boards, 150, rng, mcts_solver=True)
        np.testing.assert_array_equal(found.values, np.sign(exact.board_scores(boards)))
        optimal = exact.optimal(boards)
        assert (found.policies[~optimal] < 0.5).all()
        if rng is None:
            assert optimal[np.arange(len(boards)), found.moves].all()


def test_the_network_sees_the_free_cells_that_complete_a_line():
    board = board_of("XX./O.O/...")
    planes = torch.from_numpy(observe(board, Rules(), "planes")).flatten(2).float()
    own, other = MODULE.threats_of(planes, MODULE.lines_of(Rules()))[0]
    assert own.nonzero().flatten().tolist() == [2]
    assert other.nonzero().flatten().tolist() == [4]


def test_a_player_with_a_search_moves_alike_whatever_boards_are_asked_with_it():
    small = {"hidden": (16,), "games": 8, "updates": 4, "self_play_simulations": 2}
    learner = MODULE.begin(MODULE.Config(rows=4, cols=4, k=4, **small))
    learner.advance(8)
    player = MODULE.player(learner.config.replace(simulations=8), learner.model())
    boards = random_boards(Rules(4, 4, 4), 12)
    together = player.probs(boards)
    assert (together == np.concatenate([player.probs(board[None]) for board in boards])).all()
    assert (together[boards != 0] == 0).all()
    assert (together.max(axis=1) == 1).all()


# --- learning: every number here follows from its docstrings by hand -----------------

GAMES = {  # the targets of its values: half the result for the side to move, and half of 0.5
    "a1 b1 a2 b2 a3": [0.75, -0.25, 0.75, -0.25, 0.75],  # X wins
    "a1 b2 b1 c1 c2 a3": [-0.25, 0.75, -0.25, 0.75, -0.25, 0.75],  # O wins
    "b2 a1 c3 a3 a2 c2 b1 b3 c1": [0.25] * 9,
}


def begin(**options):
    """A learner of three games a round, one update each, and a memory of two rounds."""
    small = {"games": 3, "hidden": (8,), "updates": 1, "batch_size": 64, "memory": 2}
    return MODULE.begin(MODULE.Config(**small, **options))


def scripted(network, boards, *_):
    """A search that finds the next moves of GAMES, sure of them, and the value 0.5."""
    ply = np.count_nonzero(boards[0])
    games = [parse_game(game, RULES) for game in GAMES]
    moves = np.array([game[ply] for game in games if ply < len(game)])
    policies = np.eye(9, dtype=np.float32)[moves]
    return MODULE.SearchResult(moves, policies, np.full(len(moves), 0.5, np.float32), policies)


def test_the_targets_of_a_round_are_the_policies_of_its_searches_and_its_results(monkeypatch):
    """A result with a wrong sign, or without any weight, is seen by no other test."""
    monkeypatch.setattr(MODULE, "search", scripted)
    expected = []
    for ply in range(9):
        for game, targets in GAMES.items():
            cells = parse_game(game, RULES)
            if ply < len(cells):
                marks = np.zeros(9, dtype=int)
                marks[list(cells[:ply:2])] = 1
                marks[list(cells[1:ply:2])] = -1
                expected.append((marks.tolist(), cells[ply], targets[ply]))
    found = begin().play()
    moves = found.policies.argmax(axis=1).tolist()
    assert list(zip(found.boards.tolist(), moves, found.values.tolist(), strict=True)) == expected
    assert found.policies.sum() == len(expected) == 5 + 6 + 9
    quarter = begin(result_share=0.25).play()
    results = 2 * found.values - 0.5
    np.testing.assert_array_equal(quarter.values, 0.25 * results + 0.75 * 0.5)


def examples_of(*texts, moves, values):
    """Boards with a sure move each."""
    boards = np.concatenate([board_of(text) for text in texts])
    policies = np.eye(9, dtype=np.float32)[moves]
    return MODULE.Examples(boards, policies, np.array(values, dtype=np.float32))


def test_a_board_is_turned_together_with_its_policy():
    """X in a corner, and the move to a cell beside it: there are eight images of the two."""
    found = begin().batch_of(examples_of("X../.../...", moves=[1], values=[0.25]))
    pairs = set(zip(found.boards.argmax(axis=1), found.policies.argmax(axis=1), strict=True))
    assert pairs == {(0, 1), (0, 3), (2, 1), (2, 5), (6, 3), (6, 7), (8, 5), (8, 7)}
    assert found.values.tolist() == [0.25] * 64


def test_the_losses_are_the_cross_entropy_of_the_policy_and_the_squared_error_of_the_value():
    """A network without weights takes all free cells for equally likely, and each value for 0."""
    learner = begin()
    with torch.no_grad():
        for weights in learner.student.parameters():
            weights.zero_()
    batch = examples_of(".../.../...", "XO./.../...", moves=[4, 8], values=[0.5, -1.0])
    optimizer = torch.optim.SGD(learner.student.parameters(), 0.1)
    losses = learner.update(batch, optimizer)
    assert losses == pytest.approx(((np.log(9) + np.log(7)) / 2, (0.5**2 + 1.0) / 2))
    assert sum(learner.update(batch, optimizer)) < sum(losses)


def test_the_network_keeps_its_share_of_the_average_and_the_learning_rate_halves():
    """At its first step Adam changes a weight by the learning rate, whatever the gradient is."""
    learner = begin(averaging=0.75, learning_rate=0.01, half_life=500)
    learner.memory = [examples_of("XO./.../...", moves=[8], values=[-1.0])]
    learner.steps = 1_000
    before = [weights.detach().clone() for weights in learner.student.parameters()]
    learner.learn()
    changes = []
    weights = zip(learner.network.parameters(), learner.student.parameters(), before, strict=True)
    for mean, new, old in weights:
        torch.testing.assert_close(mean, 0.75 * old + 0.25 * new)
        changes.append((new - old).abs().max().item())
    assert max(changes) == pytest.approx(0.01 / 4, rel=1e-3)


def test_only_the_last_rounds_are_learned_from():
    learner = begin(self_play_simulations=2)
    learner.advance(3)
    (first,) = learner.memory
    learner.advance(3)
    assert learner.memory[0] is first
    learner.advance(3)
    assert [one is first for one in learner.memory] == [False, False]


def test_some_of_the_proofs_are_of_the_search(monkeypatch):
    player = Mock(wraps=MODULE.player)
    monkeypatch.setattr(MODULE, "player", player)
    options = {"counterexamples": 0.5, "rounds_per_proof": 1, "simulations": 2}
    for proofs, expected in ((0, [0, 0, 0, 0]), (2, [0, 2, 0, 2])):
        learner = begin(self_play_simulations=2, proofs_per_search=proofs, **options)
        player.reset_mock()
        learner.advance(12)
        assert [call.args[0].simulations for call in player.call_args_list] == expected


def test_with_to_win_positions_in_which_it_can_draw_are_counterexamples_too():
    """On 2x5, three in a row, nobody can win by force, so an untrained network draws somewhere."""
    found = {}
    for to_win in (False, True):
        config = MODULE.Config(rows=2, cols=5, k=3, side="O", counterexamples=0.5, to_win=to_win)
        learner = MODULE.begin(config)
        learner.find_counterexamples()
        found[to_win] = learner.counterexamples
    assert 0 < found[False] < found[True]


def test_the_counterexamples_of_the_truth_are_the_boards_where_its_search_errs():
    config = MODULE.Config(
        **Rules(4, 4, 4, gravity=True).to_json(),
        hidden=(8,),
        games=32,
        self_play_simulations=2,
        rounds_per_proof=1,
        truth_positions=100_000,
        counterexamples=0.5,
    )
    learner = MODULE.begin(config)
    learner.advance(32)
    (round_of_games,) = learner.memory
    right = solve(config.rules).optimal(round_of_games.boards)
    moves = round_of_games.policies.argmax(axis=1)
    wrong = round_of_games.boards[~right[np.arange(len(moves)), moves]]
    (found,) = learner.beatable
    assert 0 < len(found) == learner.counterexamples
    assert {board.tobytes() for board in found} == {board.tobytes() for board in wrong}
    with pytest.raises(ValueError, match="5x5"):
        MODULE.begin(config.replace(rows=5, cols=5))
