"""Everybody asks the law: games with another law are played, solved and proven by it.

Three of them are subclasses of `Rules`: a line loses; lines go on at the opposite edge; any three
of four cells in a square are a line, and the first cell is never legal. In the last one, which
`Rules` knows, the pieces fall: only the lowest free cell of a column is legal, and a board is the
same game as its mirror image only. Beside each is a game in plain Python.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from oracles.plain_game import PlainGame, Player, lines_of
from text_cases import refuses

import tictactoe_env.engines
from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env import config as config_module
from tictactoe_env import starts as starts_module
from tictactoe_env.certificates import certify, verify
from tictactoe_env.exact import (
    MinimaxPolicy,
    best_response_player,
    exact_result,
    positions_of,
    solve,
)
from tictactoe_env.exact.evaluation import evaluate, winner
from tictactoe_env.exact.match import (
    best_achievable,
    best_response,
    result_of,
    sampled_result,
    wins_most,
)
from tictactoe_env.exact.proof import BoardReach, TableReach
from tictactoe_env.exact.provable import _random_positions
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.games import Game, analyse
from tictactoe_env.notation import check_move
from tictactoe_env.policy import FunctionPolicy, RandomPolicy
from tictactoe_env.render import rgb_array
from tictactoe_env.rules import LOSS, IllegalMoveError, Rules, standing
from tictactoe_env.search import MCTSPolicy, SearchPolicy
from tictactoe_env.starts import ExploringStarts


class Misere(Rules):
    """The side that completes a line loses."""

    @property
    def line_result(self):
        return LOSS


class PlainMisere(PlainGame):
    def outcome(self, board):
        found = super().outcome(board)
        return found and -found


class Torus(Rules):
    """Lines go on at the opposite edge."""

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


class PlainTorus(PlainGame):
    def __init__(self, rows, cols, k, gravity):
        super().__init__(rows, cols, k, gravity)
        around = [
            [divmod(cell, 3 * cols) for cell in one] for one in lines_of(3 * rows, 3 * cols, k)
        ]
        found = {frozenset(row % rows * cols + col % cols for row, col in one) for one in around}
        self._lines = [tuple(one) for one in found if len(one) == k]


class Squares(Rules):
    """Three cells of a square are a line; the first cell is never legal."""

    @property
    def lines(self):
        corners = (row * self.cols + col for row, col in np.ndindex(self.rows - 1, self.cols - 1))
        squares = [(one, one + 1, one + self.cols, one + self.cols + 1) for one in corners]
        return tuple(line for square in squares for line in combinations(square, 3))

    def open_cells(self, taken):
        opened = super().open_cells(taken)
        return (self.full if opened is None else opened) & (self.full ^ self.cell_bits[0])


class PlainSquares(PlainGame):
    def outcome(self, board):
        for row, col in np.ndindex(len(board) // self.cols - 1, self.cols - 1):
            start = row * self.cols + col
            marks = [board[start + step] for step in (0, 1, self.cols, self.cols + 1)]
            for mark in (1, -1):
                if marks.count(mark) >= 3:
                    return mark
        return None if self.legal(board) else 0

    def legal(self, board):
        return [cell for cell in super().legal(board) if cell != 0]


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


def test_the_symmetries_are_the_possible_ones_that_keep_lines_and_moves():
    expected = [
        (Rules(3, 3, 3), 8),
        (Rules(3, 4, 3), 4),
        (Rules(3, 3, 3, True), 2),
        (Torus(3, 3, 3), 72),
        (Torus(5, 5, 4), 200),
        (Torus(3, 3, 3, True), 6),
        (Squares(3, 3, 3), 2),
    ]
    for rules, count in expected:
        assert rules.symmetries.shape == (count, rules.cells)
        assert rules.symmetries[0].tolist() == list(range(rules.cells))


def test_a_law_that_is_none_is_refused():
    class Half(Torus):
        def possible_symmetries(self):
            return super().possible_symmetries()[:5]

    with refuses("group"):
        _ = Half(3, 3, 3).symmetries
    with refuses("result", error=TypeError):
        type("ForX", (Rules,), {"result": lambda self, own, other, early_draw=False: 0})


PLAIN = {Rules: PlainGame, Misere: PlainMisere, Torus: PlainTorus, Squares: PlainSquares}
LAWS = [(Misere, False), (Rules, True), (Misere, True), (Torus, True)]
GAMES = [Misere(3, 2, 2), Misere(2, 4, 3), Rules(3, 3, 3, True), Misere(2, 4, 3, True)]
GAMES += [Torus(2, 4, 3), Squares(3, 3, 3)]
SLOW = [Misere(3, 3, 3), Torus(3, 3, 3), *(kind(3, 4, 3, gravity) for kind, gravity in LAWS)]
LARGE = [Torus(4, 5, 4), Squares(4, 5, 3), Torus(6, 7, 4, True), Squares(6, 7, 3, True)]
every_game = pytest.mark.parametrize(
    "rules",
    [*GAMES, *(pytest.param(rules, marks=pytest.mark.slow) for rules in SLOW)],
    ids=lambda rules: f"{type(rules).__name__} {rules}",
)


def played(*opponents):
    """Games, the cells up to which boards go by row, what actions are, and the opponent."""
    for rules, row_cells in [*product(GAMES + SLOW, [0, 10]), *product(LARGE, [10])]:
        name = f"{type(rules).__name__} {rules}, {'rows' if rules.cells <= row_cells else 'bits'}"
        marks = [pytest.mark.slow] * (rules in SLOW)
        for actions in ["cells", "images", *["columns"] * rules.gravity]:
            for opponent in opponents:
                if opponent != "minimax" or (rules not in LARGE and actions == "cells"):
                    case = rules, row_cells, actions, opponent
                    yield pytest.param(*case, marks=marks, id=f"{name}, {actions}, {opponent}")


PLAYED = "rules", "row_cells", "actions", "opponent"


@cache
def plain(rules):
    return PLAIN[type(rules)](rules.rows, rules.cols, rules.k, rules.gravity)


def shown(board, rules, actions):
    """The cells of a board in the order that is shown: of its first image by X and then by O."""

    def key(cells):
        return [sum(1 << i for i, cell in enumerate(cells) if board[cell] == m) for m in (1, -1)]

    return min(rules.symmetries[: None if actions == "images" else 1], key=key)


def meant(board, rules, actions):
    """The cell of each action on a board; -1 for a column without a legal one."""
    if actions != "columns":
        return shown(board, rules, actions)
    lands = {cell % rules.cols: cell for cell in plain(rules).legal(board)}
    return np.array([lands.get(column, -1) for column in range(rules.cols)])


def options(rules, actions):
    """The arguments of an environment."""
    kind = "columns" if actions == "columns" else "cells"
    return {"actions": kind, "symmetric": actions == "images", **rules.to_json()}


def most_wins(rules, side):
    """A player that as this side never loses, and wins as often as possible at random replies."""
    game, mark = plain(rules), 1 if side == "X" else -1

    @cache
    def wins(board):
        if game.positions[board] is not None:
            return Fraction(game.positions[board] == mark)
        after = [wins(game.after(board, cell)) for cell in safe(board)]
        return max(after) if game.mover(board) == mark else sum(after) / len(after)

    def safe(board):
        is_own = game.mover(board) == mark
        moves = game.legal(board)
        kept = [cell for cell in moves if game.value_x[game.after(board, cell)] * mark >= 0]
        return (kept or moves) if is_own else moves

    def choice(board):
        return {max(safe(board), key=lambda cell: wins(game.after(board, cell))): 1.0}

    return Player(choice)


def mask_of(cells, rules):
    return np.isin(np.arange(rules.cells), cells)


def unfinished(rules):
    """The boards (U, cells) in which a move can be made, as tuples and as an array."""
    boards = plain(rules).unfinished
    return boards, np.array(boards, dtype=np.int8)


def test_a_law_is_no_other_law_of_the_same_size():
    falling = Rules(gravity=True), Misere(gravity=True)
    laws = {Rules(), Misere(), *falling, Rules(3, 3)}
    assert len({positions_of(rules).rules for rules in laws}) == len(laws) == 4


@every_game
def test_positions_values_and_best_moves_are_those_of_the_law(rules):
    game, positions = plain(rules), positions_of(rules)
    boards = list(map(tuple, positions.boards.tolist()))
    assert set(boards) == set(game.positions)
    assert boards == sorted(boards, key=lambda one: (np.count_nonzero(one), code(one)))
    outcomes = [game.positions[board] for board in boards]
    assert positions.is_over.tolist() == [outcome is not None for outcome in outcomes]
    assert positions.outcome_x.tolist() == [outcome or 0 for outcome in outcomes]
    assert solve(rules).value_x.tolist() == [game.value_x[board] for board in boards]
    for board, best in zip(boards, solve(rules).optimal(positions.boards), strict=True):
        expected = [] if game.positions[board] is not None else game.best(board)
        assert np.flatnonzero(best).tolist() == expected
    images = {board: {tuple(np.array(board)[one]) for one in rules.symmetries} for board in boards}
    for board, every in images.items():
        assert {game.value_x[image] for image in every} == {game.value_x[board]}
    assert len(np.unique(positions.canonical)) == len({min(one) for one in images.values()})


def code(board):
    return sum(mark % 3 * 3**cell for cell, mark in enumerate(board))


@every_game
def test_results_best_responses_and_certificates_are_those_of_the_law(rules):
    game, rng = plain(rules), np.random.default_rng(0)
    random, perfect = RandomPolicy(), MinimaxPolicy(rules)
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
            assert standing(line, rules).winner == ("O" if side == "X" else "X")
        if (best := best_achievable(rules)[side]) is not None:
            assert best.win >= exact_result(perfect, random, rules, side=side).win - 1e-12
            assert wins_most(TableReach({side: most_wins(rules, side)}, side, rules))
            assert best.win == pytest.approx(
                exact_result(most_wins(rules, side), random, rules, side=side).win
            )
    for lines_only in (False, True):
        for player in (perfect, fixed):
            verify(certify(player, "a player", rules, lines_only=lines_only))
    assert evaluate(perfect, rules).unbeatable == (fair == 0)
    response = best_response_player(fixed, rules).player
    assert exact_result(response, fixed, rules).value >= fair


@every_game
def test_random_play_and_masks_of_policies_are_those_of_the_law(rules):
    game, (boards, array) = plain(rules), unfinished(rules)
    masks = np.array([mask_of(game.legal(board), rules) for board in boards])
    assert np.array_equal(RandomPolicy(rules).probs(array) > 0, masks)
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


@every_game
def test_searches_find_the_best_moves_of_the_law(rules):
    game, (boards, array) = plain(rules), unfinished(rules)
    rng = np.random.default_rng(0)
    some = rng.choice(len(boards), size=min(60, len(boards)), replace=False)
    search, playouts = SearchPolicy(rules), MCTSPolicy(rules, playouts=300)
    for number in some.tolist():
        board = boards[number]
        assert sorted(search.best_moves(array[number])) == game.best(board)
        found = np.flatnonzero(playouts.probs(array[number][None])[0]).tolist()
        assert set(found) <= set(game.legal(board) if board.count(0) > 3 else game.best(board))
    ahead = SearchPolicy(rules, depth=2).probs(array[some])
    for number, probs in zip(some.tolist(), ahead, strict=True):
        assert set(np.flatnonzero(probs)) <= set(game.legal(boards[number]))


@every_game
def test_starts_and_positions_of_random_games_are_those_of_the_law(rules, monkeypatch):
    game, rng = plain(rules), np.random.default_rng(0)
    for most_cells in (rules.cells, 0):  # of a board whose positions are all listed
        monkeypatch.setattr(starts_module, "TABULATED", most_cells)
        boards, _ = ExploringStarts(1.0, rules)(np.ones(200, dtype=np.int8), rng)
        assert set(map(tuple, boards.tolist())) <= set(game.unfinished)
    assert set(map(tuple, _random_positions(rules).tolist())) <= set(game.unfinished)


@pytest.mark.parametrize(PLAYED, list(played(None, "random")))
def test_single_games_go_by_the_law(rules, row_cells, actions, opponent, monkeypatch):
    """Some moves are on any cell, so that illegal ones come up too."""
    game, rng = plain(rules), np.random.default_rng(0)
    monkeypatch.setattr(tictactoe_env.engines, "_ROW_ENGINE", row_cells)
    monkeypatch.setattr(config_module, "Rules", type(rules))
    env = TicTacToeEnv(opponent, observation="grid", **options(rules, actions))
    for _ in range(20):
        is_over = False
        seen, info = env.reset(seed=int(rng.integers(2**31)))
        while not is_over:
            board = tuple(env.board.tolist())
            cells, legal, mover = meant(board, rules, actions), game.legal(board), game.mover(board)
            image = np.array(board)[shown(board, rules, actions)]
            assert np.array_equal(seen.ravel(), image * mover)
            mask = np.isin(cells, legal)
            assert np.array_equal(info["action_mask"] > 0, mask)
            possible = np.flatnonzero(mask | (rng.random() < 0.05))
            chosen = int(rng.choice(possible))
            seen, _, is_over, _, info = env.step(chosen)
            assert info["illegal_move"] == (not mask[chosen])
            if not mask[chosen]:
                assert info["outcome"] == -1
                break
            after, own = tuple(env.board.tolist()), game.after(board, int(cells[chosen]))
            replies = game.legal(own) if opponent and game.outcome(own) is None else []
            assert after in ([game.after(own, cell) for cell in replies] or [own])
            outcome = game.outcome(after)
            assert is_over == (outcome is not None)
            assert info["outcome"] == (outcome or 0) * mover


@pytest.mark.parametrize(PLAYED, list(played("random", "minimax")))
def test_many_games_and_their_opponents_go_by_the_law(
    rules, row_cells, actions, opponent, monkeypatch
):
    game, rng = plain(rules), np.random.default_rng(0)
    monkeypatch.setattr(tictactoe_env.engines, "_ROW_ENGINE", row_cells)
    monkeypatch.setattr(config_module, "Rules", type(rules))
    given = {"illegal": "raise", "start": "empty" if rules in LARGE else "random"}
    given |= options(rules, actions)
    envs = TicTacToeVectorEnv(16, opponent, autoreset_mode="NEXT_STEP", **given)
    _, infos = envs.reset(seed=0)
    over = np.zeros(16, dtype=bool)
    for _ in range(30):
        before, masks = envs.boards, infos["action_mask"]
        chosen = (masks * rng.random(masks.shape)).argmax(axis=1)
        _, _, terminated, _, infos = envs.step(chosen)
        assert not infos["illegal_move"].any()
        for number, board in enumerate(map(tuple, envs.boards.tolist())):
            outcome = game.outcome(board)
            legal = np.isin(meant(board, rules, actions), game.legal(board))
            allowed = legal | (outcome is not None)  # once a game is over, every action
            assert np.array_equal(infos["action_mask"][number] > 0, allowed)
            assert terminated[number] == (outcome is not None)
            assert infos["outcome"][number] == (outcome or 0) * infos["side"][number]
            if not over[number]:
                seen = tuple(before[number].tolist())
                own = game.after(seen, int(meant(seen, rules, actions)[chosen[number]]))
                replies = game.legal(own) if game.outcome(own) is None else []
                if opponent == "minimax" and replies:
                    replies = game.best(own)
                assert board in ([game.after(own, cell) for cell in replies] or [own])
        over = terminated


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
    game, rng = plain(rules), np.random.default_rng(0)
    for _ in range(40):
        board, cells = game.empty, []
        while game.outcome(board) is None:
            value, moves = analyse(np.array(board, dtype=np.int8), rules)
            assert value.value == game.value_x[board] * game.mover(board)
            assert [cell for cell, move in enumerate(moves) if move] == game.legal(board)
            illegal = [cell for cell in range(rules.cells) if cell not in game.legal(board)]
            for cell in illegal:
                with pytest.raises(IllegalMoveError):
                    check_move(np.array(board, dtype=np.int8), cell, rules)
            if illegal:
                assert standing([*cells, illegal[0]], rules).ended == "illegal"
            cells.append(int(rng.choice(game.legal(board))))
            board = game.after(board, cells[-1])
        winner = {1: "X", -1: "O", 0: None}[game.outcome(board)]
        assert standing(cells, rules).winner == winner
        assert Game(moves=tuple(cells), rules=rules, origin="web").result == (winner or "draw")
        with pytest.raises(IllegalMoveError):
            check_move(np.array(board, dtype=np.int8), 0, rules)
