import pytest

import agents
from agents import TRAINABLE
from players.gallery import Gallery
from players.titles import KINDS, story_of, title_of, title_of_run, unit_of
from tictactoe_env.certificate import certify, write
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules

TITLES = {
    "human": "a person",
    "random": "Random player",
    "minimax": "Perfect play",
    "minimax-slip=0.3": "Easy opponent",
    "minimax-slip=0.1": "Medium opponent",
    "minimax-slip=0.2": "Perfect play, 20 % of the moves at random",
    "search": "Full search",
    "search-depth=1": "Search, 1 move ahead",
    "search-depth=4-ties=first": "Search, 4 moves ahead, the first of equal moves",
    "mcts-playouts=1000": "Tree search, 1,000 playouts",
    "mcts-milliseconds=100": "Tree search, 100 ms a move",
    "tabular_q": "Q-learner",
    "dqn-duel-first": "Deep Q-network (duel-first)",
    "learner": "Your apprentice",
    "runs/learner": "Your apprentice",
    "runs/tabular_q-0": "Q-learner, seed 0",
    "runs/maskable_ppo-0-20261121-171536": "PPO, seed 0",
    "models/dqn-duel-first-3.json": "Deep Q-network (duel-first), seed 3",
    "runs/group/a run of mine": "a run of mine",
    "search-depth=deep": "search-depth=deep",  # no such player: the text itself
    "Ann": "Ann",
}


@pytest.mark.parametrize("id", TITLES)
def test_a_player_has_a_name_that_people_understand(id):
    assert title_of(id) == TITLES[id]


def test_every_agent_of_this_project_has_a_name_of_its_own_and_a_story():
    assert set(KINDS) == set(TRAINABLE)
    assert len({kind.title for kind in KINDS.values()}) == len(KINDS)
    assert all(story_of(agent).count(".") >= 2 for agent in KINDS)
    assert (story_of("minimax"), title_of_run("mine", "slow", 3)) == ("", "mine (slow), seed 3")


@pytest.mark.parametrize("agent", TRAINABLE)
def test_the_steps_of_a_training_are_counted_in_the_unit_of_its_command(agent):
    assert (unit_of(agent), unit_of("mine")) == (agents.page(agent).Config.STEP, "steps")


def test_a_run_is_called_by_what_its_certificate_states_at_most_a_line(tmp_path):
    def titled(**about):
        write(certify(RandomPolicy(), "dqn", Rules(2, 3, 2), **about), tmp_path / "one.json")
        return Gallery([tmp_path]).entry(f"{tmp_path.name}/one.json").title

    assert titled(seed=7) == "Deep Q-network, seed 7"
    assert titled(training={"preset": "quick"}) == "Deep Q-network (quick)"
    assert len(titled(seed=10**20, training={"preset": "long" * 25})) == 120
    (tmp_path / "one.json").write_text("{")
    assert Gallery([tmp_path]).entry(f"{tmp_path.name}/one.json").title == "one"
