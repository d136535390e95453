"""How strong a trained player is, and in what its preset differs, each in a sentence for a list.

results_of(facts_of("dqn-duel-second"))   # "As O it wins 93.5 % against random moves, yet can
                                          # be beaten as O."
method_of("dqn", "duel-second")           # "Trained as O only, against random moves, ..."
"""

from __future__ import annotations

from collections.abc import Mapping

from tictactoe_env.certificates.content import Certificate
from tictactoe_env.exact.verdict import verdict

GO, TICTAC = "the project go-sample-tictactoe", "the project nestedsoftware/tictac"
BLOG = "on blog.dimitars.dev"
SIZES = (
    ("3x4", "3x4, 3 in a row"),
    ("3x5", "3x5, 3 in a row"),
    ("4x4", "4x4, 4 in a row"),
    ("4x4-k3", "4x4, 3 in a row"),
    ("5x5-x", "X on 5x5, 4 in a row"),
    ("5x5-o", "O on 5x5, 4 in a row"),
)
METHODS: Mapping[tuple[str, str], str] = {
    ("dqn", "duel-first"): f"Trained as X only, against random moves, as in {GO}.",
    ("dqn", "duel-second"): f"Trained as O only, against random moves, as in {GO}.",
    ("dqn", "duel-centre"): (
        f"Trained as X only, with the centre as its first move, against random moves, as in {GO}."
    ),
    **{
        ("maskable_ppo", preset): f"Trained with the settings for {what}." for preset, what in SIZES
    },
    ("mcts", "tictac"): f"A draw counts as much as a win in its search, as in {TICTAC}.",
    ("neuroevolution", "dimitars-20"): (
        f"Evolved as {BLOG}: 20 networks play each other for points as in football, and the "
        "best 3 survive."
    ),
    ("neuroevolution", "dimitars-100"): (
        f"Evolved as {BLOG}: 100 networks play each other for points as in football, and the "
        "best 50 survive."
    ),
    ("neuroevolution", "dimitars-punished"): (
        f"Evolved as {BLOG}: 100 networks play each other, and a move on a taken cell costs 10 "
        "points."
    ),
    ("neuroevolution", "dimitars-linear"): (
        f"Evolved as {BLOG}: 100 networks without a hidden layer, which change in small steps."
    ),
    ("tabular_q", "tictac"): (
        f"Trained against random moves, and a draw counts as much as a win, as in {TICTAC}."
    ),
    ("tictacnet", "tictac"): (
        "Trained against random moves, first as X and then as O, and a draw counts as much as a "
        f"win, as in {TICTAC}."
    ),
    ("trie", "tophep"): (
        "Trained as O only, against perfect play, as in the project tophep/TicTacToe."
    ),
    ("value_net", "learnbyplay"): (
        "Trained with the games and the network of the project tutorial_learnbyplay."
    ),
}
"""What each preset of this project does, by the agent and the preset."""
MANY_WINS = 0.8  # of the games against random moves: a player seems strong


def method_of(agent: str, preset: str | None) -> str:
    """What a preset does; "" without one, and for one that is not of this project."""
    return METHODS.get((agent, preset or ""), "")


def results_of(facts: Certificate) -> str:
    """How often a player wins against random moves, and whether it can be beaten.

    facts: a verified certificate; of a player that was trained as one side, this side counts.
    """
    shares = {side: one.vs_random.win for side, one in facts.trained.items()}
    wins = [f"{100 * win:.1f} %".replace(".0 %", " %") for win in shares.values()]
    if facts.only:
        won = f"As {facts.only} it wins {wins[0]} against random moves"
    else:
        won = f"It wins {wins[0]} as X and {wins[1]} as O against random moves"
    if loses_by_illegal_moves(facts):
        return f"{won}, and often loses by a move on a taken cell."
    sides = {side: one.proven._replace(optimal=False) for side, one in facts.trained.items()}
    proven = verdict(sides, games=False)
    seems_strong = min(shares.values()) >= MANY_WINS and proven.startswith("can be")
    return f"{won}, {'yet' if seems_strong else 'and'} {proven}."


def loses_by_illegal_moves(facts: Certificate) -> bool:
    """Whether a player sometimes chooses a taken cell against random moves."""
    return any(one.vs_random.illegal > 0 for one in facts.trained.values())
