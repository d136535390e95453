"""Games as text and JSON, a store of games in one SQLite file, and what each move was worth.

`python -m tictactoe_env.games` checks, exports and imports a store.
"""

from tictactoe_env.games.analysis import (
    Analysis,
    GameValue,
    Verdict,
    analyse,
    turning_point,
    verdicts,
)
from tictactoe_env.games.game import Game, Participant
from tictactoe_env.games.store import GameStore, StoreError, read_games

__all__ = [
    "Analysis",
    "Game",
    "GameStore",
    "GameValue",
    "Participant",
    "StoreError",
    "Verdict",
    "analyse",
    "read_games",
    "turning_point",
    "verdicts",
]
