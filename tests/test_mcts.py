"""agents/mcts.py: the graph that it grows from the empty board, and how well it plays."""

import pytest
from learners import BOARDS, trained

from agents import mcts, presets
from agents.mcts import Config
from tictactoe_env.exact.evaluation import evaluate

SMALL = Config(steps=500, judge_every=200)
TICTAC = presets("mcts")["tictac"].options


def test_it_plays_to_the_highest_means_and_its_notes_count_the_positions():
    learner = trained(mcts, SMALL)
    assert learner.notes() == {"positions": len(learner.model()["visits"])}
    assert learner.model()["visits"][0] == learner.steps == 500
    policy = learner.policy()
    for board in BOARDS[::40]:
        marks = (learner.graph.orientations.marks(board, side) for side in (1, -1))
        means = [child.mean for child, _, _ in learner.graph.moves_from(*marks)]
        chosen = policy.probs(board[None])[0, board == 0] > 0
        assert chosen.tolist() == [mean == max(means) for mean in means]


def test_the_preset_tictac_has_the_results_of_that_system():
    """nestedsoftware/tictac, run: X 81.51 / 18.49 / 0 and O 62.22 / 37.78 / 0 per cent, exact.

    Its graph is the same in every run, and so is this one for every seed.
    """
    learner = mcts.begin(Config(**TICTAC, seed=1))
    learner.advance(learner.config.steps)
    results = evaluate(learner.policy())
    assert learner.steps == 4_000
    assert results.unbeatable
    assert (results.x.win, results.x.draw) == pytest.approx((313 / 384, 71 / 384), abs=1e-12)
    assert (results.o.win, results.o.draw) == pytest.approx((28 / 45, 17 / 45), abs=1e-12)


def test_a_resumed_descent_continues_with_the_visits_of_all_positions_above():
    through, second = (mcts.begin(Config(**TICTAC)) for _ in range(2))
    through.advance(150)
    second.restore(through.model(), through.state())
    for learner in (through, second):
        learner.advance(150)
    model = second.model()
    assert all((model[name] == array).all() for name, array in through.model().items())
