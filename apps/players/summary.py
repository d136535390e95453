"""How strong a trained player is, and in what its preset differs, each in a sentence for a list.

results_of(facts_of("dqn-duel-second"))   # "As O it wins 93.5 % against random moves, yet can
                                          # be beaten as O."
method_of("dqn", "duel-second")           # "Trained as O only, against random moves, ..."
"""

from __future__ import annotations

from agents import presets
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.exact.verdict import verdict

MANY_WINS = 0.8  # of the games against random moves: a player seems strong


def method_of(agent: str, preset: str | None) -> str:
    """What a preset does; "" without one, and for one that is not of this project."""
    found = presets(agent).get(preset or "")
    return found.sentence if found else ""


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
