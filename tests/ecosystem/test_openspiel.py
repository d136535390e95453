"""OpenSpiel's games are the rules, values and exploitabilities that we are held to.

`python tests/ecosystem/run.py openspiel` runs them; see examples/README.md.
"""

import numpy as np
import pyspiel

from tictactoe_env import TicTacToeEnv
from tictactoe_env.notation import board_text

CONNECT_FOUR = {"rows": 6, "cols": 7, "k": 4, "gravity": True, "actions": "columns"}


def boards(rng):
    """Arguments of an environment, and the name of OpenSpiel's game: 300 boards, and as many times
    Connect Four.
    """
    for _ in range(300):
        rows, cols = (int(number) for number in rng.integers(1, 8, size=2))
        k = int(rng.integers(1, min(5, max(rows, cols)) + 1))
        yield {"rows": rows, "cols": cols, "k": k}, f"mnk(m={cols},n={rows},k={k})"
        yield CONNECT_FOUR, "connect_four"


def test_random_games_agree_move_by_move_with_the_environment():
    rng = np.random.default_rng(0)
    results = set()
    for arguments, name in boards(rng):
        env = TicTacToeEnv(opponent=None, **arguments)
        state = pyspiel.load_game(name).new_initial_state()
        _, info = env.reset()
        while not state.is_terminal():
            assert np.flatnonzero(info["action_mask"]).tolist() == state.legal_actions()
            mover = state.current_player()
            action = int(rng.choice(state.legal_actions()))
            assert info["side"] == (1 if mover == 0 else -1)
            state.apply_action(action)
            _, reward, terminated, _, info = env.step(action)
            assert board_text(env.board, env.rules) == str(state).strip().replace("\n", "/").upper()
            assert (reward, terminated) == (state.rewards()[mover], state.is_terminal())
        results.add((mover, reward))
    assert results == {(0, 1), (1, 1), (0, 0), (1, 0)}


def test_the_example_finds_no_difference(run_example):
    printed, _ = run_example("openspiel_crosscheck.py", 200)
    assert "the empty board is worth 0, 5,478 positions agree" in printed
    assert "200 random games on other boards agree" in printed
    assert "200 random games of Connect Four agree" in printed
    assert "minimax-slip=0.1: 0.187902471892, OpenSpiel: 0.187902471892" in printed
