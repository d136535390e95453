"""OpenSpiel's tic_tac_toe and mnk are the rules, values and exploitabilities that we are held to.

`python tests/ecosystem/run.py openspiel` runs them; see examples/README.md.
"""

import numpy as np
import pyspiel
import pytest

from tictactoe_env import Rules, TabularPolicy, TicTacToeEnv, exploitability
from tictactoe_env.exact.match import best_responses
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.solver import solve
from tictactoe_env.notation import board_text

# rows, cols, k of boards that are compared wholly
BOARDS = [(1, 1, 1), (5, 1, 3), (2, 3, 2), (2, 4, 3), (3, 3, 2), (3, 3, 3), (5, 2, 4)]


def load(rows, cols, k):
    """OpenSpiel's m is the number of columns, its n that of rows."""
    is_named = (rows, cols, k) == (3, 3, 3)
    return pyspiel.load_game("tic_tac_toe" if is_named else f"mnk(m={cols},n={rows},k={k})")


def text_of(state):
    return str(state).replace("\n", "/").upper()


class Walk:
    """All states of an OpenSpiel game by the rows of our positions, with minimax values of X."""

    def __init__(self, game, rules):
        self.positions, self.values, self.optimal = positions_of(rules), {}, {}
        self.rules = rules
        self.visit(game.new_initial_state(), 0)

    def visit(self, state, row):
        if row in self.values:
            return self.values[row]
        assert row >= 0, f"OpenSpiel reaches {text_of(state)}, we do not"
        positions, cells = self.positions, state.legal_actions()
        assert board_text(positions.boards[row], self.rules) == text_of(state)
        assert positions.is_over[row] == state.is_terminal()
        if state.is_terminal():
            assert positions.outcome_x[row] == state.returns()[0] == -state.returns()[1]
            self.values[row], self.optimal[row] = state.returns()[0], []
            return self.values[row]
        assert cells == np.flatnonzero(positions.boards[row] == 0).tolist()
        assert state.current_player() == (0 if positions.x_to_move[row] else 1)
        children = [int(positions.children[row, cell]) for cell in cells]
        values = [
            self.visit(state.child(c), child) for c, child in zip(cells, children, strict=True)
        ]
        best = max(values) if state.current_player() == 0 else min(values)
        self.values[row] = best
        self.optimal[row] = [
            cell for cell, value in zip(cells, values, strict=True) if value == best
        ]
        return best


@pytest.mark.parametrize("board", BOARDS, ids=str)
def test_all_positions_of_a_board_have_the_same_moves_results_and_values(board):
    rules = Rules(*board)
    walk = Walk(load(*board), rules)
    rows, solution = np.arange(len(walk.positions)), solve(rules)
    assert sorted(walk.values) == rows.tolist()
    assert solution.value_x.tolist() == [walk.values[row] for row in rows]
    optimal = [np.flatnonzero(cells).tolist() for cells in solution.optimal(walk.positions.boards)]
    assert optimal == [walk.optimal[row] for row in rows]


def test_random_games_on_300_boards_agree_move_by_move_with_the_environment():
    rng, plies, results = np.random.default_rng(0), 0, set()
    for _ in range(300):
        rows, cols = (int(number) for number in rng.integers(1, 8, size=2))
        k = int(rng.integers(1, min(5, max(rows, cols)) + 1))
        env = TicTacToeEnv(opponent=None, rows=rows, cols=cols, k=k, observation="grid")
        state = load(rows, cols, k).new_initial_state()
        _, info = env.reset()
        while not state.is_terminal():
            assert np.flatnonzero(info["action_mask"]).tolist() == state.legal_actions()
            assert info["side"] == (1 if state.current_player() == 0 else -1)
            mover, cell = state.current_player(), int(rng.choice(state.legal_actions()))
            state.apply_action(cell)
            _, reward, terminated, _, info = env.step(cell)
            assert board_text(env.board, env.rules) == text_of(state)
            assert terminated == state.is_terminal()
            assert reward == state.rewards()[mover]
            plies += 1
        results.add((mover, reward))
    assert results == {(0, 1), (1, 1), (0, 0), (1, 0)}
    assert plies > 1_500


# --- policies -------------------------------------------------------------------------------------


def openspiel_policy(game, policy):
    """An OpenSpiel policy, which has a row for each game so far, of a policy of ours."""
    table = {}
    positions, probs = positions_of(policy.rules), policy.by_row()

    def visit(state, row):
        if state.is_terminal():
            return
        cells = state.legal_actions()
        table[state.information_state_string()] = [(c, float(probs[row, c])) for c in cells]
        for cell in cells:
            visit(state.child(cell), int(positions.children[row, cell]))

    visit(game.new_initial_state(), 0)
    return pyspiel.TabularPolicy(table)


def random_policy(rules, seed):
    """Random probabilities on the free cells."""
    positions = positions_of(rules)
    weights = np.random.default_rng(seed).exponential(size=(len(positions.unfinished), rules.cells))
    weights *= positions.boards[positions.unfinished] == 0
    return TabularPolicy(rules, weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("board", [(1, 1, 1), (2, 3, 2), (3, 2, 3), (1, 6, 2)], ids=str)
def test_exploitability_and_best_responses_are_those_of_openspiel(board):
    rules, game = Rules(*board), load(*board)
    policy = random_policy(rules, 0)
    theirs = openspiel_policy(game, policy)
    assert exploitability(policy) == pytest.approx(pyspiel.exploitability(game, theirs), abs=1e-12)
    responses = best_responses(policy)
    for player, side in ((0, "O"), (1, "X")):  # player 0, X, responds to our play as O
        response = pyspiel.TabularBestResponse(game, player, theirs)
        best = response.value_from_state(game.new_initial_state())
        assert -responses[side].value == pytest.approx(best, abs=1e-12)


def test_the_example_finds_no_difference(run_example):
    printed = run_example("openspiel_crosscheck.py", 200)
    assert "the empty board is worth 0, 5,478 positions agree" in printed
    assert "200 random games on other boards agree" in printed
    assert "minimax-slip=0.1: 0.187902471892, OpenSpiel: 0.187902471892" in printed
