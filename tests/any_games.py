"""Games for the tests of games and of their store."""

import random

from hypothesis import strategies as st

from tictactoe_env.games.game import ENDINGS, KINDS, ORIGINS, Game, Participant
from tictactoe_env.notation import SIDES, parse_cells
from tictactoe_env.rules import Rules, standing

ANN = Participant("human", "Ann")
MINIMAX = Participant("agent", "minimax")
RUN = Participant("run", "dqn-0", "runs/dqn-0")
TIME = "2026-05-09T07:35:25Z"


def game(moves="a1 b2 a2 b1 a3", rules=Rules(), **about):  # noqa: B008
    """A game of Ann as X against minimax; X wins on the left, unless other moves are given."""
    about = {"x": ANN, "o": MINIMAX, "origin": "human", "time": TIME, **about}
    return Game(moves=tuple(parse_cells(moves, rules)), rules=rules, **about)


LETTERS = st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.sampled_from("%#:=/")
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=9), min_size=1, max_size=3).map(" ".join)
PLAYERS = st.builds(Participant, st.sampled_from(KINDS), WORDS, st.just("") | WORDS)
TIMES = st.datetimes().map(lambda when: f"{when.isoformat()}Z")


@st.composite
def any_rules(draw, longest=64):
    """A board of any size that is allowed, with at most so many marks in a line."""
    rows = draw(st.integers(1, 20))
    cols = draw(st.integers(1, 64 // rows - 1))
    return Rules(rows, cols, draw(st.integers(1, min(longest, max(rows, cols)))))


@st.composite
def any_games(draw):
    """A game of any kind on any board, ended in any way."""
    rules = draw(any_rules())
    ended = draw(st.sampled_from(ENDINGS))
    rng = random.Random(draw(st.integers(0, 2**32)))
    result = ""
    cells = rng.sample(range(rules.cells), rules.cells)
    if ended in ("resigned", "illegal"):
        cells = cells[: rng.randint(ended == "illegal", rules.cells)]
    found = standing(cells, rules, early_draw=ended == "early")
    if found.ended:
        cells = found.moves
        ended = found.ended if found.ended == "early" else ""
    elif ended == "illegal":
        cells.append(rng.choice(cells))
    else:
        result = rng.choice(SIDES)
    about = {"moves": tuple(cells), "rules": rules, "result": result, "ended": ended}
    about |= {"x": draw(PLAYERS), "o": draw(PLAYERS), "origin": draw(st.sampled_from(ORIGINS))}
    about |= {"side": draw(st.none() | st.sampled_from(SIDES)), "time": draw(TIMES)}
    return Game(seed=draw(st.none() | st.integers(0, 2**63 - 1)), **about)
