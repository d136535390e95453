"""Monte-Carlo tree search (UCT): playouts that try promising moves more often.

UCT (Kocsis and Szepesvari 2006, https://doi.org/10.1007/11871842_29): a playout walks down the
tree, always to the move with the largest `mean success + exploration * sqrt(ln(visits of the
position) / visits of the move)`. It adds the first new position, values it, and adds the result to
every position on the way. Differences:

- All sequences of moves that reach a position, and all its images under symmetry, share one node.
  The tree is therefore a graph (UCT1 of Childs, Brodeur and Kocsis 2008,
  https://doi.org/10.1109/CIG.2008.5035667): 765 positions on 3x3.
- A new position is valued by a rollout of random moves.
- A draw counts as `draws` successes for either side, 0.5 by default. With 1 it counts as much as a
  win: the search is then satisfied with draws, and assumes that its opponent is too.

`playout="descent"` is the search of https://github.com/nestedsoftware/tictac, which also counts a
draw as a success (`draws=1`). A playout does not stop at a new position. It goes on by UCT to the
end of the game, so there is no rollout and nothing is random. The logarithm is that of the visits
of all positions from which a move leads to the child: see `DescentGraph`.

`MCTSPolicy` grows a new graph from each position and plays the most visited move. Its random
numbers depend only on the seed and the position, so its moves do not depend on earlier calls or on
the rest of the batch. With `milliseconds` they depend on the speed of the machine.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import not_negative, one_of, probability, whole_number
from tictactoe_env.policy import Probs, equally_likely, of_each_board
from tictactoe_env.rules import ONGOING, OUTCOME_NUMBERS, Boards, Rules
from tictactoe_env.symmetry import Orientations

# --- the graph --------------------------------------------------------------------------------


class Node:
    """A position with its statistics.

    x, o: marks in all orientations. total: successes of the side that made the last move. above:
    visits of all positions before it; only `DescentGraph` counts them.
    """

    __slots__ = ("above", "children", "o", "result", "total", "visits", "x")

    def __init__(self, x: int, o: int, result: int | None):
        self.x, self.o = x, o
        self.result = result  # for X: +1, 0 or -1; None if the game goes on
        self.children: list[Node] | None = None  # see Graph.children
        self.visits = 0
        self.total = 0.0
        self.above = 0

    @property
    def mean(self) -> float:
        """Successes per visit; -1 without a visit."""
        return self.total / self.visits if self.visits else -1.0


class Graph:
    """The nodes by key, and the playouts that grow them."""

    def __init__(self, rules: Rules, rng: random.Random, exploration: float, draws: float):
        self.rules = rules
        self.rng = rng
        self.exploration = exploration
        self.draws = draws
        # Of X and of O, by the result for X.
        self.successes = {1: (1.0, 0.0), 0: (draws, draws), -1: (0.0, 1.0)}
        self.nodes: dict[int, Node] = {}
        self.orientations = Orientations(rules)
        self.moves = list(zip(rules.cell_bits, self.orientations.cells, strict=True))
        self.lines_of = rules.lines_through
        self.all_free_are_legal = rules.all_free_are_legal
        self.of_line = int(OUTCOME_NUMBERS[rules.line_result])  # for the side that completes it

    def node(self, x: int, o: int) -> Node:
        """The node of the position with these marks, made if it is new."""
        key = self.orientations.key(x, o)
        node = self.nodes.get(key)
        if node is None:
            node = self.nodes[key] = Node(x, o, self.result(x, o))
        return node

    def result(self, x: int, o: int) -> int | None:
        """The result of a position for X: +1, 0 or -1; None if the game goes on."""
        marks_x, marks_o = x & self.rules.full, o & self.rules.full
        x_moved = (marks_x | marks_o).bit_count() % 2 == 1
        own, other = (marks_x, marks_o) if x_moved else (marks_o, marks_x)
        result = self.rules.result(own, other)
        if result == ONGOING:
            return None
        return int(OUTCOME_NUMBERS[result]) * (1 if x_moved else -1)

    def root(self, board: Boards) -> Node:
        """The node of an unfinished board (cells,)."""
        return self.node(self.orientations.marks(board, 1), self.orientations.marks(board, -1))

    def children(self, node: Node) -> list[Node]:
        """The distinct nodes after each move, in the order of the cells."""
        return list(dict.fromkeys(child for child, _, _ in self.moves_from(node.x, node.o)))

    def moves_from(self, x: int, o: int) -> Iterator[tuple[Node, int, int]]:
        """The node and the marks after each legal move, in the order of the cells."""
        taken = (x | o) & self.rules.full
        legal = self.rules.legal(taken)
        x_moves = taken.bit_count() % 2 == 0
        for bit, images in self.moves:
            if legal & bit:
                own, other = (x | images, o) if x_moves else (x, o | images)
                yield self.node(own, other), own, other

    def playout(self, root: Node) -> None:
        """Walk from `root` to a new or finished position, value it, and update all nodes passed."""
        path = [root]
        node = root
        rng = self.rng
        while node.result is None:
            if node.children is None:
                node.children = self.children(node)
            fresh = [child for child in node.children if not child.visits]
            if fresh:
                path.append(fresh[int(rng.random() * len(fresh))])
                break
            width = self.exploration * math.sqrt(math.log(max(node.visits, 1)))
            node = max(
                node.children,
                key=lambda child: child.total / child.visits + width / math.sqrt(child.visits),
            )
            path.append(node)
        self.count(path)

    def count(self, path: list[Node]) -> None:
        """Add a visit and the successes of the last position to all positions of a playout."""
        last = path[-1]
        result = self.rollout(last) if last.result is None else last.result
        success_x, success_o = self.successes[result]
        taken = (path[0].x | path[0].o) & self.rules.full
        x_moved = taken.bit_count() % 2 == 1
        for node in path:
            node.visits += 1
            node.total += success_x if x_moved else success_o
            x_moved = not x_moved

    def rollout(self, node: Node) -> int:
        """The result for X of a game of random moves from here: +1, 0 or -1."""
        marks = [node.x & self.rules.full, node.o & self.rules.full]
        rng = self.rng
        side = (marks[0] | marks[1]).bit_count() % 2
        moves = self.legal(marks)
        while moves:
            drawn = int(rng.random() * len(moves))
            bit, moves[drawn] = moves[drawn], moves[-1]
            moves.pop()
            marks[side] |= bit
            for line in self.lines_of[bit]:
                if line & marks[side] == line:
                    return self.of_line * (1 - 2 * side)
            side = 1 - side
            if not self.all_free_are_legal:
                moves = self.legal(marks)
        return 0

    def legal(self, marks: list[int]) -> list[int]:
        """The bits of the legal moves, in the order of the cells. marks: of X and of O."""
        legal = self.rules.legal(marks[0] | marks[1])
        return [bit for bit in self.rules.cell_bits if legal & bit]


class DescentGraph(Graph):
    """Playouts that follow UCT to the end of the game: no rollouts, no random numbers.

    A move that leads to a position without visits comes first. The others are compared by
    `mean + exploration * sqrt(ln(visits of all positions before it) / visits)`. Of equal moves the
    first cell is taken, on the board as the playout reached it.
    """

    def playout(self, root: Node) -> None:
        """Walk from `root` to the end of the game, and update all nodes passed."""
        node = root
        x = root.x
        o = root.o
        path = [root]
        while node.result is None:
            moves = list(self.moves_from(x, o))
            node, x, o = max(moves, key=lambda move: self.upper_bound(move[0]))
            path.append(node)
            for child in {child for child, _, _ in moves}:
                child.above += 1
        self.count(path)

    def upper_bound(self, node: Node) -> float:
        """The upper confidence bound of the move to a node; infinite without a visit."""
        if not node.visits:
            return math.inf
        return node.mean + self.exploration * math.sqrt(math.log(node.above) / node.visits)

    def count_above(self) -> None:
        """Count `above` of all nodes anew, from the visits of a graph that was loaded."""
        for node in self.nodes.values():
            node.above = 0
        passed = [node for node in self.nodes.values() if node.visits and node.result is None]
        for node in passed:
            for child in self.children(node):
                child.above += node.visits


PLAYOUTS: dict[str, type[Graph]] = {"rollout": Graph, "descent": DescentGraph}


# --- the policy -------------------------------------------------------------------------------


class MCTSPolicy:
    """The most visited moves of a search from each position.

    playouts: for each move. milliseconds: for each move, used instead of `playouts` unless it is 0.
    exploration: the weight of rarely tried moves. draws: successes of a draw, from 0 to 1. seed: of
    the random numbers, which also depend on the position. playout: "rollout" stops at the first new
    position, "descent" goes on to the end of the game by UCT and uses no random numbers. Raises
    ValueError for a number out of range.
    """

    def __init__(
        self,
        rules: Rules,
        playouts: int = 1_000,
        milliseconds: float = 0.0,
        exploration: float = math.sqrt(2),
        draws: float = 0.5,
        seed: int = 0,
        playout: str = "rollout",
    ):
        self.rules = rules
        self.playout = one_of("playout", playout, PLAYOUTS)
        self.milliseconds = not_negative(milliseconds, "milliseconds")
        self.playouts = whole_number(playouts, "playouts", 1)
        self.exploration = not_negative(exploration, "exploration")
        self.draws = probability(draws, "draws")
        self.seed = whole_number(seed, "seed", 0)
        self.orientations = Orientations(rules)
        self.clock = time.perf_counter
        self._searched: dict[int, dict[int, tuple[int, float]]] = {}
        self.meaning = meaning(draws)
        self.scale = (0.0, 1.0)

    @property
    def varies(self) -> str:
        """Why its moves may be others the next time, see `provable`."""
        return "its search is ended by a clock (milliseconds)" if self.milliseconds else ""

    def probs(self, boards: Boards) -> Probs:
        """The most visited moves on boards (B, cells), equally likely: (B, cells).

        Raises ValueError for a finished board.
        """

        def best(board: Boards) -> dict[int, float]:
            visits = {cell: visits for cell, (visits, _) in self._found(board).items()}
            most = max(visits.values())
            return equally_likely([cell for cell in visits if visits[cell] == most])

        return of_each_board(best, boards, self.rules)

    def q_values(self, boards: Boards) -> NDArray[np.float64]:
        """The mean success of the playouts through each move (B, cells), NaN without a playout.

        The search is that of `probs`; a position is searched once.
        """

        def means(board: Boards) -> dict[int, float]:
            return {cell: mean for cell, (visits, mean) in self._found(board).items() if visits}

        return of_each_board(means, boards, self.rules, np.nan)

    def _found(self, board: Boards) -> dict[int, tuple[int, float]]:
        """The visits and the mean success of the search after each move on a board (cells,)."""
        key = self.orientations.key_of(board)
        after = self.orientations.keys_after(board)
        if key not in self._searched:
            self._searched[key] = self.search(key)
        return {cell: self._searched[key][image] for cell, image in after.items()}

    def search(self, key: int) -> dict[int, tuple[int, float]]:
        """The visits and the mean success of the positions after the one with this key, by key.

        The search runs on the canonical form, so all images of a position get the same moves.
        """
        rng = random.Random(f"{self.seed} {key}")
        graph = PLAYOUTS[self.playout](self.rules, rng, self.exploration, self.draws)
        marks = np.array(divmod(key, 1 << self.orientations.size), dtype=np.uint64)
        root = graph.root(self.rules.to_boards(*marks[:, None])[0])
        if self.milliseconds:
            deadline = self.clock() + self.milliseconds / 1000
            graph.playout(root)
            while self.clock() < deadline:
                graph.playout(root)
        else:
            for _ in range(self.playouts):
                graph.playout(root)
        return {
            graph.orientations.key(child.x, child.o): (child.visits, child.mean)
            for child in graph.children(root)
        }


def meaning(draws: float) -> str:
    """The meaning of the mean success of a move, in words."""
    return f"mean success of the playouts through the move: win 1, draw {draws:g}, loss 0"
