"""OpenSpiel's tic_tac_toe and mnk are the rules, values and exploitabilities that we are held to.

`python tests/ecosystem/run.py openspiel` runs them; see examples/README.md.
"""

import numpy as np
import pyspiel

from tictactoe_env import TicTacToeEnv
from tictactoe_env.notation import board_text


def test_random_games_on_300_boards_agree_move_by_move_with_the_environment():
    rng, results = np.random.default_rng(0), set()
    for _ in range(300):
        rows, cols = (int(number) for number in rng.integers(1, 8, size=2))
        k = int(rng.integers(1, min(5, max(rows, cols)) + 1))
        env = TicTacToeEnv(opponent=None, rows=rows, cols=cols, k=k)
        state = pyspiel.load_game(f"mnk(m={cols},n={rows},k={k})").new_initial_state()
        _, info = env.reset()
        while not state.is_terminal():
            assert np.flatnonzero(info["action_mask"]).tolist() == state.legal_actions()
            mover, cell = state.current_player(), int(rng.choice(state.legal_actions()))
            assert info["side"] == (1 if mover == 0 else -1)
            state.apply_action(cell)
            _, reward, terminated, _, info = env.step(cell)
            assert board_text(env.board, env.rules) == str(state).replace("\n", "/").upper()
            assert (reward, terminated) == (state.rewards()[mover], state.is_terminal())
        results.add((mover, reward))
    assert results == {(0, 1), (1, 1), (0, 0), (1, 0)}


def test_the_example_finds_no_difference(run_example):
    printed, _ = run_example("openspiel_crosscheck.py", 200)
    assert "the empty board is worth 0, 5,478 positions agree" in printed
    assert "200 random games on other boards agree" in printed
    assert "minimax-slip=0.1: 0.187902471892, OpenSpiel: 0.187902471892" in printed
