"""Everybody asks the law: games with another law are played, solved and proven by it.

In one of them a line loses: it is a subclass of `Rules` that overrides a line. In the other, which
`Rules` knows, the pieces fall: only the lowest free cell of a column is legal, and a board is the
same game as its mirror image only. Beside each is a game in plain Python.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from oracles.plain_game import PlainGame, Player

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


LAWS = [(Misere, False), (Rules, True), (Misere, True)]
GAMES = [Misere(3, 2, 2), Misere(2, 4, 3), Rules(3, 3, 3, True), Misere(2, 4, 3, True)]
LARGER = [Misere(3, 3, 3), *(kind(3, 4, 3, gravity) for kind, gravity in LAWS)]
GAMES += [pytest.param(rules, marks=pytest.mark.slow) for rules in LARGER]
every_game = pytest.mark.parametrize(
    "rules", GAMES, ids=lambda rules: f"{type(rules).__name__} {rules}"
)
both_engines = pytest.mark.parametrize("row_cells", [0, 10], ids=["bits", "rows"])


@cache
def plain(rules):
    kind = PlainMisere if type(rules) is Misere else PlainGame
    return kind(rules.rows, rules.cols, rules.k, rules.gravity)


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
    mirrored = {
        tuple(np.fliplr(np.reshape(board, (rules.rows, rules.cols))).ravel()) for board in boards
    }
    assert mirrored == set(boards)
    images = {board: {tuple(np.array(board)[one]) for one in rules.symmetries} for board in boards}
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


@every_game
@both_engines
def test_single_games_go_by_the_law(rules, row_cells, monkeypatch):
    """Some moves are on any cell, so that illegal ones come up too."""
    game, rng = plain(rules), np.random.default_rng(0)
    monkeypatch.setattr(tictactoe_env.engines, "_ROW_ENGINE", row_cells)
    monkeypatch.setattr(config_module, "Rules", type(rules))
    env = TicTacToeEnv(None, **rules.to_json())
    for _ in range(60):
        board, is_over = game.empty, False
        _, info = env.reset(seed=int(rng.integers(2**31)))
        while not is_over:
            assert np.array_equal(info["action_mask"] > 0, mask_of(game.legal(board), rules))
            legal = game.legal(board)
            cell = int(rng.integers(rules.cells) if rng.random() < 0.05 else rng.choice(legal))
            mover = game.mover(board)
            _, _, is_over, _, info = env.step(cell)
            assert info["illegal_move"] == (cell not in legal)
            if cell not in legal:
                assert info["outcome"] == -1
                break
            board = game.after(board, cell)
            assert tuple(env.board.tolist()) == board
            outcome = game.outcome(board)
            assert is_over == (outcome is not None)
            assert info["outcome"] == (outcome or 0) * mover


@every_game
@both_engines
@pytest.mark.parametrize("opponent", ["random", "minimax"])
def test_many_games_and_their_opponents_go_by_the_law(rules, row_cells, opponent, monkeypatch):
    game, rng = plain(rules), np.random.default_rng(0)
    monkeypatch.setattr(tictactoe_env.engines, "_ROW_ENGINE", row_cells)
    monkeypatch.setattr(config_module, "Rules", type(rules))
    envs = TicTacToeVectorEnv(
        32, opponent, autoreset_mode="NEXT_STEP", illegal="raise", start="random", **rules.to_json()
    )
    _, infos = envs.reset(seed=0)
    over = np.zeros(32, dtype=bool)
    for _ in range(30):
        before, masks = envs.boards, infos["action_mask"]
        chosen = (masks * rng.random(masks.shape)).argmax(axis=1)
        _, _, terminated, _, infos = envs.step(chosen)
        assert not infos["illegal_move"].any()
        for number, board in enumerate(map(tuple, envs.boards.tolist())):
            outcome = game.positions[board]
            allowed = game.legal(board) if outcome is None else range(rules.cells)
            assert np.array_equal(infos["action_mask"][number] > 0, mask_of(allowed, rules))
            assert terminated[number] == (outcome is not None)
            assert infos["outcome"][number] == (outcome or 0) * infos["side"][number]
            if not over[number]:
                own = game.after(tuple(before[number].tolist()), int(chosen[number]))
                replies = (
                    game.moves(own)
                    if opponent == "random" or game.moves(own) == []
                    else game.best(own)
                )
                assert board in ([game.after(own, cell) for cell in replies] or [own])
        over = terminated


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
