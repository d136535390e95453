"""What several pages of agents/ share: options that are refused, snapshots, what they learn."""

import pytest
from learners import trained
from small_runs import small_config
from text_cases import refuses

import agents
from tictactoe_env.evaluation import evaluate

REFUSED = [
    ("dqn", {"buffer_size": 10}, "buffer_size must be at least num_envs, 256, got 10"),
    ("dqn", {"opening": "d1"}, '"a1" to "c3", got \'d1\''),
    ("dqn", {"opening": "b2", "side": "O"}, "opening 'b2' is for a learner that plays X"),
    ("maskable_ppo", {"opening": "random", "side": "O"}, "opening 'random' is for a learner that"),
    ("dqn", {"side": "o"}, "unknown side 'o'"),
    ("dqn", {"opponents": "minmax"}, "did you mean 'minimax'"),
    ("mcts", {"value": "rolouts"}, "did you mean 'rollouts'"),
    ("neuroevolution", {"fitness": "footbal"}, "did you mean 'football'"),
    ("neuroevolution", {"opponents": "self"}, "'self' stands for snapshots of a learner"),
    ("neuroevolution", {"winners": 100}, "winners must be a whole number from 1 to 99"),
    ("neuroevolution", {"hidden": 0}, "rebirth needs hidden units"),
    ("neuroevolution", {"points": "3,1,0"}, "points must be one of football, punished, or four"),
    ("tabular_q", {"rewards": "not-loosing"}, "did you mean 'not-losing'"),
    ("tabular_q", {"rewards": "1,0"}, "three numbers"),
    ("tabular_q", {"rewards": "1,nan,0"}, "finite"),
    ("tictacnet", {"side": "X", "sides_in_turn": True}, "sides_in_turn learns both sides"),
    ("tictacnet", {"side": "O", "rows": 2, "cols": 2, "k": 1}, "O never moves"),
    ("value_net", {"k": 1}, "k must be at least 2 here"),
]
NETWORKS = ("Coptic_64", "SaintAndre_0", "SaintAndre")
REFUSED += [("value_net", {"architecture": a}, "must be SaintAndre_") for a in NETWORKS]
SEEDS = [{"seed": seed} for seed in range(10)]
WIDE = {"rows": 2, "cols": 5}  # a draw with best play; 15,983 positions
LEARNED = [
    ("dqn", "optimal", SEEDS[:2]),
    ("dqn", "unbeatable", [{"opponents": "self:1"}, WIDE]),
    ("maskable_ppo", "optimal", SEEDS[:4]),
    ("maskable_ppo", "unbeatable", [{"opponents": "self:1"}, {"symmetry": False}, WIDE]),
    ("maskable_ppo", "unbeatable", [{"opponents": "random:0.5,minimax:0.25,self:0.25"}]),
    ("tabular_q", "optimal", [{**seed, "steps": 12_000_000} for seed in SEEDS]),
    ("tabular_q", "optimal", [{**s, "steps": 12_000_000, "symmetry": False} for s in SEEDS]),
    ("tabular_q", "unbeatable", [{**s, "steps": 4_000_000, "opponents": "self"} for s in SEEDS]),
    ("tabular_q", "unbeatable", [WIDE]),
    ("tictacnet", "unbeatable", [{**seed, "steps": 2_000_000} for seed in SEEDS]),
    ("trie", "unbeatable", [*SEEDS, {"rows": 2, "cols": 4}]),
    ("value_net", "unbeatable", [WIDE]),
]


@pytest.mark.parametrize(("agent", "options", "words"), REFUSED)
def test_options_that_do_not_go_together_are_refused_with_a_reason(agent, options, words):
    page = agents.page(agent)
    with refuses(words):
        page.begin(page.Config(**options))


@pytest.mark.parametrize("agent", ["dqn", "maskable_ppo", "tabular_q", "tictacnet"])
def test_snapshots_begin_with_the_untrained_learner_and_follow_at_fixed_steps(agent):
    """An algorithm of Stable-Baselines3 takes them at the start of its next round."""
    config = small_config(agent, opponents="self", snapshot_every=512, snapshots=3)
    learner = agents.page(agent).begin(config)
    untrained = getattr(learner, "snapshot", learner.policy)().table
    assert (untrained.max(axis=1) < 1).any() == (agent == "maskable_ppo"), "as it explores"
    while learner.steps < 2_048:
        learner.advance(1)
        due = learner.steps - getattr(learner, "round_steps", 0)
        assert len(learner.pool.snapshots) == min(3, 1 + due // 512)
        assert due >= 512 or (learner.pool.snapshots[0].table == untrained).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "goal", "options"), [(*case, options) for *case, many in LEARNED for options in many]
)
def test_agents_learn_to_be_unbeatable_or_reach_the_best_achievable_results(agent, goal, options):
    """191/192 wins as X and 866/945 as O on 3x3; an untrained player can be beaten."""
    page = agents.page(agent)
    results = evaluate(trained(page, page.Config(**options), goal).policy())
    assert results.reached(goal)
    assert agent != "trie" or "rows" in options or results.x.win > 0.97
