"""Where games are kept if nothing else is said: in the user's folder for data."""

from __future__ import annotations

from pathlib import Path


def default_store() -> Path:
    """The path of the user's store of games, such as ~/.local/share/tictactoe-env/games.db."""
    from platformdirs import user_data_path

    return user_data_path("tictactoe-env", appauthor=False) / "games.db"


def options(path: Path) -> list[str]:
    """How a command line names a store: not at all if it is the user's own."""
    return [] if path == default_store() else ["--store", str(path)]
