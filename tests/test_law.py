"""Everybody asks the law: games with another law are played, solved and proven by it.

Three of them are subclasses of `Rules`: a line loses; lines go on at the opposite edge; any three
of four cells in a square are a line, and the first cell is never legal. In the last one, which
`Rules` knows, the pieces fall: only the lowest free cell of a column is legal, and a board is the
same game as its mirror image only. Beside each is a game in plain Python.
"""

from itertools import combinations, product

import numpy as np
import pytest
from oracles.plain_game import PlainGame, Player, lines_of, plain
from sample_players import best_player
from test_contract import Games
from text_cases import refuses

import tictactoe_env.engines
from tictactoe_env import config as config_module
from tictactoe_env.certificates import certify, verify
from tictactoe_env.exact import (
    MinimaxPolicy,
    best_response_player,
    exact_result,
    positions_of,
)
from tictactoe_env.exact.best_response import best_response
from tictactoe_env.exact.evaluation import evaluate, winner
from tictactoe_env.exact.match import result_of
from tictactoe_env.exact.optimality import best_achievable, wins_most
from tictactoe_env.exact.proof import BoardReach, TableReach
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.games import Game, analyse
from tictactoe_env.notation import check_move
from tictactoe_env.policy import FunctionPolicy, RandomPolicy
from tictactoe_env.render import rgb_array
from tictactoe_env.rules import LOSS, IllegalMoveError, Rules, game_state
from tictactoe_env.search import MCTSPolicy


class PlainMisere(PlainGame):
    def outcome(self, board, early_draw=False):
        found = super().outcome(board, early_draw)
        return found and -found


class Misere(Rules):
    """The side that completes a line loses."""

    plain = PlainMisere

    @property
    def line_result(self):
        return LOSS


class PlainTorus(PlainGame):
    def __init__(self, rows, cols, k, gravity):
        super().__init__(rows, cols, k, gravity)
        around = [
            [divmod(cell, 3 * cols) for cell in one] for one in lines_of(3 * rows, 3 * cols, k)
        ]
        found = {frozenset(row % rows * cols + col % cols for row, col in one) for one in around}
        self._lines = [tuple(one) for one in found if len(one) == k]
        shifts = product(range(1 if gravity else rows), range(cols))
        turned = [np.reshape(order, (rows, cols)) for order in self.orders]
        rolled = [np.roll(one, shift, (0, 1)) for one, shift in product(turned, shifts)]
        self.orders = [tuple(one.ravel().tolist()) for one in rolled]


class Torus(Rules):
    """Lines go on at the opposite edge."""

    plain = PlainTorus

    @property
    def lines(self):
        starts = product(range(self.rows), range(self.cols))
        directions = ((0, 1), (1, 0), (1, 1), (1, -1))
        every = [
            [
                (row + i * down) % self.rows * self.cols + (col + i * right) % self.cols
                for i in range(self.k)
            ]
            for (row, col), (down, right) in product(starts, directions)
        ]
        found = {tuple(sorted(line)) for line in every if len({*line}) == self.k}
        return tuple(sorted(found))

    def possible_symmetries(self):
        shifts = list(np.ndindex(self.rows, self.cols))
        turned = super().possible_symmetries()
        return [np.roll(one, shift, (0, 1)) for one in turned for shift in shifts]


class PlainSquares(PlainGame):
    def __init__(self, rows, cols, k, gravity):
        super().__init__(rows, cols, k, gravity)
        corners = [row * cols + col for row, col in np.ndindex(rows - 1, cols - 1)]
        squares = [[corner + step for step in (0, 1, cols, cols + 1)] for corner in corners]
        self._lines = [(*one[:out], *one[out + 1 :]) for one in squares for out in range(4)]
        self.orders = [order for order in self.orders if order[0] == 0]

    def legal(self, board):
        return [cell for cell in super().legal(board) if cell != 0]


class Squares(Rules):
    """Three cells of a square are a line; the first cell is never legal."""

    plain = PlainSquares

    @property
    def lines(self):
        corners = (row * self.cols + col for row, col in np.ndindex(self.rows - 1, self.cols - 1))
        squares = [(one, one + 1, one + self.cols, one + self.cols + 1) for one in corners]
        return tuple(line for square in squares for line in combinations(square, 3))

    def open_cells(self, taken):
        opened = super().open_cells(taken)
        return (self.full if opened is None else opened) & (self.full ^ self.cell_bits[0])


def test_where_o_wins_with_best_play_o_is_judged_by_its_wins_and_x_not_by_its_losses():
    """Misere on 2x3, two in a row."""
    rules = Misere(2, 3, 2)
    found = evaluate(MinimaxPolicy(rules), rules)
    assert PlainMisere(2, 3, 2).value_x[(0,) * 6] == -1
    assert (winner(rules), found.winner, found.best_play_x) == ("O", "O", -1)
    assert (found.unbeatable_x, found.always_wins_x, found.always_wins_o) == (False, False, True)
    assert found.verdict == "wins against everybody as O, and X cannot avoid losing"
    sides = ("both", "X", "O")
    assert [found.reached("unbeatable", side) for side in sides] == [True, False, True]
    worse = evaluate(RandomPolicy(), rules)
    assert not any(worse.reached("unbeatable", side) for side in sides)
    assert found.rank("O") > worse.rank("O")
    certificate = certify(MinimaxPolicy(rules), "minimax", rules)
    assert certificate.claim == f"PROVEN on {rules}: {found.verdict}"


SYMMETRIES = [(Rules(3, 3, 3), 8), (Rules(3, 4, 3), 4), (Rules(1, 5, 2), 2), (Rules(1, 1, 1), 1)]
SYMMETRIES += [(Rules(7, 8, 5), 4), (Rules(6, 7, 4, True), 2), (Rules(3, 1, 3, True), 1)]
SYMMETRIES += [(Torus(3, 3, 3), 72), (Torus(5, 5, 4), 200), (Torus(3, 3, 3, True), 6)]
SYMMETRIES += [(Squares(3, 3, 3), 2)]


@pytest.mark.parametrize(("rules", "count"), SYMMETRIES, ids=str)
def test_the_symmetries_are_the_possible_ones_that_keep_lines_and_moves(rules, count):
    found = list(map(tuple, rules.symmetries.tolist()))
    assert len(found) == count
    assert set(found) == set(plain(rules).orders)
    assert found[0] == tuple(range(rules.cells))


def test_a_law_that_is_none_is_refused():
    class Half(Torus):
        def possible_symmetries(self):
            return super().possible_symmetries()[:5]

    with refuses("group"):
        _ = Half(3, 3, 3).symmetries
    with refuses("result", error=TypeError):
        type("ForX", (Rules,), {"result": lambda self, own, other, early_draw=False: 0})


LAWS = [(Misere, False), (Rules, True), (Misere, True), (Torus, True)]
GAMES = [Misere(3, 2, 2), Misere(2, 4, 3), Rules(3, 3, 3, True), Misere(2, 4, 3, True)]
GAMES += [Torus(2, 4, 3), Squares(3, 3, 3)]
SLOW = [Misere(3, 3, 3), Torus(3, 3, 3), *(kind(3, 4, 3, gravity) for kind, gravity in LAWS)]
LARGE = [Torus(4, 5, 4), Squares(4, 5, 3), Torus(6, 7, 4, True), Squares(6, 7, 3, True)]
EVERY = [*GAMES, *(pytest.param(rules, marks=pytest.mark.slow) for rules in SLOW)]
every_game = pytest.mark.parametrize(
    "rules", EVERY, ids=lambda rules: f"{type(rules).__name__} {rules}"
)


def test_a_law_is_no_other_law_of_the_same_size():
    falling = Rules(gravity=True), Misere(gravity=True)
    laws = {Rules(), Misere(), *falling, Rules(3, 3)}
    assert len({positions_of(rules).rules for rules in laws}) == len(laws) == 4


@every_game
def test_results_best_responses_and_certificates_are_those_of_the_law(rules):
    game = plain(rules)
    rng = np.random.default_rng(0)
    random = RandomPolicy()
    perfect = MinimaxPolicy(rules)
    most_wins = best_player(rules)
    drawn = {board: int(rng.choice(game.legal(board))) for board in game.unfinished}
    fixed = Player(lambda board: {drawn[board]: 1.0})
    fair = game.value_x[game.empty]
    for side, sign in (("X", 1), ("O", -1)):
        for player, choice in ((fixed, lambda board: {drawn[board]: 1}), (perfect, game.perfect)):
            sides = (choice, game.uniform) if side == "X" else (game.uniform, choice)
            expected = list(map(float, game.match(*sides)[:3]))[::sign]
            found = exact_result(player, random, rules, side=side)
            assert [found.win, found.draw, found.loss] == pytest.approx(expected, abs=1e-12)
            by_board = result_of(BoardReach({side: player}, side, rules))
            assert [by_board.win, by_board.loss] == pytest.approx(expected[::2], abs=1e-12)
        assert best_response(TableReach({side: perfect}, side, rules)).value == pytest.approx(
            sign * fair
        )
        table = tabulate(fixed, rules)
        worst = [
            best_response(kind({side: table}, side, rules)) for kind in (BoardReach, TableReach)
        ]
        assert (worst[0].value, worst[0].loss) == (worst[1].value, worst[1].loss)
        if line := worst[0].losing_line:
            assert game_state(line, rules).winner == ("O" if side == "X" else "X")
        if (best := best_achievable(rules)[side]) is not None:
            assert best.win >= exact_result(perfect, random, rules, side=side).win - 1e-12
            assert wins_most(TableReach({side: most_wins}, side, rules))
            assert best.win == pytest.approx(exact_result(most_wins, random, side=side).win)
    for reach_only in (False, True):
        for player in (perfect, fixed):
            verify(certify(player, "a player", rules, reach_only=reach_only))
    assert evaluate(perfect, rules).unbeatable == (fair == 0)
    response = best_response_player(fixed, rules).player
    assert exact_result(response, fixed, rules).value >= fair


@every_game
def test_random_play_and_masks_of_policies_are_those_of_the_law(rules):
    game = plain(rules)
    cells = range(rules.cells)
    array = np.array(game.unfinished, dtype=np.int8)
    masks = np.array([np.isin(cells, game.legal(board)) for board in game.unfinished])
    assert np.array_equal(RandomPolicy(rules).probs(array) > 0, masks)
    assert not MCTSPolicy(rules, playouts=20).probs(array[::9])[~masks[::9]].any()
    asked = []
    FunctionPolicy(lambda seen, legal: asked.append(legal) or legal.argmax(axis=1), rules).probs(
        array
    )
    assert np.array_equal(asked[0], masks)
    assert np.array_equal(MinimaxPolicy(rules, slip=0.5).probs(array) > 0, masks)
    sampled = sampled_result(RandomPolicy(rules), RandomPolicy(rules), rules, games=400).result
    exact = exact_result(RandomPolicy(), RandomPolicy(), rules)
    assert sampled.illegal == sampled.illegal_other == 0
    assert sampled.win == pytest.approx(exact.win, abs=0.1)


def engines():
    """The boards, each with the number of cells up to which boards go by row."""
    for rules, row_cells in [*product(GAMES + SLOW, [0, 10]), *product(LARGE, [10])]:
        name = f"{type(rules).__name__} {rules}, {row_cells}"
        marks = [pytest.mark.slow] * (rules in SLOW)
        yield pytest.param(rules, row_cells, marks=marks, id=name)


@pytest.mark.parametrize("form", ["both", "one", "NEXT_STEP"])
@pytest.mark.parametrize(("rules", "row_cells"), list(engines()))
def test_every_game_goes_by_the_law(rules, row_cells, form, monkeypatch):
    monkeypatch.setattr(tictactoe_env.engines, "_ROW_ENGINE", row_cells)
    monkeypatch.setattr(config_module, "Rules", type(rules))
    for seed in range(2):
        Games(seed, form, rules=rules)


@pytest.mark.parametrize("rules", [Torus(3, 3, 3), Squares(3, 4, 3)], ids=str)
def test_pictures_strike_the_cells_of_a_line_and_no_others(rules):
    class NoLine(Rules):
        lines = ()

    for line in rules.lines:
        board = np.zeros(rules.cells, dtype=np.int8)
        board[list(line)] = 1
        size = rules.rows, rules.cols, rules.k
        drawn = [rgb_array(board, one, cell_pixels=16) for one in (rules, NoLine(*size))]
        changed = (drawn[0] != drawn[1]).any(axis=2)[6:-6, 6:-6]
        cells = changed.reshape(rules.rows, 16, rules.cols, 16)[:, 4:12, :, 4:12]
        assert np.flatnonzero(cells.any(axis=(1, 3))).tolist() == sorted(line)


@every_game
def test_games_and_their_texts_go_by_the_law(rules):
    game = plain(rules)
    rng = np.random.default_rng(0)
    for _ in range(40):
        board = game.empty
        cells = []
        while game.outcome(board) is None:
            value, moves = analyse(np.array(board, dtype=np.int8), rules)
            assert value.value == game.value_x[board] * game.mover(board)
            assert [cell for cell, move in enumerate(moves) if move] == game.legal(board)
            illegal = [cell for cell in range(rules.cells) if cell not in game.legal(board)]
            for cell in illegal:
                with pytest.raises(IllegalMoveError):
                    check_move(np.array(board, dtype=np.int8), cell, rules)
            if illegal:
                assert game_state([*cells, illegal[0]], rules).ended == "illegal"
            cells.append(int(rng.choice(game.legal(board))))
            board = game.after(board, cells[-1])
        winner = {1: "X", -1: "O", 0: None}[game.outcome(board)]
        assert game_state(cells, rules).winner == winner
        assert Game(moves=tuple(cells), rules=rules, origin="web").result == (winner or "draw")
        with pytest.raises(IllegalMoveError):
            check_move(np.array(board, dtype=np.int8), 0, rules)
