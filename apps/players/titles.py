"""Titles, groups and stories of players, and their strength in a sentence.

    title_of("minimax-ties=fastest")       # "Perfect play"
    title_of("dqn-duel-first")             # "The opener"
    results_of(facts_of("dqn-duel-second"))   # "As O it wins 93.5 % against random moves, yet can
                                              # be beaten as O."

The titles and stories of agents stand on their pages. No file is read for a title.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import agents
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.stated import Stated
from tictactoe_env.certificates.trained import facts_of
from tictactoe_env.exact.verdict import verdict
from tictactoe_env.games.game import PERSON
from tictactoe_env.opponents import (
    EASY,
    EASY_BEYOND,
    EASY_FALLING,
    TITLES,
    description,
    foe_of,
    is_trained,
    split_options,
)
from tictactoe_env.rules import Rules

BOARDS = (
    Rules(),
    Rules(3, 4, 3),
    Rules(4, 4, 4),
    Rules(5, 5, 4),
    Rules(6, 6, 4),
    Rules(7, 7, 5),
    Rules(4, 4, 4, gravity=True),
    Rules(6, 7, 4, gravity=True),
)
"""The boards that every player is offered on, if it plays there."""
LEARNER = "learner"  # the trie that learns from the person here
LEARNER_ID = "runs/learner"
MANY_WINS = 0.8  # of the games against random moves: a player seems strong


class Group(NamedTuple):
    """A group of a list: its heading, what its players are, and the names of its first ones."""

    heading: str
    description: str
    names: tuple[str, ...] = ()


GROUPS = {
    "easy": Group(
        "Easy to beat",
        "They make mistakes. Begin here.",
        ("random", EASY, EASY_BEYOND, LEARNER_ID),
    ),
    "strong": Group(
        "Strong, without training",
        "They calculate. Some see only a few moves ahead, or slip at times.",
        (
            "minimax-slip=0.1",
            EASY_FALLING,
            "search-depth=4",
            "mcts-playouts=50",
            "mcts-playouts=1000",
        ),
    ),
    "perfect": Group(
        "Perfect play",
        "They calculate every game to its end, or have a proven move as X.",
        ("connect-four-x", "minimax-ties=fastest", "minimax", "minimax-first", "search"),
    ),
    "proven": Group(
        "Trained, proven unbeatable",
        "They come with the program. Nobody beats them on a side that they have learned to play.",
    ),
    "beatable": Group(
        "Trained, can be beaten", "Trained, but somebody can beat them: find out how."
    ),
    "run": Group("Your training runs", "Trained on this computer: make train trains one."),
    "other": Group("Other players", "They need no training. Other packages may have brought them."),
}
"""The groups in the order of a list."""
PLAYERS = {id: group for group, one in GROUPS.items() for id in one.names}
"""The group of each player that needs no training and has a title.

All other opponents of the package, and those that were added to it, follow under their names.
"""
SENTENCES = {
    EASY: "perfect play that makes 30 % of its moves at random",
    "search": "works out every game to its end, but is in no hurry to win",
    EASY_BEYOND: "takes a win and blocks yours, but does not see a fork coming",
    EASY_FALLING: "thinks two moves ahead",
    "search-depth=4": "thinks four moves ahead",
    "mcts-playouts=50": "tries 50 games in its head before each move: plays well, with mistakes",
    "mcts-playouts=1000": "tries 1,000 games in its head before each move",
    LEARNER_ID: "a trie that learns from your games; at first it knows nothing",
}
"""What people are told of some; of all others what the table of opponents says."""
WITH_OPTIONS = {"minimax": "Perfect play", "search": "Search", "mcts": "Tree search"}
NAMES = {
    **TITLES,
    PERSON: "a person",
    LEARNER_ID: "Your apprentice",
    "connect-four-x": "Connect Four, won as X",
}
"""Titles by id; those of other players are made of what is known of them."""


def title_of(id: str, stated: Stated | None = None) -> str:
    """The title of a player by its id or name; the last part of the id if nothing is known of it.

    stated: what the certificate of a run or a trained agent states: its preset and its seed.
    """
    if id in NAMES:
        return NAMES[id]
    if is_trained(id):
        stated = replace(facts_of(id).stated, seed=None)
    if stated is not None:
        title = str(agents.facts(stated.agent).get("TITLE", stated.agent))
        if stated.preset:
            title += f" ({stated.preset})"
        if stated.seed is not None:
            title += f", seed {stated.seed}"
        return title
    if (foe := foe_of(id)) is not None:
        return f"Best response to {title_of(foe)}"
    name, options = split_options(id)
    if options:
        return ", ".join([WITH_OPTIONS.get(name) or title_of(name), *options])
    return id.rstrip("/").rpartition("/")[2]


def sentence_of(id: str) -> str:
    """The way in which a player that needs no training plays; "" if nothing is known of it."""
    return SENTENCES.get(id) or description(id)


def story_of(agent: str) -> str:
    """The way an agent learns, in plain sentences; "" for one that is not of this project."""
    return str(agents.facts(agent).get("STORY", ""))


def unit_of(agent: str) -> str:
    """The unit of an agent's training, in the plural, such as "moves" or "games"."""
    usual = "moves" if agent in agents.TRAINABLE else "steps"
    return str(agents.facts(agent).get("UNIT", usual))


def results_of(facts: Certificate) -> str:
    """A player's wins against random moves, and its proof, in a sentence.

    facts: a verified certificate; of a player that was trained as one side, this side counts.
    """
    shares = {side: one.vs_random.win for side, one in facts.trained.items()}
    wins = [f"{100 * win:.1f} %".replace(".0 %", " %") for win in shares.values()]
    if facts.only:
        (own,) = wins
        won = f"As {facts.only} it wins {own} against random moves"
    else:
        as_x, as_o = wins
        won = f"It wins {as_x} as X and {as_o} as O against random moves"
    if any(one.vs_random.illegal > 0 for one in facts.trained.values()):
        return f"{won}, and often loses by a move on a taken cell."
    sides = {side: one.proven._replace(optimal=False) for side, one in facts.trained.items()}
    proven = verdict(sides, games=False)
    seems_strong = min(shares.values()) >= MANY_WINS
    joined = "yet" if seems_strong and proven.startswith("can be") else "and"
    return f"{won}, {joined} {proven}."
