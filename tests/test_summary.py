"""players/summary.py: how strong a player is and what its preset does, in sentences."""

import pytest

import agents
from agents import TRAINABLE
from players.gallery import Gallery
from players.summary import METHODS, method_of, results_of
from tictactoe_env.certificate import certify, write
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.trained import facts_of, trained_names

RESULTS = {
    "tabular_q": "It wins 99.5 % as X and 91.6 % as O against random moves, and nobody can beat "
    "it.",
    "dqn-duel-first": "As X it wins 99.5 % against random moves, and nobody can beat it.",
    "dqn-duel-second": "As O it wins 93.5 % against random moves, yet can be beaten.",
    "trie-tophep": "As O it wins 39.8 % against random moves, and can be beaten.",
    "neuroevolution-dimitars-100": "It wins 58.9 % as X and 0 % as O against random moves, and "
    "often loses by a move on a taken cell.",
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_strength_of_a_trained_player_is_said_in_one_line(name):
    assert results_of(facts_of(name)) == RESULTS[name]


@pytest.mark.parametrize("agent", TRAINABLE)
def test_every_preset_of_an_agent_is_explained(agent):
    presets = getattr(agents.page(agent), "PRESETS", {})
    assert set(presets) == {preset for one, preset in METHODS if one == agent}
    assert (method_of(agent, None), method_of(agent, "mine")) == ("", "")


def test_players_that_lose_by_illegal_moves_are_listed_after_all_others(tmp_path):
    listed = [one for one in Gallery([tmp_path]).entries() if one.kind == "trained"]
    assert sorted(one.id for one in listed) == list(trained_names())
    assert all("taken cell" in one.results for one in listed[-4:])
    assert not any("taken cell" in one.results for one in listed[:-4])
    second = next(one for one in listed if one.id == "dqn-duel-second")
    assert second.method.startswith("Trained as O only, against random moves")


def test_a_run_of_a_preset_is_explained_too(tmp_path):
    training = {"preset": "tophep"}
    write(certify(RandomPolicy(), "trie", Rules(2, 3, 2), training=training), tmp_path / "one.json")
    entry = Gallery([tmp_path]).entry(f"{tmp_path.name}/one.json")
    assert (entry.method, entry.results) == (METHODS["trie", "tophep"], "")
