"""OpenSpiel and this package agree: on all positions, on random games, on exploitability.

    pip install tictactoe-env open-spiel
    python openspiel_crosscheck.py 2000

The number is that of the random games. Cells have the same numbers in both, row by row; in Connect
Four actions are columns in both.
"""

import sys

import gymnasium as gym
import numpy as np
import pyspiel

from tictactoe_env import Rules, exploitability, make_opponent, tabulate
from tictactoe_env.exact import positions_of, solve
from tictactoe_env.notation import board_text
from tictactoe_env.rules import game_state

GAMES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
RULES = Rules()
PLAYER = "minimax-slip=0.1"
positions = positions_of(RULES)
solution = solve(RULES)
known = {}


def value_x(state, row):
    """X's value by minimax over OpenSpiel's states; each board is compared with our row of it."""
    if row not in known:
        cells = state.legal_actions()
        best = min if state.current_player() == 1 else max
        values = [value_x(state.child(c), positions.children[row, c]) for c in cells]
        known[row] = best(values) if values else state.returns()[0]
        optimal = [cell for cell, value in zip(cells, values, strict=True) if value == known[row]]
        assert board_text(positions.boards[row], RULES) == str(state).replace("\n", "/").upper()
        assert (positions.is_over[row], solution.value_x[row]) == (not cells, known[row])
        assert np.flatnonzero(solution.optimal(positions.boards[[row]])[0]).tolist() == optimal
    return known[row]


def openspiel_table(state, row, probs, table):
    """An OpenSpiel policy: the probabilities of the moves after each game so far."""
    if cells := state.legal_actions():
        table[state.information_state_string()] = [(cell, probs[row, cell]) for cell in cells]
    for cell in cells:
        openspiel_table(state.child(cell), positions.children[row, cell], probs, table)
    return table


start = pyspiel.load_game("tic_tac_toe").new_initial_state()
rng = np.random.default_rng(0)
print(f"the empty board is worth {value_x(start, 0):g}, {len(known):,} positions agree")
for _ in range(GAMES):
    m, n, k = rng.integers([4, 4, 1], [9, 8, 5])  # m columns, n rows
    state = pyspiel.load_game(f"mnk(m={m},n={n},k={k})").new_initial_state()
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
    end = game_state(state.history(), Rules(n, m, k))
    assert (end.mover, end.illegal) == (None, None)
    assert {"X": 1, "O": -1, None: 0}[end.winner] == state.returns()[0]
print(f"{GAMES:,} random games on other boards agree")
env = gym.make("tictactoe_env/ConnectFour-v0", opponent=None)
for _ in range(GAMES):
    state = pyspiel.load_game("connect_four").new_initial_state()
    _, info = env.reset()
    while not state.is_terminal():
        assert np.flatnonzero(info["action_mask"]).tolist() == state.legal_actions()
        column = int(rng.choice(state.legal_actions()))
        mover = state.current_player()
        state.apply_action(column)
        _, reward, terminated, _, info = env.step(column)
        assert (reward, terminated) == (state.rewards()[mover], state.is_terminal())
print(f"{GAMES:,} random games of Connect Four agree")
policy = tabulate(make_opponent(PLAYER, RULES), RULES)
theirs = pyspiel.exploitability(start.get_game(), openspiel_table(start, 0, policy.by_row(), {}))
print(f"exploitability of {PLAYER}: {exploitability(policy):.12f}, OpenSpiel: {theirs:.12f}")
