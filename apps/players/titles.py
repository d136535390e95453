"""What people call a player ("Perfect play", "Q-learner, seed 0"), and how it came to its moves.

    title_of("search-depth=4")                # "Search, 4 moves ahead"
    title_of("runs/tabular_q-0")              # "Q-learner, seed 0", from the name of the folder
    title_of_run("dqn", "duel-first", 0)      # "Deep Q-network (duel-first), seed 0"
    story_of("trie")                          # how a trie learns, in two or three sentences

Nothing is read from a disk: a title of an id follows from the text alone.
"""

from __future__ import annotations

import re

from agents import TRAINABLE, facts
from apps.players.pupil import LEARNER, LEARNER_FOLDER
from tictactoe_env.opponents import EASY, Named, named_player
from tictactoe_env.trained.packed import facts_of, trained_names

MEDIUM = "minimax-slip=0.1"
"""Stronger than the opponent to begin with: as X it wins 48 % of its games against that one."""
PLAIN = {
    "human": "a person",
    "random": "Random player",
    "minimax": "Perfect play",
    "minimax-first": "Perfect play, always the same",
    EASY: "Easy opponent",
    MEDIUM: "Medium opponent",
    "search": "Full search",
    LEARNER: "Your apprentice",
    LEARNER_FOLDER.as_posix(): "Your apprentice",
}
LENGTH = 60  # characters of the name of a folder that is shown in a title


def title_of(id: str) -> str:
    """The title of a player by its id or name; the last part of the id if nothing is known of it.

    What a certificate says (its seed, its preset) is not read: see `title_of_run`.
    """
    if id in PLAIN:
        return PLAIN[id]
    if id in trained_names():
        stated = facts_of(id).stated
        return _of_agent(stated.agent, stated.preset)
    try:
        named = named_player(id)
    except ValueError:
        named = None
    if named is not None:
        return _with_options(named)
    last = id.rstrip("/").rpartition("/")[2].removesuffix(".json")
    if found := re.fullmatch(
        rf"({'|'.join(TRAINABLE)})(?:-([a-z][a-z0-9-]*?))?-(\d+)(?:-\d{{8}}-\d{{6}})?", last
    ):
        agent, preset, seed = found.groups()
        return title_of_run(agent, preset, int(seed))
    return last[:LENGTH]


def title_of_run(agent: str, preset: str | None = None, seed: int | None = None) -> str:
    """The title of a saved run, by what its certificate states."""
    return _of_agent(agent, preset) + ("" if seed is None else f", seed {seed}")


def story_of(agent: str) -> str:
    """How an agent learns, in plain sentences; "" for one that is not of this project."""
    return str(facts(agent).get("STORY", ""))


def unit_of(agent: str) -> str:
    """What a step of an agent's training is, in the plural, such as "moves" or "games"."""
    return str(facts(agent).get("UNIT", "moves")) if agent in TRAINABLE else "steps"


def _of_agent(agent: str, preset: str | None) -> str:
    title = str(facts(agent).get("TITLE", agent))
    return f"{title} ({preset})" if preset else title


def _with_options(named: Named) -> str:
    """The title of a name with options, such as `mcts-playouts=50`."""
    words, left = [], dict(named.options)
    for key, text in (
        ("slip", "{} % of the moves at random"),
        ("depth", "{} moves ahead"),
        ("playouts", "{:,} playouts"),
        ("milliseconds", "{:g} ms a move"),
        ("seconds", "{:g} s a move"),
    ):
        if key in left:
            value = left.pop(key)
            word = text.format(f"{100 * value:g}" if key == "slip" else value)
            words.append(word.replace("1 moves", "1 move") if word.startswith("1 m") else word)
    ties = left.pop("ties", None)
    if ties is not None:
        words.append("the first of equal moves" if ties == "first" else "equal moves at random")
    words += [f"{key} {value}" for key, value in left.items()]
    title = {"search": "Search", "mcts": "Tree search"}.get(named.name)
    title = title or PLAIN.get(named.name, named.name)
    return ", ".join([title, *words])
