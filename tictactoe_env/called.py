"""The names that people call trained agents of this package."""

CALLED = {
    "opener": "dqn-duel-first",
    "centrist": "dqn-duel-centre",
    "gambler": "dqn-duel-second",
    "peaceful-planner": "mcts-tictac",
    "peaceful-bookkeeper": "tabular_q-tictac",
    "daydreamer": "tictacnet-tictac",
    "parrot": "trie-tophep",
    "league-champion": "neuroevolution-dimitars-100",
    "village-champion": "neuroevolution-dimitars-20",
    "simple-mind": "neuroevolution-dimitars-linear",
    "cautious-one": "neuroevolution-dimitars-punished",
    "patient-pupil": "value_net-learnbyplay",
}
"""Trained agents by the names that people call them; "The gambler" is the gambler too."""


def agent_called(name: str) -> str:
    """The name of the trained agent that people call "The gambler" or gambler; else the text."""
    return CALLED.get(name.lower().removeprefix("the ").replace(" ", "-"), name)
