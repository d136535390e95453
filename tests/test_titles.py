"""What players are called, and what is said of how they learned and how strong they are."""

import pytest

import agents
import evaluate
import play
from agents import TRAINABLE
from apps.players.gallery import Gallery
from apps.players.titles import results_of, story_of, title_of
from tictactoe_env import RandomPolicy, Rules
from tictactoe_env.certificates.certificate import certify, write
from tictactoe_env.certificates.trained import facts_of, trained_names

TITLES = {
    "human": "a person",
    "minimax-slip=0.3": "Easy opponent",
    "minimax-ties=fastest": "Perfect play",
    "mcts-milliseconds=100": "Tree search, milliseconds=100",
    "dqn-duel-first": "The opener",
    "runs/group/a run of mine": "a run of mine",
    "best-response:runs/group/dqn-0": "Best response to dqn-0",
    "best-response:minimax-slip=0.3": "Best response to Easy opponent",
}


@pytest.mark.parametrize("id", TITLES)
def test_a_player_has_a_name_that_people_understand(id):
    assert title_of(id) == TITLES[id]


def test_command_lines_and_the_page_take_the_names_for_people():
    assert evaluate.LINE.parse(["gambler"])[1].args == ("dqn-duel-second",)
    assert play.LINE.parse(["--o", "The parrot"])[1].kwargs == {"o": "trie-tophep"}
    assert Gallery().player("best-response:gambler").id == "best-response:dqn-duel-second"


def test_every_agent_has_a_name_of_its_own_and_those_of_the_package_are_explained():
    assert len({title_of(agent) for agent in TRAINABLE}) == len(TRAINABLE)
    packaged = [agent for agent in TRAINABLE if agent in trained_names()]
    assert all("TITLE" in agents.facts(agent) for agent in packaged)
    assert min(story_of(agent).count(".") for agent in packaged) >= 2


def test_a_run_is_called_by_what_its_certificate_states_at_most_a_line(tmp_path):
    def entry(agent="dqn", **about):
        write(certify(RandomPolicy(), agent, Rules(2, 3, 2), **about), tmp_path / "one.json")
        return Gallery([tmp_path]).entry(f"{tmp_path.name}/one.json")

    assert entry(seed=7).title == "Deep Q-network, seed 7"
    tophep = agents.presets("trie")["tophep"]
    assert entry("trie", training={"preset": "tophep"}).method == tophep.sentence


RESULTS = {  # what a line about a player of the package says
    "tabular_q": ("99.5 % as X", "91.6 % as O", "cannot be beaten"),
    "dqn-duel-second": ("As O", "93.5 %", "can be beaten"),
    "neuroevolution-dimitars-100": ("58.9 % as X", "0 % as O", "taken cell"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_strength_of_a_trained_player_is_said_in_one_line(name):
    line = results_of(facts_of(name))
    assert [words for words in RESULTS[name] if words not in line] == []
