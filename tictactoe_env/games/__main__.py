"""Check, export and import a store: `python -m tictactoe_env.games.game`."""

import sys

from tictactoe_env.games.store import main

if __name__ == "__main__":
    sys.exit(main())
